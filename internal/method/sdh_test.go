package method

import (
	"context"
	"math"
	"slices"
	"testing"

	"hashgrove/internal/numeric/linalg"
	"hashgrove/internal/testkit/methodtest"
	"hashgrove/internal/vectors"
)

// discreteLoss is the definition of both objectives, without the term of W, for the codes B: the best P for them is
// d.p.
func (d *discrete) regressionLoss(delta float64) float64 {
	loss := 0.0
	for i := range d.b.Rows {
		for l, b := range d.b.Row(i) {
			f := d.bias[l]
			for q, k := range d.K.Row(i) {
				f += float64(k) * float64(d.p.Row(q)[l])
			}
			loss += d.nu * (float64(b) - f) * (float64(b) - f)
		}
	}
	for _, p := range d.p.Data {
		loss += d.nu * delta * float64(p) * float64(p)
	}
	return loss
}

// onehot is Y.
func (d *discrete) onehot(i int) []float64 {
	y := make([]float64, d.y.Classes)
	for _, c := range d.y.Row(i) {
		y[c] = 1
	}
	return y
}

// classifyLoss is |Y - B W|² + λ|W|², generateLoss |B - Y W|² + λ|W|²; w is one row for each class.
func (d *discrete) classifyLoss(w []float64) float64 {
	loss := d.lambda * linalg.Dot(w, w)
	r := d.b.Cols
	for i := range d.b.Rows {
		for c, y := range d.onehot(i) {
			for l, b := range d.b.Row(i) {
				y -= float64(b) * w[c*r+l]
			}
			loss += y * y
		}
	}
	return loss
}

func (d *discrete) generateLoss(w []float64) float64 {
	loss := d.lambda * linalg.Dot(w, w)
	r := d.b.Cols
	for i := range d.b.Rows {
		y := d.onehot(i)
		for l, b := range d.b.Row(i) {
			v := float64(b)
			for c, t := range y {
				v -= t * w[c*r+l]
			}
			loss += v * v
		}
	}
	return loss
}

func mustDiscrete(t *testing.T, src vectors.Source, m sdh) *discrete {
	t.Helper()
	ctx := context.Background()
	f, l := mustFit(t, src, m.Anchors, m.Bits)
	y, _, err := targetsOf(l.Data)
	if err != nil {
		t.Fatal(err)
	}
	d, err := newDiscrete(ctx, m, f.features, y)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Every half step minimises over its variables, so neither objective ever rises: W and P are where the slope is zero, and
// no single flip of a bit lowers the objective (those of FSDH are the best of all codes at once).
func TestDiscreteObjectiveNeverRises(t *testing.T) {
	ctx := context.Background()
	for name, src := range map[string]vectors.Source{"classes": methodtest.Classed(5, 150, 6, 4),
		"tags": methodtest.Tagged(5, 150, 6, 4)} {
		for _, fast := range []bool{false, true} {
			m := sdh{Options: Options{Bits: 12, Anchors: 15}, Nu: 0.3} // a large ν, so that all terms matter
			d := mustDiscrete(t, src, m)
			loss, fit, step := d.classifyLoss, d.classifier, func() error { return d.classify(ctx, 100) }
			if fast {
				loss, fit, step = d.generateLoss, d.codewords, func() error { return d.generate(ctx) }
			}
			last := math.Inf(1)
			check := func(what string, w []float64) {
				t.Helper()
				now := loss(w) + d.regressionLoss(sdhDelta)
				if now > last*(1+1e-5) {
					t.Errorf("%s, fast %v: the objective rose from %v to %v by %s", name, fast, last, now, what)
				}
				last = now
			}
			for range 3 {
				if err := d.regress(ctx); err != nil {
					t.Fatal(err)
				}
				w, err := fit(ctx)
				if err != nil {
					t.Fatal(err)
				}
				check("W and P", w)
				for _, at := range []int{0, len(w) / 2, len(w) - 1} {
					for _, h := range []float64{-1e-3, 1e-3} {
						moved := slices.Clone(w)
						moved[at] += h
						if loss(moved) < loss(w) {
							t.Errorf("%s, fast %v: W is not the best", name, fast)
						}
						p := &d.p.Data[at%len(d.p.Data)]
						best, kept := d.regressionLoss(sdhDelta), *p
						if *p += float32(10 * h); d.regressionLoss(sdhDelta) < best {
							t.Errorf("%s, fast %v: P is not the best", name, fast)
						}
						*p = kept
					}
				}
				if err := step(); err != nil {
					t.Fatal(err)
				}
				check("B", w)
				for i := range d.b.Data {
					if i%41 > 0 {
						continue
					}
					d.b.Data[i] *= -1
					if now := loss(w) + d.regressionLoss(sdhDelta); now < last-1e-6 {
						t.Errorf("%s, fast %v: bit %d of row %d should be flipped", name, fast, i%12, i/12)
					}
					d.b.Data[i] *= -1
				}
			}
		}
	}
}
