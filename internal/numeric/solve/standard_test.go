package solve

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
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

// Columns of mean 0 and variance 1 by the definition, in whatever units they were; constant ones are 0.
func TestUnitColumns(t *testing.T) {
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(2, 2))
	unit := []float64{1, 1e-6, 5e4, 0, 1e-39} // the last changes by less than can be told apart
	x := vectors.Matrix{Rows: 3000, Cols: len(unit), Data: make([]float32, 3000*len(unit))}
	for i := range x.Data {
		x.Data[i] = float32(7*unit[i%len(unit)] + unit[i%len(unit)]*rng.NormFloat64())
	}
	m, factor, err := UnitColumns(ctx, x)
	if err != nil {
		t.Fatal(err)
	}
	if factor < 4e10 || factor > 6e10 {
		t.Errorf("the spreads differ by %v", factor)
	}
	y, err := model.Transform(ctx, 2, x, m)
	if err != nil {
		t.Fatal(err)
	}
	for j := range unit {
		sum, squares := 0.0, 0.0
		for i := range y.Rows {
			v := float64(y.Row(i)[j])
			sum, squares = sum+v, squares+v*v
		}
		want := 1.0
		if j > 2 {
			want = 0
		}
		n := float64(y.Rows)
		if math.Abs(sum/n) > 1e-4 || math.Abs(squares/n-want) > 1e-3 {
			t.Errorf("column %d has mean %v and variance %v", j, sum/n, squares/n)
		}
	}
	flat := vectors.Matrix{Rows: 2, Cols: 1, Data: []float32{3, 3}}
	if m, factor, err = UnitColumns(ctx, flat); err != nil || factor != 1 || m.Scale[0] != 0 {
		t.Errorf("a constant column: scale %v, factor %v, %v", m, factor, err)
	}
}
