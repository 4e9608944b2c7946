package method

import (
	"context"
	"math"
	"testing"

	"hashgrove/internal/model"
	"hashgrove/internal/testkit/methodtest"
	"hashgrove/internal/vectors"
)

func TestOneHot(t *testing.T) {
	ctx := context.Background()
	x, class := methodtest.ClusterMatrix(5, 300, 24, 4)
	e, err := learnFrom(ctx, classifier{OneHot: true}, vectors.WithLabels(x, methodtest.ClassNames(class)))
	if err != nil {
		t.Fatal(err)
	}
	codes := encode(e, x)
	wrong := 0
	for i, c := range class {
		for b := range 4 {
			if codes.Bit(i, b) != (b == int(c)) {
				wrong++
			}
		}
	}
	if e.Bits() != 4 || wrong > 6 {
		t.Errorf("%d bits, %d wrong", e.Bits(), wrong)
	}
}

// The probabilities by their definition from the scores, and what is known as the same kind of matrix.
func TestClassifierProbabilities(t *testing.T) {
	ctx := context.Background()
	for _, src := range []vectors.Source{methodtest.Classed(5, 300, 24, 4), methodtest.Tagged(5, 300, 24, 4)} {
		d := dataOf(t, src)
		c, err := FitClassifier(ctx, d, Options{Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		x := src.(vectors.Table).X
		p, err := c.Probabilities(ctx, x, 2)
		if err != nil {
			t.Fatal(err)
		}
		scores, err := model.Transform(ctx, 1, x, c.scores)
		if err != nil {
			t.Fatal(err)
		}
		known, right := c.Known(d), 0
		for i := range x.Rows {
			sum := 0.0
			for _, s := range scores.Row(i) {
				sum += math.Exp(float64(s))
			}
			for k, s := range scores.Row(i) {
				want := math.Exp(float64(s)) / sum
				has := false
				if c.Several {
					want = 1 / (1 + math.Exp(-float64(s)))
					for _, tag := range d.Tags.Row(i) {
						has = has || d.Tags.Names[tag] == c.Names[k]
					}
				} else {
					has = d.Labels.Names[d.Labels.Class[i]] == c.Names[k]
				}
				if got := float64(p.Row(i)[k]); math.Abs(got-want) > 1e-6 {
					t.Fatalf("row %d: %s has %v, want %v", i, c.Names[k], got, want)
				}
				if has != (known.Row(i)[k] == 1) || !has && known.Row(i)[k] != 0 {
					t.Fatalf("row %d: %s is %v, known as %v", i, c.Names[k], has, known.Row(i)[k])
				}
				if has == (p.Row(i)[k] > 0.5) {
					right++
				}
			}
		}
		if share := float64(right) / float64(len(p.Data)); share < 0.85 {
			t.Errorf("only %.2f of the answers are right", share)
		}
	}
}
