package method

import (
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hashgrove/affinity"
	"hashgrove/boost"
	"hashgrove/fasthash"
	"hashgrove/inference"
	"hashgrove/model"
	"hashgrove/svm"
	"hashgrove/vectors"
)

// TSH is Algorithm 3 in another order: the functions must be those that package hashgrove learns from the same columns, with
// sampled pairs.
func TestTSHIsTheTrainer(t *testing.T) {
	ctx := context.Background()
	x, class := clusters(5, 200, 6, 4)
	y, err := affinity.ByClass(class)
	if err != nil {
		t.Fatal(err)
	}
	sampled, err := affinity.Sample(y, 20, 30, 3)
	if err != nil {
		t.Fatal(err)
	}
	ranges, err := vectors.RangesOf(ctx, x)
	if err != nil {
		t.Fatal(err)
	}
	q, err := ranges.Quantizer()
	if err != nil {
		t.Fatal(err)
	}
	columns, err := vectors.Quantize(ctx, x, x.Rows, q, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		m    TSH
		want fasthash.Options
		y    affinity.Matrix
	}{
		{TSH{Similar: 20, Dissimilar: 30}, fasthash.Options{
			Order: fasthash.TSH, Learner: fasthash.Linear, Inference: inference.Options{Method: inference.Spectral},
		}, sampled},
		{TSH{Inference: inference.BlockGC, Learner: TSHTrees, Trees: boost.Options{Rounds: 5}, Order: fasthash.Stagewise}, fasthash.Options{
			Trees: boost.Options{Rounds: 5},
		}, y},
		{TSH{Loss: inference.Hinge, Linear: svm.Options{C: 2}}, fasthash.Options{
			Order: fasthash.TSH, Learner: fasthash.Linear, Linear: svm.Options{C: 2},
			Inference: inference.Options{Method: inference.Spectral, Loss: inference.Hinge},
		}, y},
	} {
		c.m.Bits, c.m.Seed, c.want.Bits, c.want.Seed = 6, 3, 6, 3
		e, err := learnFrom(ctx, c.m, vectors.WithLabels(x, names(class)))
		if err != nil {
			t.Fatal(err)
		}
		want, err := c.want.Functions(ctx, columns, c.y)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.(*model.Binned).Functions; !reflect.DeepEqual(got, want) {
			t.Errorf("%+v: other functions than those of the trainer", c.m)
		}
	}
}

func TestTSHRefusals(t *testing.T) {
	for want, m := range map[string]TSH{
		"unknown learner":  {Learner: "magic"},
		"all bits at once": {Learner: TSHBudgeted, Order: fasthash.Stagewise},
		"-3 anchors":       {Learner: TSHKernel, Anchors: -3},
		"width -1":         {Learner: TSHKernel, Width: -1},
		"kernel of width":  {Learner: TSHBudgeted, Width: -1},
		"-2 epochs":        {Learner: TSHBudgeted, Epochs: -2},
		"method \"magic\"": {Inference: "magic"},
		"2 similar and 0":  {Similar: 2},
		"codes of -5 bits": {Bits: -5},
	} {
		if _, err := learnFrom(context.Background(), m, classed(1, 40, 5, 3)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

func TestNeighbourWidth(t *testing.T) {
	x, _ := clusters(2, 130, 5, 3)
	got, err := neighbourWidth(context.Background(), x, x.Rows, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	want := 0.0
	for i := range x.Rows {
		var d []float64
		for o := range x.Rows {
			sum := 0.0
			for j, v := range x.Row(i) {
				sum += (float64(v) - float64(x.Row(o)[j])) * (float64(v) - float64(x.Row(o)[j]))
			}
			d = append(d, sum)
		}
		slices.Sort(d)
		for _, v := range d[1:51] {
			want += v / float64(50*x.Rows)
		}
	}
	if math.Abs(got-want) > 1e-4*want {
		t.Errorf("width %v, want %v", got, want)
	}
}

// kernelOf is a Gaussian kernel of all rows with all rows.
func kernelOf(x vectors.Matrix, width float64) vectors.Matrix {
	k := vectors.Matrix{Rows: x.Rows, Cols: x.Rows, Data: make([]float32, x.Rows*x.Rows)}
	for i := range x.Rows {
		for o := range x.Rows {
			sum := 0.0
			for j, v := range x.Row(i) {
				sum += (float64(v) - float64(x.Row(o)[j])) * (float64(v) - float64(x.Row(o)[j]))
			}
			k.Row(i)[o] = float32(math.Exp(-sum / width))
		}
	}
	return k
}

// With a budget for all rows the machine is Pegasos, as it is written: w shrinks and takes a step in every turn.
func TestBudgetForAllRowsIsPegasos(t *testing.T) {
	x, class := clusters(5, 80, 6, 4)
	k := kernelOf(x, 20)
	z := make([]int8, x.Rows)
	for i, c := range class {
		z[i] = int8(2*(c%2) - 1)
	}
	const lambda = 0.05
	s := newBudgetSVM(z, x.Rows, lambda)
	w := make([]float64, x.Rows)
	rng := rand.New(rand.NewPCG(1, 1))
	steps := 0.0
	for range 400 {
		i := rng.IntN(x.Rows)
		s.step(int32(i), k.Row(i))
		steps++
		margin := 0.0
		for o, v := range w {
			margin += float64(z[i]) * v * float64(k.Row(i)[o])
		}
		for o := range w {
			w[o] *= 1 - 1/steps
		}
		if margin < 1-1e-12 {
			w[i] += float64(z[i]) / (lambda * steps)
		}
	}
	for i, v := range w {
		got := 0.0
		if at := s.slot[i]; at >= 0 {
			got = s.c[at] / (lambda * steps)
		}
		if math.Abs(got-v) > 1e-9*(1+math.Abs(v)) {
			t.Errorf("row %d has the coefficient %v, want %v", i, got, v)
		}
	}
}

// A budget holds, and what a step drops is projected: nothing else changes.
func TestBudgetHolds(t *testing.T) {
	x, class := clusters(5, 80, 6, 4)
	k := kernelOf(x, 20)
	z := make([]int8, x.Rows)
	for i, c := range class {
		z[i] = int8(2*(c%2) - 1)
	}
	s := newBudgetSVM(z, 7, 0.05)
	rng := rand.New(rand.NewPCG(1, 1))
	dense := func() []float64 {
		w := make([]float64, x.Rows)
		for p, i := range s.row {
			w[i] = s.c[p]
		}
		return w
	}
	dropped := 0
	for range 400 {
		i := rng.IntN(x.Rows)
		before := dense()
		s.step(int32(i), k.Row(i))
		if len(s.row) > 7 {
			t.Fatal("more support vectors than allowed")
		}
		for p, r := range s.row {
			if s.slot[r] != int32(p) {
				t.Fatalf("row %d is not where it should be", r)
			}
			for q, o := range s.row {
				if s.k[p][q] != k.Row(int(r))[o] {
					t.Fatalf("the kernel of rows %d and %d is wrong", r, o)
				}
			}
		}
		after := dense()
		before[i] += float64(z[i])
		var changed []int
		for r := range after {
			if after[r] != before[r] {
				changed = append(changed, r)
			}
		}
		if len(changed) != 2 {
			continue // no step, or within the budget
		}
		dropped++
		p, q := changed[0], changed[1]
		if after[p] != 0 {
			p, q = q, p
		}
		// The best coefficient for φ_q in the place of c_p φ_p is c_p k_pq.
		if want := before[q] + before[p]*float64(k.Row(p)[q]); after[p] != 0 || math.Abs(after[q]-want) > 1e-6 {
			t.Fatalf("row %d has the coefficient %v after row %d went, want %v", q, after[q], p, want)
		}
	}
	if dropped < 20 {
		t.Errorf("only %d rows were dropped", dropped)
	}
}
