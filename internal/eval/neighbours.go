package eval

import (
	"context"
	"fmt"
	"math"

	"hashgrove/internal/numeric/gemm"
	"hashgrove/internal/par"
	"hashgrove/internal/vectors"
)

// Float neighbours need no labels: codes that preserve them find what a search among the vectors would find.
//
//	q' = q - c, b' = b - c                                  c: mean of the queries, so that both are short
//	|q - b|^2 > |q'|^2 - 2 q'b' + |b'|^2 - slack            q'b': float32 products of whole blocks
//	slack = (columns/2 + 8) 2^-24 (|q'| + |b'|)^2           bound on the rounding error
//
// Only items whose bound is within the distance of the farthest neighbour so far are measured exactly, in float64:
// about k + k log(base/k) per query. So the products determine the time but not one bit of the result.

// Metric is a way to compare vectors.
type Metric string

// Metrics.
const (
	Euclidean Metric = "euclidean"
	Cosine    Metric = "cosine" // the angle
	Inner     Metric = "inner"  // the inner product; not for Neighbours
)

// NeighbourCount is the number of float neighbours of each query, if the base is large enough.
const NeighbourCount = 10

// Neighbours are the base vectors nearest to each of some queries, with ties going to lower rows. Options.Neighbours
// measures how many of them a ranking finds.
type Neighbours struct {
	metric Metric
	base   int         // rows so far
	near   []neighbour // NeighbourCount for each query, nearest first

	queries lengths
	centre  []float32
	among   []itemSet // by query: the only items that count; nil means all
}

type neighbour struct {
	distance float64 // squared
	row      int32
}

// NewNeighbours starts with an empty base. The queries are kept, not copied. Cost: queries x base x columns, as matrix
// products.
func NewNeighbours(queries vectors.Matrix, metric Metric) (*Neighbours, error) {
	if metric != Euclidean && metric != Cosine {
		return nil, fmt.Errorf("the metric %q is not known: choose %s or %s", metric, Euclidean, Cosine)
	}
	if metric == Cosine {
		queries = directions(queries)
	}
	n := &Neighbours{metric: metric, near: make([]neighbour, queries.Rows*NeighbourCount), centre: queries.Mean()}
	for i := range n.near {
		n.near[i].distance = math.Inf(1)
	}
	n.queries = measured(queries, n.centre)
	return n, nil
}

// Add appends rows to the base, on the given number of threads. It is fastest with at least a few hundred rows at a
// time.
func (n *Neighbours) Add(ctx context.Context, base vectors.Matrix, threads int) error {
	if n.metric == Cosine {
		base = directions(base)
	}
	if base.Cols != n.queries.x.Cols {
		return fmt.Errorf("the queries have %d dimensions and the base has %d: they must be alike",
			n.queries.x.Cols, base.Cols)
	}
	if base.Rows > math.MaxInt32-n.base {
		return fmt.Errorf("the base has more than the %d items that can be judged: take a sample", math.MaxInt32)
	}
	const turn, blockRows, queryRows = 4096, 1024, 120
	for lo := 0; lo < base.Rows; lo += turn {
		rows := base.Slice(lo, min(lo+turn, base.Rows))
		blocks := make([]block, (rows.Rows+blockRows-1)/blockRows)
		err := par.Blocks(ctx, threads, rows.Rows, blockRows, func(b, from, to int) {
			blocks[b] = newBlock(rows.Slice(from, to), n.base+lo+from, n.centre)
		})
		if err == nil {
			err = par.Blocks(ctx, threads, n.queries.x.Rows, queryRows, func(_, from, to int) {
				product := make([]float32, (to-from)*blockRows)
				for _, b := range blocks {
					n.addBlock(from, to, b, product)
				}
			})
		}
		if err != nil {
			return fmt.Errorf("finding neighbours was stopped: %w", err)
		}
	}
	n.base += base.Rows
	return nil
}

// lengths holds vectors, their centred copies, and the lengths of those.
type lengths struct {
	x, centred     vectors.Matrix
	length, square []float64
}

func measured(x vectors.Matrix, centre []float32) lengths {
	l := lengths{x: x, centred: vectors.Matrix{Rows: x.Rows, Cols: x.Cols, Data: make([]float32, len(x.Data))}}
	l.length, l.square = make([]float64, x.Rows), make([]float64, x.Rows)
	for i := range x.Rows {
		row, sum := l.centred.Row(i), 0.0
		for j, v := range x.Row(i) {
			row[j] = v - centre[j]
			sum += float64(float64(row[j]) * float64(row[j]))
		}
		l.length[i], l.square[i] = math.Sqrt(sum), sum
	}
	return l
}

// block is a block of base rows laid out for matrix products.
type block struct {
	lengths
	first int // row of the first
	right *gemm.Right
}

func newBlock(x vectors.Matrix, first int, centre []float32) block {
	b := block{measured(x, centre), first, nil}
	b.right = gemm.PackRight(gemm.RowMajor(x.Rows, x.Cols, b.centred.Data).T())
	b.centred = vectors.Matrix{}
	return b
}

// addBlock searches a block for neighbours of queries from to to. product is scratch space for queries x rows.
func (n *Neighbours) addBlock(from, to int, b block, product []float32) {
	rows, cols := b.x.Rows, b.x.Cols
	queries := gemm.RowMajor(to-from, cols, n.queries.centred.Slice(from, to).Data)
	gemm.MulHere(gemm.RowMajor(to-from, rows, product), queries, b.right)
	slack := float64(cols/2+8) * 0x1p-24
	vanished := float64(float64(cols) * 0x1p-147) // products too small for float32
	for q := from; q < to; q++ {
		var only itemSet
		if n.among != nil {
			only = n.among[q]
		}
		near := n.near[q*NeighbourCount:][:NeighbourCount]
		last := &near[NeighbourCount-1]
		square, length := n.queries.square[q]-vanished, n.queries.length[q]
		for i, p := range product[(q-from)*rows:][:rows] {
			sum := length + b.length[i]
			bound := square + b.square[i] - float64(2*float64(p)) - float64(slack*(sum*sum))
			if bound > last.distance && bound <= math.MaxFloat64 || only.lacks(b.first+i) {
				continue // but products that overflowed say nothing
			}
			found := neighbour{squaredDistance(n.queries.x.Row(q), b.x.Row(i)), int32(b.first + i)}
			// Rows come in order, so a tie keeps the earlier row.
			if !(found.distance < last.distance) {
				continue
			}
			at := NeighbourCount - 1
			for ; at > 0 && found.distance < near[at-1].distance; at-- {
				near[at] = near[at-1]
			}
			near[at] = found
		}
	}
}

// squaredDistance sums squares in float64, in column order.
func squaredDistance(a, b []float32) float64 {
	sum := 0.0
	for j, v := range a {
		d := float64(v) - float64(b[j])
		sum += float64(d * d)
	}
	return sum
}

// Queries returns the number of queries.
func (n *Neighbours) Queries() int { return n.queries.x.Rows }

// Base returns the number of rows added.
func (n *Neighbours) Base() int { return n.base }

// Rows returns the rows of the neighbours of query q, nearest first: NeighbourCount of them, or the whole base if
// smaller, or all that count.
func (n *Neighbours) Rows(q int) []int {
	rows := make([]int, 0, NeighbourCount)
	for _, near := range n.near[q*NeighbourCount:][:NeighbourCount] {
		if !math.IsInf(near.distance, 1) {
			rows = append(rows, int(near.row))
		}
	}
	return rows
}

// recall returns the share of query q's neighbours among the first 10 and the first 100 items of a ranking, expected
// over the orders of ties. mark is scratch space for the base, zero before and after.
func (n *Neighbours) recall(q int, r ranker, mark []uint8) (first10, first100 float64) {
	rows := n.Rows(q)
	for _, i := range rows {
		mark[i] = Relevant
	}
	l := r.rank(q, mark)
	for _, i := range rows {
		mark[i] = Irrelevant
	}
	share := func(k int) float64 { return min(1, l.precisionAt(k)*float64(k)/float64(len(rows))) }
	return share(10), share(100)
}
