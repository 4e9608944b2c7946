package fasthash

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hashgrove/internal/fashion"
	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/fasthash/inference"
	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// crossFitByDefinition cross-fits one bit after the other: the rows outside of a fold are quantised anew and learn the
// targets of all rows, and a model of that one function encodes the rows of the fold.
func crossFitByDefinition(t *testing.T, m Method, x vectors.Matrix, y affinity.Matrix, made *model.Model,
	fold []uint8) hamming.Codes {

	t.Helper()
	ctx := context.Background()
	o, err := m.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	functions := made.Encoder.(*model.Binned).Functions
	all, err := vectors.Quantize(ctx, x, x.Rows, made.Encoder.(*model.Binned).Quantizer, 0)
	if err != nil {
		t.Fatal(err)
	}
	step1, err := inference.New(y, o.Bits, o.Inference, o.Seed)
	if err != nil {
		t.Fatal(err)
	}
	codes := hamming.NewCodes(x.Rows, o.Bits)
	for k := range o.Bits {
		z, err := step1.Infer(ctx)
		if err != nil {
			t.Fatal(err)
		}
		z = slices.Clone(z)
		var weight []float64
		if o.Order == Stagewise && o.Learner == Trees {
			weight = make([]float64, x.Rows)
			if err := step1.RowWeights(ctx, weight); err != nil {
				t.Fatal(err)
			}
		}
		for f := range slices.Max(fold) + 1 {
			in, outside := make([]bool, x.Rows), make([]bool, x.Rows)
			var target []int8
			var heavy []float64
			for i := range fold {
				if in[i], outside[i] = fold[i] == f, fold[i] != f; outside[i] {
					target = append(target, z[i])
					if weight != nil {
						heavy = append(heavy, weight[i])
					}
				}
			}
			others, err := vectors.Quantize(ctx, vectors.Select(x, outside), len(target), all.Quantizer, 0)
			if err != nil {
				t.Fatal(err)
			}
			step2, err := o.fitter(ctx, others, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			h, _, _, err := step2.Fit(ctx, target, heavy, o.Seed, k+1)
			if err != nil {
				t.Fatal(err)
			}
			one := &model.Model{Encoder: &model.Binned{Quantizer: all.Quantizer, Functions: []model.Function{h}}}
			for i := range fold {
				if in[i] {
					row, as := x.Row(i), one
					if o.Similar.Averaged { // the other half of the rows is the mirror images
						row, as = slices.Concat(row, x.Row((i+x.Rows/2)%x.Rows)), one.Averaging()
					}
					code, err := as.EncodeRow(row)
					if err != nil {
						t.Fatal(err)
					}
					codes.SetBit(i, k, code[0] != 0)
				}
			}
		}
		if o.Order == Stagewise {
			if err := model.Outputs(ctx, functions[k], all, 0, z); err != nil {
				t.Fatal(err)
			}
		}
		step1.Push(z)
	}
	return codes
}

// TestCrossFitIsTheDefinition: for the orders, losses and learners.
func TestCrossFitIsTheDefinition(t *testing.T) {
	part := fashion.Train()
	x := part.X.Slice(0, 160)
	for name, change := range map[string]func(m *Method){
		"stagewise": func(*Method) {},
		"tsh":       func(m *Method) { m.Order = TSH },
		"hinge":     func(m *Method) { m.Inference.Loss, m.Inference.Method = inference.Hinge, inference.ICM },
		"linear":    func(m *Method) { m.Learner = Linear },
		"sampled": func(m *Method) {
			m.Trees.RowShare, m.Trees.ColumnShare, m.Trees.EarlyStop, m.Trees.Rounds = 0.5, 0.5, 3, 20
		},
		"averaged": func(m *Method) { m.Similar.Mirrored, m.Similar.Averaged = true, true },
		"averaged linear": func(m *Method) {
			m.Learner, m.Similar.Mirrored, m.Similar.Averaged = Linear, true, true
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := pictures(t, 0, 160)
			m := quick(5)
			m.CrossFit = 3
			change(&m)
			made := mustTrain(t, m, d)
			plain := m
			plain.Run = Run{Report: new(Report)}
			if !bytes.Equal(bytesOf(t, mustTrain(t, plain, d)), bytesOf(t, made)) {
				t.Error("cross-fitting changes the model")
			}
			got := m.Report.CrossFitted
			if got == nil || len(got.Rows) != 160 || got.Codes.Len() != 160 {
				t.Fatalf("codes of %+v", got)
			}
			tr := &training{Method: m}
			tr.Seed = 1
			folds, err := newCrossFitter(context.Background(), tr, d)
			if err != nil {
				t.Fatal(err)
			}
			y, err := d.Affinity(d.Rows)
			if err != nil {
				t.Fatal(err)
			}
			want := crossFitByDefinition(t, m, x, y, made, folds.fold)
			if !slices.Equal(got.Codes.Data, want.Data) {
				t.Error("other codes than the definition gives")
			}
			own, err := made.Encode(context.Background(), x, 0)
			if err != nil || slices.Equal(own.Data, want.Data) {
				t.Errorf("the cross-fitted codes are those of the model, %v", err)
			}
		})
	}
}

// TestFolds: about equally large, by seed, with equal rows and mirror images together.
func TestFolds(t *testing.T) {
	const rows, k = 90, 4
	x := vectors.Matrix{Rows: 2 * rows, Cols: 1, Data: make([]float32, 2*rows)}
	labels := make([]string, 2*rows)
	for i := range x.Data {
		x.Data[i], labels[i] = float32(i), fmt.Sprint(i%2)
	}
	copy(x.Data[10:20], x.Data[:10]) // copies
	tr := &training{Method: Method{Options{Seed: 1, Similar: Similarity{Mirrored: true}}, Run{CrossFit: k}}}
	d := scanned(t, vectors.WithLabels(x, labels))
	c, err := newCrossFitter(context.Background(), tr, d)
	if err != nil {
		t.Fatal(err)
	}
	size := make([]int, k)
	for i, f := range c.fold[:rows] {
		size[f]++
		if c.fold[rows+i] != f {
			t.Errorf("row %d is in fold %d, and its mirror image in fold %d", i, f, c.fold[rows+i])
		}
	}
	if !slices.Equal(c.fold[:10], c.fold[10:20]) {
		t.Error("equal rows are in different folds")
	}
	if slices.Min(size) < 20-10 || slices.Max(size) > 20+10 {
		t.Errorf("folds of %v rows", size)
	}
	tr.Seed = 2
	if other, err := newCrossFitter(context.Background(), tr, d); err != nil || slices.Equal(other.fold, c.fold) {
		t.Errorf("another seed gives the same folds, %v", err)
	}
	for _, folds := range []int{1, 21} {
		tr.CrossFit = folds
		_, err := newCrossFitter(context.Background(), tr, d)
		if d := fault.Differs(err, "wrong-count", strconv.Itoa(folds), "2", "20"); d != "" {
			t.Errorf("%d folds: %s", folds, d)
		}
	}
	tr.CrossFit, tr.Similar.Mirrored = 4, false
	few := scanned(t, vectors.WithLabels(vectors.Matrix{Rows: 7, Cols: 1, Data: x.Data[20:27]}, labels[:7]))
	_, err = newCrossFitter(context.Background(), tr, few)
	if d := fault.Differs(err, "few-rows", "8", "7"); d != "" {
		t.Error(d)
	}
}

// TestCrossFitResumes: after an interruption at any bit the codes are the same, and a checkpoint with other folds, or
// without, is refused.
func TestCrossFitResumes(t *testing.T) {
	d := pictures(t, 0, 200)
	whole := quick(5)
	whole.CrossFit = 2
	want := bytesOf(t, mustTrain(t, whole, d))
	for stop := 1; stop < 5; stop++ {
		j := quick(5)
		j.CrossFit, j.Checkpoint = 2, filepath.Join(t.TempDir(), "ckpt")
		ctx, cancel := context.WithCancel(context.Background())
		j.Progress = func(b Bit) {
			if b.Bit == stop {
				cancel()
			}
		}
		if _, err := j.Train(ctx, d); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		j.Progress, j.Resume = nil, true
		for _, folds := range []int{0, 3} {
			other := j
			other.CrossFit = folds
			if _, err := other.Train(context.Background(), d); err == nil || !strings.Contains(err.Error(), "cross_fit") {
				t.Errorf("resumed with %d folds: %v", folds, err)
			}
		}
		if !bytes.Equal(bytesOf(t, mustTrain(t, j, d)), want) || j.Report.Resumed != stop {
			t.Errorf("after bit %d: another model, or %d bits resumed", stop, j.Report.Resumed)
		}
		a, b := j.Report.CrossFitted, whole.Report.CrossFitted
		if !slices.Equal(a.Codes.Data, b.Codes.Data) || !slices.Equal(a.Rows, b.Rows) {
			t.Errorf("after bit %d: other cross-fitted codes", stop)
		}
	}
	grown := quick(8)
	grown.CrossFit, grown.Grow = 2, mustTrain(t, quick(4), d)
	_, err := grown.Train(context.Background(), d)
	if d := fault.Differs(err, "grown-model"); d != "" {
		t.Error(d)
	}
}
