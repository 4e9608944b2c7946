package dataset

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// setRow is a row as a pass yields it.
type setRow struct {
	x         string
	label, id string
	tags      string
}

// setRead reads a source whole.
func setRead(t testing.TB, src vectors.Source) ([]setRow, error) {
	t.Helper()
	var rows []setRow
	for c, err := range src.Chunks(context.Background()) {
		if err != nil {
			return rows, err
		}
		if c.First != len(rows) {
			t.Errorf("a chunk begins at row %d after %d rows", c.First, len(rows))
		}
		for i := range c.X.Rows {
			r := setRow{x: fmt.Sprint(c.X.Row(i))}
			if c.Labels != nil {
				r.label = c.Labels[i]
			}
			if c.IDs != nil {
				r.id = c.IDs[i]
			}
			if c.Tags != nil {
				r.tags = strings.Join(c.Tags[i], " ")
			}
			rows = append(rows, r)
		}
	}
	return rows, nil
}

func setOpen(t testing.TB, spec Spec) *Set {
	t.Helper()
	s, err := Open(spec)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSeveralFilesAreOneDataSet(t *testing.T) {
	dir := t.TempDir()
	paths := []string{
		fileOf(t, dir, "a.csv", "id,u,v,kind\nx,1,2,cat\ny,3,4,dog\n"),
		fileOf(t, dir, "b.jsonl", `{"id":"z","vector":[5,6],"kind":"owl"}`+"\n"),
	}
	s := setOpen(t, Spec{Paths: paths, Label: "kind", ID: "id"})
	want := []setRow{{"[1 2]", "cat", "x", ""}, {"[3 4]", "dog", "y", ""}, {"[5 6]", "owl", "z", ""}}
	if got, err := setRead(t, s); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v %v, want %v", got, err, want)
	}
	if !slices.Equal(s.Names(), []string{"u", "v"}) {
		t.Errorf("names %q", s.Names())
	}

	paths = []string{
		fileOf(t, dir, "a.npy", setNpy([]float32{1, 2}, []float32{3, 4})),
		fileOf(t, dir, "b.npy", setNpy([]float32{5, 6})),
	}
	s = setOpen(t, Spec{
		Paths:      paths,
		LabelsFile: []string{fileOf(t, dir, "y1.txt", "1.0\n2\n"), fileOf(t, dir, "y2.txt", "1\n")},
		IDsFile:    []string{fileOf(t, dir, "ids.txt", "7\n9\n8\n")},
		Tags:       fileOf(t, dir, "tags.txt", "sea sky\n\nsea\n"),
	})
	want = []setRow{{"[1 2]", "1", "7", "sea sky"}, {"[3 4]", "2", "9", ""}, {"[5 6]", "1", "8", "sea"}}
	for range 2 {
		if got, err := setRead(t, s); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v %v, want %v", got, err, want)
		}
	}
	if s.Names() != nil {
		t.Errorf("names %q", s.Names())
	}
}

func TestBadRowsAreNamed(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	for _, c := range []struct {
		name  string
		files []string // name and content in turn
		spec  Spec     // Paths are the files named data
		want  string
	}{
		{"nan", []string{"data.npy", setNpy([]float32{1, 2}, []float32{3, nan})}, Spec{}, "no-value set:Missing at:data.npy:2:2"},
		{"infinite", []string{"data1.npy", setNpy([]float32{1, 2}), "data2.npy", setNpy([]float32{inf, 2})}, Spec{},
			"not-finite set:SkipBad at:data2.npy:1:1"},
		{"nan in a named column", []string{"data.csv", "width,height\n1,2\n3,nan\n"}, Spec{}, "no-value set:Missing at:data.csv:2:height"},
		{"ragged", []string{"data.jsonl", `{"v":[1,2]}` + "\n" + `{"v":[1,2,3]}`}, Spec{Vector: "v"}, "wrong-dim set:SkipBad at:data.jsonl:2:v:2 3 2"},
		{"missing label", []string{"data.csv", "x,kind\n1,cat\n2,\n"}, Spec{Label: "kind"}, "no-label set:SkipBad at:data.csv:2:kind"},
		{"missing label in the file of labels", []string{"data.npy", setNpy([]float32{1}, []float32{2}), "y.csv", "1\nnan\n"}, Spec{LabelsFile: []string{"y.csv"}},
			"no-label set:SkipBad at:data.npy:2: y.csv"},
		{"empty line in the file of ids", []string{"data.npy", setNpy([]float32{1}, []float32{2}), "ids.txt", "\n1\n"}, Spec{IDsFile: []string{"ids.txt"}},
			"no-id set:SkipBad at:data.npy:1: ids.txt"},
		{"missing key", []string{"data.jsonl", `{"v":[1],"y":3}` + "\n" + `{"v":[2]}`}, Spec{Vector: "v", Label: "y"}, "no-label set:SkipBad at:data.jsonl:2:y"},
		{"missing tags", []string{"data.jsonl", `{"v":[1],"t":["a"]}` + "\n" + `{"v":[2]}`}, Spec{Vector: "v", Tags: "t"}, "no-tags set:SkipBad at:data.jsonl:2:t"},
		{"empty id", []string{"data.csv", "x,sku\n1,a\n2,\n"}, Spec{ID: "sku"}, "no-id set:SkipBad at:data.csv:2:sku"},
		{"labels in the second file only", []string{"data1.csv", "x\n1\n", "data2.csv", "x,label\n1,a\n"}, Spec{},
			"first-row-has-none set:Label at:data2.csv:1:"},
		{"ids in the second file only", []string{"data1.csv", "x\n1\n", "data2.csv", "x,id\n1,a\n"}, Spec{},
			"first-row-has-none set:ID at:data2.csv:1:"},
		{"tags in the second file only", []string{"data1.csv", "x\n1\n", "data2.csv", "x,tags\n1,a\n"}, Spec{},
			"first-row-has-none set:Tags at:data2.csv:1:"},
		{"labels in the first file only", []string{"data1.csv", "x,label\n1,a\n", "data2.csv", "x\n1\n"}, Spec{}, "no-label set:SkipBad at:data2.csv:1:"},
		{"too few labels", []string{"data.csv", "x\n1\n2\n", "y.txt", "a\n"}, Spec{LabelsFile: []string{"y.txt"}}, "too-few y.txt 1 label"},
		{"too few tags", []string{"data.csv", "x\n1\n2\n", "t.txt", "a\n"}, Spec{Tags: "t.txt"}, "too-few t.txt 1 tags"},
		{"too many tags", []string{"data.csv", "x\n1\n", "t.txt", "a\nb\n"}, Spec{Tags: "t.txt"}, "wrong-count t.txt 2 tags 1"},
		{"too few ids", []string{"data.csv", "x\n1\n2\n3\n", "ids.txt", "a\nb\n"}, Spec{IDsFile: []string{"ids.txt"}}, "too-few ids.txt 2 ids"},
		{"too many ids", []string{"data.csv", "x\n1\n", "ids.txt", "a\nb\n"}, Spec{IDsFile: []string{"ids.txt"}}, "wrong-count ids.txt 2 ids 1"},
		{"too many labels", []string{"data.csv", "x\n1\n2\n", "y.txt", "a\nb\nc\n"}, Spec{LabelsFile: []string{"y.txt"}}, "wrong-count y.txt 3 labels 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			for i := 0; i < len(c.files); i += 2 {
				fileOf(t, dir, c.files[i], c.files[i+1])
				if strings.HasPrefix(c.files[i], "data") {
					c.spec.Paths = append(c.spec.Paths, c.files[i])
				}
			}
			setRefuses(t, dir, c.spec, c.want, 1)
		})
	}
}

// setRefuses reads a set with a bad row, which is left out where that is allowed, so that so many rows are left.
func setRefuses(t *testing.T, dir string, spec Spec, want string, left int) {
	t.Helper()
	s, err := Open(spec)
	if err == nil {
		_, err = setRead(t, s)
	}
	setWant(t, dir, err, want)
	bad := strings.Replace(want, "set:SkipBad ", "", 1)
	if bad == want {
		return
	}
	if _, ok := errors.AsType[*RowError](err); !ok {
		t.Errorf("%T is not a RowError", err)
	}
	spec.SkipBad = true
	s = setOpen(t, spec)
	if rows, err := setRead(t, s); err != nil || len(rows) != left {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	n, first := s.Bad()
	if n != 1 || len(first) != 1 {
		t.Fatalf("%d bad rows: %v", n, first)
	}
	setWant(t, dir, first[0], bad)
}

func TestSkippingIsTheSameInEveryPass(t *testing.T) {
	dir := t.TempDir()
	var csv strings.Builder
	csv.WriteString("id,x,y,kind\n")
	var want []setRow
	for i := range 10_000 { // two chunks
		switch {
		case i%17 == 3:
			fmt.Fprintf(&csv, "%d,nan,1,a\n", i)
		case i%19 == 4:
			fmt.Fprintf(&csv, "%d,1,a\n", i) // ragged
		case i%23 == 5:
			fmt.Fprintf(&csv, "%d,7,1,a\n", i-i%23) // the id of an earlier row, which may be bad itself
		default:
			fmt.Fprintf(&csv, "%d,%d,1,%d\n", i, i, i%3)
			want = append(want, setRow{fmt.Sprintf("[%d 1]", i), fmt.Sprint(i % 3), fmt.Sprint(i), ""})
			continue
		}
		if i%23 == 5 && i%17 != 3 && i%19 != 4 {
			if first := i - i%23; first%17 == 3 || first%19 == 4 { // a bad row's id is free
				want = append(want, setRow{"[7 1]", "a", fmt.Sprint(first), ""})
			}
		}
	}
	s := setOpen(t, Spec{Paths: []string{fileOf(t, dir, "data.csv", csv.String())}, Label: "kind", ID: "id", SkipBad: true})
	sum, err := supervision.Scan(t.Context(), s, supervision.ScanOptions{Digest: true})
	if err != nil {
		t.Fatal(err)
	}
	if sum.Rows != len(want) || sum.Bad != 10_000-len(want) || len(sum.BadExamples) != badExamples {
		t.Errorf("%d rows, %d bad, want %d", sum.Rows, sum.Bad, len(want))
	}
	examples := sum.BadExamples
	for range 2 {
		rows, err := setRead(t, s)
		if err != nil || !slices.Equal(rows, want) {
			t.Fatalf("%d rows, error %v, want %d", len(rows), err, len(want))
		}
		if n, first := s.Bad(); n != sum.Bad || fmt.Sprint(first) != fmt.Sprint(examples) {
			t.Errorf("%d bad rows\n%v\nwant\n%v", n, first, examples)
		}
	}
	again, err := supervision.Scan(t.Context(), s, supervision.ScanOptions{Digest: true})
	if err != nil || again.Digest != sum.Digest || again.Rows != sum.Rows || again.Bad != sum.Bad || !slices.Equal(again.IDs, sum.IDs) {
		t.Errorf("the second scan differs: %v", err)
	}
}

func TestSetStops(t *testing.T) {
	path := fileOf(t, t.TempDir(), "data.csv", "x\n"+strings.Repeat("1\n", 50_000))
	s := setOpen(t, Spec{Paths: []string{path}})
	stop := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	chunks := 0
	var last error
	for _, err := range s.Chunks(ctx) {
		chunks++
		last = err
		cancel(stop)
	}
	if chunks != 2 || last != stop {
		t.Errorf("%d chunks, then %v", chunks, last)
	}
	for range s.Chunks(t.Context()) {
		break
	}
}

func TestAFileThatGoesAwayIsAnError(t *testing.T) {
	dir := t.TempDir()
	path := fileOf(t, dir, "data.npy", setNpy([]float32{1}))
	s := setOpen(t, Spec{Paths: []string{path}})
	fileOf(t, dir, "data.npy", setNpy([]float32{1, 2}))
	_, err := setRead(t, s)
	setWant(t, dir, err, "wrong-dim set:SkipBad at:data.npy:1: 2 1")
	s.files[0].path = filepath.Join(dir, "gone")
	if _, err := setRead(t, s); err == nil {
		t.Error("no error")
	}
}
