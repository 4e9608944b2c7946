package boost

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// heldError is the mean chance that rows held out are wrong, with these scores.
func heldError(held []int32, z []int8, score func(i int) float64) float64 {
	sum := 0.0
	for _, i := range held {
		sum += 1 / (1 + math.Exp(float64(z[i])*score(int(i))))
	}
	return sum / float64(len(held))
}

// lastTree is the rule of stopping: the number of trees up to the least error before errors stop falling.
func lastTree(errors []float64, patience int) int {
	best, mark, since := 0, math.Inf(1), 0
	for q, e := range errors {
		if e < errors[best] {
			best = q
		}
		if e < mark-leastGain && e <= errors[best] {
			mark, since = e, q
		}
		if q-since >= patience {
			break
		}
	}
	return best + 1
}

func TestEarlyStoppingFollowsItsDefinition(t *testing.T) {
	if testing.Short() {
		t.Skip("runs in full, without the race detector, with the documents")
	}
	rng := rand.New(rand.NewPCG(19, 9))
	early := 0
	for turn := range 30 {
		x, z, weight := hills(rng, 150+rng.IntN(200), 3+rng.IntN(8))
		for i := range z { // some noise, or all trees would help
			if rng.IntN(6) == 0 {
				z[i] = -z[i]
			}
		}
		o := Options{Boost: Logistic, Rounds: 25, Depth: 1 + turn%4, EarlyStop: 1 + turn%6,
			TrimMass: []float64{-1, 0.9}[turn%2]}
		b := newTrainer(t, x, o, 1+turn%3)
		e, output, wrong := fit(t, b, z, weight, 7, turn)
		all := newTrainer(t, x, o, 1)
		value, leaf := slowLogistic(t, all, z, weight, 7, uint64(turn))
		score, errors := make([]int64, len(z)), []float64(nil)
		for q := range value {
			for i := range score {
				score[i] += int64(value[q][leaf[q][i]])
			}
			errors = append(errors, heldError(all.held, z, func(i int) float64 { return float64(score[i]) / scoreUnit }))
		}
		want := lastTree(errors, o.EarlyStop)
		if e.Trees() != want*b.o.LeafBits {
			t.Fatalf("turn %d: %d trees, want %d", turn, e.Trees()/b.o.LeafBits, want)
		}
		if want < len(value) {
			early++
		}
		checkHeldOut(t, b, e, x, z, output, wrong)
	}
	if early < 10 {
		t.Errorf("only %d of 30 bits stop early", early)
	}
}

// checkHeldOut compares what a bit says of the rows that it held out with what its function says of them.
func checkHeldOut(t *testing.T, b *Trainer, e *model.Ensemble, x *vectors.Columns, z, output []int8, wrong float64) {
	t.Helper()
	said := make([]int8, x.Rows)
	if err := model.Outputs(t.Context(), e, x, 2, said); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(said, output) {
		t.Error("the function says something else than the output")
	}
	mistakes := [2]int{}
	for i := range said {
		k := 0
		if slices.Contains(b.held, int32(i)) {
			k = 1
		}
		if said[i] != z[i] {
			mistakes[k]++
		}
	}
	rounds, rows, heldWrong := b.HeldOut()
	if rows != len(b.held) || rounds*max(1, b.o.LeafBits) != e.Trees() || heldWrong != float64(mistakes[1])/float64(max(rows, 1)) ||
		wrong != float64(mistakes[0])/float64(x.Rows-rows) {
		t.Errorf("errors %v and %v, want %v of %d and %d", wrong, heldWrong, mistakes, x.Rows, rows)
	}
}

// What rows held out should be must not reach the trees, only their number.
func TestRowsHeldOutTeachNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(20, 9))
	for _, o := range []Options{
		{Rounds: 30, Depth: 3, EarlyStop: 30}, {Rounds: 30, Depth: 3, EarlyStop: 30, Boost: Logistic},
		{Rounds: 30, Depth: 3, EarlyStop: 30, RowShare: 0.6, TrimMass: -1},
		{Rounds: 30, Depth: 3, EarlyStop: 30, RowShare: 0.6, Boost: Logistic, TrimMass: -1},
	} {
		x, z, weight := hills(rng, 700, 6)
		b := newTrainer(t, x, o, 2)
		e, output, wrong := fit(t, b, z, weight, 7, 4)
		checkHeldOut(t, b, e, x, z, output, wrong)
		if len(b.held) < 30 || len(b.held) > 130 {
			t.Errorf("%d of 700 rows are held out", len(b.held))
		}
		other := slices.Clone(z)
		for _, i := range b.held {
			other[i] = -z[i]
		}
		f, _, _ := fit(t, b, other, weight, 7, 4)
		both := min(e.Trees(), f.Trees())
		if o.Boost != Logistic { // weights of AdaBoost are scaled to those of all trees
			e.Weight, f.Weight = nil, nil
		}
		shorten(e, both)
		shorten(f, both)
		if !reflect.DeepEqual(e, f) {
			t.Errorf("%+v: other trees for other signs of rows held out", o)
		}
		a, _, _ := fit(t, newTrainer(t, x, o, 1), z, weight, 7, 4)
		c, _, _ := fit(t, newTrainer(t, x, o, 3), z, weight, 7, 4)
		if !reflect.DeepEqual(a, c) {
			t.Errorf("%+v: other trees on three threads", o)
		}
	}
}

// AdaBoost stops too, by the same rule.
func TestEarlyStoppingOfAdaBoost(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 9))
	x, z, _ := hills(rng, 900, 6)
	for i := range z {
		if rng.IntN(4) == 0 {
			z[i] = -z[i]
		}
	}
	o := Options{Rounds: 150, Depth: 3, EarlyStop: 10}
	b := newTrainer(t, x, o, 2)
	e, output, wrong := fit(t, b, z, nil, 7, 4)
	checkHeldOut(t, b, e, x, z, output, wrong)
	patient := o
	patient.EarlyStop = 150
	whole := newTrainer(t, x, patient, 2)
	if err := whole.setProblem(z, nil); err != nil {
		t.Fatal(err)
	}
	whole.setAside(4)
	if err := whole.Begin(t.Context(), &Problem{Z: whole.z, U: whole.u, Out: whole.watch.out}); err != nil {
		t.Fatal(err)
	}
	sum, errors := make([]float64, len(z)), []float64(nil)
	last, right, wrongFactor := whole.z, 1.0, 1.0
	for q := range patient.Rounds {
		whole.updateMasses(last, right, wrongFactor)
		whole.trim()
		whole.grow(7, 4<<32|uint64(q)<<9)
		last = whole.answersOf(q)
		vRight, vWrong := whole.predict(last)
		var w float64
		w, right, wrongFactor = treeWeight(vRight, vWrong, len(z))
		for i := range sum {
			sum[i] += w * float64(int(last[i/64]>>(i%64)&1)*2-1)
		}
		errors = append(errors, heldError(whole.held, z, func(i int) float64 { return 2 * sum[i] }))
	}
	if want := lastTree(errors, o.EarlyStop); e.Trees() != want || want == o.Rounds {
		t.Errorf("%d trees, want %d", e.Trees(), want)
	}
}

func TestFoldsOfRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 9))
	x := columnsOf(6000, 9, func(i, j int) uint8 { return uint8(rng.IntN(256)) })
	for j := range x.Dim() {
		copy(x.Column(j)[100:200], x.Column(j)[:100]) // equal rows
	}
	fold := FoldsOf(x, 3000)
	if !slices.Equal(fold[:3000], fold[3000:]) {
		t.Error("copies are in other folds than their originals")
	}
	if !slices.Equal(fold[:100], fold[100:200]) {
		t.Error("equal rows are in different folds")
	}
	count := make([]int, Folds)
	for _, f := range FoldsOf(x, x.Rows) {
		count[f]++
	}
	if slices.Min(count) < 500 || slices.Max(count) > 700 {
		t.Errorf("folds of %v rows", count)
	}
	b := newTrainer(t, x, Options{EarlyStop: 1}, 1)
	defer func() {
		if recover() == nil {
			t.Error("too few folds were taken")
		}
	}()
	b.HoldOut(fold[:5])
}

// Where the rows held out have all the weight, or none is held out, boosting is as without.
func TestHoldingOutNothing(t *testing.T) {
	x := columnsOf(30, 2, func(i, j int) uint8 { return uint8(i * (j + 1)) })
	z, weight := make([]int8, 30), make([]float64, 30)
	fold := make([]uint8, 30)
	for i := range z {
		z[i] = int8(i/15)*2 - 1
		if i%2 == 0 {
			fold[i], weight[i] = 3, 1
		}
	}
	for _, bit := range []int{3, 5} {
		plain, _, _ := fit(t, newTrainer(t, x, Options{Rounds: 4, Boost: Logistic}, 1), z, weight, 1, bit)
		b := newTrainer(t, x, Options{Rounds: 4, Boost: Logistic, EarlyStop: 4}, 1)
		b.HoldOut(fold)
		e, _, _ := fit(t, b, z, weight, 1, bit)
		if rounds, rows, _ := b.HeldOut(); rounds != 0 || rows != 0 || !reflect.DeepEqual(e, plain) {
			t.Errorf("bit %d: %d rows held out, or other trees", bit, rows)
		}
	}
}
