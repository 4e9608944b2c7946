package solve

import (
	"context"
	"math"
	"testing"

	"hashgrove/vectors"
)

func TestMean(t *testing.T) {
	x := vectors.Matrix{Rows: 20_000, Cols: 2, Data: make([]float32, 40_000)} // several chunks
	for i := range x.Rows {
		x.Data[2*i], x.Data[2*i+1] = float32(i), -math.MaxFloat32
	}
	m, err := Mean(context.Background(), x)
	if err != nil || m[0] != 9999.5 || m[1] != -math.MaxFloat32 {
		t.Errorf("mean %v, error %v", m, err)
	}
}
