package linalg

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"hashgrove/internal/vectors"
)

// foldedRows returns rows of a few classes with their folds.
func foldedRows(seed uint64, n, d, c, folds int) (x vectors.Matrix, class []int32, fold []int) {
	rng := rand.New(rand.NewPCG(seed, 1))
	x = vectors.Matrix{Rows: n, Cols: d, Data: make([]float32, n*d)}
	for i := range n {
		class, fold = append(class, int32(rng.IntN(c))), append(fold, i%folds)
		for j := range d {
			x.Row(i)[j] = float32(rng.NormFloat64()) + 3
		}
		x.Row(i)[int(class[i])%d] += 0.5
	}
	return x, class, fold
}

// slowFit fits the rows of all folds but two by definition, with centred rows and a plain solver.
func slowFit(x vectors.Matrix, class []int32, fold []int, c int, penalty float64, without, and int) (*mat.Dense, []float64) {
	var rows []int
	for i, f := range fold {
		if f != without && f != and {
			rows = append(rows, i)
		}
	}
	n, d := len(rows), x.Cols
	z, y := mat.NewDense(n, d, nil), mat.NewDense(n, c, nil)
	mean, rate := make([]float64, d), make([]float64, c)
	for r, i := range rows {
		for j, v := range x.Row(i) {
			z.Set(r, j, float64(v))
			mean[j] += float64(v) / float64(n)
		}
		y.Set(r, int(class[i]), 1)
		rate[class[i]] += 1 / float64(n)
	}
	trace := 0.0
	for r := range n {
		for j := range d {
			z.Set(r, j, z.At(r, j)-mean[j])
			trace += z.At(r, j) * z.At(r, j) / float64(n)
		}
		for t := range c {
			y.Set(r, t, y.At(r, t)-rate[t])
		}
	}
	var a, b, w mat.Dense
	a.Mul(z.T(), z)
	a.Scale(1/float64(n), &a)
	for j := range d {
		a.Set(j, j, a.At(j, j)+penalty*trace/float64(d))
	}
	b.Mul(z.T(), y)
	b.Scale(1/float64(n), &b)
	if err := w.Solve(&a, &b); err != nil {
		panic(err)
	}
	for t := range c {
		for j := range d {
			rate[t] -= w.At(j, t) * mean[j]
		}
	}
	return &w, rate
}

// slowError returns the sum of the squared errors of a fit in a fold.
func slowError(x vectors.Matrix, class []int32, fold []int, w *mat.Dense, bias []float64, in int) float64 {
	sum := 0.0
	for i, f := range fold {
		if f != in {
			continue
		}
		for t := range bias {
			e := bias[t]
			for j, v := range x.Row(i) {
				e += w.At(j, t) * float64(v)
			}
			if int(class[i]) == t {
				e--
			}
			sum += e * e
		}
	}
	return sum
}

func foldsOf(t *testing.T, x vectors.Matrix, class []int32, fold []int, c, folds int) *Folds {
	t.Helper()
	f := NewFolds(folds, x.Cols, c, 2)
	row := make([]float32, x.Cols) // each row in the same memory
	for i := range x.Rows {
		copy(row, x.Row(i))
		if err := f.Add(context.Background(), fold[i], row, class[i:i+1], 1); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func TestCrossFitIsTheDefinition(t *testing.T) {
	t.Run("many rows", func(t *testing.T) { crossFitIsTheDefinition(t, 4000, 30) })
	t.Run("many columns", func(t *testing.T) { crossFitIsTheDefinition(t, 120, 300) })
}

func crossFitIsTheDefinition(t *testing.T, n, d int) {
	const c, folds = 4, 3
	x, class, fold := foldedRows(5, n, d, c, folds)
	penalties := []float64{3, 0.01, 300}
	each, all, err := foldsOf(t, x, class, fold, c, folds).CrossFit(context.Background(), penalties)
	if err != nil {
		t.Fatal(err)
	}
	same := func(what string, got Regression, penalty float64, without int) {
		t.Helper()
		if got.Ridge != penalty {
			t.Fatalf("%s has the penalty %v, want %v", what, got.Ridge, penalty)
		}
		w, bias := slowFit(x, class, fold, c, penalty, without, without)
		for k := range c {
			if math.Abs(got.Bias[k]-bias[k]) > 1e-4 {
				t.Errorf("%s: bias %v, want %v", what, got.Bias, bias)
			}
			for j, v := range got.Weight.Row(k) {
				if math.Abs(float64(v)-w.At(j, k)) > 1e-5 {
					t.Fatalf("%s: weight %d of target %d is %v, want %v", what, j, k, v, w.At(j, k))
				}
			}
		}
	}
	total := make([]float64, len(penalties))
	for k := range folds {
		wrong := make([]float64, len(penalties))
		for i, p := range penalties {
			for j := range folds {
				if j != k {
					w, bias := slowFit(x, class, fold, c, p, j, k)
					wrong[i] += slowError(x, class, fold, w, bias, j)
				}
			}
			total[i] += wrong[i]
		}
		same("a fold", each[k], penalties[slices.Index(wrong, slices.Min(wrong))], k)
	}
	same("all rows", all, penalties[slices.Index(total, slices.Min(total))], -1)
	mean, err := foldsOf(t, x, class, fold, c, folds).Errors(context.Background(), penalties)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range mean {
		if want := total[i] / float64(n*(folds-1)); math.Abs(e-want) > 1e-4*want {
			t.Errorf("penalty %v: error %v a row, want %v", penalties[i], e, want)
		}
	}
}

// TestFewPairs: with many equations each fold is tried with one other, the first of an odd number with two.
func TestFewPairs(t *testing.T) {
	for folds, want := range map[int][][2]int{4: {{0, 1}, {2, 3}}, 5: {{0, 1}, {2, 3}, {0, 4}}} {
		f := NewFolds(folds, ManyColumns+1, 1, 1)
		f.sums = new(foldSums)
		if got := f.pairs(); !slices.Equal(got, want) {
			t.Errorf("%d folds: pairs %v, want %v", folds, got, want)
		}
	}
	if got := len(NewFolds(5, ManyColumns, 1, 1).pairs()); got != 10 {
		t.Errorf("%d pairs of 5 folds", got)
	}
}

// TestWeightsCountLikeCopies: a row of weight 3 is three rows.
func TestWeightsCountLikeCopies(t *testing.T) {
	t.Run("many rows", func(t *testing.T) { weightsCountLikeCopies(t, 300, 8) })
	t.Run("many columns", func(t *testing.T) { weightsCountLikeCopies(t, 60, 130) })
}

func weightsCountLikeCopies(t *testing.T, n, d int) {
	const c, folds = 3, 3
	x, class, fold := foldedRows(9, n, d, c, folds)
	weighted, copied := NewFolds(folds, d, c, 1), NewFolds(folds, d, c, 1)
	for i := range n {
		copies := 1 + i%3
		err := weighted.Add(t.Context(), fold[i], x.Row(i), class[i:i+1], float64(copies))
		for range copies {
			err = cmp.Or(err, copied.Add(t.Context(), fold[i], x.Row(i), class[i:i+1], 1))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	penalties := []float64{0.001, 0.1, 10}
	each, all, err := weighted.CrossFit(t.Context(), penalties)
	wantEach, wantAll, errWant := copied.CrossFit(t.Context(), penalties)
	if err != nil || errWant != nil {
		t.Fatal(err, errWant)
	}
	for k, got := range append(each, all) {
		want := append(wantEach, wantAll)[k]
		if got.Ridge != want.Ridge {
			t.Errorf("fit %d has the penalty %v, want %v", k, got.Ridge, want.Ridge)
		}
		for j, v := range got.Weight.Data {
			if math.Abs(float64(v-want.Weight.Data[j])) > 1e-4 {
				t.Fatalf("fit %d: weight %d is %v, want %v", k, j, v, want.Weight.Data[j])
			}
		}
	}
}
