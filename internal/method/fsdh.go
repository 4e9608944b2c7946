// Fast supervised discrete hashing (Gui, Liu, Sun, Tao and Tan: Fast Supervised Discrete Hashing, TPAMI 2018).
//
//	minimise |B - Y W|² + λ|W|² + ν (|B - F(X)|² + δ|P|²)    over B in {-1, +1}^(n x r), W, P
//
// SDH (sdh.go) with the classes regressed onto the codes instead of the codes onto the classes: the best B then follows
// directly, B = sign(Y W + ν F(X)), instead of bit by bit.
//
//	round                                       5
//		P, bias   as in SDH                     O(n·m·r)
//		W         (Y'Y + λ)^-1 Y'B              O(n·r) for classes: means of codes, nearly
//		B         sign(Y W + ν F(X))            O(n·r)

package method

import (
	"context"
	"fmt"

	"hashgrove/internal/numeric/linalg"
	"hashgrove/internal/par"
)

// generate fits W, the codes as a function of the classes, and then chooses B.
func (d *discrete) generate(ctx context.Context) error {
	w, err := d.codewords(ctx)
	if err != nil {
		return err
	}
	r := d.b.Cols
	return par.Blocks(ctx, d.Threads, d.b.Rows, 1024, func(_, lo, hi int) {
		sum := make([]float64, r)
		for i := lo; i < hi; i++ {
			d.pull(i, w, sum)
			b := d.b.Row(i)
			for l, v := range sum {
				if v*float64(b[l]) < 0 {
					b[l] = -b[l]
				}
			}
		}
	})
}

// maxTags bounds the tags whose Y'Y is formed: 512 MB.
const maxTags = 8192

// codewords returns W, one row of r values for each class or tag.
func (d *discrete) codewords(ctx context.Context) ([]float64, error) {
	w, n, r := d.sums(), d.y.Classes, d.b.Cols
	if d.y.Several && n > maxTags {
		return nil, fmt.Errorf("%d tags are more than the %d that this method can take", n, maxTags)
	}
	if !d.y.Several { // Y'Y is diagonal
		rows := d.y.Counts()
		for c := range n {
			for l := range r {
				w[c*r+l] /= rows[c] + d.lambda
			}
		}
		return w, nil
	}
	yy := make([]float64, n*n)
	for i := range d.y.Rows() {
		for _, c := range d.y.Row(i) {
			for _, o := range d.y.Row(i) {
				yy[int(c)*n+int(o)]++
			}
		}
	}
	factor, err := linalg.NewCholesky(ctx, yy, n, d.lambda, d.Threads)
	if err != nil {
		return nil, err
	}
	return w, factor.Solve(ctx, w, r)
}
