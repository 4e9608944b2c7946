// Iterative quantisation (Gong and Lazebnik: Iterative Quantization: A Procrustean Approach to Learning Binary Codes,
// CVPR 2011) of principal components.
//
//	V = X_c P', the first r principal components of the centred rows
//	minimise   Q(B, R) = |B - V R|^2   over B of ±1 and rotations R
//
//	repeat 50 times, from a random rotation
//		B = sign(V R)                 the best B                 O(n r^2)
//		R = polar factor of V'B       the best R                 O(n r^2 + r^3)
//	bit b = [column b of V R >= 0], one hyperplane over x each
//
// Neither step raises Q. There can be no more bits than dimensions.

package method

import (
	"context"
	"fmt"

	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// pcaITQ learns rotated principal components.
type pcaITQ struct{ Options }

// itqSteps is the number of steps of the rotation, here and in CCA-ITQ.
const itqSteps = 50

func (m pcaITQ) learn(ctx context.Context, x *supervision.Data) (model.Encoder, error) {
	bits, d := m.Bits, x.Dim()
	if err := checkSize(bits, d); err != nil {
		return nil, err
	}
	if bits > d {
		return nil, &BitsError{bits, d,
			fmt.Sprintf("rotated principal components give one bit per dimension, and the vectors have %d", d)}
	}
	front, _, err := principalComponents(ctx, x, bits, m.Seed, m.Threads)
	if err != nil {
		return nil, err
	}
	v, err := vectors.Read(ctx, model.Through(x, m.Threads, front))
	if err != nil {
		return nil, err
	}
	r, err := rotateToCorners(ctx, v.X, itqSteps, m.Options)
	if err != nil {
		return nil, err
	}
	return &model.Projection{Mean: front.Mean, Weight: rotatedRows(r, front.Weight),
		Threshold: make([]float32, bits)}, nil
}
