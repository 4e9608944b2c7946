package method

import (
	"context"
	"reflect"
	"testing"

	"hashgrove/internal/fasthash"
	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/fasthash/inference"
	"hashgrove/internal/fasthash/svm"
	"hashgrove/internal/model"
	"hashgrove/internal/testkit/methodtest"
	"hashgrove/internal/vectors"
)

// TSH infers all bits from each other with the full loss length, and then fits a function to each: a hyperplane, or the
// trees of the effort.
func TestTSHByDefinition(t *testing.T) {
	for _, effort := range []fasthash.Effort{fasthash.Paper, fasthash.Normal} {
		t.Run(string(effort), func(t *testing.T) { testTSHByDefinition(t, effort) })
	}
}

func testTSHByDefinition(t *testing.T, effort fasthash.Effort) {
	ctx := context.Background()
	x, class := methodtest.ClusterMatrix(5, 200, 6, 4)
	y, err := affinity.ByClass(class)
	if err != nil {
		t.Fatal(err)
	}
	ranges := vectors.NewRanges(x.Cols)
	if err := ranges.Read(ctx, x); err != nil {
		t.Fatal(err)
	}
	q, err := ranges.QuantizerBy(vectors.Linear)
	if err != nil {
		t.Fatal(err)
	}
	columns, err := vectors.Quantize(ctx, x, x.Rows, q, 1)
	if err != nil {
		t.Fatal(err)
	}
	linear, err := svm.New(columns, svm.Options{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	filled, err := fasthash.Options{Effort: effort}.ForData(x.Rows)
	if err != nil {
		t.Fatal(err)
	}
	trees, err := boost.New(columns, filled.Trees, 1)
	if err != nil {
		t.Fatal(err)
	}
	const bits, seed = 6, 3
	for _, learner := range []tshLearner{tshLinear, tshTrees} {
		step1, err := inference.New(y, bits, inference.Options{Method: inference.Spectral, Length: bits}, seed)
		if err != nil {
			t.Fatal(err)
		}
		var want []model.Function
		for b := range bits {
			z, err := step1.Infer(ctx)
			if err != nil {
				t.Fatal(err)
			}
			step1.Push(z)
			var f model.Function
			if learner == tshLinear {
				f, err = linear.Fit(ctx, z)
			} else {
				f, err = trees.Fit(ctx, z, nil, seed, b+1)
			}
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, f)
		}
		m := tsh{Options: Options{Bits: bits, Seed: seed}, Learner: learner}
		m.FastHash.Effort = effort
		e, err := learnFrom(ctx, m, vectors.WithLabels(x, methodtest.ClassNames(class)))
		if err != nil {
			t.Fatal(err)
		}
		if got := e.(*model.Binned).Functions; !reflect.DeepEqual(got, want) {
			t.Errorf("learner %d: other functions than by definition", learner)
		}
	}
}
