// Self-taught hashing, supervised (Zhang, Wang, Cai, Lu: Self-Taught Hashing for Fast Similarity Search, SIGIR 2010;
// "STHs").
//
//	W       links of every row with its k nearest ones, by the cosine, of the same class
//	v       the r vectors of least λ in (D - W) v = λ D v                                 but for the one of equal values
//	z       +1 where v is above its median, else -1                                          balanced bits
//	bit     a linear support vector machine that learns z                                    package svm
//
// Rows of different classes are never linked, so the first vectors are mixtures of the classes, drawn at random by the
// first vectors of the iteration: they separate whole classes, since equal values go to the same side of the median.
// All later bits only separate rows within a class, so the method is weak with few classes.
//
// With Kernel the support vector machines see Gaussian features (gaussianKernel) instead of the vectors.
//
//	graph        n²d / classes; n²d with tags
//	vectors      some hundred products with W, n k r each, and n r² for each restart
//	machines     some dozens of passes over the n x d bytes, for each bit

package method

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/fasthash/svm"
	"hashgrove/internal/model"
	"hashgrove/internal/numeric/gemm"
	"hashgrove/internal/numeric/linalg"
	"hashgrove/internal/par"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// sth learns self-taught codes from classes, tags or pairs. It keeps its training rows in memory, twice in single
// precision while it looks for neighbours, and then as bytes.
type sth struct {
	// Rows is the largest number of training rows, drawn at random: 0 means 5000, negative all. Anchors of the Gaussian
	// features: 0 means 1000.
	Options

	Kernel     bool // machines of Gaussian features, not of the vectors
	Neighbours int  // k; 0 means 25
}

func (m sth) learn(ctx context.Context, src *supervision.Data) (model.Encoder, error) {
	m.Neighbours = cmp.Or(m.Neighbours, 25)
	m.Rows = cmp.Or(m.Rows, 5000)
	if err := checkSize(m.Bits, src.Dim()); err != nil {
		return nil, err
	}
	l, err := drawLabelled(src, m.Rows, m.Seed)
	if err != nil {
		return nil, err
	}
	if l.Rows <= m.Bits {
		return nil, &BitsError{m.Bits, l.Rows - 1,
			fmt.Sprintf("self-taught codes have fewer bits than rows, and there are %d rows", l.Rows)}
	}
	z, err := m.bits(ctx, l)
	if err != nil {
		return nil, err
	}
	var maps []model.Map
	seen := l.Data
	if m.Kernel {
		m.Anchors = cmp.Or(m.Anchors, 1000)
		kernel, err := gaussianKernel(ctx, l.Source, l.Rows, 0, m.Options)
		if err != nil {
			return nil, err
		}
		maps, seen = append(maps, kernel), l.With(model.Through(l.Source, m.Threads, kernel))
	}
	q, err := seen.QuantizerBy(ctx, vectors.Clipped) // as machines want it
	if err != nil {
		return nil, err
	}
	columns, err := vectors.Quantize(ctx, seen, l.Rows, q, m.Threads)
	if err != nil {
		return nil, err
	}
	// The tolerance is that of liblinear's -s 1. A finer one takes three times as long on wide vectors and changes few
	// codes.
	machine, err := svm.New(columns, svm.Options{C: 1, Tolerance: 0.1}, m.Threads)
	if err != nil {
		return nil, err
	}
	e := &model.Binned{Quantizer: q}
	for b := range m.Bits {
		f, err := machine.Fit(ctx, z[b])
		if err != nil {
			return nil, fmt.Errorf("bit %d: %w", b+1, err)
		}
		e.Functions = append(e.Functions, f)
	}
	return model.Compose(e, maps...), nil
}

// bits returns z, a row per bit.
func (m sth) bits(ctx context.Context, l *labelled) ([][]int8, error) {
	x, err := readRows(ctx, l.Source, l.Rows)
	if err != nil {
		return nil, err
	}
	for i := range x.Rows {
		scaleToUnit(x.Row(i))
	}
	g, err := similarNeighbours(ctx, x, l.Y, m.Neighbours, m.Threads)
	if err != nil {
		return nil, err
	}
	v, _, err := g.smoothestVectors(ctx, m.Bits, m.Seed, m.Threads)
	if err != nil {
		return nil, err
	}
	z := make([][]int8, m.Bits)
	for b := range z {
		z[b] = aboveMedian(v.RawRowView(b))
	}
	return z, nil
}

// aboveMedian returns +1 where v is above its median and -1 elsewhere. Values that differ only by rounding count as
// equal, and go to the side that balances the two better.
func aboveMedian(v []float64) []int8 {
	sorted := slices.Clone(v)
	slices.Sort(sorted)
	median := sorted[len(v)/2]
	top := max(math.Abs(sorted[0]), math.Abs(sorted[len(v)-1]))
	above, equal := 0, 0
	for _, x := range v {
		switch off := x - median; {
		case off > 1e-5*top:
			above++
		case off >= -1e-5*top:
			equal++
		}
	}
	limit := median + float64(1e-5*top)
	if rows := len(v); abs(2*(above+equal)-rows) < abs(2*above-rows) {
		limit = math.Nextafter(median-float64(1e-5*top), math.Inf(-1))
	}
	z := make([]int8, len(v))
	for i, x := range v {
		z[i] = -1
		if x > limit {
			z[i] = 1
		}
	}
	return z
}

func abs(n int) int { return max(n, -n) }

// graph is a sparse symmetric matrix of weights: row i has weight[p] at to[p] for p from start[i] to start[i+1].
type graph struct {
	start  []int
	to     []int32
	weight []float32
}

// leastWeight replaces smaller weights and the degree of a row without neighbours, so that no degree is zero.
const leastWeight = 0.01

// similarNeighbours links every row with the k rows most like it, by cosine, among those similar to it, in both
// directions. The rows must have length 1. Ties go to the first rows.
//
//	classes   the products of all rows of each class             n²d / classes
//	tags      the products of all rows, those not similar unused  n²d
//	pairs     the products of the pairs
func similarNeighbours(ctx context.Context, x vectors.Matrix, y affinity.Matrix, k, threads int) (*graph, error) {
	near := make([][]link, x.Rows)
	var err error
	switch y := y.(type) {
	case *affinity.Classes:
		for u := range int32(y.Units()) {
			rows := y.Rows(u)
			err = eachProduct(ctx, x, rows, threads, func(lo, hi int, cosine []float32) {
				for i := lo; i < hi; i++ {
					near[rows[i]] = nearestLinks(int(rows[i]), k, rows, cosine[(i-lo)*len(rows):])
				}
			})
			if err != nil {
				break
			}
		}
	case *affinity.Tags:
		rows := make([]int32, x.Rows)
		for i := range rows {
			rows[i] = int32(i)
		}
		err = eachProduct(ctx, x, rows, threads, func(lo, hi int, cosine []float32) {
			similarUnits := y.SimilarUnits()
			var similar []int32
			var theirs []float32
			for i := lo; i < hi; i++ {
				similar, theirs = similar[:0], theirs[:0]
				for _, u := range similarUnits(y.RowUnits()[i]) {
					similar = append(similar, y.Rows(u)...)
				}
				slices.Sort(similar)
				for _, j := range similar {
					theirs = append(theirs, cosine[(i-lo)*x.Rows+int(j)])
				}
				near[i] = nearestLinks(i, k, similar, theirs)
			}
		})
	case *affinity.Pairs:
		err = par.For(ctx, threads, x.Rows, func(i int) {
			var theirs []float32
			for _, j := range y.Similar(i) {
				theirs = append(theirs, float32(linalg.Dot32(x.Row(i), x.Row(int(j)))))
			}
			near[i] = nearestLinks(i, k, y.Similar(i), theirs)
		})
	}
	if err != nil {
		return nil, err
	}
	return newGraph(near), nil
}

// link is a neighbour and its weight.
type link struct {
	to     int32
	weight float32
}

// nearestLinks returns the k rows with the largest cosine, except the row itself.
func nearestLinks(own, k int, rows []int32, cosine []float32) []link {
	var best []link // the greatest first
	for p, j := range rows {
		w := cosine[p]
		if int(j) == own || len(best) == k && w <= best[k-1].weight {
			continue
		}
		if len(best) < k {
			best = append(best, link{})
		}
		at := len(best) - 1
		for ; at > 0 && best[at-1].weight < w; at-- {
			best[at] = best[at-1]
		}
		best[at] = link{j, w}
	}
	for p := range best {
		best[p].weight = max(best[p].weight, leastWeight)
	}
	return best
}

// eachProduct calls use for one block of rows after another, with their products with all rows.
func eachProduct(ctx context.Context, x vectors.Matrix, rows []int32, threads int,
	use func(lo, hi int, product []float32)) error {
	const block = 48
	all := vectors.Matrix{Rows: len(rows), Cols: x.Cols, Data: make([]float32, 0, len(rows)*x.Cols)}
	for _, i := range rows {
		all.Data = append(all.Data, x.Row(int(i))...)
	}
	right := gemm.PackRight(linalg.MatrixView(all).T())
	return par.Blocks(ctx, threads, len(rows), block, func(_, lo, hi int) {
		out := make([]float32, (hi-lo)*len(rows))
		gemm.MulHere(gemm.RowMajor(hi-lo, len(rows), out), linalg.MatrixView(all.Slice(lo, hi)),
			right)
		use(lo, hi, out)
	})
}

// newGraph makes the links symmetric.
func newGraph(near [][]link) *graph {
	all := make([][]link, len(near))
	for i, list := range near {
		for _, l := range list {
			all[i] = append(all[i], l)
			all[l.to] = append(all[l.to], link{int32(i), l.weight})
		}
	}
	g := &graph{start: make([]int, 1, len(near)+1)}
	for _, list := range all {
		slices.SortFunc(list, func(a, b link) int { return cmp.Or(cmp.Compare(a.to, b.to), cmp.Compare(b.weight, a.weight)) })
		for p, l := range list {
			if p == 0 || l.to != list[p-1].to {
				g.to, g.weight = append(g.to, l.to), append(g.weight, l.weight)
			}
		}
		g.start = append(g.start, len(g.to))
	}
	return g
}

// degrees returns the sum of the weights of every row.
func (g *graph) degrees() []float64 {
	sum := make([]float64, len(g.start)-1)
	for i := range sum {
		for _, w := range g.weight[g.start[i]:g.start[i+1]] {
			sum[i] += float64(w)
		}
		if sum[i] == 0 {
			sum[i] = leastWeight
		}
	}
	return sum
}

// smoothestVectors returns the k vectors v, one per row, with the smallest λ in (D - W) v = λ D v, where D are the
// degrees, and λ in ascending order, except for the constant vector, which always has λ = 0.
//
// With u = D^1/2 v this is D^-1/2 W D^-1/2 u = (1 - λ) u. Removing the known u = D^1/2 1 from that matrix leaves the
// others unchanged.
func (g *graph) smoothestVectors(ctx context.Context, k int, seed uint64, threads int) (*mat.Dense, []float64, error) {
	degree := g.degrees()
	n := len(degree)
	root, known := make([]float64, n), make([]float64, n)
	total := 0.0
	for i, d := range degree {
		root[i] = math.Sqrt(d)
		total += d
	}
	for i, r := range root {
		known[i] = r / math.Sqrt(total)
	}
	a := make([]float64, len(g.weight))
	for i := range n {
		for p := g.start[i]; p < g.start[i+1]; p++ {
			a[p] = float64(g.weight[p]) / (root[i] * root[g.to[p]])
		}
	}
	times := func(ctx context.Context, dst, v *mat.Dense) error {
		rows, _ := v.Dims()
		return par.For(ctx, threads, rows, func(r int) {
			from, to := v.RawRowView(r), dst.RawRowView(r)
			c := linalg.Dot(from, known)
			for i := range to {
				// Adding the identity makes no eigenvalue negative, and the known one 0, the smallest.
				sum := from[i] - float64(2*c*known[i])
				for p := g.start[i]; p < g.start[i+1]; p++ {
					sum += float64(a[p] * from[g.to[p]])
				}
				to[i] = sum
			}
		})
	}
	e, err := linalg.TopEigenvectors(ctx, n, k, times, linalg.TopOptions{Tolerance: 1e-6, Seed: seed, Threads: threads})
	if err != nil {
		return nil, nil, err
	}
	lambda := make([]float64, k)
	for i := range k {
		lambda[i] = 2 - e.Values[i]
		row := e.Vectors.RawRowView(i)
		for j := range row {
			row[j] /= root[j]
		}
	}
	return e.Vectors, lambda, nil
}
