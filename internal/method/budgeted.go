// Kernel SVMs on a budget of support vectors, all bits at once (Wang, Crammer and Vucetic: Breaking the Curse of
// Kernelization, JMLR 2012, BSGD), with which TSH fits kernel functions to more rows than an exact SVM can.
//
// A bit is sign(Σ_s c_s k(x_s, x)). After t steps of size 1/λ, 1/2λ, ... 1/tλ Pegasos has the coefficients c/(λt), and
// its next step, for a row i of sign z, is
//
//	if z Σ_s c_s k(x_s, x_i) < λt, or t = 0:   c_i += z
//
// The common factor is never needed. When a bit exceeds its budget of support vectors, the one with the smallest |c|
// is projected onto the one nearest to it: c_q += c_p k_pq. (The paper projects onto all others, or merges vectors
// into new points; here support vectors stay rows of the data, which bits can share.)
//
//	epoch                          10
//		shuffle the rows           the same order for all bits
//		for 128 rows
//			kernel                 with all rows        O(128 · n · dim), most of the time
//			steps                  a bit per turn       O(128 · bits · budget)

package method

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"hashgrove/internal/model"
	"hashgrove/internal/par"
	"hashgrove/internal/vectors"
)

// budgetEpochs is the number of passes over the rows.
const budgetEpochs = 10

// fitBudgeted learns the bits z of the kernel's anchors, which are the training rows. Each bit has at most budget
// support vectors; the seed determines the order of the rows.
func fitBudgeted(ctx context.Context, kernel *model.Gaussian, z [][]int8, budget int, seed uint64,
	threads int) (model.Encoder, error) {
	x := kernel.Anchors
	lambda := 0.5 * float64(x.Rows) / 1e6
	machines := make([]*budgetSVM, len(z))
	for b := range machines {
		machines[b] = &budgetSVM{z: z[b], budget: min(budget, x.Rows), lambda: lambda,
			slot: slices.Repeat([]int32{-1}, x.Rows)}
	}
	const block = 128
	order := make([]int, x.Rows)
	for i := range order {
		order[i] = i
	}
	rng := rand.New(rand.NewPCG(seed, 'S'))
	some := vectors.Matrix{Cols: x.Cols}
	for epoch := range budgetEpochs {
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for lo := 0; lo < len(order); lo += block {
			rows := order[lo:min(lo+block, len(order))]
			some.Rows, some.Data = len(rows), some.Data[:0]
			for _, i := range rows {
				some.Data = append(some.Data, x.Row(i)...)
			}
			k, err := model.Transform(ctx, threads, some, kernel)
			if err == nil {
				err = par.For(ctx, threads, len(machines), func(b int) {
					for r, i := range rows {
						machines[b].step(int32(i), k.Row(r))
					}
				})
			}
			if err != nil {
				return nil, fmt.Errorf("epoch %d: %w", epoch+1, err)
			}
		}
	}
	return mergeMachines(machines, kernel)
}

// budgetSVM is the state of one bit.
type budgetSVM struct {
	z      []int8
	budget int
	lambda float64
	t      float64 // steps taken

	row  []int32     // of each support vector
	c    []float64   // its coefficient
	slot []int32     // of each row, or -1
	k    [][]float32 // k_pq of support vectors
}

// step processes row i, whose kernel with all rows is k.
func (s *budgetSVM) step(i int32, k []float32) {
	z, sum := float64(s.z[i]), 0.0
	for q, r := range s.row {
		sum += float64(s.c[q] * float64(k[r]))
	}
	s.t++
	if s.t > 1 && z*sum >= s.lambda*(s.t-1) {
		return
	}
	if at := s.slot[i]; at >= 0 {
		s.c[at] += z
		return
	}
	if len(s.row) < s.budget {
		s.row, s.c, s.k = append(s.row, 0), append(s.c, 0), append(s.k, make([]float32, s.budget))
		s.setVector(len(s.row)-1, i, z, k)
		return
	}
	p := 0
	for q, c := range s.c {
		if math.Abs(c) < math.Abs(s.c[p]) {
			p = q
		}
	}
	if math.Abs(s.c[p]) > 1 { // the new one is the smallest
		q := -1
		for o, r := range s.row {
			if q < 0 || k[r] > k[s.row[q]] {
				q = o
			}
		}
		s.c[q] += float64(z * float64(k[s.row[q]]))
		return
	}
	q := -1
	for o := range s.row {
		if o != p && (q < 0 || s.k[p][o] > s.k[p][q]) {
			q = o
		}
	}
	if q >= 0 {
		s.c[q] += float64(s.c[p] * float64(s.k[p][q]))
	}
	s.slot[s.row[p]] = -1
	s.setVector(p, i, z, k)
}

// setVector makes row i support vector p.
func (s *budgetSVM) setVector(p int, i int32, c float64, k []float32) {
	s.row[p], s.c[p], s.slot[i] = i, c, int32(p)
	for q, r := range s.row {
		s.k[p][q], s.k[q][p] = k[r], k[r]
	}
}

// mergeMachines combines all machines into one encoder, whose anchors are the rows that any of them uses.
func mergeMachines(machines []*budgetSVM, kernel *model.Gaussian) (model.Encoder, error) {
	x := kernel.Anchors
	at := make([]int, x.Rows)
	for _, s := range machines {
		for _, i := range s.row {
			at[i] = 1
		}
	}
	a := vectors.Matrix{Cols: x.Cols}
	for i, used := range at {
		if used > 0 {
			at[i] = a.Rows
			a.Rows++
			a.Data = append(a.Data, x.Row(i)...)
		}
	}
	if a.Rows == 0 { // no bit has two signs
		a.Rows, a.Data = 1, x.Row(0)
	}
	if err := checkSize(len(machines), a.Rows); err != nil {
		return nil, err
	}
	p := &model.Projection{Weight: make([]float32, len(machines)*a.Rows), Threshold: make([]float32, len(machines))}
	for b, s := range machines {
		for slot, i := range s.row {
			p.Weight[b*a.Rows+at[i]] = float32(s.c[slot])
		}
	}
	return model.Compose(p, &model.Gaussian{Anchors: a, Width: kernel.Width}), nil
}
