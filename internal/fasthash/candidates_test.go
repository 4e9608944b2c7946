package fasthash

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/fasthash/inference"
	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// slowJudge is a² E by a double loop over the pairs, for the loss KSH and the given earlier bits.
func slowJudge(
	t *testing.T, o Options, x *vectors.Columns, y affinity.Matrix, bits [][]int8, z []int8, weight []float64,
	learned, judged []int32,
) float64 {
	t.Helper()
	k := len(bits) + 1
	field := func(i int) (f float64) {
		for j := range z {
			d := 0
			for _, b := range bits {
				if b[i] != b[j] {
					d++
				}
			}
			switch y.At(i, j) {
			case 1:
				f -= float64((2*d + 1) * int(z[j]))
			case -1:
				f += float64((2*k - 2*d - 1) * int(z[j]))
			}
		}
		return f
	}
	ctx := context.Background()
	part, err := x.Take(ctx, 1, learned)
	if err != nil {
		t.Fatal(err)
	}
	rest, err := x.Take(ctx, 1, judged)
	if err != nil {
		t.Fatal(err)
	}
	trees := o.Trees
	trees.Rounds, trees.Depth, trees.NodeFeatures = min(30, trees.Rounds), min(3, trees.Depth), 100
	fit, err := boost.New(part, trees, 1)
	if err != nil {
		t.Fatal(err)
	}
	target, heavy, said := make([]int8, len(learned)), make([]float64, len(learned)), make([]int8, len(judged))
	for i, r := range learned {
		target[i], heavy[i] = z[r], weight[r]
	}
	h, err := fit.Fit(ctx, target, heavy, o.Seed, k)
	if err != nil {
		t.Fatal(err)
	}
	if err := model.Outputs(ctx, h, rest, 1, said); err != nil {
		t.Fatal(err)
	}
	energy, right, all := 0.0, 0.0, 0.0
	for i := range z {
		energy += field(i) * float64(z[i])
	}
	for i, r := range judged {
		right += field(int(r)) * float64(said[i])
		all += field(int(r)) * float64(z[r])
	}
	return energy * math.Pow(max(0, right/all), 2)
}

// Of all candidates the one with the least a² E is taken, and it is not always the first.
func TestBestCandidateIsTaken(t *testing.T) {
	ctx := context.Background()
	x, class := blobs(t, 240, 12, 4)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range class { // more classes than the columns show, so that some splits can be learned and others not
		class[i] += 4 * int32(r.IntN(2))
	}
	y := classes(t, class)
	o, err := Options{Bits: 12, Candidates: 5, Trees: boost.Options{Rounds: 40, Depth: 2}}.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	step1, err := inference.New(y, o.Bits, o.Inference, o.Seed)
	if err != nil {
		t.Fatal(err)
	}
	c, err := o.newChooser(ctx, x)
	if err != nil {
		t.Fatal(err)
	}
	var bits [][]int8
	weight := make([]float64, x.Rows)
	later := 0
	for k := 1; k <= o.Bits; k++ {
		if err := step1.RowWeights(ctx, weight); err != nil {
			t.Fatal(err)
		}
		z, err := c.infer(ctx, step1, weight, k)
		if err != nil {
			t.Fatal(err)
		}
		got := slices.Clone(z)
		best, least := -1, math.Inf(1)
		for number := range o.Candidates {
			z, err := step1.InferCandidate(ctx, number)
			if err != nil {
				t.Fatal(err)
			}
			z = slices.Clone(z)
			want := slowJudge(t, o, x, y, bits, z, weight, c.learned, c.judged)
			h, err := c.fit(ctx, z, weight, k)
			if err != nil {
				t.Fatal(err)
			}
			e, err := c.judge(ctx, step1, z, h)
			if err != nil || math.Abs(e-want) > 1e-9*math.Abs(want) {
				t.Fatalf("bit %d, candidate %d: judged %v instead of %v; error %v", k, number, e, want, err)
			}
			if e < least {
				best, least = number, e
			}
		}
		z, _ = step1.InferCandidate(ctx, best)
		if !isSameSplit(z, got) {
			t.Errorf("bit %d: candidate %d is the best and was not taken", k, best)
		}
		if best > 0 {
			later++
		}
		bits = append(bits, got)
		step1.Push(got)
	}
	if later < 4 {
		t.Errorf("only %d bits are not of the first candidate: the test shows little", later)
	}
}

// Functions with candidates are the same on any number of threads and go on from any bit, and one candidate is none.
func TestTrainWithCandidates(t *testing.T) {
	ctx := context.Background()
	x, class := blobs(t, 300, 12, 2)
	y := classes(t, class)
	for _, order := range []Order{Stagewise, TSH} {
		o := Options{
			Bits: 6, Effort: Paper, Order: order, Candidates: 4, Trees: boost.Options{Rounds: 10}, Threads: 1}
		whole, err := learn(ctx, o, x, y, loop{})
		if err != nil {
			t.Fatal(err)
		}
		o.Threads = 3
		for k := range 6 {
			rest, err := learn(ctx, o, x, y, loop{done: whole[:k]})
			if err != nil || !bytes.Equal(canonical(rest), canonical(whole)) {
				t.Errorf("%s: going on after bit %d on three threads gives other functions; error %v", order, k, err)
			}
		}
		o.Candidates = 1
		one, err := learn(ctx, o, x, y, loop{})
		if err != nil {
			t.Fatal(err)
		}
		o.Candidates = 0
		none, err := learn(ctx, o, x, y, loop{})
		if err != nil || !bytes.Equal(canonical(one), canonical(none)) {
			t.Errorf("%s: one candidate is not the same as none; error %v", order, err)
		}
		if bytes.Equal(canonical(one), canonical(whole)) {
			t.Errorf("%s: candidates change nothing", order)
		}
	}
}

// The two parts share no row, and no picture of which a copy is in the other part.
func TestQuickParts(t *testing.T) {
	for _, similar := range []Similarity{{}, {Mirrored: true}} {
		o, originals := Options{Seed: 3, Similar: similar}, 200/similar.PerPicture()
		learned, judged := o.quickParts(200, 60)
		if len(learned) != 60 || len(judged) != 140 {
			t.Errorf("%d and %d rows", len(learned), len(judged))
		}
		seen := make([]int, 200)
		for _, i := range learned {
			seen[i]++
		}
		for _, i := range judged {
			seen[i] += 10
		}
		for i, v := range seen {
			if v != 1 && v != 10 || v != seen[i%originals] {
				t.Fatalf("%+v: row %d is in the wrong part", similar, i)
			}
		}
	}
	if learned, judged := (Options{}).quickParts(100_000, 20_000); len(learned) != 20_000 || len(judged) != 20_000 {
		t.Errorf("of very many rows %d and %d are taken", len(learned), len(judged))
	}
}

// Where the classes are balanced, Step 2 weighs their rows too: also where its weights do not follow Step 1.
func TestBalancedClassesWeighRows(t *testing.T) {
	class := make([]int32, 160) // 140 rows of one class, 20 of the other
	for i := range 20 {
		class[i] = 1
	}
	y := classes(t, class)
	for _, c := range []struct {
		o    Options
		want []float64 // of a row of the first class and of the second, or none
	}{
		{Options{}, []float64{1, 1}},
		{Options{EqualRowWeights: true}, nil},
		{Options{Order: TSH, Inference: inference.Options{BalanceClasses: true}}, []float64{1, 5}},
		{Options{Learner: Linear, Inference: inference.Options{BalanceClasses: true}}, nil},
	} {
		o, err := c.o.WithDefaults()
		if err != nil {
			t.Fatal(err)
		}
		step1, err := inference.New(y, 4, inference.Options{BalanceClasses: o.Inference.BalanceClasses}, 1)
		if err != nil {
			t.Fatal(err)
		}
		got, err := o.startWeights(step1, nil, len(class))
		if err != nil {
			t.Fatal(err)
		}
		if (got == nil) != (c.want == nil) || got != nil && (got[159] != c.want[0] || got[0] != c.want[1]) {
			t.Errorf("%+v: weights %v", c.o, got)
		}
	}
}
