package training

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hashgrove"
	"hashgrove/affinity"
	"hashgrove/boost"
	"hashgrove/eval"
	"hashgrove/internal/fashion"
	"hashgrove/model"
	"hashgrove/vectors"
)

// job is a quick training on some of the demo's pictures.
func job(t *testing.T, bits int) Job {
	t.Helper()
	x, class := columns(t, 0, 300)
	y, err := affinity.ByClass(class)
	if err != nil {
		t.Fatal(err)
	}
	return Job{
		Trainer: hashgrove.Trainer{Bits: bits, Trees: boost.Options{Rounds: 5, Depth: 2, NodeFeatures: 40}},
		X:       x, Y: y, Data: "digest", Similar: Similarity{From: "classes"},
	}
}

func columns(t *testing.T, lo, hi int) (*vectors.Columns, []int32) {
	t.Helper()
	part := fashion.Train()
	ctx := context.Background()
	r, err := vectors.RangesOf(ctx, part.X)
	if err != nil {
		t.Fatal(err)
	}
	q, err := r.Quantizer()
	if err != nil {
		t.Fatal(err)
	}
	x, err := vectors.Quantize(ctx, part.X.Slice(lo, hi), hi-lo, q, 0)
	if err != nil {
		t.Fatal(err)
	}
	return x, part.Class[lo:hi]
}

func bytesOf(t *testing.T, m *model.Model) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := model.Write(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func mustRun(t *testing.T, j Job) *Result {
	t.Helper()
	r, err := j.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestResumeAfterEveryBit interrupts after each bit in turn and goes on: always the same bytes.
func TestResumeAfterEveryBit(t *testing.T) {
	whole := bytesOf(t, mustRun(t, job(t, 6)).Model)
	for stop := 1; stop < 6; stop++ {
		j := job(t, 6)
		j.Checkpoint = filepath.Join(t.TempDir(), "ckpt")
		ctx, cancel := context.WithCancel(context.Background())
		j.Progress = func(b hashgrove.Bit) {
			if b.Bit == stop {
				cancel()
			}
		}
		if _, err := j.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Fatalf("interrupted after bit %d: %v", stop, err)
		}
		j.Progress = nil
		if _, err := j.Run(context.Background()); !errors.Is(err, ErrCheckpoint) {
			t.Errorf("without resume: %v", err)
		}
		j.Resume = true
		r := mustRun(t, j)
		if r.Resumed != stop || r.Dropped != 0 || !bytes.Equal(bytesOf(t, r.Model), whole) {
			t.Errorf("after bit %d: resumed %d, dropped %d, or another model", stop, r.Resumed, r.Dropped)
		}
		if err := j.Finish(r); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(j.Checkpoint); !os.IsNotExist(err) {
			t.Error("the checkpoint is still there")
		}
	}
}

// TestDamagedCheckpointFallsBack flips bytes and truncates: the bits before the damage are used, the model is the same.
func TestDamagedCheckpointFallsBack(t *testing.T) {
	whole := bytesOf(t, mustRun(t, job(t, 4)).Model)
	saved := job(t, 4)
	saved.Checkpoint = filepath.Join(t.TempDir(), "ckpt")
	mustRun(t, saved)
	newest := filepath.Join(saved.Checkpoint, "0004.bit")
	good, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(good); at += 7 {
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
		r := mustRun(t, saved)
		if r.Resumed != 3 || r.Dropped != 1 || !bytes.Equal(bytesOf(t, r.Model), whole) {
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
	if r := mustRun(t, saved); r.Resumed != 1 || r.Dropped != 3 || !bytes.Equal(bytesOf(t, r.Model), whole) {
		t.Errorf("resumed %d, dropped %d", r.Resumed, r.Dropped)
	}
}

func TestChangedOptionsAreRefused(t *testing.T) {
	saved := job(t, 3)
	saved.Checkpoint = filepath.Join(t.TempDir(), "ckpt")
	mustRun(t, saved)
	saved.Resume = true
	for want, change := range map[string]func(*Job){
		"trees.depth":            func(j *Job) { j.Trainer.Trees.Depth = 3 },
		"seed":                   func(j *Job) { j.Trainer.Seed = 2 },
		"bits":                   func(j *Job) { j.Trainer.Bits = 5 },
		"data":                   func(j *Job) { j.Data = "other" },
		"similarity.min_shared":  func(j *Job) { j.Similar.MinShared = 3 },
		"inference.loss":         func(j *Job) { j.Trainer.Inference.Loss = "hinge" },
		"order":                  func(j *Job) { j.Trainer.Order = hashgrove.TSH },
		"equal_row_weights":      func(j *Job) { j.Trainer.EqualRowWeights = true },
		"trees.trim_mass":        func(j *Job) { j.Trainer.Trees.TrimMass = 0.9 },
		"inference.sweeps":       func(j *Job) { j.Trainer.Inference.Sweeps = 5 },
		"trees.node_features":    func(j *Job) { j.Trainer.Trees.NodeFeatures = 7 },
		"similarity.from":        func(j *Job) { j.Similar.From = "tags" },
		"linear.c":               func(j *Job) { j.Trainer.Linear.C = 3 },
		"trees.node_rows":        func(j *Job) { j.Trainer.Trees.NodeRows = 50 },
		"similarity.held_out":    func(j *Job) { j.Similar.HeldOut = []string{"x"} },
		"similarity.sample":      func(j *Job) { j.Similar.SampleSimilar = 5 },
		"inference.dissimilar_w": func(j *Job) { j.Trainer.Inference.DissimilarWeight = 5 },
	} {
		j := saved
		change(&j)
		if _, err := j.Run(context.Background()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s changed: %v", want, err)
		}
	}
	saved.Trainer.Threads = 3 // threads are no option of the model
	mustRun(t, saved)
}

func TestGrowOnOtherDataKeepsTheFirstBits(t *testing.T) {
	first := mustRun(t, job(t, 4)).Model
	j := job(t, 6)
	x, class := columns(t, 300, 500)
	y, err := affinity.ByClass(class)
	if err != nil {
		t.Fatal(err)
	}
	j.X, j.Y, j.Data, j.Grow = x, y, "more", first
	m := mustRun(t, j).Model
	if len(m.Info.Runs) != 2 || m.Info.Runs[0].Bits != 4 || m.Info.Runs[1].Bits != 6 {
		t.Errorf("runs %+v", m.Info.Runs)
	}
	if m.Encoder.Fingerprint(4) != first.Fingerprint() {
		t.Error("the first bits have another fingerprint")
	}
	if err := m.Check(); err != nil {
		t.Error(err)
	}
	j.Trainer.Order = hashgrove.TSH
	if _, err := j.Run(context.Background()); err == nil {
		t.Error("the TSH order grew a model")
	}
}

func TestPatienceKeepsTheBestBits(t *testing.T) {
	run := func(resume bool, folder string) *Result {
		j := job(t, 300)
		x, class := columns(t, 300, 400)
		_, base := columns(t, 0, 300)
		j.Validation = &Validation{X: x, Truth: eval.ByClass(class, base)}
		j.Patience, j.Checkpoint, j.Resume = 4, folder, resume
		return mustRun(t, j)
	}
	folder := filepath.Join(t.TempDir(), "ckpt")
	r := run(false, folder)
	bits := r.Model.Encoder.Bits()
	if r.Stopped == "" || bits >= 300 || len(r.Bits) != bits+4 {
		t.Fatalf("%d bits kept of %d learned: %q", bits, len(r.Bits), r.Stopped)
	}
	best := r.Model.Info.Bits[bits-1].Validation
	for k, b := range r.Bits {
		if b.Stat.Validation > best {
			t.Errorf("bit %d has MAP %v, the last kept %v", k+1, b.Stat.Validation, best)
		}
	}
	// The checkpoint of a run that stopped resumes to the same end.
	if again := run(true, folder); !bytes.Equal(bytesOf(t, again.Model), bytesOf(t, r.Model)) {
		t.Error("resuming a stopped run gives another model")
	}
}

func TestTimeLimitKeepsTheCheckpoint(t *testing.T) {
	j := job(t, 4000)
	j.Checkpoint = filepath.Join(t.TempDir(), "ckpt")
	j.TimeLimit = 100 * time.Millisecond
	began := time.Now()
	r := mustRun(t, j)
	if took := time.Since(began); took > 3*time.Second || r.Stopped == "" {
		t.Errorf("took %v, stopped %q", took, r.Stopped)
	}
	if err := j.Finish(r); err != nil {
		t.Fatal(err)
	}
	j.Resume = true
	if again := mustRun(t, j); again.Resumed != r.Model.Encoder.Bits() {
		t.Errorf("resumed %d of %d bits", again.Resumed, r.Model.Encoder.Bits())
	}
}
