package fasthash

import (
	"context"
	"testing"

	"hashgrove/supervision"
	"hashgrove/vectors"
)

// TestEstimates: a cost is positive, and twice the rows cost more memory.
func TestEstimates(t *testing.T) {
	x := vectors.Matrix{Rows: 100, Cols: 3, Data: make([]float32, 300)}
	for i := range x.Data {
		x.Data[i] = float32(i * 7 % 31)
	}
	d, err := supervision.Scan(context.Background(), x, supervision.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	seconds, err := EstimateSeconds(context.Background(), x, d, 1)
	if err != nil || seconds <= 0 {
		t.Errorf("%v seconds, %v", seconds, err)
	}
	few := EstimateBytes(d)
	d.Rows *= 2
	if many := EstimateBytes(d); few <= 0 || many <= few {
		t.Errorf("%d bytes, and %d for twice the rows", few, many)
	}
}
