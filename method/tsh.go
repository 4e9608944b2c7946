// Two-step hashing (Lin, Shen, Suter and van den Hengel: A General Two-Step Approach to Learning-Based Hashing, ICCV
// 2013).
//
//	Step 1   all bits of the training rows, one after the other, from the affinity alone      package inference
//	Step 2   a binary classifier for each bit                                                 packages svm, boost
//
// The loop is Algorithm 3 of FastHash with another order, so package fasthash runs it; this file chooses the features
// and names the defaults of the released code:
//
//	linear     a linear SVM of the columns                                     C = 1e6 / rows
//	kernel     a linear SVM of Gaussian similarities with 500 random rows      the same
//	budgeted   a kernel SVM with at most 500 support vectors for each bit      solve
//	trees      boosted trees: TSH with the functions of FastHash
//
// All pairs count unless pairs are sampled as the released code does: with classes and tags that is faster, and it is
// what FastHash does here. With tags the trees get balanced pairs too, as in FastHash; the SVMs do not gain from it
// (docs/results/tuning.md). The width of the kernels is the mean squared distance of a row from its 50 nearest among
// 5,000.

package method

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"hashgrove/affinity"
	"hashgrove/boost"
	"hashgrove/fasthash"
	"hashgrove/inference"
	"hashgrove/internal/solve"
	"hashgrove/model"
	"hashgrove/supervision"
	"hashgrove/svm"
	"hashgrove/vectors"
)

// tsh learns in two steps from classes, tags or pairs. It keeps a byte for each value of the rows; with kernels also 4
// bytes for each row and anchor.
type tsh struct {
	// Rows to learn from, at most, drawn at random: 0 means all, or 5000 if budgeted; negative all.
	// Anchors of the kernel, or support vectors of a bit: 0 means 500.
	Options

	Inference  inference.Method // of Step 1; "" means spectral
	Loss       inference.Loss   // "" means KSH
	Learner    tshLearner       // of Step 2; "" means linear
	Order      fasthash.Order   // "" means that of TSH
	Similar    int              // similar rows drawn for each row (released code: 100); 0: all pairs count
	Dissimilar int              // dissimilar rows drawn for each row (released code: 100); both or neither
	Width      float64          // of the kernel exp(-|x - a|² / width); 0: see above
	Linear     svm.Options      // of the linear SVM
	Epochs     int              // of the budgeted SVM; 0 means 10
	Trees      boost.Options    // of the trees
}

// tshLearner names what Step 2 fits.
type tshLearner string

// The learners of TSH.
const (
	tshLinear   tshLearner = "linear"
	tshKernel   tshLearner = "kernel"
	tshBudgeted tshLearner = "budgeted"
	tshTrees    tshLearner = "trees"
)

// withDefaults fills in the defaults and validates the options.
func (m tsh) withDefaults() (tsh, error) {
	m.Inference = cmp.Or(m.Inference, inference.Spectral)
	m.Learner = cmp.Or(m.Learner, tshLinear)
	m.Order = cmp.Or(m.Order, fasthash.TSH)
	m.Anchors = cmp.Or(m.Anchors, 500)
	if m.Learner == tshBudgeted {
		m.Rows = cmp.Or(m.Rows, 5000)
	}
	m.Rows = cmp.Or(m.Rows, -1)
	switch {
	case !slices.Contains([]tshLearner{tshLinear, tshKernel, tshBudgeted, tshTrees}, m.Learner):
		return m, fmt.Errorf("unknown learner %q; the learners are %q, %q, %q and %q", m.Learner, tshLinear, tshKernel,
			tshBudgeted, tshTrees)
	case m.Similar < 0 || m.Dissimilar < 0 || (m.Similar > 0) != (m.Dissimilar > 0):
		return m, fmt.Errorf("%d similar and %d dissimilar rows for each row: give two positive numbers, or none", m.Similar,
			m.Dissimilar)
	case m.Learner == tshBudgeted && m.Order != fasthash.TSH:
		return m, fmt.Errorf("the %s learner fits all bits at once: it knows the order %q only", tshBudgeted, fasthash.TSH)
	}
	return m, solve.CheckAnchors(m.Bits, m.Anchors)
}

func (m tsh) learn(ctx context.Context, x *supervision.Data) (model.Encoder, error) {
	m, err := m.withDefaults()
	if err != nil {
		return nil, err
	}
	l, err := solve.DrawLabelled(x, m.Rows, m.Seed)
	if err != nil {
		return nil, err
	}
	if (m.Learner == tshKernel || m.Learner == tshBudgeted) && m.Width == 0 {
		if m.Width, err = neighbourWidth(ctx, l.Source, l.Rows, m.Seed, m.Threads); err != nil {
			return nil, err
		}
	}
	if m.Learner == tshBudgeted {
		y := l.Y
		if m.Similar > 0 {
			if y, err = affinity.Sample(y, m.Similar, m.Dissimilar, m.Seed); err != nil {
				return nil, err
			}
		}
		return m.budgeted(ctx, l, y)
	}
	d, maps := l.Data, []model.Map(nil)
	if m.Learner == tshKernel {
		kernel, err := solve.GaussianKernel(ctx, l.Source, l.Rows,
			solve.KernelOptions{Anchors: m.Anchors, Width: m.Width, Seed: m.Seed, Threads: m.Threads})
		if err != nil {
			return nil, err
		}
		features, err := solve.ReadThrough(ctx, l.Source, l.Rows, m.Threads, kernel)
		if err != nil {
			return nil, err
		}
		d, maps = d.With(features), append(maps, kernel)
	}
	made, err := fasthash.Method{Options: m.options()}.Train(ctx, d)
	if err != nil {
		return nil, err
	}
	return model.Compose(made.Encoder, maps...), nil
}

// options are those of FastHash with the order and the learner of TSH. Linear machines do not gain from balanced pairs.
func (m tsh) options() fasthash.Options {
	o := fasthash.Options{
		Bits: m.Bits, Seed: m.Seed, Order: m.Order, Learner: fasthash.Linear,
		Inference: inference.Options{Method: m.Inference, Loss: m.Loss},
		Linear:    m.Linear, Trees: m.Trees, Threads: m.Threads,
		Similar: fasthash.Similarity{SampleSimilar: m.Similar, SampleDissimilar: m.Dissimilar},
	}
	if m.Learner == tshTrees {
		o.Learner = fasthash.Trees
	} else {
		o.Inference.SimilarWeight, o.Inference.DissimilarWeight = 1, 1
	}
	return o
}

// neighbourWidth is the mean squared distance of a row from its 50 nearest, estimated for 1,000 rows among 5,000.
func neighbourWidth(ctx context.Context, x vectors.Source, rows int, seed uint64, threads int) (float64, error) {
	const among, some, near = 5000, 1000, 50
	pool, err := solve.DrawRows(ctx, x, rows, among, rand.New(rand.NewPCG(seed, 'N')))
	if err != nil {
		return 0, err
	}
	// Rows of a file may be sorted: those asked for are spread over the pool.
	step := (pool.Rows + some - 1) / some
	asked := vectors.Matrix{Cols: pool.Cols}
	for i := 0; i < pool.Rows; i += step {
		asked.Data = append(asked.Data, pool.Row(i)...)
		asked.Rows++
	}
	squares := &model.Kernel{Anchors: pool}
	if err := squares.Check(); err != nil {
		return 0, err
	}
	d, err := model.Transform(ctx, threads, asked, squares)
	if err != nil {
		return 0, err
	}
	sum, count := 0.0, 0
	for i := range d.Rows {
		row := d.Row(i)
		slices.Sort(row) // the first is the row itself
		for _, v := range row[1:min(near+1, len(row))] {
			sum += max(0, float64(v))
			count++
		}
	}
	return max(sum/float64(max(count, 1)), math.SmallestNonzeroFloat32), nil
}

// budgeted is learn with the budgeted learner.
func (m tsh) budgeted(ctx context.Context, l *solve.Labelled, y affinity.Matrix) (model.Encoder, error) {
	x, err := solve.ReadRows(ctx, l.Source, l.Rows)
	if err != nil {
		return nil, err
	}
	kernel := &model.Kernel{Anchors: x, Width: float32(m.Width)}
	if err := kernel.Check(); err != nil {
		return nil, err
	}
	z, err := m.infer(ctx, y)
	if err != nil {
		return nil, err
	}
	return solve.FitBudgeted(ctx, kernel, z, solve.BudgetOptions{
		Vectors: m.Anchors, Epochs: m.Epochs, Seed: m.Seed, Threads: m.Threads})
}

// infer is Step 1: all bits, each given those before it.
func (m tsh) infer(ctx context.Context, y affinity.Matrix) ([][]int8, error) {
	step1, err := inference.New(y, m.Bits, inference.Options{Method: m.Inference, Loss: m.Loss, Length: m.Bits,
		Threads: m.Threads}, m.Seed)
	if err != nil {
		return nil, err
	}
	bits := make([][]int8, m.Bits)
	for b := range bits {
		z, err := step1.Infer(ctx)
		if err != nil {
			return nil, err
		}
		bits[b] = append([]int8(nil), z...)
		step1.Push(z)
	}
	return bits, nil
}
