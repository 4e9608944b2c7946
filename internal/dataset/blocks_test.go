package dataset

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/message"
)

// TestBlocksEqualRows: reading by blocks on several cores gives what reading row by row gives, bad rows included, in
// either order of the values, with axes behind the first.
func TestBlocksEqualRows(t *testing.T) {
	const rows, h, w = 301, 20, 15
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
		values := make([]float64, rows*h*w)
		for i := range values {
			values[i] = float64(rng.IntN(256))
		}
		for k, v := range c.bad {
			values[rows/2*k*h*w+rng.IntN(h*w)] = v
		}
		var data, fortran []byte
		for i := range values {
			data = c.put(data, values[i])
			fortran = c.put(fortran, values[(i%rows*h+i/rows%h)*w+i/rows/h])
		}
		var want []string
		for k, block := range []int{1, 40_000, blockBytes, 1, 40_000, fortranBytes} {
			content := data
			if k > 2 {
				content = fortran
			}
			path := fileOf(t, t.TempDir(), "x.npy", npyOf(c.descr, k > 2, fmt.Sprintf("%d, %d, %d", rows, h, w), string(content)))
			r, _, err := openFile(path, &Spec{Threads: k%3 + 1})
			if err != nil {
				t.Fatal(err)
			}
			r.(*dense).block = block
			var got []string
			var rec record
			for err = r.next(&rec); err != io.EOF; err = r.next(&rec) {
				if err != nil {
					got = append(got, strings.ReplaceAll(err.Error(), path, ""))
					continue
				}
				got = append(got, fmt.Sprint(rec.vector))
				if rec.finite && slices.ContainsFunc(rec.vector, func(v float32) bool { return v-v != 0 }) {
					t.Errorf("%s row %d is not finite", c.descr, len(got))
				}
			}
			r.Close()
			if want == nil {
				want = got
			}
			if len(got) != rows || !slices.Equal(got, want) {
				t.Errorf("%s: way %d differs", c.descr, k)
			}
		}
	}
}

// A file that loses its end while it is read gives an error, not rows.
func TestBlocksOfAFileThatShrinks(t *testing.T) {
	const rows, cols = 12_000, 1000
	path := fileOf(t, t.TempDir(), "x.npy", npyOf("|u1", false, fmt.Sprintf("%d, %d", rows, cols), string(make([]byte, rows*cols))))
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
