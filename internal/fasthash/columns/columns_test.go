package columns

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
	"hashgrove/internal/testkit/methodtest"
	"hashgrove/internal/vectors"
)

func someOptions(kind string) Options {
	return Options{Kind: kind, Copies: 1, Microseconds: 15, Seed: 1, Threads: 2}
}

func mustScan(t *testing.T, src vectors.Source) *supervision.Data {
	t.Helper()
	d, err := methodtest.Data(src)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// slowScores is the definition of linear scores: the ridge regression of the rows in the given places, for a penalty.
func slowScores(
	x vectors.Matrix, class []int32, classes int, rows []int, penalty float64,
) func(row []float32) []float64 {
	n, d := len(rows), x.Cols
	z, y := mat.NewDense(n, d, nil), mat.NewDense(n, classes, nil)
	mean, rate := make([]float64, d), make([]float64, classes)
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
			trace += z.At(r, j) * z.At(r, j) / float64(n*d)
		}
		for k := range classes {
			y.Set(r, k, y.At(r, k)-rate[k])
		}
	}
	var a, b, w mat.Dense
	a.Mul(z.T(), z)
	b.Mul(z.T(), y)
	a.Scale(1/float64(n), &a)
	b.Scale(1/float64(n), &b)
	for j := range d {
		a.Set(j, j, a.At(j, j)+penalty*trace)
	}
	if err := w.Solve(&a, &b); err != nil {
		panic(err)
	}
	return func(row []float32) []float64 {
		out := slices.Clone(rate)
		for k := range out {
			for j, v := range row {
				out[k] += w.At(j, k) * (float64(v) - mean[j])
			}
		}
		return out
	}
}

// standardised is (x - mean) / max(spread, median spread).
func standardised(x vectors.Matrix) vectors.Matrix {
	z := vectors.Matrix{Rows: x.Rows, Cols: x.Cols, Data: make([]float32, len(x.Data))}
	mean, spread := make([]float64, x.Cols), make([]float64, x.Cols)
	for j := range x.Cols {
		for i := range x.Rows {
			mean[j] += float64(x.Row(i)[j]) / float64(x.Rows)
		}
		for i := range x.Rows {
			e := float64(x.Row(i)[j]) - mean[j]
			spread[j] += e * e / float64(x.Rows)
		}
		spread[j] = math.Sqrt(spread[j])
	}
	least := slices.Sorted(slices.Values(spread))[x.Cols/2]
	for i := range x.Rows {
		for j := range x.Cols {
			z.Row(i)[j] = float32((float64(x.Row(i)[j]) - mean[j]) / max(spread[j], least))
		}
	}
	return z
}

// TestScoresAreTheDefinition: a row's scores are those of the fit to the other folds, at the penalty whose fits to all
// but two folds err least in the other one; a row in no fold gets those of the fit to all.
func TestScoresAreTheDefinition(t *testing.T) {
	ctx := context.Background()
	x, classes := methodtest.ClusterMatrix(3, 400, 12, 3)
	d := mustScan(t, vectors.WithLabels(x, methodtest.ClassNames(classes)))
	o := someOptions(Linear)
	var err error
	if o.Part, err = Divide(ctx, d, Parts, o); err != nil {
		t.Fatal(err)
	}
	fold := o.Part
	f := newFit(d, o, false, maxScores)
	f.shape = &shape{}
	got, err := f.run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	z, penalties := standardised(x), linearPenalties[:]
	without := func(folds ...uint8) (rows []int) {
		for i, f := range fold {
			if !slices.Contains(folds, f) {
				rows = append(rows, i)
			}
		}
		return rows
	}
	class := d.Labels.Class
	total := make([]float64, len(penalties))
	check := func(what string, row int, score []float32, want []float64) {
		t.Helper()
		for k, v := range score {
			if math.Abs(float64(v)-want[k]) > 2e-4 {
				t.Fatalf("%s: row %d has the scores %v, want %v", what, row, score, want)
			}
		}
	}
	for k := range uint8(Parts) {
		wrong := make([]float64, len(penalties))
		for p, penalty := range penalties {
			for j := range uint8(Parts) {
				if j == k {
					continue
				}
				score := slowScores(z, class, 3, without(j, k), penalty)
				for i, f := range fold {
					if f == j {
						for c, v := range score(z.Row(i)) {
							if int32(c) == class[i] {
								v--
							}
							wrong[p] += v * v
						}
					}
				}
			}
			total[p] += wrong[p]
		}
		score := slowScores(z, class, 3, without(k), penalties[slices.Index(wrong, slices.Min(wrong))])
		for i, f := range fold {
			if f == k {
				check("training", i, got.Values.Row(i), score(z.Row(i)))
			}
		}
	}
	all := slowScores(z, class, 3, without(), penalties[slices.Index(total, slices.Min(total))])
	y, err := model.Transform(ctx, 1, x, got.Maps...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range x.Rows {
		check("new", i, y.Row(i), all(z.Row(i)))
	}
}

// TestScoresDoNotKnowTheirRows: other classes of the rows of one fold leave these rows' scores as they are, and change
// those of others; rows held out change none.
func TestScoresDoNotKnowTheirRows(t *testing.T) {
	ctx := context.Background()
	for _, kernel := range []bool{false, true} {
		d := mustScan(t, methodtest.Classed(4, 300, 12, 3))
		o := someOptions("")
		fold, err := Divide(ctx, d, Parts+1, o)
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range fold {
			if f == Parts {
				fold[i] = Held
			}
		}
		o.Part = fold
		fit := func() *Columns {
			f := newFit(d, o, kernel, maxScores)
			f.shape = &shape{width: 1}
			s, err := f.run(ctx)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		swap := func(in uint8) { // all classes stay as frequent as they were, so the columns are the same
			var rows []int
			for i, f := range fold {
				if f == in {
					rows = append(rows, i)
				}
			}
			first := d.Labels.Class[rows[0]]
			for k := range len(rows) - 1 {
				d.Labels.Class[rows[k]] = d.Labels.Class[rows[k+1]]
			}
			d.Labels.Class[rows[len(rows)-1]] = first
		}
		before := fit()
		swap(Held)
		if after := fit(); !slices.Equal(after.Values.Data, before.Values.Data) {
			t.Errorf("kernel %v: classes of rows held out change scores", kernel)
		}
		swap(2)
		after := fit()
		for i, f := range fold {
			if same := slices.Equal(after.Values.Row(i), before.Values.Row(i)); same != (f == 2) {
				t.Fatalf("kernel %v: row %d of part %d: the same scores is %v", kernel, i, f, same)
			}
		}
	}
}

// TestScoresOfWideRowsAndTags: rows wider than sums are taken of, most frequent tags, missing values.
func TestScoresOfWideRowsAndTags(t *testing.T) {
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(8, 8))
	x := vectors.Matrix{Rows: 120, Cols: maxSumSide + 52, Data: make([]float32, 120*(maxSumSide+52))}
	tags := make([][]string, x.Rows)
	for i := range x.Data {
		x.Data[i] = float32(rng.NormFloat64())
	}
	for i := range tags {
		tags[i] = append(tags[i], fmt.Sprint("rare", i%50))
		if i%3 == 0 {
			tags[i] = append(tags[i], "third")
			for j := range 200 {
				x.Row(i)[j]++
			}
		}
		x.Row(i)[300+i] = float32(math.NaN())
	}
	d := &supervision.Data{Source: vectors.Table{X: x, Tags: tags}, Rows: x.Rows}
	clean := slices.Clone(x.Data)
	for i, v := range clean {
		if v != v {
			clean[i] = 0
		}
	}
	s := mustScan(t, vectors.Table{X: vectors.Matrix{Rows: x.Rows, Cols: x.Cols, Data: clean}, Tags: tags})
	d.Supervision, d.Digest = s.Supervision, s.Digest
	got, err := Fit(ctx, d, someOptions(Linear))
	if err != nil {
		t.Fatal(err)
	}
	k := slices.Index(got.Names, "linear:third")
	if len(got.Names) != maxScores || k < 0 || len(got.Maps) != 1 {
		t.Fatalf("%d columns, that of the frequent tag at %d, %d maps", len(got.Names), k, len(got.Maps))
	}
	ahead := 0
	for i := range x.Rows {
		if (got.Values.Row(i)[k] > 1.0/3) == (i%3 == 0) {
			ahead++
		}
	}
	if ahead < 100 { // of 120, by fits that do not know the row
		t.Errorf("the score of a tag is right for %d of %d rows", ahead, x.Rows)
	}
	if slices.ContainsFunc(got.Values.Data, func(v float32) bool { return v != v }) {
		t.Error("a missing value makes a score missing")
	}
}

// TestPartsOfClassesAreEven: each class is spread evenly over the parts, and equal rows stay together.
func TestPartsOfClassesAreEven(t *testing.T) {
	var hashes []uint64
	var class []int32
	for k, n := range []int{500, 5, 12} {
		for range n {
			hashes, class = append(hashes, uint64(len(hashes))), append(class, int32(k))
		}
	}
	hashes, class = append(hashes, hashes[3]), append(class, 2) // a row that is there again, in another class
	fold, different := divide(hashes, class, 5, 1, 1)
	if different != len(hashes)-1 || fold[3] != fold[len(fold)-1] {
		t.Errorf("%d different rows; equal ones in parts %d and %d", different, fold[3], fold[len(fold)-1])
	}
	counts := make([][5]int, 3)
	for i, f := range fold[:len(fold)-1] {
		counts[class[i]][f]++
	}
	for k, c := range counts {
		if slices.Max(c[:])-slices.Min(c[:]) > 1 {
			t.Errorf("class %d has %v rows in the parts", k, c)
		}
	}
}

// TestScoresBalanceClasses: with balanced classes a row of a small class counts more in the scores.
func TestScoresBalanceClasses(t *testing.T) {
	d := mustScan(t, methodtest.Classed(4, 200, 12, 3))
	for _, balanced := range []bool{false, true} {
		f := newFit(d, Options{Balanced: balanced}, false, maxScores)
		f.chooseTargets()
		if (f.weight != nil) != balanced {
			t.Fatalf("balanced %v: rows count %v", balanced, f.weight)
		}
		sizes := make([]int, len(d.Labels.Names))
		for _, k := range d.Labels.Class {
			sizes[k]++
		}
		for k, got := range f.weight {
			if want := float64(slices.Max(sizes)+10) / float64(sizes[k]+10); got != want {
				t.Errorf("a row of class %d counts %v, want %v", k, got, want)
			}
		}
	}
}

// TestFormsAreTheDefinition: scores less the share of a class, divided by one of its roots, and what is made of them.
func TestFormsAreTheDefinition(t *testing.T) {
	scores := vectors.Matrix{Rows: 2, Cols: 3, Data: []float32{0.7, 0.1, 0.2, 0.3, 0.6, 0.1}}
	share := []float64{0.8, 0.15, 0.05}
	for _, f := range forms {
		got, err := model.Transform(t.Context(), 1, scores, f.maps(share)...)
		if err != nil {
			t.Fatal(err)
		}
		for i := range scores.Rows {
			want, sum := make([]float64, len(share)), 0.0
			for k, p := range share {
				power := 0.5
				if f.mild {
					power = 0.25
				}
				if want[k] = (float64(scores.Row(i)[k]) - p) * math.Pow(p, -power); f.beta > 0 {
					want[k] = math.Exp(f.beta * want[k])
				}
				sum += want[k]
			}
			for k, v := range got.Row(i) {
				if f.beta > 0 {
					want[k] /= sum
				}
				if math.Abs(float64(v)-want[k]) > 1e-5 {
					t.Errorf("%v: class %d of row %d has %v, want %v", f, k, i, v, want[k])
				}
			}
		}
	}
}
