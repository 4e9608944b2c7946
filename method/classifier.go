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
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"hashgrove/internal/solve"
	"hashgrove/model"
	"hashgrove/supervision"
	"hashgrove/vectors"
)

// classifier learns a linear classifier from classes or tags and uses its answer as a code.
type classifier struct {
	Options
	OneHot  bool    // a bit for each class or tag instead of hashed shares
	Penalty float64 // λ of |W|² over standardised columns, for the mean loss of a row; 0 means 0.001
	Steps   int     // of the descent, at most; 0 means 200
}

func (m classifier) learn(ctx context.Context, x *supervision.Data) (model.Encoder, error) {
	m.Penalty = cmp.Or(m.Penalty, 1e-3)
	m.Steps = cmp.Or(m.Steps, 200)
	switch {
	case !(m.Penalty > 0 && m.Penalty <= math.MaxFloat32):
		return nil, fmt.Errorf("a penalty of %v: give a positive number", m.Penalty)
	case m.Steps < 1:
		return nil, fmt.Errorf("%d steps of the descent: give a positive number", m.Steps)
	}
	l, err := solve.DrawLabelled(x, -1, 0)
	if err != nil {
		return nil, err
	}
	y, ok := l.Targets()
	if !ok {
		return nil, errors.New("there are only pairs of rows; a classifier learns from classes or tags")
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
	scores, err := m.fit(ctx, l, y)
	if err != nil {
		return nil, err
	}
	maps := []model.Map{scores}
	if m.OneHot {
		p := &model.Projection{Weight: make([]float32, y.Classes*y.Classes), Threshold: make([]float32, y.Classes)}
		for c := range y.Classes {
			p.Weight[c*y.Classes+c] = 1
		}
		if !y.Several {
			maps = append(maps, &model.Winner{Cols: y.Classes})
			for c := range p.Threshold {
				p.Threshold[c] = 0.5
			}
		}
		return model.Compose(p, maps...), nil
	}
	maps = append(maps, &model.Winner{Cols: y.Classes, Soft: true})
	hashed, err := lsh{Options: m.Options, Centre: true}.learn(ctx, x.With(model.Through(x, m.Threads, maps...)))
	if err != nil {
		return nil, err
	}
	return model.Compose(hashed, maps...), nil
}

// fit learns the scores as a map of raw values.
func (m classifier) fit(ctx context.Context, l *solve.Labelled, y solve.Targets) (*model.Affine, error) {
	q, err := l.Quantizer(ctx)
	if err != nil {
		return nil, err
	}
	columns, err := vectors.Quantize(ctx, l.Source, l.Rows, q, m.Threads)
	if err != nil {
		return nil, err
	}
	return solve.FitLogistic(ctx, columns, y, solve.LogisticOptions{Penalty: m.Penalty, Enough: 1e-3, Steps: m.Steps,
		Threads: m.Threads})
}
