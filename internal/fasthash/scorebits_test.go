package fasthash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/fasthash/columns"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// manyClasses is a few rows around each of many centres.
func manyClasses(t *testing.T, classes, each int) *supervision.Data {
	t.Helper()
	const dim = 16
	rng := rand.New(rand.NewPCG(3, uint64(classes)))
	x := vectors.Matrix{Rows: classes * each, Cols: dim}
	var labels []string
	for c := range classes {
		var centre [dim]float64
		for j := range centre {
			centre[j] = rng.NormFloat64()
		}
		for range each {
			for _, v := range centre {
				x.Data = append(x.Data, float32(v+0.6*rng.NormFloat64()))
			}
			labels = append(labels, fmt.Sprint("class ", c))
		}
	}
	return scanned(t, vectors.WithLabels(x, labels))
}

// TestScoreBitIsTheDefinition: the sign of the sum over classes of the mean of the bit times the value in its bin.
func TestScoreBitIsTheDefinition(t *testing.T) {
	ctx := context.Background()
	d := manyClasses(t, 9, 20)
	q, err := d.QuantizerBy(ctx, vectors.Linear)
	if err != nil {
		t.Fatal(err)
	}
	x, err := vectors.Quantize(ctx, d, d.Rows, q, 1)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Options{Learner: Scores, Threads: 2}.fitter(ctx, x, d.Labels.Class)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	z := make([]int8, d.Rows)
	code, count := make([]float64, x.Dim()), make([]float64, x.Dim())
	for i := range z {
		z[i] = int8(2*rng.IntN(2) - 1)
		code[d.Labels.Class[i]] += float64(z[i])
		count[d.Labels.Class[i]]++
	}
	got := make([]int8, d.Rows)
	h, err := f.Fit(ctx, z, nil, 1, 1)
	if err == nil {
		err = model.Outputs(ctx, h, x, 1, got)
	}
	if err != nil {
		t.Fatal(err)
	}
	said := loop{class: d.Labels.Class}.fedBack(h, got)
	for i := range got {
		sum := 0.0
		for k := range 9 {
			step := (float64(q.Hi[k]) - float64(q.Lo[k])) / (vectors.Bins - 1)
			sum += code[k] / count[k] * (float64(q.Lo[k]) + step*float64(x.Column(k)[i]))
		}
		if sum*sum > 1e-6 && (sum > 0) != (got[i] > 0) {
			t.Errorf("row %d: bit %d of the sum %v", i, got[i], sum)
		}
		if c := code[d.Labels.Class[i]]; c != 0 && (c > 0) != (said[i] > 0) {
			t.Errorf("row %d of a class of mean %v goes to Step 1 as %d", i, c, said[i])
		}
	}
}

// scoreMethod learns bits from scores.
func scoreMethod(bits int, kind string) Trainer {
	return Trainer{Options{Bits: bits, Learner: Scores, LinearColumns: kind}, Run{Report: new(Report)}}
}

// TestLearnerIsTried: many small classes get scores, few large ones trees without a trial, and whoever sets options of
// trees gets trees.
func TestLearnerIsTried(t *testing.T) {
	many := manyClasses(t, 40, 10)
	for name, c := range map[string]struct {
		d     *supervision.Data
		o     Options
		want  Learner
		tried bool
	}{
		"many classes": {many, Options{}, Scores, true},
		"set":          {many, Options{LinearColumns: columns.Off}, Trees, false},
		"two classes":  {manyClasses(t, 2, 60), Options{}, Trees, false},
		"paper":        {many, Options{Effort: Paper}, Trees, false},
	} {
		c.o.Bits = 6
		m := Trainer{c.o, Run{Report: new(Report)}}
		made := mustTrain(t, m, c.d)
		if got := m.Report.Options.Learner; got != c.want || strings.Contains(made.Info.Linear, "trees are taken if ahead by ") != c.tried {
			t.Errorf("%s: learner %s: %s", name, got, made.Info.Linear)
		}
	}
}

// TestScoresAreRefused where there is nothing to score, and with options they do not have.
func TestScoresAreRefused(t *testing.T) {
	d := manyClasses(t, 20, 12)
	missing := *d
	missing.Missing = true
	few := d.Only(slices.Concat(slices.Repeat([]bool{true}, 40), make([]bool, d.Rows-40)))
	for code, c := range map[message.Code]struct {
		d *supervision.Data
		m Trainer
	}{
		"missing-values": {&missing, scoreMethod(2, "")},
		"few-rows":       {few, scoreMethod(2, "")},
		"learner":        {d, Trainer{Options{Bits: 2, Learner: Scores}, Run{Spill: vectors.NewSpill(t.TempDir())}}},
	} {
		if _, err := c.m.Train(t.Context(), c.d); !message.Is(err, code) {
			t.Errorf("%s: %v", code, err)
		}
	}
	for _, o := range []Options{{Learner: Scores, LinearColumns: columns.Off}, {Learner: Scores, Candidates: 3},
		{Learner: "best"}} {
		if _, err := o.WithDefaults(); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}
