// K-SVD (Aharon, Elad and Bruckstein, IEEE TSP 2006) in the approximate form of Rubinstein, Zibulevsky and Elad
// (Technion CS-2008-08), for dictionaries with T > 1 words per patch:
//
//	for each patch x          T times: add the word with the greatest |d . residual| to the set I,
//	                          then g = argmin |x - D_I g|                          orthogonal matching pursuit
//	for each word d           E = residuals of its patches without d
//	                          d = E g, scaled to length 1;  g = E' d               one power step for the SVD
//
// The pursuit never forms a residual: with the Gram matrix G = D D' and a = D x, the products are a - G_I g, and g
// solves G_II g = a_I. The first step costs as much as OMP-1, the others T x words per patch; the second
// 6 x T x values per patch and runs on one thread, word after word, because each word sees the ones before it changed.

package dictionary

import (
	"context"
	"math"

	"hashgrove/internal/feature"
	"hashgrove/internal/numeric/gemm"
	"hashgrove/internal/par"
)

type ksvd struct {
	l        learner
	residual []float32 // of every patch, row by row
	word     []int32   // T per patch, -1 if there are fewer
	gain     []float32
}

func newKSVD(l learner, x *samples) *ksvd {
	return &ksvd{l, make([]float32, x.n*x.dim), make([]int32, x.n*l.Sparsity), make([]float32, x.n*l.Sparsity)}
}

// step runs one iteration.
func (s *ksvd) step(ctx context.Context, d []float32, x *samples, iteration, threads int) error {
	words, t := s.l.Words, s.l.Sparsity
	var left gemm.Left
	pack(&left, d, x.dim)
	gram := make([]float32, words*words)
	all := gemm.RowMajor(words, x.dim, d)
	if err := gemm.Mul(ctx, threads, gemm.RowMajor(words, words, gram), all, all.T()); err != nil {
		return err
	}
	err := par.Blocks(ctx, threads, x.n, 1024, func(_, lo, hi int) {
		strip := make([]float32, left.StripRows()*gemm.StripCols)
		p := pursuit{gram: gram, words: words, a: make([]float32, words), now: make([]float32, words)}
		for panel := lo / 16; panel*16 < hi; panel++ {
			left.Strip(strip, &x.Right, panel)
			values := x.Panel(panel)
			for j := range min(16, hi-panel*16) {
				for w := range p.a {
					p.a[w] = strip[w*16+j]
				}
				i := panel*16 + j
				word, gain := s.word[i*t:][:t], s.gain[i*t:][:t]
				p.run(word, gain)
				r := s.residual[i*x.dim:][:x.dim]
				for k := range r {
					r[k] = values[k*16+j]
				}
				for q, w := range word {
					if w >= 0 {
						addTimes(r, -gain[q], d[int(w)*x.dim:][:x.dim])
					}
				}
			}
		}
	})
	if err != nil {
		return err
	}
	return s.update(ctx, d, x, iteration)
}

// update changes every word in turn.
func (s *ksvd) update(ctx context.Context, d []float32, x *samples, iteration int) error {
	users := make([][]int32, s.l.Words) // indexes into word and gain
	for i, w := range s.word {
		if w >= 0 {
			users[w] = append(users[w], int32(i))
		}
	}
	sum := make([]float64, x.dim)
	for w := range users {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		word := d[w*x.dim:][:x.dim]
		clear(sum)
		for _, at := range users[w] {
			r, g := s.residual[int(at)/s.l.Sparsity*x.dim:][:x.dim], s.gain[at]
			addTimes(r, g, word)
			for k, v := range r {
				sum[k] += float64(float64(g) * float64(v)) // exact products
			}
		}
		if !unit(word, sum) {
			s.l.draw(word, w, iteration)
			continue // its patches keep their residuals without it
		}
		for _, at := range users[w] {
			r := s.residual[int(at)/s.l.Sparsity*x.dim:][:x.dim]
			g := 0.0
			for k, v := range r {
				g += float64(float64(v) * float64(word[k]))
			}
			s.gain[at] = float32(g)
			addTimes(r, -s.gain[at], word)
		}
	}
	return nil
}

// addTimes adds a times x to y.
func addTimes(y []float32, a float32, x []float32) {
	for k, v := range x {
		y[k] += float32(a * v)
	}
}

// pursuit runs orthogonal matching pursuit for one patch at a time.
type pursuit struct {
	gram   []float32
	words  int
	a, now []float32 // D x, and D times the residual

	chosen [feature.MaxSparsity]int
	g      [feature.MaxSparsity]float64
	root   [feature.MaxSparsity][feature.MaxSparsity]float64 // L with L L' = G_II
}

// run finds the words and gains of the patch whose products with the dictionary are in p.a.
func (p *pursuit) run(word []int32, gain []float32) {
	for q := range word {
		word[q], gain[q] = -1, 0
	}
	copy(p.now, p.a)
	for n := range word {
		best, most := -1, float32(1e-6)
		for w, v := range p.now {
			if max(v, -v) > most {
				best, most = w, max(v, -v)
			}
		}
		if best < 0 || !p.solve(best, n) {
			return
		}
		for q := range n + 1 {
			word[q], gain[q] = int32(p.chosen[q]), float32(p.g[q])
		}
		if n+1 == len(word) {
			return
		}
		copy(p.now, p.a)
		for q := range n + 1 {
			addTimes(p.now, -gain[q], p.gram[p.chosen[q]*p.words:][:p.words])
		}
	}
}

// solve adds a word to the n chosen ones, as one more row of the Cholesky factor, and computes the gains. It returns
// false if the word depends linearly on the others.
func (p *pursuit) solve(word, n int) bool {
	row := &p.root[n]
	rest := float64(p.gram[word*p.words+word])
	for q := range n {
		v := float64(p.gram[word*p.words+p.chosen[q]])
		for k := range q {
			v -= float64(row[k] * p.root[q][k])
		}
		row[q] = v / p.root[q][q]
		rest -= float64(row[q] * row[q])
	}
	if rest < 1e-6 {
		return false
	}
	row[n] = math.Sqrt(rest)
	p.chosen[n] = word
	for q := range n + 1 { // L y = a_I
		v := float64(p.a[p.chosen[q]])
		for k := range q {
			v -= float64(p.root[q][k] * p.g[k])
		}
		p.g[q] = v / p.root[q][q]
	}
	for q := n; q >= 0; q-- { // L' g = y
		v := p.g[q]
		for k := q + 1; k <= n; k++ {
			v -= float64(p.root[k][q] * p.g[k])
		}
		p.g[q] = v / p.root[q][q]
	}
	return true
}
