// A classifier's answer as a code (Sablayrolles, Douze, Usunier and Jegou: How should we evaluate supervised hashing?,
// ICASSP 2017): what every supervised method must be compared with, because where the classes of the queries are those
// of the training rows, a good classifier is a good code.
//
//	scores    s(x) = W x + b, by logistic regression (solve.FitLogistic); for tags one question each
//	one-hot   bit c = [c is the greatest score]; for tags bit c = [s_c >= 0]
//	hashed    bit k = [w_k · (p(x) - mean) >= 0],   p_c = exp(s_c) / Σ exp(s), w_k ~ N(0, I) as in lsh.go
//
// Hashing the shares p instead of the scores matters: scores differ most where a class is far off anyway. Of tags the
// shares are those of the odds.
//
//	columns   two passes over the rows, a byte for each value kept
//	descend   limited-memory BFGS, two products with the columns a step
//	mean      one more pass, for the hashed code

package method

import (
	"context"
	"fmt"
	"slices"

	"hashgrove/internal/solve"
	"hashgrove/model"
	"hashgrove/supervision"
	"hashgrove/vectors"
)

// classifier learns a linear classifier from classes or tags and uses its answer as a code.
type classifier struct {
	Options
	OneHot bool // a bit for each class or tag instead of hashed shares
}

func (m classifier) learn(ctx context.Context, x *supervision.Data) (model.Encoder, error) {
	l, err := solve.DrawLabelled(x, -1, 0)
	if err != nil {
		return nil, err
	}
	y, err := l.Targets()
	if err != nil {
		return nil, err
	}
	if m.OneHot {
		m.Bits = y.Classes
	}
	if err := solve.CheckSize(m.Bits, y.Classes); err != nil {
		return nil, err
	}
	if err := solve.CheckSize(1, x.Dim()*y.Classes); err != nil {
		return nil, fmt.Errorf("a classifier of %d classes: %w", y.Classes, err)
	}
	q, err := l.Quantizer(ctx)
	if err != nil {
		return nil, err
	}
	columns, err := vectors.Quantize(ctx, l.Source, l.Rows, q, m.Threads)
	if err != nil {
		return nil, err
	}
	scores, err := solve.FitLogistic(ctx, columns, y, m.Threads)
	if err != nil {
		return nil, err
	}
	maps := []model.Map{scores}
	if m.OneHot {
		threshold := make([]float32, y.Classes)
		if !y.Several {
			maps = append(maps, &model.Winner{Cols: y.Classes})
			threshold = slices.Repeat([]float32{0.5}, y.Classes)
		}
		return model.Compose(solve.AxisSigns(y.Classes, threshold), maps...), nil
	}
	maps = append(maps, &model.Winner{Cols: y.Classes, Soft: true})
	hashed, err := lsh{m.Options}.learn(ctx, x.With(model.Through(x, m.Threads, maps...)))
	if err != nil {
		return nil, err
	}
	return model.Compose(hashed, maps...), nil
}
