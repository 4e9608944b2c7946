package vectors

import (
	"context"
	"fmt"
	"iter"
	"os"
	"reflect"
	"testing"
)

// counted is a source of rows in chunks of three, with everything a row can have, that counts its passes. It lends its
// memory: what a chunk holds is overwritten by the next.
type counted struct {
	rows, passes int
	dropped      []int
}

func (c *counted) Dim() int       { return 2 }
func (c *counted) Schema() Schema { return Schema{Names: []string{"a", "b"}, Files: account{c}} }

// account says which rows were dropped.
type account struct{ *counted }

func (a account) Bad() (int, []error)   { return len(a.dropped), nil }
func (a account) Dropped() []int        { return a.dropped }
func (a account) Warnings() []string    { return nil }
func (a account) Repeated(Repeat) error { return nil }
func (a account) LeaveOut([]Repeat)     {}

func (c *counted) Chunks(ctx context.Context) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		c.passes++
		lent := Chunk{X: Matrix{Cols: 2, Data: make([]float32, 6)}, IDs: make([]string, 3), Labels: make([]string, 3),
			Tags: make([][]string, 3), Places: make([]int, 3)}
		tags := make([]string, 3)
		for lo := 0; lo < c.rows; lo += 3 {
			n := min(3, c.rows-lo)
			for i := range n {
				row := lo + i
				lent.X.Data[2*i], lent.X.Data[2*i+1] = float32(row), float32(-row)/3
				lent.IDs[i], lent.Labels[i], lent.Places[i] = fmt.Sprint("id", row), fmt.Sprint("label", row%2), 2*row
				tags[i] = fmt.Sprint("tag", row)
				lent.Tags[i] = tags[i : i+1]
			}
			lent.X.Rows, lent.First = 3, lo
			part := lent.Slice(0, n)
			part.First = lo
			if !yield(part, ctx.Err()) {
				return
			}
		}
	}
}

// want is the table of the rows, less those of some numbers.
func (c *counted) want(t *testing.T, less ...int) Table {
	t.Helper()
	all, err := Read(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	c.passes = 0
	keep := make([]bool, c.rows)
	for i := range keep {
		keep[i] = true
	}
	for _, i := range less {
		keep[i] = false
	}
	part, err := Read(t.Context(), Select(all, keep))
	if err != nil {
		t.Fatal(err)
	}
	return part
}

func TestTableIsWhatWasRead(t *testing.T) {
	src := &counted{rows: 7}
	table := src.want(t)
	if table.X.Rows != 7 || table.IDs[6] != "id6" || table.Labels[5] != "label1" || table.Tags[4][0] != "tag4" ||
		table.X.Row(3)[0] != 3 {
		t.Errorf("%+v", table)
	}
	again, err := Read(t.Context(), table)
	if err != nil || !reflect.DeepEqual(again, table) {
		t.Errorf("%+v, %v", again, err)
	}
}

// TestCachedRowsAreMadeOnce reads rows several times, from memory, from a file, and from a file that memory spilled into.
func TestCachedRowsAreMadeOnce(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	for _, limit := range []int64{1 << 20, 0, 30} {
		src := &counted{rows: 10}
		want := src.want(t)
		kept := Cache(src, limit, "")
		values := Table{X: want.X}                     // of later passes
		for c, err := range kept.Chunks(t.Context()) { // a pass that ends early keeps nothing
			if err != nil || c.First != 0 {
				t.Fatal(err)
			}
			break
		}
		for range 3 {
			got, err := Read(t.Context(), kept)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("limit %d: %+v, %v, want %+v", limit, got, err, want)
			}
			want = values
		}
		if src.passes != 2 || (kept.file != nil) != (limit < 80) {
			t.Errorf("limit %d: the source was read %d times, file %v", limit, src.passes, kept.file)
		}
		src.dropped = []int{4, 5, 12} // places: rows 2 and 6
		less := Cache(src, limit, "")
		if got, err := Read(t.Context(), less); err != nil || got.X.Rows != 10 {
			t.Errorf("%+v, %v", got, err)
		}
		if got, err := Read(t.Context(), less); err != nil || !reflect.DeepEqual(got.X, src.want(t, 2, 6).X) {
			t.Errorf("limit %d, after rows were left out: %+v, %v", limit, got, err)
		}
		stopped, stop := context.WithCancel(t.Context())
		stop()
		if _, err := Read(stopped, kept); err != context.Canceled {
			t.Errorf("a stopped pass: %v", err)
		}
		for _, k := range []*Cached{kept, less} {
			if err := k.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} { // the others are those of Windows
		t.Setenv(name, "/nowhere/at/all")
	}
	src := &counted{rows: 10}
	want, kept := src.want(t), Cache(src, 0, "")
	for pass := range 2 { // every pass goes to the source
		got, err := Read(t.Context(), kept)
		if err != nil || !reflect.DeepEqual(got, want) || src.passes != pass+1 {
			t.Errorf("without a folder for temporary files: %+v, %v after %d passes", got, err, src.passes)
		}
	}
}
