// Package fasthash learns binary codes with FastHash (Lin, Shen, Shi, van den Hengel, Suter: Fast Supervised Hashing
// with Decision Trees for High-Dimensional Data, CVPR 2014). This file is Algorithm 3 of the paper (alg:main):
//
//	for each bit k = 1..m
//		Step 1   z_k = the bit that best respects Y, given the bits so far     package inference
//		Step 2   h_k = boosted trees that predict z_k from the columns         package boost
//		feed the output of h_k back as bit k
//
// Bit k is learned with loss length k and depends only on earlier bits, so a prefix of a code is itself a code and a
// model can grow by more bits. Step 2 takes nearly all of the time: O(rows * candidates * depth * rounds) histogram
// updates per bit.
//
// Trainer trains a model from labelled rows, with checkpoints, resuming and growing.
// docs/paper.md maps the paper's symbols to identifiers.
package fasthash

import (
	"context"
	"fmt"
	"time"

	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/fasthash/inference"
	"hashgrove/internal/fasthash/svm"
	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// fitter fits one hash function to the bit z (+1 or -1 per row).
type fitter interface {
	Fit(ctx context.Context, z []int8, weight []float64, seed uint64, bit int) (model.Function, error)
}

// Bit describes a learned bit.
type Bit struct {
	Bit       int // from 1
	Function  model.Function
	Stat      model.BitStat
	Inference time.Duration
	Boost     time.Duration
}

// loop says where Algorithm 3 starts and what to do after each bit.
type loop struct {
	done []model.Function // bits already learned, which are only replayed
	each func(Bit) error  // called after every newly learned bit; may be nil

	class []int32 // of each row, for the learner Scores; nil for tags
}

// learn runs Algorithm 3 with completed options. It returns all functions, those of run.done first.
func (t Options) learn(ctx context.Context, x *vectors.Columns, y affinity.Matrix, run loop) ([]model.Function, error) {
	if y.Len() != x.Rows {
		return nil, fmt.Errorf("%d vectors, but supervision for %d", x.Rows, y.Len())
	}
	if len(run.done) > t.Bits {
		return nil, fmt.Errorf("%d bits are learned already, more than the %d asked for", len(run.done), t.Bits)
	}
	m := x.Spill()
	o := t.Inference
	o.Threads, o.Spill = t.Threads, m
	candidates, err := t.newChooser(ctx, x)
	if err != nil {
		return nil, err
	}
	defer candidates.release()
	step1, err := inference.New(y, t.Bits, o, t.Seed)
	if err != nil {
		return nil, err
	}
	step2, err := t.fitter(ctx, x, run.class)
	if err != nil {
		return nil, err
	}
	defer release(step2)
	output, err := vectors.Alloc[int8](m, x.Rows)
	if err != nil {
		return nil, err
	}
	functions, first := append([]model.Function(nil), run.done...), 1
	if t.Order != TSH {
		first += len(functions)
		for i, f := range functions { // Step 1 must know of the bits already learned
			if err := model.Outputs(ctx, f, x, t.Threads, output); err != nil {
				return nil, fmt.Errorf("replaying bit %d: %w", i+1, err)
			}
			step1.Push(run.fedBack(f, output))
		}
	}
	weight, err := t.startWeights(step1, m, x.Rows)
	if err != nil {
		return nil, err
	}
	l := &learning{t, x, candidates, step1, step2, weight, output, run}
	for k := first; k <= t.Bits; k++ {
		bit, err := l.bit(ctx, k, k > len(functions))
		if err != nil {
			return functions, fmt.Errorf("bit %d: %w", k, err)
		}
		if bit.Function == nil {
			continue
		}
		functions = append(functions, bit.Function)
		if err := run.finish(bit); err != nil {
			return functions, err
		}
	}
	return functions, nil
}

// learning is Algorithm 3 at work.
type learning struct {
	Options
	x          *vectors.Columns
	candidates *chooser
	step1      *inference.Inference
	step2      fitter
	weight     []float64 // of each row; nil if all are equal
	output     []int8    // of the last function
	run        loop
}

// bit does both steps for bit k, or Step 1 alone for one that was learned before.
func (l *learning) bit(ctx context.Context, k int, isNew bool) (bit Bit, err error) {
	bit.Bit = k
	began := time.Now()
	if l.weight != nil && !l.EqualRowWeights && l.Order != TSH {
		if err := l.step1.RowWeights(ctx, l.weight); err != nil {
			return bit, err
		}
	}
	z, err := l.candidates.infer(ctx, l.step1, l.weight, k)
	if err != nil {
		return bit, err
	}
	bit.Stat.CutParts = l.step1.Parts()
	bit.Inference = time.Since(began)

	if isNew {
		began = time.Now()
		if bit.Function, err = l.step2.Fit(ctx, z, l.weight, l.Seed, k); err == nil {
			err = model.Outputs(ctx, bit.Function, l.x, l.Threads, l.output)
		}
		if err != nil {
			return bit, err
		}
		wrong := 0
		for i, v := range l.output {
			if v != z[i] {
				wrong++
			}
		}
		bit.Stat.TrainError = float64(wrong) / float64(l.x.Rows)
		bit.Boost = time.Since(began)
	}

	began = time.Now()
	if l.Order != TSH { // Two-Step Hashing infers bits from each other
		z = l.run.fedBack(bit.Function, l.output)
	}
	l.step1.Push(z)
	bit.Stat.Objective, err = l.step1.Objective(ctx)
	bit.Inference += time.Since(began)
	return bit, err
}

// startWeights allocates the weights of the rows in Step 2. It fills in the balancing weights, which are final if
// weights do not follow Step 1, and returns nil if all weights are equal.
func (t Options) startWeights(step1 *inference.Inference, m *vectors.Spill, rows int) ([]float64, error) {
	equal := t.EqualRowWeights || t.Order == TSH
	if !t.mayGrowTrees() && t.Own == nil || equal && !t.Inference.BalanceClasses {
		return nil, nil
	}
	weight, err := vectors.Alloc[float64](m, rows)
	if err == nil {
		step1.RowCounts(weight)
	}
	return weight, err
}

// fedBack returns what Step 1 sees for a bit: the output of its function or, if that is learned from scores of
// classes, the code of each row's class. Step 1 would spend further bits on rows whose scores are wrong, which are
// wrong in all of them.
func (r loop) fedBack(f model.Function, output []int8) []int8 {
	if r.class == nil {
		return output
	}
	code := make([]int8, len(output))
	for i, k := range r.class {
		if code[i] = 1; f.(*model.Linear).Weight[k] < 0 {
			code[i] = -1
		}
	}
	return code
}

// finish completes the statistics of a bit and calls each.
func (r loop) finish(bit Bit) error {
	if e, ok := bit.Function.(*model.Ensemble); ok {
		bit.Stat.Trees = e.Trees()
	}
	if r.each == nil {
		return nil
	}
	return r.each(bit)
}

// fitter returns the learner for the rows, given their classes, or nil for tags.
func (t Options) fitter(ctx context.Context, x *vectors.Columns, class []int32) (fitter, error) {
	if t.mayGrowTrees() {
		return t.trainer(ctx, x, t.Trees)
	}
	switch {
	case t.Learner == Scores:
		f, err := newScoreFitter(ctx, x, class, t.Threads)
		return planes(f.fit), err
	case t.Own != nil:
		return planes(func(ctx context.Context, z []int8, weight []float64) (*model.Linear, error) {
			return t.Own(ctx, x, z, weight)
		}), nil
	}
	machine, err := svm.New(x, t.Linear, t.Threads)
	return planes(func(ctx context.Context, z []int8, _ []float64) (*model.Linear, error) {
		return machine.Fit(ctx, z)
	}), err
}

// planes is a fitter of hyperplanes, which draws nothing at random.
type planes func(ctx context.Context, z []int8, weight []float64) (*model.Linear, error)

// Fit implements fitter.
func (f planes) Fit(ctx context.Context, z []int8, weight []float64, _ uint64, _ int) (model.Function, error) {
	return f(ctx, z, weight)
}

// trainer returns a trainer of trees.
func (t Options) trainer(ctx context.Context, x *vectors.Columns, o boost.Options) (*boost.Trainer, error) {
	return boost.NewOn(ctx, t.Device, x, o, t.Threads)
}

// release gives back what a fitter holds on a device. If that fails, the next use of the device will say so.
func release(f fitter) {
	if trees, ok := f.(*boost.Trainer); ok && trees != nil {
		_ = trees.Close()
	}
}
