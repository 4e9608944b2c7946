package solve

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"hashgrove/internal/testkit/methodtest"
	"hashgrove/internal/vectors"
)

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
		rest := &Labelled{Data: l.Only(keep)}
		y, err := rest.Targets()
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
	y := Targets{Classes: 4, Start: []int{0}}
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
		want Scaling
	}{{1e-4, ScaleEach}, {30, ScaleAlike}} {
		x, class := noisyRows(3, 200, 60, c.unit)
		f := mustLogistic(t, vectors.WithLabels(x, methodtest.ClassNames(class)), 0)
		for _, o := range []Scaling{ScaleEither, ScaleEach, ScaleAlike} {
			fit, err := FitLogistic(context.Background(), f.x, f.y, LogisticOptions{Seed: 1, Scale: o})
			if err != nil {
				t.Fatal(err)
			}
			if want := o; o == ScaleEither && fit.Scale != c.want || o != ScaleEither && fit.Scale != want {
				t.Errorf("unit %v: scaled %q when asked for %q", c.unit, fit.Scale, o)
			}
		}
	}
}

// Few rows that are all different, or rows without a single part to hold out, are fitted all the same.
func TestNothingToTuneBy(t *testing.T) {
	x, _ := noisyRows(1, 4, 3, 1)
	f := mustLogistic(t, vectors.WithLabels(x, []string{"a", "b", "c", "c"}), 0)
	f.y = Targets{Classes: 4, Start: []int{0, 1, 2, 3, 4}, Of: []int32{0, 1, 2, 3}}
	fit, err := FitLogistic(context.Background(), f.x, f.y, LogisticOptions{})
	if err != nil || !math.IsInf(fit.Loss, 1) || !(fit.Penalty > 0) {
		t.Errorf("%+v %v", fit, err)
	}
}
