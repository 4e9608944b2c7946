package dataset

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var roomy = SurveyLimits{Rows: 1000, Columns: 10, Sample: 2}

func look(t *testing.T, name, text string, limits SurveyLimits) (*Survey, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return Look(context.Background(), path, strings.TrimPrefix(filepath.Ext(name), "."), limits)
}

func TestSurveyOfATable(t *testing.T) {
	s, err := look(t, "a.csv", "id,size,count,kind,list\n1,0.5,3,cat,1 2\n2,1.5,4,dog,3 4\n3,,4,cat,5 6\nbroken\n", roomy)
	if err != nil {
		t.Fatal(err)
	}
	want := []SurveyColumn{
		{"id", "number", true, 3}, {"size", "number", false, 2}, {"count", "number", true, 2},
		{"kind", "text", false, 2}, {"list", "list", false, 3},
	}
	if s.Rows != 4 || !slices.Equal(s.Columns, want) {
		t.Errorf("%d rows, %+v", s.Rows, s.Columns)
	}
	if got := fmt.Sprint(s.Sample); got != "[[1 0.5 3 cat 1 2] [2 1.5 4 dog 3 4]]" {
		t.Error(got)
	}
}

func TestSurveyOfLines(t *testing.T) {
	s, err := look(t, "a.jsonl", `{"v":[1,2],"kind":"cat"}
{"v":[3,4],"kind":"dog","price":2.5}
not json
`, roomy)
	if err != nil {
		t.Fatal(err)
	}
	want := []SurveyColumn{{"v", "list", false, 2}, {"kind", "text", false, 2}}
	if s.Rows != 3 || !slices.Equal(s.Columns, want) {
		t.Errorf("%d rows, %+v", s.Rows, s.Columns)
	}
	if len(s.Sample) != 2 || len(s.Sample[0]) != 2 || s.Sample[1][1] != "dog" {
		t.Errorf("%q", s.Sample)
	}
}

func TestSurveyIsBounded(t *testing.T) {
	var rows strings.Builder
	rows.WriteString("a,b\n")
	for i := range 900 {
		fmt.Fprintf(&rows, "%d,%d\n", i, i%7)
	}
	s, err := look(t, "a.csv", rows.String(), roomy)
	if err != nil || s.Columns[0].Distinct != MostDistinct || s.Columns[1].Distinct != 7 {
		t.Errorf("%v, %+v", err, s)
	}
	if _, err := look(t, "a.csv", rows.String(), SurveyLimits{Rows: 899, Columns: 2}); err == nil {
		t.Error("more rows than allowed were taken")
	}
	if _, err := look(t, "a.csv", rows.String(), SurveyLimits{Rows: 900, Columns: 1}); err == nil {
		t.Error("more columns than allowed were taken")
	}
	keys := `{"a":1,"b":2,"c":3}` + "\n"
	if _, err := look(t, "a.jsonl", keys, SurveyLimits{Rows: 9, Columns: 2}); err == nil {
		t.Error("more keys than allowed were taken")
	}
	if _, err := look(t, "a.npy", "x", roomy); err == nil {
		t.Error("a format without columns was taken")
	}
}

func FuzzSurvey(f *testing.F) {
	f.Add([]byte("a,b\n1,x\n2,y\n"), false)
	f.Add([]byte("{\"a\":[1,2],\"b\":\"x\"}\n"), true)
	f.Add([]byte("{\"a\":1,\"a\":2}\n"), true)
	f.Add([]byte("\"a\n\"\"b\",c\n"), false)
	f.Fuzz(func(t *testing.T, content []byte, lines bool) {
		path, format := filepath.Join(t.TempDir(), "f"), "csv"
		if lines {
			format = "jsonl"
		}
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
		s, err := Look(context.Background(), path, format, SurveyLimits{Rows: 100, Columns: 50, Sample: 3})
		if err != nil {
			return
		}
		if s.Rows < 1 || s.Rows > 100 || len(s.Columns) > 50 {
			t.Errorf("%d rows and %d columns", s.Rows, len(s.Columns))
		}
		for _, row := range s.Sample {
			if len(row) != len(s.Columns) {
				t.Errorf("a row of %d values for %d columns", len(row), len(s.Columns))
			}
		}
		for _, c := range s.Columns {
			if c.Distinct > s.Rows {
				t.Errorf("%d rows, and %+v", s.Rows, c)
			}
		}
	})
}
