package dataset

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"hashgrove/internal/message"
	"hashgrove/internal/vectors"
)

// TestHalfIsTheNearest checks toHalf against a search among all float16.
func TestHalfIsTheNearest(t *testing.T) {
	value := func(h uint16) float64 { return float64(Half(h)) }
	rng := rand.New(rand.NewPCG(1, 1))
	check := func(x float32) {
		got := toHalf(x)
		for _, other := range []uint16{got - 1, got + 1} {
			if got&0x7fff == 0 && other&0x8000 != got&0x8000 || other&0x7fff > 0x7c00 {
				continue
			}
			near, far := math.Abs(value(got)-float64(x)), math.Abs(value(other)-float64(x))
			if other&0x7fff == 0x7c00 {
				far = 65536 - math.Abs(float64(x)) // where infinity would be a number
			}
			if got&0x7fff == 0x7c00 {
				near = math.Abs(65536 - math.Abs(float64(x)))
				if math.Abs(float64(x)) >= 65536 {
					continue
				}
			}
			if far < near || far == near && got&1 == 1 {
				t.Fatalf("toHalf(%v) = %#x (%v), but %#x (%v) is nearer", x, got, value(got), other, value(other))
			}
		}
	}
	for h := range uint16(0x7c00) {
		x := Half(h)
		if toHalf(x) != h {
			t.Fatalf("%v does not come back: %#x, %#x", x, h, toHalf(x))
		}
		check(math.Nextafter32(x, 1e9))
		check((x + Half(h+1)) / 2)
	}
	for range 100_000 {
		check(math.Float32frombits(rng.Uint32() & 0x47ffffff))
	}
}

func TestNpyWriterRoundTrip(t *testing.T) {
	m := vectors.Matrix{Rows: 300, Cols: 7, Data: make([]float32, 2100)}
	rng := rand.New(rand.NewPCG(2, 2))
	for i := range m.Data {
		m.Data[i] = float32(rng.IntN(256)) // exact in all types
	}
	for _, kind := range []NpyType{Float32, Float16, Uint8} {
		path := filepath.Join(t.TempDir(), "out.npy")
		w, err := createNpy(path, kind, 7)
		if err != nil {
			t.Fatal(err)
		}
		for lo := 0; lo < 300; lo += 100 {
			if err := w.Write(m.Slice(lo, lo+100)); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(w.finish(), w.file.Commit()); err != nil {
			t.Fatal(err)
		}
		set, err := Open(Spec{Paths: []string{path}})
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for c, err := range set.Chunks(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			for i := range c.X.Rows {
				for j, v := range c.X.Row(i) {
					if want := m.Row(rows + i)[j]; v != want {
						t.Fatalf("%s: row %d column %d is %v, want %v", kind, rows+i, j, v, want)
					}
				}
			}
			rows += c.X.Rows
		}
		if rows != 300 {
			t.Errorf("%s: %d rows", kind, rows)
		}
	}
	if _, err := createNpy(filepath.Join(t.TempDir(), "x.npy"), "int7", 7); err == nil {
		t.Error("an unknown type was taken")
	}
	for kind, v := range map[NpyType]float32{Float16: 1e6, Uint8: 0.5} {
		w, err := createNpy(filepath.Join(t.TempDir(), "x.npy"), kind, 1)
		if err != nil {
			t.Fatal(err)
		}
		err = w.Write(vectors.Matrix{Rows: 1, Cols: 1, Data: []float32{v}})
		if !message.Is(err, "out-of-range") {
			t.Errorf("%v as %s: %v", v, kind, err)
		}
		w.Abort()
	}
}
