package model

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"hashgrove/internal/hamming"
	"hashgrove/internal/section"
	"hashgrove/internal/vectors"
)

// slowBytes is a ByteKernel as it reads: every operation in float64, where a product of two float32 is exact, and rounded
// to float32 at once.
func slowBytes(m *ByteKernel, x []float32) []float32 {
	var y []float32
	perStep := float32(1 / float64(m.Step))
	scale := float32(float64(m.Step) * float64(m.Step) * math.Log2E / float64(m.Width))
	for k := range m.Rows {
		d := int64(0)
		for j, v := range x {
			q := math.RoundToEven(max(-127, min(127, float64(float32(float64(v)*float64(perStep))))))
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

func TestGaussianIsAccurate(t *testing.T) {
	worst := 0.0
	for d := range int32(100000) {
		const scale = 0x1p-10
		want := math.Exp2(-float64(d) * scale)
		worst = max(worst, math.Abs(float64(gaussian(d, scale))/want-1))
		if d >= 99*1024 {
			break
		}
	}
	if worst > 4e-6 {
		t.Errorf("an error of %g", worst)
	}
	for d, want := range map[int32]float32{0: 1, 1: 0.5, 2: 0.25, 100: 0x1p-100, 101: 0x1p-100, math.MaxInt32: 0x1p-100} {
		if got := gaussian(d, 1); got != want {
			t.Errorf("2^-%d is %g", d, got)
		}
	}
}

// TestByteKernelIsNearTheKernel compares it with the Gaussian that it rounds.
func TestByteKernelIsNearTheKernel(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 8))
	a, x := randomMatrix(rng, 40, 320), randomMatrix(rng, 30, 320)
	bytes := NewByteKernel(a, 640, ByteStep(a))
	if err := bytes.Check(); err != nil {
		t.Fatal(err)
	}
	got, err := Transform(context.Background(), 1, x, bytes)
	if err != nil {
		t.Fatal(err)
	}
	want, err := Transform(context.Background(), 1, x, &Kernel{Anchors: a, Width: 640})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range got.Data {
		if math.Abs(float64(v/want.Data[i]-1)) > 0.01 {
			t.Fatalf("value %d is %g, want about %g", i, v, want.Data[i])
		}
	}
}

// TestByteStep: a single wide column must not be cut off, and a single far value must not decide alone.
func TestByteStep(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 8))
	x := randomMatrix(rng, 2000, 100)
	if s := ByteStep(x); s < 3.5/127 || s > 5.5/127 {
		t.Errorf("a step of 1/%g for deviations of 1", 1/s)
	}
	x.Data[77] = 60
	if s := ByteStep(x); s > 40.0/127 {
		t.Errorf("a step of 1/%g because of one value", 1/s)
	}
	for i := range x.Rows {
		x.Row(i)[3] *= 20
	}
	if s := ByteStep(x); s < 40.0/127 {
		t.Errorf("a step of 1/%g, and one column reaches 80", 1/s)
	}
	for name, v := range map[string]float32{"zero": 0, "tiny": math.SmallestNonzeroFloat32, "huge": math.MaxFloat32, "one": 1} {
		x := vectors.Matrix{Rows: 2, Cols: 3, Data: []float32{v, v, v, -v, -v, v}}
		if s := ByteStep(x); !(s >= leastStep && s <= math.MaxFloat32/maxByte) {
			t.Errorf("%s: a step of %g", name, s)
		}
	}
	if s := ByteStep(vectors.Matrix{Cols: 3}); s != 1 {
		t.Errorf("a step of %g for no rows", s)
	}
}

// TestOlderProgramsRefuseBytes: such files have version 7, and others the version they had.
func TestOlderProgramsRefuseBytes(t *testing.T) {
	for _, name := range []string{"mapped-bytes", "mapped-extension-by-bytes"} {
		b := bytesOf(t, samples()[name])
		if _, err := section.NewReader(bytes.NewReader(b), section.Model, 6); !errors.Is(err, hamming.ErrVersion) {
			t.Errorf("%s read as version 6: %v", name, err)
		}
	}
	for name, want := range map[string]uint32{"mapped-kernel": 3, "mapped-extension": 5, "boosted": 6} {
		if v := versionOf(samples()[name]); v != want {
			t.Errorf("%s has version %d", name, v)
		}
	}
}

func TestByteKernelChecks(t *testing.T) {
	good := func() *ByteKernel {
		return NewByteKernel(vectors.Matrix{Rows: 2, Cols: 2, Data: []float32{1, 2, 3, 4}}, 4, 0.1)
	}
	for name, spoil := range map[string]func(m *ByteKernel){
		"no step":          func(m *ByteKernel) { m.Step = 0 },
		"negative step":    func(m *ByteKernel) { m.Step = -1 },
		"no width":         func(m *ByteKernel) { m.Width = 0 },
		"width too small":  func(m *ByteKernel) { m.Width = 1e-37 },
		"step NaN":         func(m *ByteKernel) { m.Step = float32(math.NaN()) },
		"no rows":          func(m *ByteKernel) { m.Rows = 0 },
		"other size":       func(m *ByteKernel) { m.Rows = 3 },
		"too many columns": func(m *ByteKernel) { m.Rows, m.Cols, m.Anchors = 1, maxByteCols+1, make([]int8, maxByteCols+1) },
		"below -127":       func(m *ByteKernel) { m.Anchors[3] = -128 },
	} {
		m := good()
		if err := m.Check(); err != nil {
			t.Fatal(err)
		}
		spoil(m)
		if err := m.Check(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
