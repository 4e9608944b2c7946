package method

import (
	"context"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hashgrove/affinity"
	"hashgrove/fasthash"
	"hashgrove/inference"
	"hashgrove/internal/methodtest"
	"hashgrove/model"
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
	}{
		{tsh{}, fasthash.Options{
			Order: fasthash.TSH, Learner: fasthash.Linear, Inference: inference.Options{Method: inference.Spectral},
		}},
		{tsh{Learner: tshTrees}, fasthash.Options{
			Order: fasthash.TSH, Inference: inference.Options{Method: inference.Spectral},
		}},
	} {
		c.m.Bits, c.m.Seed, c.want.Bits, c.want.Seed = 6, 3, 6, 3
		e, err := learnFrom(ctx, c.m, vectors.WithLabels(x, methodtest.ClassNames(class)))
		if err != nil {
			t.Fatal(err)
		}
		want, err := c.want.Functions(ctx, columns, y)
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
		"-3 anchors":       {Learner: tshKernel, Options: Options{Anchors: -3}},
		"codes of -6 bits": {Learner: tshBudgeted, Options: Options{Bits: -6}},
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
