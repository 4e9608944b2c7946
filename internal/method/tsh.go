// Two-step hashing (Lin, Shen, Suter and van den Hengel: A General Two-Step Approach to Learning-Based Hashing, ICCV
// 2013).
//
//	Step 1   all bits of the training rows, in sequence, from the affinity alone      package inference
//	Step 2   a binary classifier for each bit                                                 packages svm, boost
//
// The loop is Algorithm 3 of FastHash with another order, so package fasthash runs it; this file chooses the features
// and names the defaults of the released code:
//
//	linear     a linear SVM of the columns                                     C = 1e6 / rows
//	kernel     a linear SVM of Gaussian similarities with 500 random rows      the same
//	budgeted   a kernel SVM with at most 500 support vectors for each bit      budgeted.go
//	trees      boosted trees: TSH with the functions of FastHash
//
// All pairs count, whereas the released code samples them: with classes and tags that is faster, and FastHash does the
// same here. With tags the trees get balanced pairs too, as in FastHash; the SVMs do not gain from it.
// The width of the kernels is the mean squared distance from a row to its 50 nearest among
// 5,000.

package method

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"hashgrove/internal/fasthash"
	"hashgrove/internal/fasthash/inference"
	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// tsh learns in two steps from classes, tags or pairs. It keeps a byte per value of the rows; with kernels also 4 bytes
// per row and anchor.
type tsh struct {
	// Rows is the largest number of training rows, drawn at random: 0 means all, or 5000 if budgeted; negative all.
	// Anchors of the kernel, or support vectors of a bit: 0 means 500.
	Options

	Learner tshLearner // of Step 2
}

// tshLearner names what Step 2 fits.
type tshLearner int

// The learners of TSH.
const (
	tshLinear tshLearner = iota
	tshKernel
	tshBudgeted
	tshTrees
)

func (m tsh) learn(ctx context.Context, x *supervision.Data) (model.Encoder, error) {
	m.Anchors = cmp.Or(m.Anchors, 500)
	if m.Learner == tshBudgeted {
		m.Rows = cmp.Or(m.Rows, 5000)
	}
	if err := checkAnchors(m.Bits, m.Anchors); err != nil {
		return nil, err
	}
	l, err := drawLabelled(x, cmp.Or(m.Rows, -1), m.Seed)
	if err != nil {
		return nil, err
	}
	if m.Learner == tshBudgeted {
		return m.budgeted(ctx, l)
	}
	d, maps := l.Data, []model.Map(nil)
	if m.Learner == tshKernel {
		width, err := neighbourWidth(ctx, l.Source, l.Rows, m.Seed, m.Threads)
		if err != nil {
			return nil, err
		}
		kernel, features, err := kernelFeatures(ctx, d, d, width, m.Options)
		if err != nil {
			return nil, err
		}
		d, maps = d.With(features.K), append(maps, kernel)
	}
	o := fasthash.Options{Bits: m.Bits, Seed: m.Seed, Threads: m.Threads, Order: fasthash.TSH,
		Effort: m.FastHash.Effort, Trees: m.FastHash.Trees, Device: m.FastHash.Device,
		Inference: inference.Options{Method: inference.Spectral}}
	if m.Learner != tshTrees { // linear machines do not gain from balanced pairs
		o.Learner, o.Inference.SimilarWeight, o.Inference.DissimilarWeight = fasthash.Linear, 1, 1
	}
	made, err := fasthash.Trainer{Options: o}.Train(ctx, d)
	if err != nil {
		return nil, err
	}
	return model.Compose(made.Encoder, maps...), nil
}

// neighbourWidth returns the mean squared distance from a row to its 50 nearest, estimated for 1,000 rows among 5,000.
func neighbourWidth(ctx context.Context, x vectors.Source, rows int, seed uint64, threads int) (float64, error) {
	const among, some, near = 5000, 1000, 50
	pool, err := drawRows(ctx, x, rows, among, rand.New(rand.NewPCG(seed, 'N')))
	if err != nil {
		return 0, err
	}
	// Rows of a file may be sorted, so queries are spread over the pool.
	step := (pool.Rows + some - 1) / some
	asked := vectors.Matrix{Cols: pool.Cols}
	for i := 0; i < pool.Rows; i += step {
		asked.Data = append(asked.Data, pool.Row(i)...)
		asked.Rows++
	}
	squares := &model.Gaussian{Anchors: pool}
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

// budgeted implements learn with the budgeted learner.
func (m tsh) budgeted(ctx context.Context, l *labelled) (model.Encoder, error) {
	width, err := neighbourWidth(ctx, l.Source, l.Rows, m.Seed, m.Threads)
	if err != nil {
		return nil, err
	}
	x, err := readRows(ctx, l.Source, l.Rows)
	if err != nil {
		return nil, err
	}
	kernel := &model.Gaussian{Anchors: x, Width: float32(width)}
	if err := kernel.Check(); err != nil {
		return nil, err
	}
	step1, err := inference.New(l.Y, m.Bits, inference.Options{Method: inference.Spectral, Length: m.Bits,
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
		bits[b] = slices.Clone(z)
		step1.Push(z)
	}
	return fitBudgeted(ctx, kernel, bits, m.Anchors, m.Seed, m.Threads)
}
