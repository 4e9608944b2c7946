// A classifier's answer as a code (Sablayrolles, Douze, Usunier and Jegou: How should we evaluate supervised hashing?,
// ICASSP 2017): the baseline for every supervised method, because if queries and training rows have the same classes, a
// good classifier is a good code.
//
//	scores    s(x) = W x + b, by logistic regression tuned on rows held out (fitLogistic); for tags one question
//	          each
//	one-hot   bit c = [c is the greatest score]; for tags bit c = [s_c >= 0]
//	hashed    bit k = [w_k · (p(x) - mean) >= 0],   p_c = exp(s_c) / Σ exp(s), w_k ~ N(0, I) as in lsh.go
//
// Hashing the shares p instead of the scores matters: scores differ most for classes that are far off anyway. For tags
// the shares are those of the odds.
//
//	columns   two passes over the rows, a byte for each value kept
//	tune      on a sample of the rows, for the penalty and the scale of the columns
//	descend   limited-memory BFGS, two products with the columns a step
//	mean      one more pass, for the hashed code

package method

import (
	"context"
	"fmt"
	"math"
	"slices"

	"hashgrove/internal/model"
	"hashgrove/internal/numeric/portable"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// classifier learns a linear classifier from classes or tags and uses its answer as a code.
type classifier struct {
	Options
	OneHot bool // a bit for each class or tag instead of hashed shares
}

// Train implements Method.
func (m classifier) Train(ctx context.Context, x *supervision.Data) (*model.Model, error) {
	if err := checkSize(m.Bits, 1); err != nil && !m.OneHot { // now, not after learning
		return nil, err
	}
	c, err := FitClassifier(ctx, x, m.Options)
	if err != nil {
		return nil, err
	}
	made := &model.Model{Info: model.Info{Scale: c.Scale}}
	if m.OneHot {
		made.Encoder, err = c.OneHot()
	} else {
		made.Encoder, err = c.Hashed(ctx, x, m.Options)
	}
	return made, err
}

// Classifier is a linear classifier of rows by class or tags.
type Classifier struct {
	Names   []string // of the classes or tags
	Several bool     // tags: any number of them, each with a probability of its own
	Scale   string   // how columns were scaled before the penalty weighed them, and why, in words

	scores *model.Affine
}

// FitClassifier learns to tell the classes or tags of the data apart: by multinomial logistic regression, or by one
// logistic regression per tag, with a penalty chosen on held-out rows. Of the options it uses the scale of the columns,
// the seed and the threads.
func FitClassifier(ctx context.Context, d *supervision.Data, o Options) (*Classifier, error) {
	if err := o.checkStandardize(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	l, err := drawLabelled(d, -1, 0)
	if err != nil {
		return nil, err
	}
	y, names, err := targetsOf(l.Data)
	if err != nil {
		return nil, err
	}
	if err := checkSize(1, d.Dim()*y.Classes); err != nil {
		return nil, fmt.Errorf("a classifier of %d classes: %w", y.Classes, err)
	}
	q, err := l.QuantizerBy(ctx, vectors.Clipped) // the classifier counts on bins of equal width
	if err != nil {
		return nil, err
	}
	columns, err := vectors.Quantize(ctx, l.Source, l.Rows, q, o.Threads)
	if err != nil {
		return nil, err
	}
	scores, chosen, err := fitLogistic(ctx, columns, y, o)
	if err != nil {
		return nil, err
	}
	c := &Classifier{Names: names, Several: y.Several, Scale: "columns as they are", scores: scores}
	if chosen.scale == StandardizeOn {
		c.Scale = "columns standardised"
	}
	if o.namesScale() {
		c.Scale += " as asked"
	} else {
		c.Scale += ": chosen by the loss of rows held out"
	}
	return c, nil
}

// Probabilities returns the probability of every class or tag for each row of x, one column per name. Those of classes
// sum to one. It panics if the rows have a different width from the training rows.
func (c *Classifier) Probabilities(ctx context.Context, x vectors.Matrix, threads int) (vectors.Matrix, error) {
	if !c.Several {
		return model.Transform(ctx, threads, x, c.scores, &model.Winner{Cols: len(c.Names), Soft: true})
	}
	p, err := model.Transform(ctx, threads, x, c.scores)
	for i, s := range p.Data {
		e := portable.ExpBelowZero(-math.Abs(float64(s)))
		if p.Data[i] = float32(1 / (1 + e)); s < 0 {
			p.Data[i] = float32(e / (1 + e))
		}
	}
	return p, err
}

// Known returns the probabilities of rows whose classes or tags are known: 1 for those that a row has, 0 for all
// others, including names that the classifier never saw.
func (c *Classifier) Known(d *supervision.Data) vectors.Matrix {
	p := vectors.Matrix{Rows: d.Rows, Cols: len(c.Names), Data: make([]float32, d.Rows*len(c.Names))}
	y, names, err := targetsOf(d)
	if err != nil || y.Several != c.Several {
		return p
	}
	at := make([]int, len(names))
	for k, name := range names {
		at[k] = slices.Index(c.Names, name)
	}
	for i := range d.Rows {
		for _, k := range y.Row(i) {
			if at[k] >= 0 {
				p.Row(i)[at[k]] = 1
			}
		}
	}
	return p
}

// OneHot returns the answer as a code: one bit per class or tag.
func (c *Classifier) OneHot() (model.Encoder, error) {
	n := len(c.Names)
	if err := checkSize(n, n); err != nil {
		return nil, err
	}
	if c.Several {
		return model.Compose(axisSigns(n, make([]float32, n)), c.scores), nil
	}
	half := slices.Repeat([]float32{0.5}, n)
	return model.Compose(axisSigns(n, half), c.scores, &model.Winner{Cols: n}), nil
}

// Hashed returns the class or tag shares as a code of o.Bits bits, by hyperplanes around the mean of x.
func (c *Classifier) Hashed(ctx context.Context, x *supervision.Data, o Options) (model.Encoder, error) {
	maps := []model.Map{c.scores, &model.Winner{Cols: len(c.Names), Soft: true}}
	hashed, err := lsh{o.withDefaults()}.learn(ctx, x.With(model.Through(x, o.Threads, maps...)))
	if err != nil {
		return nil, err
	}
	return model.Compose(hashed, maps...), nil
}
