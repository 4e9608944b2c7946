// Package boost is Step 2 of FastHash: it learns one bit from quantised columns by boosting complete decision trees,
// and returns a model.Ensemble.
//
//	adaboost.go   AdaBoost: the rounds and the weights of the trees
//	logistic.go   the same for the logistic loss
//	grower.go     what grows the trees, behind one interface
//	cores.go      the grower on the cores of this machine: all that follows
//	trim.go       weights become integers; the light rows are left out
//	sample.go     the rows and columns that a tree may see, if not all
//	grow.go       one tree, level by level; LazyBoost columns of a node
//	histogram.go  the mass in every bin of the candidate columns
//	split.go      the best column and bin of a node
//	kernels.go    sums and extremes of whole histograms, in assembly where available
//	predict.go    the output of a tree for the training rows
package boost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"hashgrove/internal/model"
	"hashgrove/internal/numeric/portable"
	"hashgrove/internal/vectors"
)

// Discrete AdaBoost (Freund and Schapire, 1997) as the released FastHash code uses it for the exponential loss of Step
// 2 (Lin et al., CVPR 2014, eq:opt_step2). With T_q(x) in {-1, +1} the tree of round q and u_i the weight of row i,
//
//	V+ = sum of u_i over T_q(x_i) = z_i,   V- = sum of the other u_i,
//	w_q = ln(V+ / V-) / 2,                 u_i *= exp(-w_q z_i T_q(x_i)).
//
// Only the ratios of weights matter. So rows that a tree gets right keep their weight, the others are multiplied by
// exp(2 w_q) = V+ / V-, and now and then all are scaled back to the sum n.
//
//	for each round
//		trim       the heaviest rows that hold TrimMass of the weight    O(n)
//		grow       T_q from these rows                                  O(Depth * NodeFeatures * n), nearly all the time
//		predict    T_q of all rows, V+, V-                              O(Depth * n)
//
// A tree that is no better than chance (V+ <= V-) is dropped; the next round draws other columns. A tree without any
// mistake has w_q = ln n + ln 1e8. A tree that needs no split to be right is the last: z is constant.

// Options say how to learn. A zero field means its default here; package fasthash fills in those of an effort first.
type Options struct {
	Rounds       int     `json:"rounds"`        // maximum number of trees; 200
	Depth        int     `json:"depth"`         // levels of splits, 1 to 8; 4
	NodeFeatures int     `json:"node_features"` // LazyBoost: columns drawn per node; 0: see fewColumns; negative: all
	TrimMass     float64 `json:"trim_mass"`     // share of the weight a tree sees; 0.99 (paper: 0.9); < 0 or >= 1: all
	MinNode      int     `json:"min_node"`      // a node with no more rows of one sign is not split; 5; negative: 0
	NodeRows     int     `json:"node_rows"`     // 0: nodes are split by all their rows; models record it

	// Favoured is the number of columns, the last ones, that a node draws before others: all of them, or up to half of
	// its draw. It comes with the columns, so it is not stored.
	Favoured    int     `json:"-"`
	RowShare    float64 `json:"row_share,omitempty"`    // share of the rows drawn for a tree; 0 or 1: all
	ColumnShare float64 `json:"column_share,omitempty"` // share of the columns drawn for a tree; 0 or 1: all

	Boost Algorithm `json:"boost,omitempty"` // AdaBoost
	// For Logistic only.
	Rate     float64 `json:"rate,omitempty"`      // share of a Newton step per tree; 0.3
	Ridge    float64 `json:"ridge,omitempty"`     // added to the curvature of a leaf, in rows; 1
	LeafBits int     `json:"leaf_bits,omitempty"` // a leaf has one of 2^LeafBits values, 1 to 4; 2
}

// Algorithm names a boosting algorithm.
type Algorithm string

// The algorithms.
const (
	AdaBoost Algorithm = "adaboost" // as in the paper: exponential loss, trees that say -1 or +1 (adaboost.go)
	Logistic Algorithm = "logistic" // logistic loss, trees with several values at their leaves (logistic.go)
)

// With up to fewColumns usable columns all are candidates by default; with more, lazyColumns are drawn. If all are
// candidates, histograms are shared between nodes and trees, so 500 cost no more than 200 drawn anew by every node.
const fewColumns, lazyColumns = 512, 200

// maxRounds bounds the trees of a bit.
const maxRounds = 10_000

// maxRows bounds the rows, since they share a total mass of 2^31. A mean of 64 is as good as more; with less, from 33
// million rows on (weightScale), fewer light rows are trimmed and splits are coarser.
const maxRows = 1 << 28

// WithDefaults fills in the defaults and validates the options.
func (o Options) WithDefaults() (Options, error) {
	o.Rounds = cmp.Or(o.Rounds, 200)
	o.Depth = cmp.Or(o.Depth, 4)
	o.TrimMass = cmp.Or(o.TrimMass, 0.99)
	o.MinNode = cmp.Or(o.MinNode, 5)
	o.Boost = cmp.Or(o.Boost, AdaBoost)
	if o.Boost == Logistic {
		o.Rate, o.Ridge, o.LeafBits = cmp.Or(o.Rate, 0.3), cmp.Or(o.Ridge, 1), cmp.Or(o.LeafBits, 2)
	}
	switch {
	case o.Rounds < 1 || o.Rounds > maxRounds:
		return o, fmt.Errorf("%d boosting rounds: give 1 to %d", o.Rounds, maxRounds)
	case o.Depth < 1 || o.Depth > model.MaxDepth:
		return o, fmt.Errorf("trees of depth %d: give 1 to %d", o.Depth, model.MaxDepth)
	case math.IsNaN(o.TrimMass):
		return o, errors.New("the share of weight that a tree sees is not a number: give 0.9 to 0.99, or -1 for all")
	case o.Boost != AdaBoost && o.Boost != Logistic:
		return o, fmt.Errorf("there is no boosting algorithm %q: give %s or %s", o.Boost, AdaBoost, Logistic)
	case o.Boost == AdaBoost && (o.Rate != 0 || o.Ridge != 0 || o.LeafBits != 0):
		return o, fmt.Errorf("rate, ridge and leaf bits belong to the boosting algorithm %s", Logistic)
	case o.Boost == Logistic && !(o.Rate > 0 && o.Rate <= 1):
		return o, fmt.Errorf("a rate of %v: give a share of a step, more than 0 and at most 1", o.Rate)
	case o.Boost == Logistic && !(o.Ridge > 0 && o.Ridge <= 1e6):
		return o, fmt.Errorf("a ridge of %v: give a positive number of rows up to a million", o.Ridge)
	case o.Boost == Logistic && (o.LeafBits < 1 || o.LeafBits > 4):
		return o, fmt.Errorf("leaves of %d bits: give 1 to 4", o.LeafBits)
	case !(o.RowShare >= 0 && o.RowShare <= 1) || !(o.ColumnShare >= 0 && o.ColumnShare <= 1):
		return o, fmt.Errorf("shares of %v of the rows and %v of the columns: give numbers up to 1, or 0 for all",
			o.RowShare, o.ColumnShare)
	}
	return o, nil
}

// Trainer learns bits from the same columns, in sequence, reusing its memory. It is not safe for concurrent
// use.
type Trainer struct {
	x       *vectors.Columns
	o       Options
	threads int
	n       int
	device  Device // nil: the cores
	grower  Grower
	*cores  // the grower, unless a device is

	z []uint64  // bit i is 1 where z_i = +1; past the last row all bits are 0
	u []float64 // weights, summing to n
}

// New prepares to learn from x, which it keeps but never changes.
func New(x *vectors.Columns, o Options, threads int) (*Trainer, error) {
	return NewOn(context.Background(), nil, x, o, threads)
}

// NewOn is New with a device, which may be nil. Where the device cannot do it, or fails later, the cores do.
func NewOn(ctx context.Context, d Device, x *vectors.Columns, o Options, threads int) (*Trainer, error) {
	o, err := o.WithDefaults()
	if err != nil {
		return nil, err
	}
	n := x.Rows
	if n < 1 || x.Dim() < 1 || n > maxRows {
		return nil, fmt.Errorf("cannot learn from %d rows of %d columns", n, x.Dim())
	}
	t := &Trainer{x: x, o: o, threads: threads, n: n, device: d, z: make([]uint64, (n+63)/64)}
	if t.u, err = vectors.AllocHot[float64](x.Spill(), n); err != nil {
		return nil, err
	}
	if d != nil {
		if t.grower, err = d.Grower(ctx, x, o); errors.Is(err, ErrNoDevice) {
			return nil, err
		} else if err != nil && ctx.Err() == nil {
			d.Lost(err)
		}
	}
	if t.grower == nil {
		err = t.useCores()
	}
	return t, err
}

// useCores makes the cores the grower.
func (t *Trainer) useCores() (err error) {
	t.cores, err = newCores(t.x, t.o, t.threads, t.z, t.u)
	t.grower = t.cores
	return err
}

// Close releases what a device holds for the trainer. The cores hold nothing but memory.
func (t *Trainer) Close() error { return t.grower.Close() }

// Fit learns the bit z, -1 or +1 for each row. The weights are those of the rows before the first round, in any scale;
// nil means equal weights. Seed and bit choose the random draws.
func (t *Trainer) Fit(ctx context.Context, z []int8, weight []float64, seed uint64, bit int) (model.Function, error) {
	if len(z) != t.n || weight != nil && len(weight) != t.n {
		panic("boost: Fit needs one sign and one weight for each row")
	}
	if err := t.setProblem(z, weight); err != nil {
		return nil, err
	}
	e, err := t.fit(ctx, seed, bit)
	if err != nil && t.cores == nil && ctx.Err() == nil {
		t.device.Lost(err) // the bit begins again on the cores
		t.grower.Close()
		if err := t.useCores(); err != nil {
			return nil, err
		}
		e, err = t.fit(ctx, seed, bit)
	}
	return e, err
}

// fit learns a bit on the grower.
func (t *Trainer) fit(ctx context.Context, seed uint64, bit int) (*model.Ensemble, error) {
	if err := t.grower.Begin(ctx, &Problem{Z: t.z, U: t.u, Seed: seed, Bit: bit}); err != nil {
		return nil, err
	}
	if t.o.Boost == Logistic {
		return t.fitLogistic(ctx)
	}
	return t.fitAdaBoost(ctx)
}

// next runs a round.
func (t *Trainer) next(ctx context.Context, q int) (*Round, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("round %d of %d: %w", q+1, t.o.Rounds, context.Cause(ctx))
	}
	r, err := t.grower.Round(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("round %d of %d: %w", q+1, t.o.Rounds, err)
	}
	return r, nil
}

// fitAdaBoost implements Fit for AdaBoost, once the grower has begun.
func (t *Trainer) fitAdaBoost(ctx context.Context) (*model.Ensemble, error) {
	e := &model.Ensemble{Depth: t.o.Depth}
	var w []float64 // w_q of the trees in e
	var first Round // its tree, until one is kept
	for q := range t.o.Rounds {
		r, err := t.next(ctx, q)
		if err != nil {
			return nil, err
		}
		if q == 0 {
			first = Round{Feature: slices.Clone(r.Feature), Bin: slices.Clone(r.Bin), Leaf: slices.Clone(r.Leaf)}
		}
		wq, _, _ := treeWeight(r.Right, r.Wrong, t.n)
		if wq == 0 {
			continue
		}
		w = append(w, wq)
		r.addTo(e)
		if r.Wrong == 0 && !r.isSplit() {
			break
		}
	}
	if len(w) == 0 { // no round changed the weights: the first tree is kept
		first.addTo(e)
		w = []float64{0}
	}
	e.Weight = integerWeights(w)
	return e, nil
}

// addTo adds the tree of a round to an ensemble of AdaBoost.
func (r *Round) addTo(e *model.Ensemble) {
	e.Feature = append(e.Feature, r.Feature...)
	e.Bin = append(e.Bin, r.Bin...)
	e.Leaf = append(e.Leaf, r.Leaf...)
}

// setProblem sets z and the weights before the first round.
func (t *Trainer) setProblem(z []int8, weight []float64) error {
	clear(t.z)
	for i, v := range z {
		switch v {
		case 1:
			t.z[i/64] |= 1 << (i % 64)
		case -1:
		default:
			panic("boost: Fit with a sign that is neither -1 nor +1")
		}
	}
	if weight == nil {
		for i := range t.u {
			t.u[i] = 1
		}
		return nil
	}
	top := 0.0
	for i, w := range weight {
		if !(w >= 0) || math.IsInf(w, 1) {
			return fmt.Errorf("row %d has the weight %v: weights are finite and not negative", i, w)
		}
		top = max(top, w)
	}
	if top == 0 {
		return errors.New("all rows have the weight 0: give at least one a positive weight, or none at all")
	}
	// Dividing by the largest weight first keeps the sum finite.
	sum := 0.0
	for i, w := range weight {
		t.u[i] = w / top
		sum += t.u[i]
	}
	scale := float64(t.n) / sum
	for i := range t.u {
		t.u[i] *= scale
	}
	return nil
}

// swell bounds the sum of the weights, in parts of n.
const swell = 4

// treeWeight returns the weight of a tree, and the factors for the weights of the rows it gets right and wrong.
func treeWeight(vRight, vWrong float64, n int) (w, right, wrong float64) {
	const eps = 0x1p-52
	switch {
	case vWrong > eps && vRight <= vWrong:
		return 0, 1, 1
	case vWrong > eps:
		w = portable.PreciseLn(vRight/vWrong) / 2
		right, wrong = 1, vRight/vWrong
	default:
		w = portable.PreciseLn(float64(n)) + portable.PreciseLn(1e8)
		right, wrong = 1, float64(n)*1e8*float64(n)*1e8
	}
	if sum := vRight + float64(vWrong*wrong); sum > swell*float64(n) {
		right = float64(n) / sum
		wrong *= right
	}
	return w, right, wrong
}

// integerWeights turns tree weights into integers whose sum is below 2^31, each at least 1.
func integerWeights(w []float64) []int32 {
	sum := 0.0
	for _, v := range w {
		sum += v
	}
	scale := 0.0
	if sum > 0 {
		scale = float64(math.MaxInt32-len(w)-1) / sum
	}
	out := make([]int32, len(w))
	for q, v := range w {
		out[q] = max(1, int32(v*scale))
	}
	return out
}
