package solve

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/internal/model"
	"hashgrove/internal/numeric/linalg"
	"hashgrove/internal/testkit/methodtest"
	"hashgrove/internal/vectors"
)

func mustLogistic(t *testing.T, src vectors.Source, penalty float64) *logistic {
	t.Helper()
	ctx := context.Background()
	l := mustLabelled(t, src, -1)
	q, err := l.Data.QuantizerBy(ctx, vectors.Linear)
	if err != nil {
		t.Fatal(err)
	}
	x, err := vectors.Quantize(ctx, l.Source, l.Rows, q, 1)
	if err != nil {
		t.Fatal(err)
	}
	y, err := l.Targets()
	if err != nil {
		t.Fatal(err)
	}
	f, err := newLogistic(ctx, x, y, penalty, 2)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// definition returns f(W, b) as it is written, in double precision.
func (f *logistic) definition(w []float64) float64 {
	dim, classes := f.x.Dim(), f.y.Classes
	loss := 0.0
	for i := range f.x.Rows {
		s := make([]float64, classes)
		all := 0.0
		for c := range s {
			s[c] = w[dim*classes+c]
			for j := range dim {
				s[c] += w[c*dim+j] * (float64(f.x.Column(j)[i]) - f.mean[j]) * f.scale[j]
			}
			all += math.Exp(s[c])
			if f.y.Several {
				loss += math.Log(1 + math.Exp(s[c]))
			}
		}
		if !f.y.Several {
			loss += math.Log(all)
		}
		for _, c := range f.y.Row(i) {
			loss -= s[c]
		}
	}
	weights := w[:dim*classes]
	return loss/float64(f.x.Rows) + f.penalty/2*linalg.Dot(weights, weights)
}

// descend minimises f until the slope has fallen by the tolerance.
func descend(ctx context.Context, f smooth, w []float64, tolerance float64, steps int) (float64, int, error) {
	return descendTo(ctx, f, w, func(first float64) float64 { return tolerance * first }, steps)
}

func TestLogisticEqualsTheDefinition(t *testing.T) {
	ctx := context.Background()
	// More rows and columns than one block of each, and more tags than one panel.
	for name, src := range map[string]vectors.Source{"classes": methodtest.Classed(5, 300, 270, 3),
		"tags": methodtest.Tagged(5, 120, 20, 12)} {
		f := mustLogistic(t, src, 0.05)
		rng := rand.New(rand.NewPCG(1, 1))
		w, g := make([]float64, f.variables()), make([]float64, f.variables())
		for i := range w {
			w[i] = 0.1 * rng.NormFloat64()
		}
		value, err := f.value(ctx, w)
		if err == nil {
			err = f.gradient(ctx, g)
		}
		if err != nil {
			t.Fatal(err)
		}
		if want := f.definition(w); math.Abs(value-want) > 1e-5*want {
			t.Errorf("%s: value %v, want %v", name, value, want)
		}
		for range 10 {
			j := rng.IntN(len(w))
			const h = 1e-4
			up, down := slices.Clone(w), slices.Clone(w)
			up[j] += h
			down[j] -= h
			if want := (f.definition(up) - f.definition(down)) / (2 * h); math.Abs(g[j]-want) > 1e-5*(1+math.Abs(want)) {
				t.Errorf("%s: slope %d is %v, by differences %v", name, j, g[j], want)
			}
		}
		// Where the descent ends the slope is zero, and nothing near is better.
		clear(w)
		found, steps, err := descend(ctx, f, w, 1e-5, 500)
		if err != nil {
			t.Fatal(err)
		}
		first, last := slices.Clone(w), make([]float64, len(w))
		clear(first)
		if _, err = f.value(ctx, first); err == nil {
			err = f.gradient(ctx, first)
		}
		if err == nil {
			_, err = f.value(ctx, w)
		}
		if err == nil {
			err = f.gradient(ctx, last)
		}
		if err != nil {
			t.Fatal(err)
		}
		if linalg.Norm(last) > 1e-4*linalg.Norm(first) || steps == 500 {
			t.Errorf("%s: the slope fell from %v to %v in %d steps", name, linalg.Norm(first), linalg.Norm(last), steps)
		}
		for range 3 {
			near := slices.Clone(w)
			for j := range near {
				near[j] += 0.01 * rng.NormFloat64()
			}
			if v := f.definition(near); v < found-1e-6 {
				t.Errorf("%s: %v is better than %v", name, v, found)
			}
		}
	}
}

// The map of raw values must give the scores that were learned from bins; of whole numbers up to 255 bins are the
// values.
func TestScoresOfRawValues(t *testing.T) {
	ctx := context.Background()
	x, class := methodtest.ClusterMatrix(5, 150, 6, 3)
	for i, v := range x.Data {
		x.Data[i] = float32(math.Floor(float64(v)))
	}
	f := mustLogistic(t, vectors.WithLabels(x, methodtest.ClassNames(class)), 0.01)
	w := make([]float64, f.variables())
	if _, _, err := descend(ctx, f, w, 1e-3, 100); err != nil {
		t.Fatal(err)
	}
	f.w = w
	if err := f.scores(ctx); err != nil {
		t.Fatal(err)
	}
	got, err := model.Transform(ctx, 1, x, f.affine(w))
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range got.Data {
		if math.Abs(float64(v-f.score[i])) > 1e-4 {
			t.Fatalf("score %d is %v, from bins %v", i, v, f.score[i])
		}
	}
}
