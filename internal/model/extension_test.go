package model

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// extended is trees over vectors and added columns, all of which they test.
func extended(rng *rand.Rand, bits, dim, added int) *Mapped {
	m := &Extension{Maps: []Map{&Affine{Weight: randomMatrix(rng, added, dim), Mean: randomFloats(rng, dim),
		Scale: randomFloats(rng, dim), Bias: randomFloats(rng, added)}}}
	return &Mapped{Maps: []Map{m}, Encoder: randomTrees(rng, bits, m.Out(), 3, 20)}
}

// TestExtendedTreesAreTreesOverAllColumns: the trees behind an extension see the vector and the columns that it adds.
func TestExtendedTreesAreTreesOverAllColumns(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	e := extended(rng, 5, 700, 9)
	x := randomMatrix(rng, 300, 700)
	checkCodes(t, e, x)
	trees, row, ok := Behind(e)
	if !ok || trees != e.Encoder {
		t.Fatal("the trees are not found")
	}
	for i := range x.Rows {
		if !slices.Equal(row(x.Row(i)), slowMap(e.Maps[0], x.Row(i))) {
			t.Fatalf("row %d: another vector for the trees", i)
		}
	}
}

// TestMissingValuesCountAsTheMean: an added column sees the mean where a value is missing; the column itself keeps it.
func TestMissingValuesCountAsTheMean(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 6))
	m := extended(rng, 1, 6, 3).Maps[0].(*Extension)
	x := randomMatrix(rng, 2, 6)
	full := slices.Clone(x.Row(1))
	full[2], full[5] = m.Maps[0].(*Affine).Mean[2], m.Maps[0].(*Affine).Mean[5]
	x.Row(1)[2], x.Row(1)[5] = float32(math.NaN()), float32(math.NaN())
	y, err := Transform(context.Background(), 1, x, m)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(y.Row(0), slowMap(m, x.Row(0))) {
		t.Error("a whole row beside one with missing values has changed")
	}
	if got := y.Row(1); got[2] == got[2] || !slices.Equal(got[6:], slowMap(m, full)[6:]) {
		t.Errorf("%v, want the added columns of %v", got, slowMap(m, full))
	}
}

func TestNamesOfAddedColumns(t *testing.T) {
	m := samples()["mapped-extension"]
	for j, want := range []string{"é", "", `"`, "<", "linear:é", "component:1", ""} {
		if got := m.Info.ColumnName(j, m.Encoder.Dim()); got != want {
			t.Errorf("column %d is %q, want %q", j, got, want)
		}
	}
	m.Info.Features[1] = "linear:own"
	for j, want := range []string{"é", "linear:own", `"`, "<", "score for é", "component:1", ""} {
		if got := m.Info.ColumnTitle(j, m.Encoder.Dim()); got != want {
			t.Errorf("people read column %d as %q, want %q", j, got, want)
		}
	}
	m.Info.Features[1] = ""
	m.Info.Added = m.Info.Added[:1]
	if err := m.Check(); err == nil {
		t.Error("one name for two added columns passes")
	}
	if _, _, ok := Behind(samples()["mapped-affine"].Encoder); ok {
		t.Error("columns behind an affine map are taken for those of the vectors")
	}
}
