package fasthash

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/fasthash/columns"
	"hashgrove/internal/fasthash/inference"
	"hashgrove/internal/message"
	"hashgrove/internal/supervision"
	"hashgrove/internal/testkit/needs"
	"hashgrove/internal/vectors"
)

// mappedPictures is some of the demo's pictures, and where a training may keep them.
func mappedPictures(t *testing.T, rows int, near int64) (*supervision.Data, *vectors.Spill) {
	t.Helper()
	folder := t.TempDir()
	memory := vectors.NewSpill(folder)
	if _, err := vectors.Alloc[uint8](memory, 1<<16); errors.Is(err, vectors.ErrUnsupported) {
		needs.Skip(t, needs.Mapping, err)
	}
	memory.Allow(near)
	d := pictures(t, 0, rows)
	d.Spill = memory
	t.Cleanup(func() {
		if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
			t.Errorf("files are left: %v, %v", left, err)
		}
		if err := memory.Close(); err != nil {
			t.Error(err)
		}
	})
	return d, memory
}

// TestMappedTrainingGivesTheSameModel trains in memory and in mapped files, with all kinds of options.
func TestMappedTrainingGivesTheSameModel(t *testing.T) {
	trees := boost.Options{Rounds: 5, Depth: 3}
	logistic := boost.Options{Rounds: 4, Depth: 4, Boost: boost.Logistic, ColumnShare: 0.5, RowShare: 0.5}
	for name, o := range map[string]Options{
		"paper":      {Effort: Paper, Trees: boost.Options{Rounds: 4, Depth: 2, NodeFeatures: 40}},
		"quick":      {Effort: Quick, Trees: boost.Options{Rounds: 4}, LinearColumns: columns.Off},
		"normal":     {Trees: boost.Options{Rounds: 4}, LinearColumns: columns.Off, Candidates: 3},
		"best":       {Effort: Best, Trees: boost.Options{Rounds: 3}, LinearColumns: columns.Off, Candidates: 2},
		"shares":     {Effort: Paper, Trees: logistic, Candidates: 2},
		"hinge":      {Effort: Paper, Trees: trees, Inference: inference.Options{Loss: inference.Hinge}},
		"spectral":   {Effort: Paper, Trees: trees, Inference: inference.Options{Method: inference.Spectral}},
		"balanced":   {Effort: Paper, Trees: trees, Inference: inference.Options{BalanceClasses: true}, Candidates: 2},
		"weighted":   {Effort: Paper, Trees: trees, Inference: inference.Options{SimilarWeight: 9}},
		"equal rows": {Effort: Paper, Trees: trees, EqualRowWeights: true, Bins: vectors.Quantile},
	} {
		for threads := 1; threads <= 3; threads += 2 {
			t.Run(fmt.Sprint(name, threads), func(t *testing.T) {
				o.Bits, o.Threads = 2, threads
				d, memory := mappedPictures(t, rowsOf(750), int64(threads/3*10_000))
				want := bytesOf(t, mustTrain(t, Trainer{o, Run{}}, d))
				got := bytesOf(t, mustTrain(t, Trainer{o, Run{Spill: memory}}, d))
				if !bytes.Equal(got, want) {
					t.Error("the models differ")
				}
				if _, mapped := memory.Sizes(); mapped < int64(d.Rows*d.Dim()) {
					t.Errorf("only %d bytes are in files", mapped)
				}
			})
		}
	}
}

// TestMappedTrainingResumesAndGrows goes on with a training in memory, in files, and the other way round.
func TestMappedTrainingResumesAndGrows(t *testing.T) {
	d, memory := mappedPictures(t, rowsOf(750), 0)
	whole := quick(4)
	want := bytesOf(t, mustTrain(t, whole, d))
	for _, places := range [][2]*vectors.Spill{{nil, memory}, {memory, nil}, {memory, memory}} {
		half := quick(4)
		half.Checkpoint, half.Spill = t.TempDir()+"/ckpt", places[0]
		ctx, stop := context.WithCancel(context.Background())
		half.Progress = func(b Bit) {
			if b.Bit == 2 {
				stop()
			}
		}
		if _, err := half.Train(ctx, d); !errors.Is(err, context.Canceled) {
			t.Fatalf("not interrupted: %v", err)
		}
		half.Progress, half.Resume, half.Spill = nil, true, places[1]
		if got := bytesOf(t, mustTrain(t, half, d)); !bytes.Equal(got, want) || half.Report.Resumed != 2 {
			t.Errorf("the resumed model differs, or %d bits were resumed", half.Report.Resumed)
		}
		first := quick(2)
		first.Spill = places[0]
		grown := quick(4)
		grown.Grow, grown.Spill = mustTrain(t, first, d), places[1]
		if got := bytesOf(t, mustTrain(t, grown, d)); !bytes.Equal(got, want) {
			t.Error("the grown model differs")
		}
	}
}

// TestMappedTrainingRefuses what needs all rows in memory, and says what.
func TestMappedTrainingRefuses(t *testing.T) {
	d, memory := mappedPictures(t, 300, 0)
	tags := *d
	tags.Labels, tags.Tags = nil, &supervision.Tags{Start: make([]int, d.Rows+1), Names: []string{"a", "b"}}
	for i := range d.Rows {
		tags.Tags.Tag = append(tags.Tags.Tag, int32(i%2))
		tags.Tags.Start[i+1] = i + 1
	}
	for want, change := range map[string]func(m *Trainer){ // code, and a word of the options
		"linear-columns":   func(m *Trainer) { m.LinearColumns = columns.Auto },
		"learner linear":   func(m *Trainer) { m.Learner = Linear },
		"order tsh":        func(m *Trainer) { m.Order = TSH },
		"inference icm":    func(m *Trainer) { m.Inference.Method = inference.ICM },
		"sample":           func(m *Trainer) { m.Similar.SampleSimilar, m.Similar.SampleDissimilar = 5, 5 },
		"supervision tags": nil,
	} {
		m, data := quick(2), d
		if m.Spill = memory; change != nil {
			change(&m)
		} else {
			data = &tags
		}
		_, err := m.Train(context.Background(), data)
		code, word, _ := strings.Cut(want, " ")
		if d := message.Differs(err, message.Code(code), word); d != "" || !errors.Is(err, ErrNeedsMemory) {
			t.Errorf("%s: %v: %s", want, err, d)
		}
	}
}

// TestNeedGrowsWithTheRows checks the arithmetic of what is needed.
func TestNeedGrowsWithTheRows(t *testing.T) {
	d := *pictures(t, 0, 100)
	d.Rows = 50_000_000
	o := Options{Bits: 2, Effort: Quick, LinearColumns: columns.Off}
	n, err := o.Need(&d, false)
	if err != nil {
		t.Fatal(err)
	}
	columns := int64(d.Dim()) * int64(d.Rows)
	if n.Memory < columns+50*int64(d.Rows) || n.Files < columns || n.Least > 900e6 || n.Least >= n.Memory {
		t.Errorf("%d bytes of memory, %d in files, at least %d", n.Memory, n.Files, n.Least)
	}
	d.IDs = make([]string, 1)
	more, err := o.Need(&d, true)
	if err != nil || more.Least < n.Least+int64(d.Rows)*idBytes {
		t.Errorf("with ids at least %d bytes, %v", more.Least, err)
	}
	small := scanned(t, vectors.Table{X: vectors.Matrix{Rows: 12_000, Cols: 13, Data: make([]float32, 12_000*13)}})
	if n, err := o.Need(small, true); err != nil || n.Memory > 60e6 || n.Least > n.Memory {
		t.Errorf("%d bytes for a small table that takes 47 MB, and at least %d: %v", n.Memory, n.Least, err)
	}
	o.Effort = "none"
	if _, err := o.Need(&d, true); err == nil {
		t.Error("an unknown effort is taken")
	}
}
