package method

import (
	"cmp"
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
	y, _, err := targetsOf(l.Data)
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

// minimise descends until the slope has fallen by the tolerance.
func (f *logistic) minimise(t *testing.T, w []float64, tolerance float64, steps int) (float64, int) {
	t.Helper()
	g := make([]float64, len(w))
	_, err := f.value(t.Context(), w)
	if err == nil {
		err = f.gradient(t.Context(), g)
	}
	if err != nil {
		t.Fatal(err)
	}
	enough := tolerance * linalg.Norm(g)
	found, steps, err := f.descend(t.Context(), w, &enough, steps)
	if err != nil {
		t.Fatal(err)
	}
	return found, steps
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
		found, steps := f.minimise(t, w, 1e-5, 500)
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
	f.minimise(t, w, 1e-3, 100)
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

// Rows held out have a loss and no say: value and gradient are those of the other rows alone.
func TestRowsHeldOutHaveNoSay(t *testing.T) {
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(4, 4))
	for name, src := range map[string]vectors.Source{"classes": methodtest.Classed(5, 150, 7, 3),
		"tags": methodtest.Tagged(5, 150, 7, 3)} {
		f := mustLogistic(t, src, 0.05)
		part := partsOf(f.y, 9)
		w := make([]float64, f.variables())
		for i := range w {
			w[i] = 0.3 * rng.NormFloat64()
		}
		whole := f.definition(w)
		penalty := whole
		f.penalty = 0
		penalty -= f.definition(w)
		f.penalty = 0.05
		// A copy of the problem that never had the rows of part 2.
		var keep []bool
		for _, p := range part {
			keep = append(keep, p != 2)
		}
		l := mustLabelled(t, src, -1)
		rest := &labelled{Data: l.Only(keep)}
		y, _, err := targetsOf(rest.Data)
		if err != nil {
			t.Fatal(err)
		}
		x, err := vectors.Quantize(ctx, rest.Source, rest.Rows, f.x.Quantizer, 1)
		if err != nil {
			t.Fatal(err)
		}
		alone := *f
		alone.x, alone.y, alone.kept, alone.score = x, y, x.Rows, make([]float32, x.Rows*y.Classes)
		f.holdOut(part, 2)
		if f.kept != x.Rows || f.kept == len(part) {
			t.Fatalf("%s: %d of %d rows are kept, not %d", name, f.kept, len(part), x.Rows)
		}
		got, err := f.value(ctx, w)
		if err != nil {
			t.Fatal(err)
		}
		want, err := alone.value(ctx, w)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: value %v, without the rows %v", name, got, want)
		}
		n := float64(len(part))
		if held := n*(whole-penalty) - float64(x.Rows)*(alone.definition(w)-penalty); math.Abs(f.held-held) > 1e-3 {
			t.Errorf("%s: the rows held out have loss %v, want %v", name, f.held, held)
		}
		g, h := make([]float64, len(w)), make([]float64, len(w))
		if err := f.gradient(ctx, g); err != nil {
			t.Fatal(err)
		}
		if err := alone.gradient(ctx, h); err != nil {
			t.Fatal(err)
		}
		for i := range g {
			if math.Abs(g[i]-h[i]) > 1e-6 {
				t.Fatalf("%s: slope %d is %v, without the rows %v", name, i, g[i], h[i])
			}
		}
	}
}

// Parts are of one size, in every class, and a row that is alone in its class stays.
func TestPartsOfTheSample(t *testing.T) {
	y := targets{Classes: 4, Start: []int{0}}
	for i := range 103 {
		y.Of = append(y.Of, int32([]int{0, 0, 1, 2}[i%4]))
		y.Start = append(y.Start, i+1)
	}
	y.Of[7] = 3
	count := make([][tuningParts]int, 4)
	for i, p := range partsOf(y, 1) {
		if (p < 0) != (y.Of[i] == 3) {
			t.Errorf("row %d of class %d is in part %d", i, y.Of[i], p)
		}
		if p >= 0 {
			count[y.Of[i]][p]++
		}
	}
	for c, parts := range count[:3] {
		for _, n := range parts {
			if n < parts[0]-1 || n > parts[0]+1 || n == 0 {
				t.Errorf("class %d has %v rows in the parts", c, parts)
			}
		}
	}
}

// noisyRows returns rows of which two columns, on a scale of their own, say something about the class, and noise besides.
func noisyRows(seed uint64, rows, cols int, unit float32) (vectors.Matrix, []int32) {
	rng := rand.New(rand.NewPCG(seed, 1))
	x := vectors.Matrix{Rows: rows, Cols: cols, Data: make([]float32, rows*cols)}
	class := make([]int32, rows)
	for i := range rows {
		class[i] = int32(rng.IntN(3))
		row := x.Row(i)
		for j := range row {
			row[j] = float32(rng.NormFloat64())
		}
		row[0] = unit * (row[0] + 1.5*float32(class[i]%2))
		row[1] = unit * (row[1] + 1.5*float32(class[i]/2))
	}
	return x, class
}

// The scale is chosen by what it is worth: of columns that say little because they are small, and of noise that is.
func TestScaleIsChosen(t *testing.T) {
	for _, c := range []struct {
		unit float32
		want string
	}{{1e-4, StandardizeOn}, {30, StandardizeOff}} {
		x, class := noisyRows(3, 200, 60, c.unit)
		f := mustLogistic(t, vectors.WithLabels(x, methodtest.ClassNames(class)), 0)
		for _, asked := range []string{"", StandardizeOn, StandardizeOff} {
			_, chosen, err := fitLogistic(context.Background(), f.x, f.y, Options{Seed: 1, Standardize: asked})
			if err != nil {
				t.Fatal(err)
			}
			if chosen.scale != cmp.Or(asked, c.want) {
				t.Errorf("unit %v: scaled %q when asked for %q", c.unit, chosen.scale, asked)
			}
		}
	}
}

// Few rows that are all different, or rows without a single part to hold out, are fitted all the same.
func TestNothingToTuneBy(t *testing.T) {
	x, _ := noisyRows(1, 4, 3, 1)
	f := mustLogistic(t, vectors.WithLabels(x, []string{"a", "b", "c", "c"}), 0)
	f.y = targets{Classes: 4, Start: []int{0, 1, 2, 3, 4}, Of: []int32{0, 1, 2, 3}}
	if _, chosen, err := fitLogistic(context.Background(), f.x, f.y, Options{}); err != nil ||
		!math.IsInf(chosen.loss, 1) || !(chosen.penalty > 0) {
		t.Errorf("%+v %v", chosen, err)
	}
}
