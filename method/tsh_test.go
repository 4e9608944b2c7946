package method

import (
	"context"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hashgrove/affinity"
	"hashgrove/boost"
	"hashgrove/fasthash"
	"hashgrove/inference"
	"hashgrove/internal/methodtest"
	"hashgrove/model"
	"hashgrove/svm"
	"hashgrove/vectors"
)

// TSH is Algorithm 3 in another order: the functions must be those that package fasthash learns from the same columns,
// with sampled pairs.
func TestTSHIsTheTrainer(t *testing.T) {
	ctx := context.Background()
	x, class := methodtest.ClusterMatrix(5, 200, 6, 4)
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
		m    tsh
		want fasthash.Options
		y    affinity.Matrix
	}{
		{tsh{Similar: 20, Dissimilar: 30}, fasthash.Options{
			Order: fasthash.TSH, Learner: fasthash.Linear, Inference: inference.Options{Method: inference.Spectral},
		}, sampled},
		{tsh{Inference: inference.BlockGC, Learner: tshTrees, Trees: boost.Options{Rounds: 5}, Order: fasthash.Stagewise},
			fasthash.Options{
				Trees: boost.Options{Rounds: 5},
			}, y},
		{tsh{Loss: inference.Hinge, Linear: svm.Options{C: 2}}, fasthash.Options{
			Order: fasthash.TSH, Learner: fasthash.Linear, Linear: svm.Options{C: 2},
			Inference: inference.Options{Method: inference.Spectral, Loss: inference.Hinge},
		}, y},
	} {
		c.m.Bits, c.m.Seed, c.want.Bits, c.want.Seed = 6, 3, 6, 3
		e, err := learnFrom(ctx, c.m, vectors.WithLabels(x, methodtest.ClassNames(class)))
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
	for want, m := range map[string]tsh{
		"unknown learner":  {Learner: "magic"},
		"all bits at once": {Learner: tshBudgeted, Order: fasthash.Stagewise},
		"-3 anchors":       {Learner: tshKernel, Options: Options{Anchors: -3}},
		"width -1":         {Learner: tshKernel, Width: -1},
		"kernel of width":  {Learner: tshBudgeted, Width: -1},
		"-2 epochs":        {Learner: tshBudgeted, Epochs: -2},
		"method \"magic\"": {Inference: "magic"},
		"2 similar and 0":  {Similar: 2},
		"codes of -5 bits": {Options: Options{Bits: -5}},
	} {
		if _, err := learnFrom(context.Background(), m, methodtest.Classed(1, 40, 5, 3)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

func TestNeighbourWidth(t *testing.T) {
	x, _ := methodtest.ClusterMatrix(2, 130, 5, 3)
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
