package dataset

import (
	"context"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

func setScan(t testing.TB, spec Spec) *supervision.Data {
	t.Helper()
	sum, err := supervision.Scan(t.Context(), setOpen(t, spec), supervision.ScanOptions{Digest: true})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func TestScan(t *testing.T) {
	dir := t.TempDir()
	path := fileOf(t, dir, "data.csv", "sku,a,b,c,kind\nx,1,5,-2,dog\ny,1,7,0.5,cat\nz,1,6,1,cat\n")
	rows := 0
	sum, err := supervision.Scan(t.Context(), setOpen(t, Spec{Paths: []string{path}, Label: "kind", ID: "sku"}), supervision.ScanOptions{Progress: func(n int) { rows = n }})
	if err != nil {
		t.Fatal(err)
	}
	if sum.Rows != 3 || sum.Dim() != 3 || rows != 3 || sum.Bad != 0 || sum.Tags != nil || sum.Digest != [32]byte{} {
		t.Errorf("%+v, progress %d", sum, rows)
	}
	if !slices.Equal(sum.Ranges.Min, []float32{1, 5, -2}) || !slices.Equal(sum.Ranges.Max, []float32{1, 7, 1}) {
		t.Errorf("ranges %+v", sum.Ranges)
	}
	if !slices.Equal(sum.IDs, []string{"x", "y", "z"}) || !slices.Equal(sum.Constant, []int{0}) {
		t.Errorf("ids %q, constant %v", sum.IDs, sum.Constant)
	}
	if !slices.Equal(sum.Labels.Names, []string{"cat", "dog"}) || !slices.Equal(sum.Labels.Class, []int32{1, 0, 0}) {
		t.Errorf("labels %+v", sum.Labels)
	}
	checkWarnings(t, sum, "1 3", "1 2") // columns that are constant, classes of a single row
	if err := sum.Trainable(); err != nil {
		t.Error(err)
	}
}

func TestDuplicateIDs(t *testing.T) {
	dir := t.TempDir()
	a := fileOf(t, dir, "a.csv", "id,x\nx,1\ny,2\nx,3\n")
	b := fileOf(t, dir, "b.csv", "id,x\nz,1\ny,5\n")
	c := fileOf(t, dir, "c.csv", "id,x\nq,nan\nr,5\n")
	_, err := supervision.Scan(t.Context(), setOpen(t, Spec{Paths: []string{a}, ID: "id"}), supervision.ScanOptions{})
	setWant(t, dir, err, `duplicate-id set:SkipBad at:a.csv:3:id "x" 1`)
	ids := fileOf(t, dir, "ids.txt", "0\n1\n2\n3\n1\n")
	_, err = supervision.Scan(t.Context(), setOpen(t, Spec{Paths: []string{a, b}, IDsFile: []string{ids}, Vector: "x"}), supervision.ScanOptions{})
	setWant(t, dir, err, `duplicate-id set:SkipBad at:b.csv:2: "1" 2 a.csv`)

	s := setOpen(t, Spec{Paths: []string{a, b, c}, ID: "id", SkipBad: true})
	sum, err := supervision.Scan(t.Context(), s, supervision.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(sum.IDs, []string{"x", "y", "z", "r"}) || sum.Rows != 4 || sum.Bad != 3 || sum.Ranges.Rows != 4 {
		t.Errorf("%+v", sum)
	}
	if len(sum.BadExamples) != 3 {
		t.Fatalf("bad rows %q", sum.BadExamples)
	}
	for i, want := range []string{
		`duplicate-id at:a.csv:3:id "x" 1`, `duplicate-id at:b.csv:2:id "y" 2 a.csv`, "no-value at:c.csv:1:x",
	} {
		setWant(t, dir, sum.BadExamples[i], want)
	}
	if w := sum.Warnings[0]; unnamed(w, sum.BadExamples[0].Error(), "3", "3") != "" { // so many rows, and row 3
		t.Errorf("warning %q", w)
	}
	rows, err := setRead(t, s)
	if err != nil || len(rows) != 4 || rows[3].id != "r" {
		t.Errorf("second pass: %v %v", rows, err)
	}
	// Another kind of source has no rows to leave out.
	_, err = supervision.Scan(t.Context(), setTwice{}, supervision.ScanOptions{})
	setWant(t, dir, err, `duplicate-id 1 2 "x"`)
}

func TestSummariesThatCannotBe(t *testing.T) {
	dir := t.TempDir()
	s := setOpen(t, Spec{Paths: []string{fileOf(t, dir, "data.csv", "x,y\nnan,1\n2,nan\n")}, SkipBad: true})
	_, err := supervision.Scan(t.Context(), s, supervision.ScanOptions{})
	setWant(t, dir, err, "all-rows-bad at:data.csv:1:x 2")
	_, err = supervision.Scan(t.Context(), vectors.Matrix{Cols: 3}, supervision.ScanOptions{})
	setWant(t, dir, err, "no-rows")
}

// TestDigestDoesNotDependOnTheFiles: the digest is that of the values and the supervision, however they are written down,
// and everything that matters changes it.
func TestDigestDoesNotDependOnTheFiles(t *testing.T) {
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(5, 6))
	const n, cut = 40, 17
	x, labels, csv, jsonl := make([][]float32, n), make([]string, n), []string{}, []string{}
	for i := range x {
		x[i] = make([]float32, 3)
		for j := range x[i] {
			x[i][j] = math.Float32frombits(rng.Uint32()&^(1<<30)) * float32(rng.IntN(3)) // of all sizes, and some -0
		}
		labels[i] = strconv.Itoa(rng.IntN(12))
		values := strings.Join(strings.Fields(strings.Trim(fmt.Sprint(x[i]), "[]")), ",")
		csv, jsonl = append(csv, values+","+labels[i]), append(jsonl, fmt.Sprintf(`{"y":%s,"vector":[%s]}`, labels[i], values))
	}
	y := fileOf(t, dir, "y.txt", strings.Join(labels, "\n"))
	table := func(name, head string, rows []string) string {
		return fileOf(t, dir, name, head+strings.Join(rows, "\n"))
	}
	all := fileOf(t, dir, "all.npy", setNpy(x...))
	want := setScan(t, Spec{Paths: []string{all}, LabelsFile: []string{y}}).Digest
	for k, spec := range []Spec{
		{Paths: []string{table("all.csv", "a,b,c,y\n", csv)}, Label: "y"},
		{Paths: []string{table("1.csv", "a,b,c,y\n", csv[:cut]), table("2.jsonl", "", jsonl[cut:])}, Label: "y"},
		{Paths: []string{fileOf(t, dir, "1.npy", setNpy(x[:cut]...)), fileOf(t, dir, "2.npy", setNpy(x[cut:]...))}, LabelsFile: []string{y}},
	} {
		if setScan(t, spec).Digest != want {
			t.Errorf("spec %d: another digest", k)
		}
	}
	seen := map[[32]byte]string{want: "all"}
	differs := func(what string, spec Spec, pairs string) {
		sum := setScan(t, spec)
		if pairs != "" {
			if err := ReadPairs(fileOf(t, dir, "pairs", pairs), sum); err != nil {
				t.Fatal(err)
			}
		}
		if other, ok := seen[sum.Digest]; ok {
			t.Errorf("%s has the digest of %s", what, other)
		}
		seen[sum.Digest] = what
	}
	labels[7] += "1"
	y = fileOf(t, dir, "y.txt", strings.Join(labels, "\n"))
	differs("no labels", Spec{Paths: []string{all}}, "")
	differs("one label", Spec{Paths: []string{all}, LabelsFile: []string{y}}, "")
	differs("tags", Spec{Paths: []string{all}, TagsFile: []string{y}}, "")
	differs("a pair", Spec{Paths: []string{all}}, "0,1,s\n")
	x[3][1] = math.Nextafter32(x[3][1], 1e30)
	differs("one value", Spec{Paths: []string{fileOf(t, dir, "all.npy", setNpy(x...))}}, "")
}

func TestPairsOfRowsLeftOut(t *testing.T) {
	dir := t.TempDir()
	data := fileOf(t, dir, "data.csv", "key,x\na,1\nb,nan\nc,3\nd,4\n")
	byNumber := setScan(t, Spec{Paths: []string{data}, Vector: "x", SkipBad: true})
	byID := setScan(t, Spec{Paths: []string{data}, Vector: "x", ID: "key", SkipBad: true})
	for _, c := range []struct {
		sum     *supervision.Data
		content string
	}{{byNumber, "0,2,s\n1,2,d\n3,2,d\n"}, {byID, "a,c,s\nb,c,d\nd,c,d\n"}} {
		path := fileOf(t, dir, "pairs", c.content)
		if err := ReadPairs(path, c.sum); err != nil {
			t.Fatal(err)
		}
		if want := []supervision.Pair{{A: 0, B: 1, Y: 1}, {A: 1, B: 2, Y: -1}}; !slices.Equal(c.sum.Pairs, want) {
			t.Errorf("%v, want %v", c.sum.Pairs, want)
		}
		if w := c.sum.Warnings[len(c.sum.Warnings)-1]; unnamed(w, path, "1") != "" {
			t.Errorf("warning %q", w)
		}
	}
	setWant(t, dir, ReadPairs(fileOf(t, dir, "pairs", "0,4,s\n"), byNumber), "no-such-row pairs: 1 4 0 3")
	setWant(t, dir, ReadPairs(fileOf(t, dir, "pairs", "a,b,y\n"), byNumber), "no-pairs pairs:")
}

func TestWarnings(t *testing.T) {
	dir := t.TempDir()
	sum := setScan(t, Spec{Paths: []string{fileOf(t, dir, "data.csv", "x,y\n1,2\n1,2\n")}})
	if checkWarnings(t, sum, ""); len(sum.Constant) != sum.Dim() { // all rows are equal
		t.Errorf("constant columns %v", sum.Constant)
	}
	sum = setScan(t, Spec{Paths: []string{filepath.Join(dir, "data.csv")}, TagsFile: []string{fileOf(t, dir, "tags", "\na\n")}})
	checkWarnings(t, sum, "", "1 2") // the same, and rows without tags
}

// checkWarnings compares the warnings with the numbers that each must name.
func checkWarnings(t *testing.T, sum *supervision.Data, facts ...string) {
	t.Helper()
	for i, w := range sum.Warnings[:min(len(sum.Warnings), len(facts))] {
		if named := strings.Join(numbers.FindAllString(w, -1), " "); named != facts[i] {
			t.Errorf("warning %q names %q, want %q", w, named, facts[i])
		}
	}
	if len(sum.Warnings) != len(facts) {
		t.Errorf("%d warnings %q, want %d", len(sum.Warnings), sum.Warnings, len(facts))
	}
}

// setTwice is a source that is no Set, with one id twice.
type setTwice struct{}

func (setTwice) Dim() int               { return 1 }
func (setTwice) Schema() vectors.Schema { return vectors.Schema{} }

func (setTwice) Chunks(context.Context) iter.Seq2[vectors.Chunk, error] {
	return func(yield func(vectors.Chunk, error) bool) {
		yield(vectors.Chunk{X: vectors.Matrix{Rows: 2, Cols: 1, Data: []float32{1, 2}}, IDs: []string{"x", "x"}}, nil)
	}
}
