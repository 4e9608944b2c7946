package fasthash

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// slanted is rows of three classes that differ in the sign of sums over all columns, in no single one much; the units
// of the columns differ by up to a thousand.
func slanted(rows, cols int, seed uint64) (vectors.Matrix, []string) {
	rng := rand.New(rand.NewPCG(seed, 2))
	x := vectors.Matrix{Rows: rows, Cols: cols, Data: make([]float32, rows*cols)}
	labels := make([]string, rows)
	for i := range rows {
		u, v := 0.0, 0.0
		for j := range cols {
			e := rng.NormFloat64()
			u += e
			v += e * float64(1-2*(j%2))
			x.Row(i)[j] = float32((e + 2) * math.Pow(10, float64(j%4)))
		}
		switch {
		case u > 0.5*math.Sqrt(float64(cols)):
			labels[i] = "up"
		case v > 0:
			labels[i] = "even"
		default:
			labels[i] = "odd"
		}
	}
	return x, labels
}

func slantedData(t *testing.T, rows int, seed uint64) *supervision.Data {
	t.Helper()
	x, labels := slanted(rows, 12, seed)
	return scanned(t, vectors.WithLabels(x, labels))
}

// someTraining is a training with its options filled in.
func someTraining(t *testing.T) *training {
	t.Helper()
	tr := &training{Method: quick(3)}
	var err error
	if tr.Options, err = tr.Options.WithDefaults(); err != nil {
		t.Fatal(err)
	}
	return tr
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
	x, labels := slanted(400, 12, 3)
	d := scanned(t, vectors.WithLabels(x, labels))
	tr := someTraining(t)
	fold, err := tr.scoreFolds(context.Background(), d, scoreFolds)
	if err != nil {
		t.Fatal(err)
	}
	got, err := tr.fitScores(context.Background(), d, LinearScores, fold)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"linear:even", "linear:odd", "linear:up"}; !slices.Equal(got.names, want) {
		t.Errorf("columns %q, want %q", got.names, want)
	}
	z, penalties := standardised(x), []float64{1, 0.1, 0.01, 0.001}
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
	for k := range uint8(scoreFolds) {
		wrong := make([]float64, len(penalties))
		for p, penalty := range penalties {
			for j := range uint8(scoreFolds) {
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
				check("training", i, got.values.Row(i), score(z.Row(i)))
			}
		}
	}
	all := slowScores(z, class, 3, without(), penalties[slices.Index(total, slices.Min(total))])
	y, err := model.Transform(context.Background(), 1, x, got.extension())
	if err != nil {
		t.Fatal(err)
	}
	for i := range x.Rows {
		check("new", i, y.Row(i)[12:], all(z.Row(i)))
	}
}

// TestScoresDoNotKnowTheirRows: other classes of the rows of one fold leave these rows' scores as they are, and change
// those of others; rows held out change none.
func TestScoresDoNotKnowTheirRows(t *testing.T) {
	ctx := context.Background()
	for _, kind := range []string{LinearScores, KernelScores} {
		tr := someTraining(t)
		d := slantedData(t, 300, 4)
		fold, err := tr.scoreFolds(ctx, d, scoreFolds+1)
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range fold {
			if f == scoreFolds {
				fold[i] = heldFold
			}
		}
		fit := func() *scores {
			known := shape{known: true, kernel: kernelShape{width: 1}}
			s, err := tr.fitShape(ctx, d, kind, fold, maxScores, known)
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
		swap(heldFold)
		if after := fit(); !slices.Equal(after.values.Data, before.values.Data) {
			t.Errorf("%s: classes of rows held out change scores", kind)
		}
		swap(2)
		after := fit()
		for i, f := range fold {
			if same := slices.Equal(after.values.Row(i), before.values.Row(i)); same != (f == 2) {
				t.Fatalf("%s: row %d of fold %d: the same scores is %v", kind, i, f, same)
			}
		}
	}
}

// withColumns is a training that adds columns.
func withColumns(bits int, kind string) Method {
	m := quick(bits)
	m.Trees = boost.Options{Rounds: 20, Depth: 2}
	m.LinearColumns = kind
	return m
}

// TestAutoTakesWhatHelps: scores where classes are sums over columns, none where classes are noise.
func TestAutoTakesWhatHelps(t *testing.T) {
	m := withColumns(2, LinearAuto)
	made := mustTrain(t, m, slantedData(t, 600, 6))
	if len(made.Info.Added) == 0 {
		t.Errorf("nothing added: %s", made.Info.Linear)
	}
	x, labels := slanted(600, 12, 7)
	rng := rand.New(rand.NewPCG(1, 1))
	rng.Shuffle(len(labels), func(i, j int) { labels[i], labels[j] = labels[j], labels[i] })
	made = mustTrain(t, m, scanned(t, vectors.WithLabels(x, labels)))
	if _, ok := made.Encoder.(*model.Binned); !ok || made.Info.Added != nil ||
		m.Report.linear != "tried" || made.Info.Linear != m.Report.Linear {
		t.Errorf("%T with %q: %s", made.Encoder, made.Info.Added, made.Info.Linear)
	}
}

func TestLinearColumnsAreLeftOut(t *testing.T) {
	d := slantedData(t, 300, 5)
	pairs := slantedData(t, 300, 5)
	some := []supervision.Pair{{A: 0, B: 1, Y: 1}, {A: 0, B: 2, Y: -1}, {A: 3, B: 4, Y: -1}}
	if err := pairs.SetPairs(some); err != nil {
		t.Fatal(err)
	}
	hyperplanes := withColumns(2, LinearScores)
	hyperplanes.Learner = Linear
	for code, c := range map[message.Code]struct {
		m    Method
		d    *supervision.Data
		fact string
	}{
		"hyperplanes": {hyperplanes, d, ""},
		"only-pairs":  {withColumns(2, LinearAuto), pairs, ""},
		"few-rows":    {withColumns(2, KernelScores), slantedData(t, 40, 5), "40"},
	} {
		made := mustTrain(t, c.m, c.d)
		if _, ok := made.Encoder.(*model.Binned); !ok || c.m.Report.linear != code ||
			made.Info.Linear != c.m.Report.Linear || !strings.Contains(made.Info.Linear, c.fact) {
			t.Errorf("%T: %s, %q, want %s", made.Encoder, c.m.Report.linear, made.Info.Linear, code)
		}
	}
	m := quick(2)
	m.LinearColumns = "slanted"
	if _, err := m.Train(context.Background(), d); err == nil || !strings.Contains(err.Error(), "slanted") {
		t.Errorf("an unknown word: %v", err)
	}
	off, none := quick(2), quick(2) // of the effort paper, which adds none
	off.LinearColumns = LinearOff
	if mustTrain(t, off, d).Fingerprint() != mustTrain(t, none, d).Fingerprint() {
		t.Error("off makes another model than nothing said")
	}
}

// mustResume interrupts a training after its second bit and resumes it, which has to end as if nothing had happened.
func mustResume(t *testing.T, m Method, d *supervision.Data, want []byte) {
	t.Helper()
	m.Checkpoint = filepath.Join(t.TempDir(), "ckpt")
	ctx, cancel := context.WithCancel(t.Context())
	m.Progress = func(b Bit) {
		if b.Bit == 2 {
			cancel()
		}
	}
	if _, err := m.Train(ctx, d); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	m.Resume, m.Progress = true, nil
	if got := bytesOf(t, mustTrain(t, m, d)); m.Report.Resumed != 2 || !bytes.Equal(got, want) {
		t.Errorf("resumed from bit %d, or another model", m.Report.Resumed)
	}
}

// TestScoresOfWideRowsAndTags: rows wider than sums are taken of, most frequent tags, missing values.
func TestScoresOfWideRowsAndTags(t *testing.T) {
	ctx, tr := context.Background(), someTraining(t)
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
	s := scanned(t, vectors.Table{X: vectors.Matrix{Rows: x.Rows, Cols: x.Cols, Data: clean}, Tags: tags})
	d.Supervision, d.Digest = s.Supervision, s.Digest
	fold, err := tr.scoreFolds(ctx, d, scoreFolds)
	if err != nil {
		t.Fatal(err)
	}
	got, err := tr.fitScores(ctx, d, LinearScores, fold)
	if err != nil {
		t.Fatal(err)
	}
	k := slices.Index(got.names, "linear:third")
	if len(got.names) != maxScores || k < 0 || len(got.maps) != 1 {
		t.Fatalf("%d columns, that of the frequent tag at %d, %d maps", len(got.names), k, len(got.maps))
	}
	ahead := 0
	for i := range x.Rows {
		if (got.values.Row(i)[k] > 1.0/3) == (i%3 == 0) {
			ahead++
		}
	}
	if ahead < 100 { // of 120, by fits that do not know the row
		t.Errorf("the score of a tag is right for %d of %d rows", ahead, x.Rows)
	}
	if slices.ContainsFunc(got.values.Data, func(v float32) bool { return v != v }) {
		t.Error("a missing value makes a score missing")
	}
}

// TestLinearColumnsTakeMissingValues: rows that lack values are learned from and encoded, alone and among others.
func TestLinearColumnsTakeMissingValues(t *testing.T) {
	x, labels := slanted(300, 12, 5)
	for i := range x.Rows {
		x.Row(i)[i%12] = float32(math.NaN())
	}
	d, err := supervision.Scan(context.Background(), vectors.WithLabels(x, labels),
		supervision.ScanOptions{Digest: true, Missing: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{LinearScores, KernelScores, KernelAuto} {
		made := mustTrain(t, withColumns(3, kind), d)
		if kind != KernelAuto && len(made.Info.Added) == 0 || !made.TakesMissing() {
			t.Fatalf("%s: added %q, takes missing values %v", kind, made.Info.Added, made.TakesMissing())
		}
		codes, err := made.Encode(context.Background(), x, 2)
		if err != nil {
			t.Fatal(err)
		}
		for i := range x.Rows {
			if code, err := made.EncodeRow(x.Row(i)); err != nil || !slices.Equal(code, codes.Row(i)) {
				t.Fatalf("%s: row %d is %v alone and %v among others, %v", kind, i, code, codes.Row(i), err)
			}
		}
		if _, err := made.Margins(context.Background(), x, 2); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		x.Row(7)[3] = float32(math.Inf(1))
		if _, err := made.Encode(context.Background(), x, 2); !errors.Is(err, model.ErrValue) {
			t.Errorf("%s: an infinite value: %v", kind, err)
		}
		x.Row(7)[3] = 0
	}
}
