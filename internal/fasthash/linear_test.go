package fasthash

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/fasthash/columns"
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

// withColumns is a training that adds columns.
func withColumns(bits int, kind string) Trainer {
	m := quick(bits)
	m.Trees = boost.Options{Rounds: 20, Depth: 2}
	m.LinearColumns = kind
	return m
}

// TestAutoTakesWhatHelps: scores where classes are sums over columns, none where classes are noise.
func TestAutoTakesWhatHelps(t *testing.T) {
	m := withColumns(2, columns.Auto)
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
	hyperplanes := withColumns(2, columns.Linear)
	hyperplanes.Learner = Linear
	for code, c := range map[message.Code]struct {
		m    Trainer
		d    *supervision.Data
		fact string
	}{
		"hyperplanes": {hyperplanes, d, ""},
		"only-pairs":  {withColumns(2, columns.Auto), pairs, ""},
		"few-rows":    {withColumns(2, columns.Kernel), slantedData(t, 40, 5), "40"},
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
	off.LinearColumns = columns.Off
	if mustTrain(t, off, d).Fingerprint() != mustTrain(t, none, d).Fingerprint() {
		t.Error("off makes another model than nothing said")
	}
}

// mustResume interrupts a training after its second bit and resumes it, which has to end as if nothing had happened.
func mustResume(t *testing.T, m Trainer, d *supervision.Data, want []byte) {
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
	for _, kind := range []string{columns.Linear, columns.Kernel, columns.AutoKernel} {
		made := mustTrain(t, withColumns(3, kind), d)
		if kind != columns.AutoKernel && len(made.Info.Added) == 0 || !made.TakesMissing() {
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

// TestHyperplanesHaveBinsOfEqualWidth: ranks in place of values would change what a hyperplane is.
func TestHyperplanesHaveBinsOfEqualWidth(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	x := vectors.Matrix{Rows: 200, Cols: 2}
	labels := make([]string, x.Rows)
	for i := range x.Rows {
		x.Data = append(x.Data, float32(math.Exp(4*rng.NormFloat64())+float64(i%2)), float32(i%2))
		labels[i] = string(rune('a' + i%2))
	}
	d := scanned(t, vectors.WithLabels(x, labels))
	for _, learner := range []Learner{Trees, Linear} {
		m := mustTrain(t, Trainer{Options: Options{Bits: 2, Learner: learner}}, d)
		if plain := m.Encoder.(*model.Binned).Quantizer.Plain(); plain != (learner == Linear) {
			t.Errorf("%s: all bins are of equal width: %v", learner, plain)
		}
	}
}
