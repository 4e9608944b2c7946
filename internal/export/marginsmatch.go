package export

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// ErrMargins reports margins that differ from the library's.
var ErrMargins = errors.New("the margins are not those of the library")

// MatchMargins compares the margins of a model of boosters with those that the library predicts for the rows of x,
// as float32 to the last digit: a row for each row of x, a column for each bit. If a bit differs but agrees once its
// base is the next float32 up or down, XGBoost's C library rounds its logarithm differently: the model adopts that
// base, and moved counts such bits. Any other difference is an error and leaves the model unchanged.
func MatchMargins(ctx context.Context, m *model.Model, x, margins vectors.Matrix) (moved int, err error) {
	e, ok := m.Encoder.(*model.Boosted)
	if !ok {
		return 0, fmt.Errorf("%w: the model is not made of boosters", ErrMargins)
	}
	if x.Rows == 0 || margins.Rows != x.Rows || margins.Cols != e.Bits() {
		return 0, fmt.Errorf("%w: %d x %d margins for %d rows and %d bits", ErrMargins,
			margins.Rows, margins.Cols, x.Rows, e.Bits())
	}
	got, err := m.Margins(ctx, x, 0)
	if err != nil {
		return 0, err
	}
	outputs := slices.Clone(e.Outputs)
	for k := range outputs {
		at := differs(got, k, margins, k)
		if at < 0 {
			continue
		}
		if err := moveBase(ctx, e, &outputs[k], x, margins, k); err != nil {
			return 0, err
		}
		if outputs[k].Base == e.Outputs[k].Base {
			return 0, fmt.Errorf("%w: row %d, bit %d: %v, and the library says %v", ErrMargins, at, k,
				got.Row(at)[k], margins.Row(at)[k])
		}
		moved++
	}
	if moved > 0 {
		m.Encoder = &model.Boosted{Columns: e.Columns, Double: e.Double, Outputs: outputs}
	}
	return moved, nil
}

// differs returns the first row in which two columns differ, or -1.
func differs(a vectors.Matrix, column int, b vectors.Matrix, other int) int {
	for r := range a.Rows {
		if a.Row(r)[column] != b.Row(r)[other] {
			return r
		}
	}
	return -1
}

// moveBase sets the base of output k to the next float32 up or down if the margins then agree.
func moveBase(ctx context.Context, e *model.Boosted, out *model.Booster, x, margins vectors.Matrix, k int) error {
	if e.Double {
		return nil
	}
	for _, to := range []float64{math.Inf(-1), math.Inf(1)} {
		moved := *out
		moved.Base = float64(math.Nextafter32(float32(out.Base), float32(to)))
		one := &model.Model{Encoder: &model.Boosted{Columns: e.Columns, Outputs: []model.Booster{moved}}}
		got, err := one.Margins(ctx, x, 0)
		if err != nil {
			return err
		}
		if differs(got, 0, margins, k) < 0 {
			*out = moved
			return nil
		}
	}
	return nil
}
