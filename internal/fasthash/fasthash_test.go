package fasthash

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/fasthash/inference"
	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// blobs makes rows of four classes, each of which raises some of the columns.
func blobs(t *testing.T, rows, cols int, seed uint64) (*vectors.Columns, []int32) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	m := vectors.Matrix{Rows: rows, Cols: cols, Data: make([]float32, rows*cols)}
	class := make([]int32, rows)
	for i := range rows {
		class[i] = int32(rng.IntN(4))
		for j := range m.Row(i) {
			m.Row(i)[j] = float32(rng.NormFloat64())
			if j%4 == int(class[i]) {
				m.Row(i)[j] += 2
			}
		}
	}
	ctx := context.Background()
	r := vectors.NewRanges(m.Cols)
	if err := r.Read(ctx, m); err != nil {
		t.Fatal(err)
	}
	q, err := r.QuantizerBy(vectors.Linear)
	if err != nil {
		t.Fatal(err)
	}
	x, err := vectors.Quantize(ctx, m, rows, q, 1)
	if err != nil {
		t.Fatal(err)
	}
	return x, class
}

// learn fills in the defaults and runs Algorithm 3.
func learn(ctx context.Context, o Options, x *vectors.Columns, y affinity.Matrix, run loop) ([]model.Function, error) {
	o, err := o.WithDefaults()
	if err != nil {
		return nil, err
	}
	return o.learn(ctx, x, y, run)
}

func classes(t *testing.T, class []int32) affinity.Matrix {
	t.Helper()
	y, err := affinity.ByClass(class)
	if err != nil {
		t.Fatal(err)
	}
	return y
}

// canonical is the bytes of all functions.
func canonical(functions []model.Function) []byte {
	var b []byte
	for _, f := range functions {
		b = model.AppendFunction(b, f)
	}
	return b
}

// TestTrainEveryCombination runs each order, learner, method, loss and kind of affinity: all learn, all give the
// same functions on one and several threads.
func TestTrainEveryCombination(t *testing.T) {
	x, class := blobs(t, rowsOf(300), 12, 1)
	all := classes(t, class)
	sampled, err := affinity.Sample(all, 10, 10, 3)
	if err != nil {
		t.Fatal(err)
	}
	start, tag := []int{0}, []int32{}
	for _, c := range class { // two tags per class, so that rows of a class share two
		tag = append(tag, 2*c, 2*c+1)
		start = append(start, len(tag))
	}
	tags, err := affinity.ByTags(start, tag, 2)
	if err != nil {
		t.Fatal(err)
	}
	few := boost.Options{Rounds: 8, Depth: 2}
	for _, order := range []Order{"", TSH} {
		for _, learner := range []Learner{"", Linear} {
			for _, method := range []inference.Algorithm{inference.BlockGC, inference.ICM, inference.Spectral} {
				for _, l := range inference.Losses {
					loss := l.Name
					for name, y := range map[string]affinity.Matrix{"classes": all, "sampled": sampled, "tags": tags} {
						var first []byte
						for _, threads := range []int{1, 3} {
							last := Bit{}
							trainer := Options{
								Bits: 4, Seed: 9, Order: order, Learner: learner, Trees: few, Threads: threads,
								Inference: inference.Options{Method: method, Loss: loss},
							}
							f, err := learn(context.Background(), trainer, x, y, loop{each: func(b Bit) error { last = b; return nil }})
							if err != nil || len(f) != 4 || last.Bit != 4 {
								t.Fatalf("%s %s %s %s %s: %d functions, %v", order, learner, method, loss, name, len(f), err)
							}
							if last.Stat.TrainError > 0.35 {
								t.Errorf("%s %s %s %s %s: error %v of the last bit", order, learner, method, loss, name, last.Stat.TrainError)
							}
							if b := canonical(f); first == nil {
								first = b
							} else if !bytes.Equal(first, b) {
								t.Errorf("%s %s %s %s %s: other functions on %d threads", order, learner, method, loss, name, threads)
							}
						}
					}
				}
			}
		}
	}
}

func TestTrainRefuses(t *testing.T) {
	x, class := blobs(t, 50, 4, 3)
	y := classes(t, class)
	ctx := context.Background()
	for name, trainer := range map[string]Options{
		"bits":    {Bits: 5000},
		"order":   {Order: "backwards"},
		"learner": {Learner: "oracle"},
		"depth":   {Trees: boost.Options{Depth: 9}},
		"loss":    {Inference: inference.Options{Loss: "soft"}},
	} {
		if _, err := learn(ctx, trainer, x, y, loop{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := learn(ctx, Options{}, x, classes(t, class[:40]), loop{}); err == nil {
		t.Error("supervision for fewer rows was taken")
	}
	stop := errors.New("full")
	if _, err := learn(ctx, Options{}, x, y, loop{each: func(Bit) error { return stop }}); !errors.Is(err, stop) {
		t.Errorf("the error of Each is lost: %v", err)
	}
}

// watched is a context that counts how often it is looked at, and ends at one of the looks.
type watched struct {
	context.Context
	looks  *atomic.Int64
	last   int64
	cancel func()
}

func (c watched) Err() error {
	if c.looks.Add(1) == c.last {
		c.cancel()
	}
	return c.Context.Err()
}

// TestTrainIsCancelledWithinATree: training looks at its context for every tree, which takes milliseconds, and does
// nothing more once it has ended.
func TestTrainIsCancelledWithinATree(t *testing.T) {
	const bits = 3
	x, class := blobs(t, 3000, 100, 4)
	for _, kind := range []boost.Algorithm{boost.AdaBoost, boost.Logistic} {
		train := func(rounds int, last int64) (looks int64, seen int, err error) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			c := watched{ctx, new(atomic.Int64), last, cancel}
			o := Options{Bits: bits, Trees: boost.Options{Boost: kind, Rounds: rounds}}
			_, err = learn(c, o, x, classes(t, class), loop{each: func(Bit) error { seen++; return nil }})
			return c.looks.Load(), seen, err
		}
		few, _, err := train(10, -1)
		if err != nil {
			t.Fatal(err)
		}
		whole, seen, err := train(60, -1)
		if err != nil || seen != bits || whole < few+bits*40 {
			t.Fatalf("%s: %d bits, %d looks at the context with 10 trees for each and %d with 60: %v",
				kind, seen, few, whole, err)
		}
		for _, at := range []int64{1, whole / 4, whole / 2, whole * 3 / 4} {
			looks, seen, err := train(60, at)
			if !errors.Is(err, context.Canceled) || seen == bits || looks > at+30 {
				t.Errorf("%s, cancelled at look %d of %d: %d bits, %d looks, %v", kind, at, whole, seen, looks, err)
			}
		}
	}
}
