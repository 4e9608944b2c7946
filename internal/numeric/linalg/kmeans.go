// K-means (Lloyd, IEEE Trans. Information Theory 1982): centres c that make the sum of |x_i - c_a(i)|^2 small.
//
//	start      k distinct rows, drawn at random
//	repeat     up to ten times, or until nothing moves
//		assign     a(i) = argmin_q |c_q|^2 - 2 x_i · c_q       O(n k d), a matrix product
//		update     c_q = the mean of its rows                  O(n d)
//		empty      takes the row that is farthest from its centre

package linalg

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"hashgrove/internal/numeric/gemm"
	"hashgrove/internal/par"
	"hashgrove/internal/vectors"
)

// KMeans returns k centres of the rows of x; the seed is that of the first ones. If rows are equal, centres may be
// equal, too.
func KMeans(
	ctx context.Context, x vectors.Matrix, k int, seed uint64, threads int,
) (centres vectors.Matrix, err error) {
	if k < 1 || k > x.Rows {
		return centres, fmt.Errorf("%d centres of %d rows: give from 1 centre to one per row", k, x.Rows)
	}
	const most = 10
	d := x.Cols
	centres = vectors.Matrix{Rows: k, Cols: d, Data: make([]float32, k*d)}
	rng := rand.New(rand.NewPCG(seed, 0x63))
	order := rng.Perm(x.Rows)[:k]
	slices.Sort(order)
	for q, i := range order {
		copy(centres.Row(q), x.Row(i))
	}
	assigned, distance := make([]int32, x.Rows), make([]float64, x.Rows)
	for step := range most + 1 {
		moved, err := assign(ctx, x, centres, assigned, distance, threads)
		if err != nil || step == most || step > 0 && !moved {
			return centres, err
		}
		if err := update(ctx, x, centres, assigned, distance, threads); err != nil {
			return centres, err
		}
	}
	return centres, nil
}

// assign finds the nearest centre of every row, the first of equal ones, and its distance, and reports whether any
// row changed its centre.
func assign(ctx context.Context, x, centres vectors.Matrix, assigned []int32, distance []float64,
	threads int) (moved bool, err error) {
	const block = 240
	d, k := x.Cols, centres.Rows
	half := make([]float64, k) // |c|^2 / 2
	for q := range half {
		half[q] = Dot32(centres.Row(q), centres.Row(q)) / 2
	}
	right := gemm.PackRight(gemm.RowMajor(k, d, centres.Data).T())
	changed := make([]bool, (x.Rows+block-1)/block)
	err = par.Blocks(ctx, threads, x.Rows, block, func(b, lo, hi int) {
		p := make([]float32, (hi-lo)*k)
		gemm.MulHere(gemm.RowMajor(hi-lo, k, p), gemm.RowMajor(hi-lo, d, x.Data[lo*d:hi*d]),
			right)
		for i := lo; i < hi; i++ {
			best, least := int32(0), 0.0
			for q, v := range p[(i-lo)*k : (i-lo+1)*k] {
				if s := half[q] - float64(v); q == 0 || s < least {
					best, least = int32(q), s
				}
			}
			changed[b] = changed[b] || assigned[i] != best
			assigned[i], distance[i] = best, max(0, Dot32(x.Row(i), x.Row(i))+2*least)
		}
	})
	return slices.Contains(changed, true), err
}

// update moves every centre to the mean of its rows.
func update(ctx context.Context, x, centres vectors.Matrix, assigned []int32, distance []float64, threads int) error {
	rows := make([][]int32, centres.Rows)
	for i, q := range assigned {
		rows[q] = append(rows[q], int32(i))
	}
	for q := range rows {
		if len(rows[q]) > 0 {
			continue
		}
		far := 0
		for i, d := range distance {
			if d > distance[far] && len(rows[assigned[i]]) > 1 {
				far = i
			}
		}
		old := rows[assigned[far]]
		if at := slices.Index(old, int32(far)); len(old) > 1 {
			rows[assigned[far]] = slices.Delete(old, at, at+1)
		}
		rows[q], assigned[far], distance[far] = []int32{int32(far)}, int32(q), 0
	}
	return par.For(ctx, threads, centres.Rows, func(q int) {
		sum := make([]float64, x.Cols)
		for _, i := range rows[q] {
			for j, v := range x.Row(int(i)) {
				sum[j] += float64(v)
			}
		}
		for j, s := range sum {
			centres.Row(q)[j] = float32(s / float64(len(rows[q])))
		}
	})
}
