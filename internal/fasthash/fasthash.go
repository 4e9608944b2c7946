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
// Method trains a model from labelled rows, with checkpoints, resuming, time limits, growing and validation.
// docs/paper.md maps the paper's symbols to identifiers.
package fasthash

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/fasthash/inference"
	"hashgrove/internal/fasthash/svm"
	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
	"hashgrove/internal/picture"
	"hashgrove/internal/vectors"
)

// Defaults shared by all methods.
const (
	DefaultBits        = 64
	DefaultSeed uint64 = 1
)

// TreeOptions are those of Step 2 with trees.
type TreeOptions = boost.Options

// Options are the options of FastHash. The zero value means the documented defaults. Options and data determine every
// byte of the model, which stores them.
type Options struct {
	Bits int    `json:"bits"` // code length m; 0 means DefaultBits
	Seed uint64 `json:"seed"` // of everything random; 0 means DefaultSeed

	// Effort sets the fields left at zero, according to the size of the data; "" means Normal: logistic boosting, extra
	// columns where they help, and candidates. Paper means the paper's own settings. See effort.go.
	Effort Effort `json:"effort,omitempty"`

	Order     Order             `json:"order"`     // how Step 1 and Step 2 alternate; "" means Stagewise
	Inference inference.Options `json:"inference"` // Step 1
	Learner   Learner           `json:"learner"`   // what Step 2 fits; "" means Auto, or Trees if options need those
	Trees     boost.Options     `json:"trees"`     // Step 2 with trees
	Linear    svm.Options       `json:"linear"`    // Step 2 with hyperplanes

	// EqualRowWeights starts boosting from equal weights, as in the paper's text, instead of the weights sum_j |w_ij|
	// of the released code.
	EqualRowWeights bool `json:"equal_row_weights"`

	// LinearColumns offers trees scores of the classes or tags as extra columns: LinearOff, LinearScores, KernelScores,
	// LinearAuto or KernelAuto; "" leaves it to the effort. The model computes them itself.
	LinearColumns string `json:"linear_columns,omitempty"`

	// CodeMicroseconds is about how long a code may take to compute on one core, which decides the number of anchors of
	// kernel scores, by a fixed formula; 0 leaves it to the effort.
	CodeMicroseconds int `json:"code_microseconds,omitempty"`

	Similar Similarity `json:"similarity"` // how the affinity follows from the supervision

	// Candidates is the number of candidates that Step 1 infers for each bit; the one that quick trees predict best on
	// unseen rows is kept. 1 keeps the first; 0 leaves it to the effort.
	Candidates int `json:"candidates,omitempty"`

	// Bins says how columns are cut into bins; "" means vectors.Hybrid, or vectors.Linear with the effort Paper, or
	// vectors.Clipped with hyperplanes.
	Bins vectors.Binning `json:"bins,omitempty"`

	// Missing says that NaN stands for a missing value, with a bin of its own, which the model then accepts. It comes
	// from the data (supervision.ScanOptions). Hyperplanes cannot be learned from such data.
	Missing bool `json:"missing,omitempty"`

	// BalancePairs gives similar and dissimilar pairs equal total weight in Step 1 by setting the weights in Inference.
	// For tags, where few rows are similar, this is the default unless weights are given.
	BalancePairs bool `json:"-"`

	Threads int `json:"-"` // workers; 0 means all cores; never changes the model

	// Device grows trees in place of the cores where it is sooner; nil means none. It never changes the model.
	Device boost.Device `json:"-"`
}

// Similarity says how the affinity follows from the supervision. The user chooses sampling; the rest is filled in.
type Similarity struct {
	From             string   `json:"from"` // classes, tags or pairs
	MinShared        int      `json:"min_shared,omitempty"`
	SampleSimilar    int      `json:"sample_similar,omitempty"`    // similar rows drawn per row; 0: all pairs count
	SampleDissimilar int      `json:"sample_dissimilar,omitempty"` // dissimilar rows drawn per row
	HeldOut          []string `json:"held_out,omitempty"`          // classes excluded from training
	Validation       float64  `json:"validation,omitempty"`        // share of rows held out
	Mirrored         bool     `json:"mirrored,omitempty"`          // mirror images of the pictures follow them
	Augment          string   `json:"augment,omitempty"`           // more copies of the pictures follow them
	Copies           int      `json:"copies,omitempty"`            // rows for every picture, with Augment
	Averaged         bool     `json:"averaged,omitempty"`          // codes add the scores of mirror images
}

// SetCopies records which copies of pictures are among the rows, and whether codes add the scores of mirror images.
func (s *Similarity) SetCopies(a picture.Augmentation, averaged bool) {
	s.Mirrored, s.Averaged = a.Mirror, averaged
	if a.PerPicture() > 1 && a != (picture.Augmentation{Mirror: true}) {
		s.Augment, s.Copies = a.String(), a.PerPicture()
	}
}

// PerPicture returns the number of rows per picture, 1 if there are no copies. Copies follow all pictures, kind by
// kind.
func (s Similarity) PerPicture() int {
	switch {
	case s.Copies > 1:
		return s.Copies
	case s.Mirrored:
		return 2
	}
	return 1
}

// originals returns the number of rows that are not copies of others; row i+originals is a copy of row i.
func (s Similarity) originals(rows int) int { return rows / s.PerPicture() }

// Order says how Step 1 and Step 2 alternate.
type Order string

// The orders of the two steps.
const (
	Stagewise Order = "stagewise" // as in the paper: the hash function's output feeds the next bit
	TSH       Order = "tsh"       // Two-Step Hashing: infers all bits first, then fits all functions
)

// Learner names the hash functions that Step 2 fits.
type Learner string

// The learners of hash functions.
const (
	Auto   Learner = "auto" // trees or scores, whichever predict bits better (learnertrial.go)
	Trees  Learner = "trees"
	Scores Learner = "scores" // how much a row looks like each class (scorebits.go)
	Linear Learner = "linear"
)

// fitter fits one hash function to the bit z (+1 or -1 per row). It returns the function, its output on the training
// rows, valid until the next call, and the share of rows it gets wrong.
type fitter interface {
	Fit(ctx context.Context, z []int8, weight []float64, seed uint64, bit int) (model.Function, []int8, float64, error)
}

// Bit describes a learned bit.
type Bit struct {
	Bit       int // from 1
	Function  model.Function
	Stat      model.BitStat
	Output    []int8 // of the function on the training rows; valid until the next bit
	Inference time.Duration
	Boost     time.Duration

	// With cross-fitting: the packed bit of all rows as predicted from the other folds, and the time that took.
	CrossFit []uint64
	Folds    time.Duration
}

// errStop, returned by a loop's each, ends learning after the current bit.
var errStop = errors.New("stop after this bit")

// loop says where Algorithm 3 starts and what to do after each bit.
type loop struct {
	done []model.Function // bits already learned, which are only replayed
	each func(Bit) error  // called after every newly learned bit; may be nil

	folds *crossFitter // nil without cross-fitting
	class []int32      // of each row, for the learner Scores; nil for tags
}

// WithDefaults returns the options with every default filled in as for few rows: all that can be checked before the
// data are known.
func (t Options) WithDefaults() (Options, error) { return t.ForData(0) }

// ForData returns the options with every default filled in for data of this size, as stored in a model. Few rows of
// unequal classes have their own defaults, which training fills in.
func (t Options) ForData(rows int) (Options, error) { return t.fillIn(about{rows: rows}) }

// fillIn is like ForData, for data of which more is known.
func (t Options) fillIn(d about) (Options, error) {
	t.Bits, t.Seed = cmp.Or(t.Bits, DefaultBits), cmp.Or(t.Seed, DefaultSeed)
	t.Order = cmp.Or(t.Order, Stagewise)
	if t.Learner == "" {
		if t.Learner = Auto; t.wantsTrees() {
			t.Learner = Trees
		}
	}
	if t.Bits < 1 || t.Bits > hamming.MaxBits {
		return t, fmt.Errorf("%d bits asked for; a code has 1 to %d", t.Bits, hamming.MaxBits)
	}
	if t.Order != Stagewise && t.Order != TSH {
		return t, fmt.Errorf("unknown order %q; the orders are %q and %q", t.Order, Stagewise, TSH)
	}
	if err := t.checkLearner(); err != nil {
		return t, err
	}
	if err := cmp.Or(t.checkLinearColumns(), t.checkCandidates()); err != nil {
		return t, err
	}
	if err := t.Bins.Check(); err != nil {
		return t, err
	}
	if t.Inference.Length = 0; t.Order == TSH {
		t.Inference.Length = t.Bits
	}
	t, err := t.withEffort(d)
	if err != nil {
		return t, err
	}
	if t.Effort == Paper {
		t.Bins = cmp.Or(t.Bins, vectors.Linear)
	} else if t.Bins == vectors.Hybrid {
		t.Bins = "" // the same
	}
	if t.Inference, err = t.Inference.WithDefaults(); err != nil {
		return t, err
	}
	if t.Trees, err = t.Trees.WithDefaults(); err != nil {
		return t, err
	}
	return t, nil
}

// checkLearner reports an unknown learner, and one without what it learns from.
func (t Options) checkLearner() error {
	switch {
	case !slices.Contains([]Learner{Auto, Trees, Scores, Linear}, t.Learner):
		return fmt.Errorf("unknown learner %q; the learners are %q, %q, %q and %q", t.Learner, Auto, Trees, Scores, Linear)
	case t.Learner == Scores && t.LinearColumns == LinearOff:
		return fmt.Errorf("the learner %q predicts bits from linear columns, so they cannot be %q", Scores, LinearOff)
	case t.CodeMicroseconds < 0:
		return fmt.Errorf("a code in %d microseconds; give a positive number", t.CodeMicroseconds)
	}
	return nil
}

// mayGrowTrees reports whether trees may be what Step 2 fits.
func (t Options) mayGrowTrees() bool { return t.Learner == Trees || t.Learner == Auto }

// learn runs Algorithm 3 with completed options. It returns all functions, those of run.done first. If each returns
// errStop, the result ends with that bit.
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
	step2, err := t.fitter(ctx, x, t.foldsOf(x), run.class)
	if err != nil {
		return nil, err
	}
	defer release(step2)
	if t.Order == TSH {
		return t.twoStep(ctx, x, step1, step2, run, candidates)
	}

	functions := append([]model.Function(nil), run.done...)
	if err := t.replay(ctx, x, step1, functions, run); err != nil {
		return nil, err
	}
	weight, err := t.startWeights(step1, m, x.Rows)
	if err != nil {
		return nil, err
	}
	for k := len(functions) + 1; k <= t.Bits; k++ {
		bit := Bit{Bit: k}
		began := time.Now()
		if weight != nil && !t.EqualRowWeights {
			if err := step1.RowWeights(ctx, weight); err != nil {
				return functions, fmt.Errorf("bit %d: %w", k, err)
			}
		}
		z, err := candidates.infer(ctx, step1, weight, k)
		if err != nil {
			return functions, fmt.Errorf("bit %d: %w", k, err)
		}
		bit.Stat.CutParts = step1.Parts()
		bit.Inference = time.Since(began)

		began = time.Now()
		if bit.Function, bit.Output, bit.Stat.TrainError, err = step2.Fit(ctx, z, weight, t.Seed, k); err != nil {
			return functions, fmt.Errorf("bit %d: %w", k, err)
		}
		bit.Boost = time.Since(began)
		bit.noteHeldOut(step2)
		if err := run.crossFit(ctx, &bit, z, weight); err != nil {
			return functions, fmt.Errorf("bit %d: %w", k, err)
		}

		began = time.Now()
		step1.Push(run.fedBack(bit.Function, bit.Output))
		if bit.Stat.Objective, err = step1.Objective(ctx); err != nil {
			return functions, fmt.Errorf("bit %d: %w", k, err)
		}
		bit.Inference += time.Since(began)

		functions = append(functions, bit.Function)
		if stop, err := run.finish(bit); stop || err != nil {
			return functions, err
		}
	}
	return functions, nil
}

// twoStep runs in the order of Two-Step Hashing: it infers all bits from each other with the full loss length, then
// fits every function to its bit, with equal row weights.
func (t Options) twoStep(ctx context.Context, x *vectors.Columns, step1 *inference.Inference, step2 fitter,
	run loop, candidates *chooser) ([]model.Function, error) {

	weight, err := t.startWeights(step1, nil, x.Rows)
	if err != nil {
		return nil, err
	}
	bits := make([]Bit, t.Bits)
	codes := make([][]uint64, t.Bits) // bit k of all rows, packed: one byte per row and bit would be too much
	for k := range bits {
		began := time.Now()
		z, err := candidates.infer(ctx, step1, weight, k+1)
		if err != nil {
			return nil, fmt.Errorf("bit %d: %w", k+1, err)
		}
		codes[k] = pack(z)
		bits[k].Stat.CutParts = step1.Parts()
		step1.Push(z)
		if bits[k].Stat.Objective, err = step1.Objective(ctx); err != nil {
			return nil, fmt.Errorf("bit %d: %w", k+1, err)
		}
		bits[k].Inference = time.Since(began)
	}
	functions := append([]model.Function(nil), run.done...)
	z := make([]int8, x.Rows)
	for k := len(functions); k < t.Bits; k++ {
		bit := bits[k]
		bit.Bit = k + 1
		unpack(z, codes[k])
		began := time.Now()
		var err error
		if bit.Function, bit.Output, bit.Stat.TrainError, err = step2.Fit(ctx, z, weight, t.Seed, k+1); err != nil {
			return functions, fmt.Errorf("bit %d: %w", k+1, err)
		}
		bit.Boost = time.Since(began)
		bit.noteHeldOut(step2)
		if err := run.crossFit(ctx, &bit, z, weight); err != nil {
			return functions, fmt.Errorf("bit %d: %w", k+1, err)
		}
		functions = append(functions, bit.Function)
		if stop, err := run.finish(bit); stop || err != nil {
			return functions, err
		}
	}
	return functions, nil
}

// startWeights allocates the weights of the rows in Step 2. It fills in the balancing weights, which are final if
// weights do not follow Step 1, and returns nil if all weights are equal.
func (t Options) startWeights(step1 *inference.Inference, m *vectors.Spill, rows int) ([]float64, error) {
	equal := t.EqualRowWeights || t.Order == TSH
	if !t.mayGrowTrees() || equal && !t.Inference.BalanceClasses {
		return nil, nil
	}
	weight, err := vectors.Alloc[float64](m, rows)
	if err == nil {
		step1.RowCounts(weight)
	}
	return weight, err
}

// replay passes the bits already learned to Step 1.
func (t Options) replay(
	ctx context.Context, x *vectors.Columns, step1 *inference.Inference, functions []model.Function, run loop,
) error {
	if len(functions) == 0 {
		return nil
	}
	output, err := vectors.Alloc[int8](x.Spill(), x.Rows)
	if err != nil {
		return err
	}
	for i, f := range functions {
		if err := model.Outputs(ctx, f, x, t.Threads, output); err != nil {
			return fmt.Errorf("replaying bit %d: %w", i+1, err)
		}
		step1.Push(run.fedBack(f, output))
	}
	return vectors.Release(x.Spill(), output)
}

// fedBack returns what Step 1 is told of a bit: the output of its function or, if that is learned from scores of
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

// crossFit predicts the bit of the rows in each fold from the others, if asked for.
func (r loop) crossFit(ctx context.Context, bit *Bit, z []int8, weight []float64) (err error) {
	if r.folds == nil {
		return nil
	}
	began := time.Now()
	bit.CrossFit, err = r.folds.fit(ctx, z, weight, bit.Bit)
	bit.Folds = time.Since(began)
	return err
}

// finish completes the statistics of a bit, calls each, and reports whether to stop.
func (r loop) finish(bit Bit) (stop bool, err error) {
	if e, ok := bit.Function.(*model.Ensemble); ok {
		bit.Stat.Trees = e.Trees()
	}
	if r.each == nil {
		return false, nil
	}
	if err = r.each(bit); errors.Is(err, errStop) {
		return true, nil
	}
	return false, err
}

// fitter returns the learner for the rows, with the folds of early stopping and the classes of the rows, either of
// which may be nil.
func (t Options) fitter(ctx context.Context, x *vectors.Columns, fold []uint8, class []int32) (fitter, error) {
	switch t.Learner {
	case Linear:
		return svm.New(x, t.Linear, t.Threads)
	case Scores:
		return newScoreFitter(ctx, x, class, t.Threads)
	}
	b, err := t.trainer(ctx, x, t.Trees)
	if err == nil && fold != nil {
		b.HoldOut(fold)
	}
	return b, err
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

// foldsOf returns the folds of the rows if early stopping needs them.
func (t Options) foldsOf(x *vectors.Columns) []uint8 {
	if t.Learner != Trees || t.Trees.EarlyStop <= 0 {
		return nil
	}
	return boost.FoldsOf(x, t.Similar.originals(x.Rows))
}

// noteHeldOut copies the early-stopping figures of the held-out rows.
func (b *Bit) noteHeldOut(step2 fitter) {
	if trees, ok := step2.(*boost.Trainer); ok {
		b.Stat.Rounds, b.Stat.HeldOut, b.Stat.HeldOutError = trees.HeldOut()
	}
}

func pack(z []int8) []uint64 {
	words := make([]uint64, (len(z)+63)/64)
	for i, v := range z {
		if v > 0 {
			words[i/64] |= 1 << (i % 64)
		}
	}
	return words
}

func unpack(z []int8, words []uint64) {
	for i := range z {
		z[i] = int8(words[i/64]>>(i%64)&1)*2 - 1
	}
}
