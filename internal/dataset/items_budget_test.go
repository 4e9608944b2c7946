package dataset

import (
	"context"
	"math"
	"testing"

	"hashgrove/internal/model"
	"hashgrove/internal/testkit/budgettest"
	"hashgrove/internal/vectors"
)

// TestClaimedRows: a file of a hundred bytes that claims 2^47 rows once took memory for all of them.
func TestClaimedRows(t *testing.T) {
	m := &model.Model{Encoder: &model.Projection{Weight: []float32{1}, Threshold: []float32{0}}}
	x := vectors.Matrix{Rows: 3, Cols: 1, Data: []float32{-1, 0, 1}}
	for _, claimed := range []int{math.MaxInt, 1 << 30, 3, 0} {
		budgettest.Within(t, 64*budgettest.MiB, func() {
			b, err := FromRows(m, x, "x").Read(context.Background(), claimed, 1, func(int) {})
			if err != nil || len(b.IDs) != 3 {
				t.Errorf("%d rows claimed: %d, %v", claimed, len(b.IDs), err)
			}
		})
	}
	in, err := FromCodes([]string{codeFile(t, "a.hgc", nil, 1, 2)})
	if err != nil {
		t.Fatal(err)
	}
	budgettest.Within(t, 64*budgettest.MiB, func() {
		if b, err := in.Read(context.Background(), math.MaxInt, 1, func(int) {}); err != nil || len(b.IDs) != 2 {
			t.Errorf("codes: %v", err)
		}
	})
}
