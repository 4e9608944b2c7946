package solve

import (
	"cmp"
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/numeric/gemm"
	"hashgrove/internal/numeric/linalg"
	"hashgrove/internal/par"
	"hashgrove/internal/vectors"
)

// Graph is a sparse symmetric matrix of weights: row i has weight[p] at to[p] for p from start[i] to start[i+1].
type Graph struct {
	start  []int
	to     []int32
	weight []float32
}

// leastWeight replaces smaller weights and the degree of a row without neighbours, so that no degree is zero.
const leastWeight = 0.01

// SimilarNeighbours links every row with the k rows most like it, by cosine, among those similar to it, in both
// directions. The rows must have length 1. Ties go to the first rows.
//
//	classes   the products of all rows of each class             n²d / classes
//	tags      the products of all rows, those not similar unused  n²d
//	pairs     the products of the pairs
func SimilarNeighbours(ctx context.Context, x vectors.Matrix, y affinity.Matrix, k, threads int) (*Graph, error) {
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
		// With one thread and a background context there is no error.
		_ = gemm.MulRight(context.Background(), 1, gemm.RowMajor(hi-lo, len(rows), out), linalg.MatrixView(all.Slice(lo, hi)),
			right)
		use(lo, hi, out)
	})
}

// newGraph makes the links symmetric.
func newGraph(near [][]link) *Graph {
	all := make([][]link, len(near))
	for i, list := range near {
		for _, l := range list {
			all[i] = append(all[i], l)
			all[l.to] = append(all[l.to], link{int32(i), l.weight})
		}
	}
	g := &Graph{start: make([]int, 1, len(near)+1)}
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
func (g *Graph) degrees() []float64 {
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

// SmoothestVectors returns the k vectors v, one per row, with the smallest λ in (D - W) v = λ D v, where D are the
// degrees, and λ in ascending order, except for the constant vector, which always has λ = 0.
//
// With u = D^1/2 v this is D^-1/2 W D^-1/2 u = (1 - λ) u. Removing the known u = D^1/2 1 from that matrix leaves the
// others unchanged.
func (g *Graph) SmoothestVectors(ctx context.Context, k int, seed uint64, threads int) (*mat.Dense, []float64, error) {
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
