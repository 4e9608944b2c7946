package dataset

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"hashgrove/internal/message"
)

// writeRaw writes a npy file of raw values.
func writeRaw(t *testing.T, descr string, rows, cols int, data []byte) string {
	return fileOf(t, t.TempDir(), "x.npy", npyOf(descr, false, fmt.Sprintf("%d, %d", rows, cols), string(data)))
}

// Reading by blocks gives what reading row by row gives, bad rows included.
func TestBlocksEqualRows(t *testing.T) {
	const rows, cols = 1201, 1000 // four blocks and more, the last one short
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		descr string
		put   func(b []byte, v float64) []byte
		bad   []float64
	}{
		{"|u1", func(b []byte, v float64) []byte { return append(b, byte(v)) }, nil},
		{"<f4", func(b []byte, v float64) []byte {
			return binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
		}, []float64{math.NaN(), math.Inf(-1)}},
		{"<f8", func(b []byte, v float64) []byte { return binary.LittleEndian.AppendUint64(b, math.Float64bits(v)) },
			[]float64{math.NaN(), math.Inf(1), 1e300}},
	} {
		var data []byte
		var wrong []int
		for i := range rows {
			at := -1
			if c.bad != nil && (i == 0 || i == 777 || i == rows-1) {
				at = rng.IntN(cols)
				wrong = append(wrong, i)
			}
			for j := range cols {
				v := float64(rng.IntN(256))
				if j == at {
					v = c.bad[i%len(c.bad)]
				}
				data = c.put(data, v)
			}
		}
		path := writeRaw(t, c.descr, rows, cols, data)
		open := func(threads, block int) *dense {
			r, _, err := openFile(path, &Spec{Threads: threads})
			if err != nil {
				t.Fatal(err)
			}
			d := r.(*dense)
			d.block = block
			return d
		}
		slow, fast := open(1, 1), open(3, 300*cols)
		var a, b record
		for i := range rows + 1 {
			errA, errB := slow.next(&a), fast.next(&b)
			if fmt.Sprint(errA) != fmt.Sprint(errB) {
				t.Fatalf("%s row %d: %v and %v", c.descr, i, errA, errB)
			}
			if errA != nil {
				continue
			}
			if same := func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) }; !slices.EqualFunc(a.vector, b.vector, same) {
				t.Fatalf("%s row %d differs", c.descr, i)
			}
			if bad := slices.ContainsFunc(b.vector, func(v float32) bool { return v-v != 0 }); bad && b.finite {
				t.Fatalf("%s row %d is not finite", c.descr, i)
			}
		}
		slow.Close()
		fast.Close()
		set, err := Open(Spec{Paths: []string{path}, SkipBad: true})
		if err != nil {
			t.Fatal(err)
		}
		kept := 0
		for chunk, err := range set.Chunks(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			kept += chunk.X.Rows
		}
		if kept != rows-len(wrong) {
			t.Errorf("%s: %d rows kept, %d are good", c.descr, kept, rows-len(wrong))
		}
	}
}

// A file that loses its end while it is read gives an error, not rows.
func TestBlocksOfAFileThatShrinks(t *testing.T) {
	const rows, cols = 12_000, 1000
	path := writeRaw(t, "|u1", rows, cols, make([]byte, rows*cols))
	set, err := Open(Spec{Paths: []string{path}, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for chunk, err := range set.Chunks(context.Background()) {
		if err != nil {
			if !message.Is(err, "cut-off") {
				t.Errorf("error %v", err)
			}
			if seen >= rows {
				t.Errorf("%d rows were read", seen)
			}
			return
		}
		if seen == 0 {
			if err := os.Truncate(path, 500_000); err != nil {
				t.Fatal(err)
			}
		}
		seen += chunk.X.Rows
	}
	t.Errorf("no error after %d rows", seen)
}

func TestFinite(t *testing.T) {
	for _, v := range []float32{0, 1, -1, math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32} {
		if !finite([]float32{1, v, 2}) {
			t.Errorf("%v counts as not finite", v)
		}
	}
	inf := float32(math.Inf(1))
	for _, v := range []float32{inf, -inf, float32(math.NaN()), math.Float32frombits(0xffffffff), math.Float32frombits(0x7f800001)} {
		if finite([]float32{1, v, 2}) {
			t.Errorf("%v counts as finite", v)
		}
	}
}
