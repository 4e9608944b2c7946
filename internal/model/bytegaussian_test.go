package model

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/internal/fileio"
	"hashgrove/internal/hamming"
	"hashgrove/internal/vectors"
)

// slowBytes is a ByteGaussian as it reads: every operation in float64, where a product of two float32 is exact, and rounded
// to float32 at once.
func slowBytes(m *ByteGaussian, x []float32) []float32 {
	var y []float32
	perStep := float32(1 / float64(m.Step))
	scale := float32(float64(m.Step) * float64(m.Step) * math.Log2E / float64(m.Width))
	for k := range m.Rows {
		d := int64(0)
		for j, v := range x {
			q := math.RoundToEven(max(-127, min(127, float64(float32(float64(v)*float64(perStep))))))
			if math.IsNaN(q) {
				q = -127
			}
			e := int64(q) - int64(m.Anchors[k*m.Cols+j])
			d += e * e
		}
		t := min(100, float64(float32(float64(float32(d))*float64(scale))))
		r := t - math.Floor(t)
		p := float64(float32(0.0067778736276791875))
		for _, c := range []float32{-0.0531276789940586, 0.23940567669770346, -0.6930558713313241, 1} {
			p = float64(float32(float64(float32(p*r)) + float64(c)))
		}
		y = append(y, float32(math.Ldexp(p, -int(t))))
	}
	return y
}

// TestByteGaussianIsNearTheGaussian compares it with the Gaussian that it rounds.
func TestByteGaussianIsNearTheGaussian(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 8))
	a, x := randomMatrix(rng, 40, 320), randomMatrix(rng, 30, 320)
	bytes := NewByteGaussian(a, 640, ByteStep(a, 640))
	if err := bytes.Check(); err != nil {
		t.Fatal(err)
	}
	got, err := Transform(context.Background(), 1, x, bytes)
	if err != nil {
		t.Fatal(err)
	}
	want, err := Transform(context.Background(), 1, x, &Gaussian{Anchors: a, Width: 640})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range got.Data {
		if math.Abs(float64(v/want.Data[i]-1)) > 0.01 {
			t.Fatalf("value %d is %g, want about %g", i, v, want.Data[i])
		}
	}
}

// TestByteStep: a single wide column must not be cut off, and a single far row must not blur all others.
func TestByteStep(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 8))
	x := randomMatrix(rng, 2000, 100)
	if s := ByteStep(x, 100); s < 2.5/127 || s > 5.5/127 {
		t.Errorf("a step of %g/127 for deviations of 1", s*127)
	}
	x.Data[77] = 60
	if s := ByteStep(x, 100); s > 25.0/127 { // where its Gaussians are nothing
		t.Errorf("a step of %g/127 because of one value", s*127)
	}
	for i := range x.Rows {
		x.Row(i)[3] *= 20
	}
	if s := ByteStep(x, 1000); s < 40.0/127 {
		t.Errorf("a step of %g/127, and one column reaches 70", s*127)
	}
	for name, v := range map[string]float32{"zero": 0, "tiny": math.SmallestNonzeroFloat32, "huge": math.MaxFloat32, "one": 1} {
		x := vectors.Matrix{Rows: 2, Cols: 3, Data: []float32{v, v, v, -v, -v, v}}
		if s := ByteStep(x, 1); !(s >= leastStep && s <= math.MaxFloat32/maxByte) {
			t.Errorf("%s: a step of %g", name, s)
		}
	}
	if s := ByteStep(vectors.Matrix{Cols: 3}, 1); s != 1 {
		t.Errorf("a step of %g for no rows", s)
	}
}

// TestOlderProgramsRefuseBytes: such files have version 7, and others the version they had.
func TestOlderProgramsRefuseBytes(t *testing.T) {
	for _, name := range []string{"mapped-bytes", "mapped-extension-by-bytes"} {
		b := bytesOf(t, samples()[name])
		if _, err := fileio.NewReader(bytes.NewReader(b), fileio.Model, 6); !errors.Is(err, hamming.ErrVersion) {
			t.Errorf("%s read as version 6: %v", name, err)
		}
	}
	for name, want := range map[string]uint32{"mapped-affine": 3, "mapped-kernel": 3, "mapped-extension": 5} {
		if v := versionOf(samples()[name]); v != want {
			t.Errorf("%s has version %d", name, v)
		}
	}
}

// allTilings are the kernels of this machine, and plain Go.
func allTilings() map[string]*byteTiling {
	all := map[string]*byteTiling{"go": nil}
	for _, t := range byteTilings() {
		all[t.name] = t
	}
	return all
}

// extremeBytes are rows of which some hold only the greatest and least values, and some what is no number.
func extremeBytes(rng *rand.Rand, rows, cols int) vectors.Matrix {
	x := hardRows(rng, cols, rows)
	special := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 0.5, 1.5, -0.5, -2.5, 126.5, 127.5, -127.5}
	for i := range rows {
		row := x.Row(i)
		for j := range row {
			switch {
			case i%7 == 1:
				row[j] = 1e9
			case i%7 == 2:
				row[j] = -1e9
			case i%7 == 3:
				row[j] = float32(1e9 * (1 - 2*float64(j%2)))
			case i%7 == 4:
				row[j] = special[rng.IntN(len(special))]
			case i%7 == 5:
				row[j] *= 40
			}
		}
	}
	return x
}

// TestByteKernelsEqualGo compares every kernel with the definition, at all sizes that tiles and groups divide or not.
func TestByteKernelsEqualGo(t *testing.T) {
	for name, tiling := range allTilings() {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(6, 8))
			for n := range 60 {
				anchors, cols, rows := 1+rng.IntN(150), 1+rng.IntN(90), 1+rng.IntN(14)
				if n%10 == 0 {
					cols = 300 + rng.IntN(2000)
				}
				step, width := float32(1), float32(cols)*float32(math.Exp(4*rng.NormFloat64()))
				m := NewByteGaussian(extremeBytes(rng, anchors, cols), width, step)
				if err := m.Check(); err != nil {
					t.Fatal(err)
				}
				compareBytes(t, m, tiling, extremeBytes(rng, rows, cols))
			}
		})
	}
}

// compareBytes compares a kernel with the definition, in memory whose neighbours must stay as they are.
func compareBytes(t *testing.T, m *ByteGaussian, tiling *byteTiling, x vectors.Matrix) {
	t.Helper()
	const room, mark = 70, 77
	all := slices.Repeat([]float32{mark}, x.Rows*m.Rows+2*room)
	got := vectors.Matrix{Rows: x.Rows, Cols: m.Rows, Data: all[room : len(all)-room]}
	newByteAnchors(m, tiling).gaussians(got, x)
	for i := range x.Rows {
		same(t, "row", got.Row(i), slowBytes(m, x.Row(i)))
	}
	for i := range room {
		if all[i] != mark || all[len(all)-1-i] != mark {
			t.Fatal("wrote beyond its memory")
		}
	}
}

// TestByteKernelsAtTheLimit: the greatest distance there is, of as many columns as there may be, fits into 31 bits.
func TestByteKernelsAtTheLimit(t *testing.T) {
	for name, tiling := range allTilings() {
		m := &ByteGaussian{Rows: 3, Cols: maxByteCols, Step: 1, Width: 1e8, Anchors: make([]int8, 3*maxByteCols)}
		x := vectors.Matrix{Rows: 3, Cols: maxByteCols, Data: make([]float32, 3*maxByteCols)}
		for j := range maxByteCols {
			m.Anchors[j], m.Anchors[maxByteCols+j] = 127, -127
			x.Data[j], x.Data[maxByteCols+j] = 127, -127
		}
		if compareBytes(t, m, tiling, x); t.Failed() {
			t.Fatal(name)
		}
	}
}
