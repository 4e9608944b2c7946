// Fast supervised discrete hashing (Gui, Liu, Sun, Tao and Tan: Fast Supervised Discrete Hashing, TPAMI 2018).
//
//	minimise |B - Y W|² + λ|W|² + ν (|B - F(X)|² + δ|P|²)    over B in {-1, +1}^(n x r), W, P
//
// SDH (sdh.go) with the classes regressed onto the codes instead of the codes onto the classes: the best B is then known at
// once, B = sign(Y W + ν F(X)), instead of bit by bit.
//
//	round                                       5
//		P, bias   as in SDH                     O(n·m·r)
//		W         (Y'Y + λ)^-1 Y'B              O(n·r) for classes: means of codes, nearly
//		B         sign(Y W + ν F(X))            O(n·r)

package method

import (
	"context"
	"fmt"

	"hashgrove/internal/linalg"
	"hashgrove/internal/par"
	"hashgrove/model"
	"hashgrove/supervision"
)

// FSDH learns supervised discrete codes from classes or tags. The fields are those of SDH.
type FSDH struct {
	Bits    int     // r; 0 means 64
	Seed    uint64  // of the anchors, the rows and the first codes
	Anchors int     // m; 0 means 1000
	Width   float64 // of the kernel exp(-|x - a|² / width); 0 means twice the mean squared distance
	Rows    int     // to learn from, at most, drawn at random; 0 means all
	Lambda  float64 // λ, penalty of W; 0 means 1
	Nu      float64 // ν, weight of the features; 0 means 1e-5
	Delta   float64 // δ, penalty of the regression; 0 means 0.01
	Rounds  int     // 0 means 5
	Threads int     // 0 for all cores
}

var _ Method = FSDH{}

// Train implements Method.
func (m FSDH) Train(ctx context.Context, d *supervision.Data) (*model.Model, error) {
	return trained(m.learn(ctx, d))
}

func (m FSDH) learn(ctx context.Context, x *supervision.Data) (model.Encoder, error) {
	o := SDH{
		Bits: m.Bits, Seed: m.Seed, Anchors: m.Anchors, Width: m.Width, Rows: m.Rows,
		Lambda: m.Lambda, Nu: m.Nu, Delta: m.Delta, Rounds: m.Rounds, Threads: m.Threads,
	}
	return o.train(ctx, x, func(ctx context.Context, d *discrete) error { return d.generate(ctx) })
}

// generate fits W, the codes as a function of the classes, and then chooses B.
func (d *discrete) generate(ctx context.Context) error {
	w, err := d.codewords(ctx)
	if err != nil {
		return err
	}
	r := d.b.Cols
	return par.Blocks(ctx, d.threads, d.b.Rows, 1024, func(_, lo, hi int) {
		sum := make([]float64, r)
		for i := lo; i < hi; i++ {
			for l, v := range d.f.Row(i) {
				sum[l] = d.nu * float64(v)
			}
			for _, c := range d.y.row(i) {
				linalg.Axpy(1, w[int(c)*r:int(c+1)*r], sum)
			}
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
	w, n, r := d.sums(), d.y.classes, d.b.Cols
	if d.y.several && n > maxTags {
		return nil, fmt.Errorf("%d tags are more than the %d that this method can take", n, maxTags)
	}
	if !d.y.several { // Y'Y is diagonal
		rows := make([]float64, n)
		for _, c := range d.y.of {
			rows[c]++
		}
		for c := range n {
			for l := range r {
				w[c*r+l] /= rows[c] + d.lambda
			}
		}
		return w, nil
	}
	yy := make([]float64, n*n)
	for i := range d.y.rows() {
		for _, c := range d.y.row(i) {
			for _, o := range d.y.row(i) {
				yy[int(c)*n+int(o)]++
			}
		}
	}
	for c := range n {
		yy[c*n+c] += d.lambda
	}
	factor, err := linalg.NewCholesky(ctx, yy, n, d.threads)
	if err != nil {
		return nil, err
	}
	return w, factor.Solve(ctx, w, r)
}
