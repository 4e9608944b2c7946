// Rows of a source in memory: all of them or a random sample, unchanged or through a map.

package method

import (
	"context"
	"fmt"
	"math/rand/v2"

	"hashgrove/internal/hamming"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/numeric/linalg"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// maxValues limits the values that a method keeps in memory: 4 GB of float32.
const maxValues = 1 << 30

// readRows reads a source of the given number of rows into memory.
func readRows(ctx context.Context, x vectors.Source, rows int) (vectors.Matrix, error) {
	if int64(rows)*int64(x.Dim()) > maxValues {
		return vectors.Matrix{}, fmt.Errorf("%d rows of %d values do not fit into memory: learn from fewer rows", rows,
			x.Dim())
	}
	m := vectors.Matrix{Cols: x.Dim(), Data: make([]float32, 0, rows*x.Dim())}
	for c, err := range x.Chunks(ctx) {
		if err != nil {
			return vectors.Matrix{}, err
		}
		if m.Rows += c.X.Rows; m.Rows > rows {
			break
		}
		m.Data = append(m.Data, c.X.Data...)
	}
	return m, vectors.CheckRows(m.Rows, rows)
}

// drawDistinct returns want different numbers below n, or all if there are no more, in the order drawn.
func drawDistinct(n, want int, rng *rand.Rand) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	want = min(want, n)
	for i := range want { // the first steps of a shuffle
		j := i + rng.IntN(n-i)
		list[i], list[j] = list[j], list[i]
	}
	return list[:want]
}

// sampleRows reads a random sample of want rows, in order, or all if there are no more. It reads the source once to
// count rows and once for the rows.
func sampleRows(ctx context.Context, x vectors.Source, want int, seed uint64) (vectors.Matrix, error) {
	n, err := countRows(ctx, x)
	if err != nil {
		return vectors.Matrix{}, err
	}
	if n == 0 {
		return vectors.Matrix{}, message.New("no-rows", "there are no rows to learn from")
	}
	return drawRows(ctx, x, n, want, rand.New(rand.NewPCG(seed, 'S')))
}

// drawRows reads a random sample of want rows, in order, from a source of the given number of rows, or all if there
// are no more.
func drawRows(ctx context.Context, x vectors.Source, rows, want int, rng *rand.Rand) (vectors.Matrix, error) {
	keep := make([]bool, rows)
	for _, i := range drawDistinct(rows, want, rng) {
		keep[i] = true
	}
	return readRows(ctx, vectors.Select(x, keep), min(want, rows))
}

// countRows reads a source to count its rows.
func countRows(ctx context.Context, x vectors.Source) (int, error) {
	switch m := x.(type) {
	case vectors.Matrix:
		return m.Rows, nil
	case vectors.Table:
		return m.X.Rows, nil
	case *supervision.Data:
		return m.Rows, nil
	}
	n := 0
	for c, err := range x.Chunks(ctx) {
		if err != nil {
			return 0, err
		}
		n += c.X.Rows
	}
	return n, nil
}

// readThrough reads a source of the given number of rows through a map.
func readThrough(ctx context.Context, x vectors.Source, rows, threads int, m model.Map) (vectors.Matrix, error) {
	if rows > maxValues/m.Out() {
		return vectors.Matrix{}, fmt.Errorf("%d features of %d rows do not fit into memory: learn from fewer rows or "+
			"with fewer anchors", m.Out(), rows)
	}
	out := vectors.Matrix{Cols: m.Out(), Data: make([]float32, 0, rows*m.Out())}
	err := eachThrough(ctx, x, threads, m, func(y vectors.Matrix) {
		out.Rows, out.Data = out.Rows+y.Rows, append(out.Data, y.Data...)
	})
	if err != nil {
		return out, err
	}
	return out, vectors.CheckRows(out.Rows, rows)
}

// eachThrough passes the rows of a source through a map, many at a time: chunks of wide vectors have too few rows
// for all cores.
func eachThrough(ctx context.Context, x vectors.Source, threads int, m model.Map,
	f func(y vectors.Matrix)) error {
	for b, err := range linalg.Blocks(ctx, x, 1024) {
		if err != nil {
			return err
		}
		y, err := model.Transform(ctx, threads, b.X, m)
		if err != nil {
			return err
		}
		f(y)
	}
	return nil
}

// maxWeights limits the weights of a projection: 1 GB of float32.
const maxWeights = 1 << 28

// checkSize rejects a projection that is too large.
func checkSize(bits, dim int) error {
	if bits < 1 || bits > hamming.MaxBits {
		return message.New("bits-out-of-range", "codes of %d bits are outside of 1 to %d", bits, hamming.MaxBits)
	}
	if dim < 1 || dim > maxWeights/bits {
		return message.New("weights-out-of-range", "%d bits of vectors with %d dimensions: a projection has 1 to %d weights",
			bits, dim, maxWeights)
	}
	return nil
}

// axisSigns returns the encoder of one bit per value, [x_k >= threshold_k].
func axisSigns(bits int, threshold []float32) *model.Projection {
	p := &model.Projection{Weight: make([]float32, bits*bits), Threshold: threshold}
	for k := range bits {
		p.Weight[k*bits+k] = 1
	}
	return p
}

// checked validates an encoder: values near the limits of float32 can lead to weights that are not finite.
func checked(e model.Encoder) (model.Encoder, error) {
	if err := e.Check(); err != nil {
		return nil, fmt.Errorf("no model came of these vectors, are their values very large? %w", err)
	}
	return e, nil
}

// drawNormal draws a number of mean 0 and variance 1 that is normal enough for hyperplanes: the sum of twelve uniform
// numbers minus 6, of kurtosis 2.9 and never beyond 6. The usual exact methods need a logarithm, whose last digit
// differs between machines; this is integer arithmetic and one rounding.
func drawNormal(rng *rand.Rand) float32 {
	sum := int64(-6 << 32)
	for range 12 {
		sum += int64(rng.Uint32())
	}
	return float32(float64(sum) / (1 << 32))
}
