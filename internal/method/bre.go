// Binary reconstructive embeddings, supervised (Kulis and Darrell: Learning to Hash with Binary Reconstructive
// Embeddings, NIPS 2009; "BREs").
//
//	h_b(x) = [Σ_q W_bq κ(x_bq, x) >= 0]            each bit b has s random training points x_bq of its own
//	f      = Σ over the pairs (i, j) of N of (d_ij - H_ij / r)^2 / 2
//
// with d_ij = 0 for similar and 1 for dissimilar rows and H the Hamming distance of r bits; N pairs every row with a
// random share of the others. All computations use 2 r^2 f = Σ e_ij^2, e_ij = H_ij - r d_ij, which is an integer, so no
// sum drifts.
//
//	sweep                                                    until f stands still
//		for each bit b                                       step
//			q, one of its points at random
//			row i flips once as W_bq grows by t, at          t_i = -(K W_b)_i / K_iq
//			sort the t_i                                     n log n
//			f between each two of them                       |N|: the flip of i changes the terms of its pairs only
//			W_bq to the middle of the best interval          |N|
//
// With e_ij counted without bit b, the term of a pair where bit b differs is (e + 1)^2 instead of e^2: as a function of
// bit b, f is a constant plus 2e + 1 for each such pair. The effect of a flip depends only on the order of the flips,
// so all cores can share the work.
//
// The kernel is the product of centred rows of length 1. The sum collapses to one vector, w_b = Σ_q W_bq x_bq, and the
// length of a row does not change the sign of w_b · x: what remains is a projection of the centred row.

package method

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/model"
	"hashgrove/internal/numeric/gemm"
	"hashgrove/internal/numeric/linalg"
	"hashgrove/internal/par"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// bre learns binary reconstructive embeddings from classes, tags or pairs. It keeps its training rows in memory, with 4
// bytes per row and point and 28 per pair.
type bre struct {
	Options         // Rows: to learn from, at most, drawn at random; 0 means 5000, negative all
	Points  int     // s, of each bit; 0 means 50
	Share   float64 // of the rows that each row is paired with; 0 means 0.05; of known pairs all are taken
	Sweeps  int     // at most; 0 means 100
}

// withDefaults fills in the defaults.
func (m bre) withDefaults() bre {
	m.Points, m.Share, m.Sweeps = cmp.Or(m.Points, 50), cmp.Or(m.Share, 0.05), cmp.Or(m.Sweeps, 100)
	m.Rows = cmp.Or(m.Rows, 5000)
	return m
}

func (m bre) learn(ctx context.Context, src *supervision.Data) (model.Encoder, error) {
	m = m.withDefaults()
	if err := checkSize(m.Bits, src.Dim()); err != nil {
		return nil, err
	}
	l, err := drawLabelled(src, m.Rows, m.Seed)
	if err != nil {
		return nil, err
	}
	// Points are drawn from a pool, so that kernel values of a point shared by several bits are stored once.
	pool := min(l.Rows, m.Bits*m.Points)
	if n := float64(l.Rows); n*float64(pool) > maxWeights || n*n*m.Share > maxWeights/4 {
		return nil, fmt.Errorf("%d rows, each paired with a share of %v, with %d points for each of %d bits do not fit in "+
			"memory: take fewer rows",
			l.Rows, m.Share, m.Points, m.Bits)
	}
	x, err := readRows(ctx, l.Source, l.Rows)
	if err != nil {
		return nil, err
	}
	pairs, err := m.pairs(ctx, l.Y)
	if err != nil {
		return nil, err
	}
	mean := centreRows(x)
	for i := range x.Rows {
		scaleToUnit(x.Row(i))
	}
	points := vectors.Matrix{Rows: pool, Cols: x.Cols, Data: make([]float32, 0, pool*x.Cols)}
	for _, i := range drawDistinct(x.Rows, pool, rand.New(rand.NewPCG(m.Seed, 'A'))) {
		points.Data = append(points.Data, x.Row(i)...)
	}
	k := vectors.Matrix{Rows: x.Rows, Cols: pool, Data: make([]float32, x.Rows*pool)}
	if err := gemm.Mul(ctx, m.Threads, linalg.MatrixView(k), linalg.MatrixView(x),
		linalg.MatrixView(points).T()); err != nil {
		return nil, err
	}
	w, err := m.weights(ctx, k, pairs)
	if err != nil {
		return nil, err
	}
	p := &model.Projection{Mean: mean, Weight: make([]float32, m.Bits*x.Cols), Threshold: make([]float32, m.Bits)}
	if err := gemm.Mul(ctx, m.Threads, gemm.RowMajor(m.Bits, x.Cols, p.Weight), linalg.MatrixView(w),
		linalg.MatrixView(points)); err != nil {
		return nil, err
	}
	return checked(p)
}

// weights returns W, a row per bit and a column for each of k, scaled to a largest entry of 1 per row: the scale does
// not matter.
func (m bre) weights(ctx context.Context, k vectors.Matrix, pairs []affinity.Pair) (vectors.Matrix, error) {
	w := vectors.Matrix{Rows: m.Bits, Cols: k.Cols, Data: make([]float32, m.Bits*k.Cols)}
	r, err := newReconstruction(ctx, m, k, pairs)
	if err == nil {
		err = r.descend(ctx, m.Sweeps)
	}
	if err != nil {
		return w, err
	}
	for b := range m.Bits {
		top, row := 0.0, make([]float64, k.Cols)
		for q := b * m.Points; q < (b+1)*m.Points; q++ {
			row[r.column[q]] += r.w[q] // a point may be drawn twice
		}
		for _, v := range row {
			top = max(top, math.Abs(v))
		}
		for j, v := range row {
			w.Row(b)[j] = float32(v / cmp.Or(top, 1))
		}
	}
	return w, nil
}

// pairs draws N. It takes all pairs of a known list, once.
func (m bre) pairs(ctx context.Context, y affinity.Matrix) ([]affinity.Pair, error) {
	var list []affinity.Pair
	n := y.Len()
	for i := range n {
		if i%64 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if known, ok := y.(*affinity.Pairs); ok {
			for _, j := range known.Similar(i) {
				if int(j) < i {
					list = append(list, affinity.Pair{A: int32(i), B: j, Y: 1})
				}
			}
			for _, j := range known.Dissimilar(i) {
				if int(j) < i {
					list = append(list, affinity.Pair{A: int32(i), B: j, Y: -1})
				}
			}
			continue
		}
		rng := rand.New(rand.NewPCG(m.Seed, 'N'<<32|uint64(i)))
		for range int(math.Ceil(m.Share * float64(n-1))) {
			j := rng.IntN(n - 1)
			if j >= i {
				j++
			}
			list = append(list, affinity.Pair{A: int32(i), B: int32(j), Y: int8(y.At(i, j))})
		}
	}
	return list, nil
}

// reconstruction is the state of the descent.
type reconstruction struct {
	n, bits, points int
	threads         int
	seed            uint64
	k               vectors.Matrix

	column []int32   // of k, that of each point, bit after bit
	w      []float64 // W, likewise
	score  []float64 // K W_b of every row, bit after bit
	z      []int8    // +1 where the score is not negative, else -1

	// The pairs of row i are entries start[i] to start[i+1]; each pair is an entry of both its rows.
	start []int
	to    []int32
	e     []int32 // H_ij - r d_ij
	f     int64   // 2 r^2 f

	// For the current step.
	t      []float64 // where each row flips
	order  []int32   // the rows that flip, in their order
	rank   []int32   // place of each row in the order
	before []int8    // the bit before all flips
	change []int64   // of 2 r^2 f by the flip of each row
	next   []int8    // the bit after the step
	sums   []int64   // of blocks of rows
}

func newReconstruction(ctx context.Context, m bre, k vectors.Matrix, pairs []affinity.Pair) (*reconstruction, error) {
	n := k.Rows
	r := &reconstruction{
		n: n, bits: m.Bits, points: m.Points, threads: m.Threads, seed: m.Seed, k: k,
		column: make([]int32, m.Bits*m.Points), w: make([]float64, m.Bits*m.Points),
		score: make([]float64, m.Bits*n), z: make([]int8, m.Bits*n),
		start: make([]int, n+1), to: make([]int32, 2*len(pairs)), e: make([]int32, 2*len(pairs)),
		t: make([]float64, n), order: make([]int32, 0, n), rank: make([]int32, n), before: make([]int8, n),
		change: make([]int64, n), next: make([]int8, n), sums: make([]int64, (n+rowBlock-1)/rowBlock),
	}
	err := par.For(ctx, m.Threads, m.Bits, func(b int) {
		rng := rand.New(rand.NewPCG(m.Seed, 'W'<<32|uint64(b)))
		w, column := r.w[b*m.Points:(b+1)*m.Points], r.column[b*m.Points:(b+1)*m.Points]
		for q := range w {
			w[q] = 0.001 * float64(drawNormal(rng))
			column[q] = int32(rng.IntN(k.Cols))
		}
		for i := range n {
			row, sum := k.Row(i), 0.0
			for q, v := range w {
				sum += float64(v * float64(row[column[q]]))
			}
			r.score[b*n+i], r.z[b*n+i] = sum, signOf(sum)
		}
	})
	if err != nil {
		return nil, err
	}
	for _, p := range pairs {
		r.start[p.A+1]++
		r.start[p.B+1]++
	}
	for i := range n {
		r.start[i+1] += r.start[i]
	}
	at := slices.Clone(r.start)
	for _, p := range pairs {
		far := int32(0)
		if p.Y < 0 {
			far = -int32(m.Bits)
		}
		for _, pair := range [][2]int32{{p.A, p.B}, {p.B, p.A}} {
			r.to[at[pair[0]]], r.e[at[pair[0]]] = pair[1], far
			at[pair[0]]++
		}
	}
	// From codes of equal bits, bit after bit.
	zero := slices.Repeat([]int8{1}, n)
	for b := range m.Bits {
		if r.f, err = r.flip(ctx, zero, r.z[b*n:(b+1)*n]); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// rowBlock is the number of rows in one turn.
const rowBlock = 64

func signOf(v float64) int8 {
	if v >= 0 {
		return 1
	}
	return -1
}

// descend sweeps until a sweep lowers f by less than a hundred thousandth.
func (r *reconstruction) descend(ctx context.Context, sweeps int) error {
	for sweep := range sweeps {
		last := r.f
		for b := range r.bits {
			rng := rand.New(rand.NewPCG(r.seed, 'S'<<48|uint64(sweep)<<24|uint64(b)))
			if err := r.step(ctx, b, rng.IntN(r.points)); err != nil {
				return fmt.Errorf("sweep %d: %w", sweep+1, err)
			}
		}
		if float64(last-r.f) < 1e-5*float64(last) {
			return nil
		}
	}
	return nil
}

// step moves weight q of bit b to the middle of the interval with the least f, if that is below the current one.
func (r *reconstruction) step(ctx context.Context, b, q int) error {
	score, z := r.score[b*r.n:(b+1)*r.n], r.z[b*r.n:(b+1)*r.n]
	q += b * r.points
	col := int(r.column[q])
	r.findFlips(score, z, col)
	if err := r.findChanges(ctx, z); err != nil {
		return err
	}
	t, found := r.bestInterval(r.w[q])
	if !found {
		return nil
	}
	for i, s := range score {
		r.next[i] = signOf(s + float64(t*float64(r.k.Data[i*r.k.Cols+col])))
	}
	f, err := r.flip(ctx, z, r.next)
	if err != nil {
		return err
	}
	if f >= r.f { // some row flips elsewhere than computed
		_, err := r.flip(ctx, r.next, z)
		return err
	}
	r.f = f
	r.w[q] += t
	for i := range score {
		score[i] += float64(t * float64(r.k.Data[i*r.k.Cols+col]))
	}
	copy(z, r.next)
	return nil
}

// findFlips finds where each row flips, and sorts.
func (r *reconstruction) findFlips(score []float64, z []int8, col int) {
	r.order = r.order[:0]
	for i, s := range score {
		r.rank[i] = math.MaxInt32 // never, where the kernel is 0
		r.before[i] = z[i]
		v := float64(r.k.Data[i*r.k.Cols+col])
		if v == 0 {
			continue
		}
		r.t[i] = -s / v
		r.before[i] = signOf(-v)
		r.order = append(r.order, int32(i))
	}
	slices.SortFunc(r.order, func(i, j int32) int { return cmp.Or(cmp.Compare(r.t[i], r.t[j]), cmp.Compare(i, j)) })
	for place, i := range r.order {
		r.rank[i] = int32(place)
	}
}

// findChanges computes the effect of each flip on 2 r^2 f, after those before it.
func (r *reconstruction) findChanges(ctx context.Context, z []int8) error {
	return par.Blocks(ctx, r.threads, r.n, rowBlock, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			own, sum := r.rank[i], int64(0)
			for p := r.start[i]; p < r.start[i+1]; p++ {
				j := r.to[p]
				v := 2*r.e[p] + int32(z[i]*z[j]) // 2 (e - [z_i != z_j]) + 1
				v *= int32(r.before[j])
				done := (r.rank[j] - own) >> 31 // -1 for what flips before i, else 0
				sum += int64((v ^ done) - done)
			}
			r.change[i] = sum * int64(r.before[i])
		}
	})
}

// narrow is the relative width, compared with its ends and the weight, up to which an interval may be a rounding error.
const narrow = 1e-9

// bestInterval returns the middle of the interval of t with the least f, and whether that is below the current one. The
// weight is w at t = 0.
func (r *reconstruction) bestInterval(w float64) (t float64, found bool) {
	now, f := int64(0), int64(0) // f less that before all flips
	for _, i := range r.order {
		if r.t[i] < 0 {
			now += r.change[i]
		}
	}
	least := now
	for place := 0; place <= len(r.order); place++ {
		if place > 0 {
			f += r.change[r.order[place-1]]
		}
		if f >= least {
			continue
		}
		var middle float64
		switch {
		case place == 0:
			first := r.t[r.order[0]]
			middle = first - max(math.Abs(first), 0.001)
		case place == len(r.order):
			last := r.t[r.order[place-1]]
			middle = last + max(math.Abs(last), 0.001)
		default:
			lo, hi := r.t[r.order[place-1]], r.t[r.order[place]]
			if hi-lo <= narrow*(math.Abs(lo)+math.Abs(hi)+math.Abs(w)) {
				continue
			}
			middle = lo + float64((hi-lo)/2)
		}
		t, least, found = middle, f, true
	}
	return t, found
}

// flip changes a bit of all rows, and returns 2 r^2 f.
func (r *reconstruction) flip(ctx context.Context, from, to []int8) (int64, error) {
	err := par.Blocks(ctx, r.threads, r.n, rowBlock, func(b, lo, hi int) {
		sum := int64(0)
		for i := lo; i < hi; i++ {
			for p := r.start[i]; p < r.start[i+1]; p++ {
				j := r.to[p]
				e := r.e[p] + int32(from[i]*from[j]-to[i]*to[j])/2
				r.e[p] = e
				sum += int64(e) * int64(e)
			}
		}
		r.sums[b] = sum
	})
	f := int64(0)
	for _, s := range r.sums {
		f += s
	}
	return f / 2, err
}
