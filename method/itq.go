// Iterative quantisation (Gong and Lazebnik: Iterative Quantization: A Procrustean Approach to Learning Binary Codes, CVPR
// 2011) of principal components.
//
//	V = X_c P', the first r principal components of the centred rows
//	minimise   Q(B, R) = |B - V R|^2   over B of ±1 and rotations R
//
//	repeat 50 times, from a random rotation
//		B = sign(V R)                 the best B                 O(n r^2)
//		R = polar factor of V'B       the best R                 O(n r^2 + r^3)
//	bit b = [column b of V R >= 0], one hyperplane over x each
//
// Both steps lower Q or leave it. There can be no more bits than dimensions.

package method

import (
	"cmp"
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"hashgrove/internal/gemm"
	"hashgrove/internal/linalg"
	"hashgrove/internal/par"
	"hashgrove/model"
	"hashgrove/supervision"
	"hashgrove/vectors"
)

// PCAITQ learns rotated principal components.
type PCAITQ struct {
	Bits    int    // r; 0 means 64
	Steps   int    // of the rotation; 0 means 50
	Seed    uint64 // of the first rotation
	Threads int    // 0 for all cores
}

var _ Method = PCAITQ{}

// Train implements Method.
func (m PCAITQ) Train(ctx context.Context, d *supervision.Data) (*model.Model, error) {
	return trained(m.learn(ctx, d))
}

func (m PCAITQ) learn(ctx context.Context, x *supervision.Data) (model.Encoder, error) {
	bits, steps, d := cmp.Or(m.Bits, 64), cmp.Or(m.Steps, 50), x.Dim()
	if err := checkSize(bits, d); err != nil {
		return nil, err
	}
	if bits > d {
		return nil, fmt.Errorf("%d bits of vectors with %d dimensions: rotated principal components give at most one bit per dimension", bits, d)
	}
	front, _, err := principal(ctx, x, bits, m.Seed, m.Threads)
	if err != nil {
		return nil, err
	}
	v, err := vectors.Read(ctx, model.Through(x, m.Threads, front))
	if err != nil {
		return nil, err
	}
	r, _, err := rotateToCorners(ctx, v.X, bits, steps, m.Seed, m.Threads)
	if err != nil {
		return nil, err
	}
	return &model.Projection{Mean: front.Mean, Weight: rotated(r, front.Weight), Threshold: make([]float32, bits)}, nil
}

// rotated returns the rows of R' P: the weights of the bits when P maps to the embedding that R rotates.
func rotated(r *mat.Dense, p vectors.Matrix) []float32 {
	_, bits := r.Dims()
	w := make([]float32, bits*p.Cols)
	sum := make([]float64, p.Cols)
	for b := range bits {
		clear(sum)
		for k := range p.Rows {
			f := r.At(k, b)
			for j, v := range p.Row(k) {
				sum[j] += f * float64(v)
			}
		}
		for j, s := range sum {
			w[b*p.Cols+j] = float32(s)
		}
	}
	return w
}

// rotateToCorners is ITQ of an embedding V, of at most as many columns as bits: it returns the first rows of R, as many as
// V has columns, and the loss Q of every step. Where V has fewer columns than there are bits the missing ones are zeros.
func rotateToCorners(ctx context.Context, v vectors.Matrix, bits, steps int, seed uint64, threads int) (*mat.Dense, []float64, error) {
	if v.Cols > bits || steps < 1 {
		panic("method: a rotation of more columns than bits, or in no steps")
	}
	const block = 1024 // rows whose products are summed in single precision
	blocks := (v.Rows + block - 1) / block
	k := v.Cols
	r := linalg.RandomRotation(bits, seed)
	r32 := make([]float32, k*bits)
	parts, losses := make([]float32, blocks*k*bits), make([]float64, blocks)
	var history []float64
	for range steps {
		for i := range k {
			for j := range bits {
				r32[i*bits+j] = float32(r.At(i, j))
			}
		}
		right := gemm.PackRight(gemm.Of(k, bits, r32))
		err := par.Blocks(ctx, threads, v.Rows, block, func(n, lo, hi int) {
			b := make([]float32, (hi-lo)*bits)
			x := gemm.Of(hi-lo, k, v.Slice(lo, hi).Data)
			// One thread, and a context that never ends: no error.
			_ = gemm.MulRight(context.Background(), 1, gemm.Of(hi-lo, bits, b), x, right)
			loss := 0.0
			for i, y := range b {
				b[i] = 1
				if y < 0 {
					b[i] = -1
				}
				loss += float64(b[i]-y) * float64(b[i]-y)
			}
			losses[n] = loss
			_ = gemm.Mul(context.Background(), 1, gemm.Of(k, bits, parts[n*k*bits:]), x.T(), gemm.Of(hi-lo, bits, b))
		})
		if err != nil {
			return nil, nil, err
		}
		vb, loss := mat.NewDense(bits, bits, nil), 0.0
		for n := range blocks {
			loss += losses[n]
			for i := range k {
				row := vb.RawRowView(i)
				for j, p := range parts[(n*k+i)*bits:][:bits] {
					row[j] += float64(p)
				}
			}
		}
		history = append(history, loss)
		if r, err = linalg.Polar(vb); err != nil {
			return nil, nil, err
		}
	}
	return mat.DenseCopyOf(r.Slice(0, k, 0, bits)), history, nil
}
