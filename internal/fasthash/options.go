package fasthash

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/fasthash/columns"
	"hashgrove/internal/fasthash/inference"
	"hashgrove/internal/fasthash/svm"
	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// Defaults shared by all methods.
const (
	DefaultBits        = 64
	DefaultSeed uint64 = 1
)

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
	Own       Fit               `json:"-"`         // fits hyperplanes in place of the learner Linear; nil does not
	OwnName   string            `json:"own_learner,omitempty"`
	Trees     boost.Options     `json:"trees"`  // Step 2 with trees
	Linear    svm.Options       `json:"linear"` // Step 2 with hyperplanes

	// EqualRowWeights starts boosting from equal weights, as in the paper's text, instead of the weights sum_j |w_ij|
	// of the released code.
	EqualRowWeights bool `json:"equal_row_weights"`

	// LinearColumns offers trees scores of the classes or tags as extra columns: columns.Off, Linear, Kernel, Auto or
	// AutoKernel; "" leaves it to the effort. The model computes them itself.
	LinearColumns string `json:"linear_columns,omitempty"`

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

	// Device grows trees in place of the cores where there is much to do; nil means none. It never changes the model.
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
}

// PerPicture returns the number of rows per picture, 1 if there are no mirror images. These follow all pictures.
func (s Similarity) PerPicture() int {
	if s.Mirrored {
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
	TSH       Order = "tsh"       // Two-Step Hashing: bits are inferred from each other, not from what functions output
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

// Learners lists the learners, with a line of help.
var Learners = []struct {
	Name  Learner
	About string
}{
	{Trees, ""}, {Scores, "how much a row looks like each class or tag"}, {Linear, "an SVM"},
	{Auto, "trees or scores, whichever predict bits better"},
}

// Fit fits a hyperplane to the bit z (+1 or -1 per row); weight says how much each row counts, and nil that all count
// alike.
type Fit func(ctx context.Context, x *vectors.Columns, z []int8, weight []float64) (*model.Linear, error)

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
	if err := t.checkCandidates(); err != nil {
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

// checkLearner reports an unknown learner or kind of columns, and a learner without what it learns from.
func (t Options) checkLearner() error {
	var names []string
	for _, l := range Learners {
		names = append(names, string(l.Name))
	}
	kinds := []string{columns.Off, columns.Linear, columns.Kernel, columns.Auto, columns.AutoKernel}
	switch {
	case !slices.Contains(names, string(t.Learner)):
		return fmt.Errorf("unknown learner %q; the learners are %q", t.Learner, names)
	case t.Own != nil && t.Learner != Linear:
		return fmt.Errorf("a learner of your own fits hyperplanes in place of %q, not of %q", Linear, t.Learner)
	case t.LinearColumns != "" && !slices.Contains(kinds, t.LinearColumns):
		return fmt.Errorf("unknown linear columns %q; there are %q", t.LinearColumns, kinds)
	case t.Learner == Scores && t.LinearColumns == columns.Off:
		return fmt.Errorf("the learner %q predicts bits from linear columns, so they cannot be %q", Scores, columns.Off)
	}
	return nil
}

// mayGrowTrees reports whether trees may be what Step 2 fits.
func (t Options) mayGrowTrees() bool { return t.Learner == Trees || t.Learner == Auto }
