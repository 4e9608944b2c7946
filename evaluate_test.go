package hashgrove

import (
	"slices"
	"testing"

	"hashgrove/internal/vectors"
)

// A sample of rows takes its vectors from whatever runs they come in.
func TestSampleOfRows(t *testing.T) {
	all := make([]int, 25)
	for i := range all {
		all[i] = i
	}
	if rows := spread(all, 4); !slices.Equal(rows, []int{0, 6, 12, 18}) {
		t.Errorf("sample %v", rows)
	}
	if rows := spread(all, 25); len(rows) != 25 {
		t.Errorf("sample %v", rows)
	}
	s := sample{rows: spread(all, 7)}
	for first := 0; first < 25; {
		n := min(25-first, 1+first%5)
		x := vectors.Matrix{Rows: n, Cols: 2}
		for i := range n {
			x.Data = append(x.Data, float32(first+i), 1)
		}
		s.add(first, x)
		first += n
	}
	if s.x.Rows != 7 || s.x.Cols != 2 {
		t.Fatalf("%d x %d", s.x.Rows, s.x.Cols)
	}
	for i, row := range s.rows {
		if s.x.Row(i)[0] != float32(row) {
			t.Errorf("row %d has the vector of row %v", row, s.x.Row(i)[0])
		}
	}
}
