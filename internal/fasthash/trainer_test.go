package fasthash

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/dataset/fashion"
	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/fasthash/columns"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
	"hashgrove/internal/testkit/needs"
	"hashgrove/internal/vectors"
)

// quick is a quick training with a report: few trees, and nothing but trees.
func quick(bits int) Trainer {
	o := Options{Bits: bits, Effort: Paper, Trees: boost.Options{Rounds: 5, Depth: 2, NodeFeatures: 40}}
	return Trainer{o, Run{Report: new(Report)}}
}

// rowsOf is as many rows, or fewer in short runs, which are those under the race detector.
func rowsOf(n int) int {
	if !needs.Full() {
		return n * 2 / 5
	}
	return n
}

// pictures is some of the demo's pictures.
func pictures(t *testing.T, lo, hi int) *supervision.Data {
	t.Helper()
	part := fashion.Train()
	labels := make([]string, hi-lo)
	for i := range labels {
		labels[i] = fashion.Names[part.Class[lo+i]]
	}
	return scanned(t, vectors.WithLabels(part.X.Slice(lo, hi), labels))
}

func scanned(t *testing.T, src vectors.Source) *supervision.Data {
	t.Helper()
	d, err := supervision.Scan(context.Background(), src, supervision.ScanOptions{Digest: true})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func bytesOf(t *testing.T, m *model.Model) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := model.Write(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func mustTrain(t *testing.T, m Trainer, d *supervision.Data) *model.Model {
	t.Helper()
	made, err := m.Train(context.Background(), d)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestResumeAfterEveryBit interrupts after each bit in turn and goes on: always the same bytes.
func TestResumeAfterEveryBit(t *testing.T) {
	d := pictures(t, 0, 300)
	whole := bytesOf(t, mustTrain(t, quick(6), d))
	for stop := 1; stop < 6; stop++ {
		j := quick(6)
		j.Checkpoint = filepath.Join(t.TempDir(), "ckpt")
		ctx, cancel := context.WithCancel(context.Background())
		j.Progress = func(b Bit) {
			if b.Bit == stop {
				cancel()
			}
		}
		if _, err := j.Train(ctx, d); !errors.Is(err, context.Canceled) {
			t.Fatalf("interrupted after bit %d: %v", stop, err)
		}
		j.Progress = nil
		if _, err := j.Train(context.Background(), d); !errors.Is(err, ErrCheckpoint) {
			t.Errorf("without resume: %v", err)
		}
		j.Resume = true
		m, r := mustTrain(t, j, d), j.Report
		if r.Resumed != stop || r.Dropped != 0 || !bytes.Equal(bytesOf(t, m), whole) {
			t.Errorf("after bit %d: resumed %d, dropped %d, or another model", stop, r.Resumed, r.Dropped)
		}
		if err := j.Finish(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(j.Checkpoint); !os.IsNotExist(err) {
			t.Error("the checkpoint is still there")
		}
	}
}

// TestDamagedCheckpointFallsBack flips bytes and truncates: the bits before the damage are used, the model is the same.
func TestDamagedCheckpointFallsBack(t *testing.T) {
	d := pictures(t, 0, 300)
	whole := bytesOf(t, mustTrain(t, quick(4), d))
	saved := quick(4)
	saved.Checkpoint = filepath.Join(t.TempDir(), "ckpt")
	mustTrain(t, saved, d)
	newest := filepath.Join(saved.Checkpoint, "0004.bit")
	good, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}
	step := 7
	if !needs.Full() {
		step = 49
	}
	for at := 0; at < len(good); at += step {
		damaged := bytes.Clone(good)
		if at%2 == 0 {
			damaged[at] ^= 1 << (at % 8)
		} else {
			damaged = damaged[:at]
		}
		if err := os.WriteFile(newest, damaged, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(newest+".0badcafe.tmp", damaged, 0o666); err != nil { // a write that was cut short
			t.Fatal(err)
		}
		saved.Resume = true
		m, r := mustTrain(t, saved, d), saved.Report
		if r.Resumed != 3 || r.Dropped != 1 || !bytes.Equal(bytesOf(t, m), whole) {
			t.Fatalf("byte %d: resumed %d, dropped %d", at, r.Resumed, r.Dropped)
		}
		if left, _ := filepath.Glob(filepath.Join(saved.Checkpoint, "*.tmp")); len(left) > 0 {
			t.Fatalf("left %v", left)
		}
	}
	// Damage in the middle gives up what follows it.
	if err := os.WriteFile(filepath.Join(saved.Checkpoint, "0002.bit"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	m, r := mustTrain(t, saved, d), saved.Report
	if r.Resumed != 1 || r.Dropped != 3 || !bytes.Equal(bytesOf(t, m), whole) {
		t.Errorf("resumed %d, dropped %d", r.Resumed, r.Dropped)
	}
}

func TestChangedOptionsAreRefused(t *testing.T) {
	d := pictures(t, 0, 300)
	saved := quick(3)
	saved.Checkpoint = filepath.Join(t.TempDir(), "ckpt")
	mustTrain(t, saved, d)
	saved.Resume = true
	for want, change := range map[string]func(*Trainer){
		"trees.depth":         func(m *Trainer) { m.Trees.Depth = 3 },
		"seed":                func(m *Trainer) { m.Seed = 2 },
		"bits":                func(m *Trainer) { m.Bits = 5 },
		"inference.loss":      func(m *Trainer) { m.Inference.Loss = "hinge" },
		"equal_row_weights":   func(m *Trainer) { m.EqualRowWeights = true },
		"linear.c":            func(m *Trainer) { m.Linear.C = 3 },
		"similarity.held_out": func(m *Trainer) { m.Similar.HeldOut = []string{"x"} },
	} {
		m := saved
		change(&m)
		if _, err := m.Train(context.Background(), d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s changed: %v", want, err)
		}
	}
	var tags [][]string
	for _, c := range d.Labels.Class {
		tags = append(tags, []string{"a", "b", "c", d.Labels.Names[c], "also " + d.Labels.Names[c]})
	}
	tagged := scanned(t, vectors.Table{X: fashion.Train().X.Slice(0, 300), Tags: tags})
	tagged.MinShared = 4
	for want, other := range map[string]*supervision.Data{
		"data": pictures(t, 10, 310), "similarity.from": tagged, "similarity.min_shared": tagged,
	} {
		if _, err := saved.Train(context.Background(), other); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s changed: %v", want, err)
		}
	}
	saved.Threads = 3 // threads are no option of the model
	mustTrain(t, saved, d)
}

// sampled is a training with samples of rows and columns.
func sampled(bits int) Trainer {
	m := quick(bits)
	m.Trees = boost.Options{Rounds: 60, Depth: 2, RowShare: 0.7, ColumnShare: 0.1, Boost: boost.Logistic}
	return m
}

// TestEveryWayMakesTheSameModel: whether made at once, on any number of threads, resumed or grown, a model is the same,
// byte for byte; one grown on other rows keeps its columns and its first bits.
func TestEveryWayMakesTheSameModel(t *testing.T) {
	slanted, other := slantedData(t, rowsOf(300), 5), slantedData(t, rowsOf(280), 6)
	many, others := manyClasses(t, 20, 12), manyClasses(t, 21, 12)
	seen := pictures(t, 0, 400)
	for name, c := range map[string]struct {
		method   func(bits int) Trainer
		d, other *supervision.Data
	}{
		"by default":     {byDefault, slanted, other},
		"sampled":        {sampled, seen, pictures(t, 300, 500)},
		"linear columns": {func(bits int) Trainer { return withColumns(bits, columns.Linear) }, slanted, other},
		"kernel columns": {func(bits int) Trainer { return withColumns(bits, columns.Kernel) }, slanted, other},
		"columns tried":  {func(bits int) Trainer { return withColumns(bits, columns.AutoKernel) }, slanted, other},
		"linear scores":  {func(bits int) Trainer { return scoreMethod(bits, columns.Linear) }, many, others},
		"kernel scores":  {func(bits int) Trainer { return scoreMethod(bits, columns.Kernel) }, many, others},
		"scores tried":   {func(bits int) Trainer { return scoreMethod(bits, "") }, many, others},
	} {
		t.Run(name, func(t *testing.T) {
			whole := mustTrain(t, c.method(4), c.d)
			want := bytesOf(t, whole)
			m := c.method(4)
			m.Threads = 3
			if !bytes.Equal(bytesOf(t, mustTrain(t, m, c.d)), want) {
				t.Error("another model on three threads")
			}
			mustResume(t, c.method(4), c.d, want)
			m = c.method(4)
			m.Grow = mustTrain(t, c.method(2), c.d)
			if !bytes.Equal(bytesOf(t, mustTrain(t, m, c.d)), want) {
				t.Error("another model when it is grown on the same rows")
			}
			grown := mustTrain(t, m, c.other)
			if grown.Prefix(2).Fingerprint() != m.Grow.Fingerprint() || !slices.Equal(grown.Info.Added, m.Grow.Info.Added) ||
				grown.Encoder.Bits() != 4 || len(grown.Info.Runs) != 2 || grown.Check() != nil {
				t.Error("grown on other rows it has other first bits or columns")
			}
		})
	}
}

// TestGrowingKeepsTheColumns: rows of another width are refused, and a model without added columns gets none.
func TestGrowingKeepsTheColumns(t *testing.T) {
	d := slantedData(t, rowsOf(300), 5)
	m := withColumns(4, columns.Linear)
	m.Grow = mustTrain(t, withColumns(2, columns.Linear), d)
	x, labels := slanted(60, 15, 1)
	_, err := m.Train(context.Background(), scanned(t, vectors.WithLabels(x, labels)))
	if d := message.Differs(err, "wrong-dimension", "12", "15"); d != "" {
		t.Errorf("grown on wider rows: %s", d)
	}
	tsh := m
	tsh.Order = TSH
	if _, err := tsh.Train(context.Background(), d); err == nil {
		t.Error("the TSH order grew a model")
	}
	m.Grow = mustTrain(t, withColumns(2, columns.Off), d)
	if made := mustTrain(t, m, d); made.Info.Added != nil || m.Report.linear != "grown-without" {
		t.Errorf("a model without added columns grew some: %q", made.Info.Linear)
	}
}
