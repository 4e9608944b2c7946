package model

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"hashgrove/internal/vectors"
)

// least runs f on one block of rows after the other, as often as the benchmark wants, and reports the least time of a
// run, per row: what the machine can do when nobody else uses it.
func least(b *testing.B, x vectors.Matrix, rows int, f func(x vectors.Matrix)) {
	best := time.Duration(1 << 62)
	for lo := 0; b.Loop(); lo = (lo + block) % x.Rows {
		start := time.Now()
		f(x.Slice(lo, lo+rows))
		best = min(best, time.Since(start))
	}
	b.ReportMetric(float64(best.Nanoseconds())/1000/float64(rows), "least-us/row")
}

// BenchmarkEncode is the model of the paper, 64 bits x 200 trees x depth 4, on vectors of the size of MNIST and of the
// paper's features, and one of logistic boosting, 400 trees whose leaves have two bits. The splits are random: over all
// columns, which is the worst case for the cache, or over 50.
func BenchmarkEncode(b *testing.B) {
	const bits, rows = 64, 1024
	for _, c := range []struct{ dim, used, trees, digits int }{
		{784, 784, 200, 1}, {784, 50, 200, 1}, {11200, 11200, 200, 1}, {11200, 50, 200, 1}, {320, 320, 400, 2},
	} {
		rng := rand.New(rand.NewPCG(1, 2))
		q := vectors.Quantizer{Lo: make([]float32, c.dim), Hi: make([]float32, c.dim)}
		for j := range c.dim {
			q.Lo[j], q.Hi[j] = -0.001, 1.001
		}
		e := &Binned{Quantizer: q}
		for range bits {
			f := digitEnsemble(rng, c.used, 4, c.trees, c.digits)
			for i := range f.Feature { // those in use are spread evenly
				f.Feature[i] *= uint32(c.dim / c.used)
			}
			e.Functions = append(e.Functions, f)
		}
		x := vectors.Matrix{Rows: rows, Cols: c.dim, Data: make([]float32, rows*c.dim)}
		for i := range x.Data {
			x.Data[i] = rng.Float32()
		}
		m := &Model{Encoder: e}
		name := fmt.Sprintf("trees/dim=%d/used=%d/trees=%d/digits=%d/", c.dim, c.used, c.trees, c.digits)
		one := func(x vectors.Matrix) { _, _ = m.EncodeRow(x.Data) }
		all := func(x vectors.Matrix) { _, _ = m.Encode(context.Background(), x, 1) }
		all(x) // makes it ready
		s := e.plan.scratch.New().(*scratch)
		var code [64]set
		b.Run(name+"batch", func(b *testing.B) { least(b, x, block, all) })
		b.Run(name+"check", func(b *testing.B) { least(b, x, block, func(x vectors.Matrix) { notFinite(x.Data) }) })
		b.Run(name+"planes", func(b *testing.B) { least(b, x, block, func(x vectors.Matrix) { e.layout.planes(s.planes, x) }) })
		b.Run(name+"evaluate", func(b *testing.B) { least(b, x, block, func(vectors.Matrix) { e.plan.encode(0, s, &code) }) })
		b.Run(name+"row", func(b *testing.B) { least(b, x, 1, one) })
	}
}
