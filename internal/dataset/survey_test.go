package dataset

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestSurvey(t *testing.T) {
	var rows strings.Builder
	rows.WriteString("a,b\n")
	for i := range 900 {
		fmt.Fprintf(&rows, "%d,%d\n", i, i%7)
	}
	limits := SurveyLimits{Rows: 900, Columns: 5, Sample: 2}
	for _, c := range []struct {
		name, content string
		rows          int
		want          []SurveyColumn // nil for an error
		sample        string
	}{
		{"a.csv", "id,size,count,kind,list\n1,0.5,3,cat,1 2\n2,1.5,4,dog,3 4\n3,,4,cat,5 6\nbroken\n", 4, []SurveyColumn{
			{"id", "number", true, 3}, {"size", "number", false, 2}, {"count", "number", true, 2}, {"kind", "text", false, 2}, {"list", "list", false, 3},
		}, "[[1 0.5 3 cat 1 2] [2 1.5 4 dog 3 4]]"},
		{"a.jsonl", `{"v":[1,2],"kind":"cat"}` + "\n" + `{"v":[3,4],"kind":"dog","price":2.5}` + "\nnot json\n", 3, []SurveyColumn{
			{"v", "list", false, 2}, {"kind", "text", false, 2},
		}, "[[[1,2] cat] [[3,4] dog]]"},
		{"b.csv", rows.String(), 900, []SurveyColumn{{"a", "number", true, MostDistinct}, {"b", "number", true, 7}}, "[[0 0] [1 1]]"},
		{"many.csv", rows.String() + "1,1\n", 0, nil, ""},
		{"wide.csv", "a,b,c,d,e,f\n1,2,3,4,5,6\n", 0, nil, ""},
		{"wide.jsonl", `{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6}` + "\n", 0, nil, ""},
		{"a.npy", "x", 0, nil, ""},
	} {
		path := fileOf(t, t.TempDir(), c.name, c.content)
		s, err := Look(context.Background(), path, strings.TrimPrefix(filepath.Ext(path), "."), limits)
		switch {
		case err != nil && c.want == nil:
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		case s.Rows != c.rows || !slices.Equal(s.Columns, c.want) || fmt.Sprint(s.Sample) != c.sample:
			t.Errorf("%s: %+v", c.name, s)
		}
	}
}
