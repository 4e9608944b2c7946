package model

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/internal/hamming"
	"hashgrove/internal/section"
	"hashgrove/internal/vectors"
)

// extended is trees over vectors and added columns, all of which they test.
func extended(rng *rand.Rand, bits, dim, added int) *Mapped {
	m := &Extension{Maps: []Map{&Affine{Weight: randomMatrix(rng, added, dim), Mean: randomFloats(rng, dim),
		Scale: randomFloats(rng, dim), Bias: randomFloats(rng, added)}}}
	return &Mapped{Maps: []Map{m}, Encoder: randomTrees(rng, bits, m.Out(), 3, 20)}
}

// TestExtendedTreesAreTreesOverAllColumns: batches and single rows have the codes of the trees over the columns that
// the definition gives, and the columns of the vectors stay as they are.
func TestExtendedTreesAreTreesOverAllColumns(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	e := extended(rng, 5, 700, 9)
	m := &Model{Encoder: e}
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	x := randomMatrix(rng, 300, 700)
	wide := vectors.Matrix{Rows: x.Rows, Cols: 709}
	for i := range x.Rows {
		wide.Data = append(wide.Data, slowMap(e.Maps[0], x.Row(i))...)
	}
	want, err := (&Model{Encoder: e.Encoder}).Encode(context.Background(), wide, 1)
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.Encode(context.Background(), x, 2)
	if err != nil || !slices.Equal(got.Data, want.Data) {
		t.Fatalf("batches differ: %v", err)
	}
	b, row, ok := Behind(e)
	if !ok || b != e.Encoder {
		t.Fatal("the trees are not found")
	}
	for i := range x.Rows {
		code, err := m.EncodeRow(x.Row(i))
		if err != nil || !slices.Equal(code, want.Row(i)) {
			t.Fatalf("row %d differs alone: %v", i, err)
		}
		if !slices.Equal(row(x.Row(i)), wide.Row(i)) {
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

// TestOlderProgramsRefuseAddedColumns: such a file has version 5, which a reader of version 4 names as newer.
func TestOlderProgramsRefuseAddedColumns(t *testing.T) {
	b := bytesOf(t, samples()["mapped-extension"])
	if _, err := section.NewReader(bytes.NewReader(b), section.Model, 4); !errors.Is(err, hamming.ErrVersion) {
		t.Errorf("read as version 4: %v", err)
	}
	if v := versionOf(samples()["mapped-affine"]); v != 3 {
		t.Errorf("a model without added columns has version %d", v)
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

// BenchmarkKernelExtension is what ten scores by 500 Gaussians cost a row of the size of GIST.
func BenchmarkKernelExtension(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	m := &Extension{Maps: []Map{&Kernel{Anchors: randomMatrix(rng, 500, 320), Width: 600}, &Affine{Weight: randomMatrix(rng, 10, 500)}}}
	x := randomMatrix(rng, 1024, 320)
	y := vectors.Matrix{Rows: block, Cols: m.Out(), Data: make([]float32, block*m.Out())}
	b.Run("batch", func(b *testing.B) { least(b, x, block, func(x vectors.Matrix) { m.apply(y, x) }) })
	b.Run("row", func(b *testing.B) { least(b, x, 1, func(x vectors.Matrix) { m.apply(y.Slice(0, 1), x) }) })
}

// BenchmarkExtension is what added columns cost a row of the size of GIST: trees with and without them.
func BenchmarkExtension(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, added := range []int{20, 1} {
		e := extended(rng, 64, 320, added)
		x := randomMatrix(rng, 1024, 320)
		for name, encoder := range map[string]Encoder{"extended": e, "map": nil} {
			m := &Model{Encoder: encoder}
			y := vectors.Matrix{Rows: block, Cols: 320 + added, Data: make([]float32, block*(320+added))}
			b.Run(name+"/batch", func(b *testing.B) {
				least(b, x, block, func(x vectors.Matrix) {
					if encoder == nil {
						apply(y, x, e.Maps)
						return
					}
					_, _ = m.Encode(context.Background(), x, 1)
				})
			})
			b.Run(name+"/row", func(b *testing.B) {
				least(b, x, 1, func(x vectors.Matrix) {
					if encoder == nil {
						apply(y.Slice(0, 1), x, e.Maps)
						return
					}
					_, _ = m.EncodeRow(x.Data)
				})
			})
		}
	}
}
