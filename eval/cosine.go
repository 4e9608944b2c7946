package eval

import (
	"context"
	"math"

	"hashgrove/vectors"
)

// RetrievalCosine ranks the base by the cosine of the angle to every query, the largest first, and judges the rankings
// as RetrievalFloat does. For vectors of length 1 the squared distance is 2 - 2 cos, so it ranks scaled copies, rounded
// to float32, by Euclidean distance. A vector of zeros has no direction: it counts as at right angles to all but other
// zeros.
func RetrievalCosine(ctx context.Context, queries, base vectors.Matrix, truth Truth, o Options) (*Report, error) {
	if err := sameWidth(queries, base); err != nil {
		return nil, err
	}
	return vectorJudgement(directions(queries), directions(base), base, truth).run(ctx, o)
}

// directions scales every row to length 1. One more column, which is 0 elsewhere, is 1 for rows of zeros: they are then
// at the squared distance 2 from every direction, where the cosine is 0.
func directions(x vectors.Matrix) vectors.Matrix {
	d := vectors.Matrix{Rows: x.Rows, Cols: x.Cols + 1, Data: make([]float32, x.Rows*(x.Cols+1))}
	for i := range x.Rows {
		sum, unit := 0.0, d.Row(i)
		for _, v := range x.Row(i) {
			sum += float64(float64(v) * float64(v)) // of float32 values: neither overflows nor vanishes
		}
		if sum == 0 {
			unit[x.Cols] = 1
			continue
		}
		length := math.Sqrt(sum)
		for j, v := range x.Row(i) {
			unit[j] = float32(float64(v) / length)
		}
	}
	return d
}
