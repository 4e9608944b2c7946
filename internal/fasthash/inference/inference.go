// Package inference is Step 1 of FastHash: it finds the bit that best respects the affinity, given the bits before it
// (Lin et al., CVPR 2014, eq:opt_step1_bqp).
//
// Bit k minimises the sum over all defined pairs of w_ij z_i z_j over z in {-1, +1}^n, where w_ij follows from the
// pair's loss and its Hamming distance over the earlier bits as the hash functions output them:
//
//	p, err := inference.New(y, bits, inference.Options{}, seed)
//	for range bits {
//		z, err := p.Infer(ctx)   // Step 1
//		h := ...                 // Step 2: a hash function that predicts z, and its output on the training rows
//		p.Push(h)
//	}
//
//	loss.go       w_ij: integer tables of the losses
//	block.go      Algorithm 1: blocks without dissimilar pairs
//	graphcut.go   Algorithm 2: one block after another, exactly, by minimum cut; blocks of one row
//	spectral.go   the relaxation of TSH
//	candidate.go  several bits that are about equally good, inferred side by side
//	group.go      rows that no loss can tell apart are one variable; what candidates share, and what each has
//	sums.go       sums of codes, and products with them
//	tally.go      the same for many codes, by counting
//	field.go      sum over j of w_ij z_j without a pair list, for classes and tags; the same for real z
//	hinge.go      the same for the hinge
//	pairs.go      everything for explicit pairs
//	objective.go  the loss of the bits so far, and the weight of each row for Step 2
//
// All weights are integers, so blocks are solved exactly and results do not depend on threads or machine.
package inference

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/hamming"
	"hashgrove/internal/message"
	"hashgrove/internal/par"
	"hashgrove/internal/vectors"
)

// Algorithm names a way to minimise the energy of a bit.
type Algorithm string

// The methods. BlockGC, the paper's, is the default.
const (
	BlockGC  Algorithm = "blockgc"
	ICM      Algorithm = "icm"
	Spectral Algorithm = "spectral"
)

// Options configure Step 1. The zero value is the paper's choice.
type Options struct {
	Method Algorithm `json:"method,omitempty"` // "" means BlockGC
	Loss   Loss      `json:"loss,omitempty"`   // "" means KSH
	Own    *Pair     `json:"-"`                // judges pairs in place of Loss, which names it
	Sweeps int       `json:"sweeps,omitempty"` // over all blocks, for each bit; 0 means 2

	// Factors of the losses of similar and dissimilar pairs; 0 means 1.
	SimilarWeight    int `json:"similar_weight,omitempty"`
	DissimilarWeight int `json:"dissimilar_weight,omitempty"`

	// BalanceClasses gives classes about equal weight, in Step 1 and in the row weights: a row of a small class counts
	// as several rows (balance.go).
	BalanceClasses bool `json:"balance_classes,omitempty"`

	// Length is the loss length of every bit, as in TSH. 0 gives bit k the loss length k.
	Length int `json:"length,omitempty"`

	Threads int `json:"-"` // 0 means all cores

	// Spill holds arrays that grow with the rows, for classes; nil means memory. It never changes the result.
	Spill *vectors.Spill `json:"-"`

	noMerge bool // every row its own variable: the same result, but slower; for tests
	side    int  // variables above which candidates are inferred side by side; 0 means worthSide; for tests
}

// Balanced returns the options with weights, whole numbers up to 1000, that give the similar and the dissimilar pairs
// of y equal total weight. The released code samples equally many of both instead.
func (o Options) Balanced(y affinity.Matrix) Options {
	similar, dissimilar := y.Counts()
	o.SimilarWeight, o.DissimilarWeight = 1, 1
	if similar > 0 && dissimilar > similar {
		o.SimilarWeight = int(min((dissimilar+similar/2)/similar, 1000))
	} else if dissimilar > 0 {
		o.DissimilarWeight = max(1, int(min((similar+dissimilar/2)/dissimilar, 1000)))
	}
	return o
}

// WithDefaults fills in the defaults and validates the options.
func (o Options) WithDefaults() (Options, error) {
	o.Method = cmp.Or(o.Method, BlockGC)
	o.Loss = cmp.Or(o.Loss, KSH)
	o.Sweeps = cmp.Or(o.Sweeps, 2)
	o.SimilarWeight = cmp.Or(o.SimilarWeight, 1)
	o.DissimilarWeight = cmp.Or(o.DissimilarWeight, 1)
	switch {
	case o.Method != BlockGC && o.Method != ICM && o.Method != Spectral:
		return o, message.New("unknown-method",
			"there is no algorithm %q for Step 1; choose %s, %s or %s", o.Method, BlockGC, ICM, Spectral)
	case o.pair() == nil:
		return o, message.New("unknown-loss", "loss %q is unknown; choose one of %s", o.Loss, lossNames())
	case o.Sweeps < 0:
		return o, message.New("bad-sweeps", "%d sweeps are impossible; give 1 or more", o.Sweeps)
	case o.SimilarWeight < 0 || o.DissimilarWeight < 0:
		return o, message.New("bad-weights", "pair weights %d and %d must be positive", o.SimilarWeight, o.DissimilarWeight)
	}
	return o, nil
}

// check validates the number of rows and bits.
func (o Options) check(n, codeBits int) error {
	switch {
	case n < 2:
		return message.New("too-few", "there are fewer than two rows, hence no pairs to learn from")
	case codeBits < 1 || codeBits > hamming.MaxBits:
		return message.New("bad-bits", "codes of %d bits are impossible; give 1 to %d", codeBits, hamming.MaxBits)
	case o.Length != 0 && o.Length < codeBits:
		return message.New("bad-length", "loss length %d is shorter than the code of %d bits", o.Length, codeBits)
	case o.Length > 1<<20:
		return fmt.Errorf("loss length %d is too long; give at most %d", o.Length, 1<<20)
	}
	// No sum of pair weights may exceed 2^62: n² pairs of at most 2 bits (times 4 for the hinge) times the weight.
	limit := uint64(1<<62 - 1)
	factors := []int{n, n, 2 * max(codeBits, o.Length), max(o.SimilarWeight, o.DissimilarWeight)}
	factors = append(factors, int(o.pair().near))
	for _, f := range factors {
		limit /= uint64(f)
	}
	if limit == 0 {
		return message.New("too-large",
			"the losses of %d rows with %d bits and pair weights %d and %d pass 2^62; use smaller weights or "+
				"fewer rows",
			n, codeBits, o.SimilarWeight, o.DissimilarWeight)
	}
	return nil
}

// Inference infers one bit after another.
type Inference struct {
	opt  Options
	bits int
	seed uint64
	n    int
	p    problem
	side []problem // of candidates that are inferred at the same time
	z    []int8
	done int // bits pushed

	// parts is the number of parts in which blocks with too many undecided rows were minimised since the last Push.
	parts atomic.Int64
}

// problem is the minimisation of one bit over a set of variables: groups of rows, or rows. Each has a mass, the
// weighted number of its rows, and a sign.
type problem interface {
	// mass returns the mass of every variable, signs its z.
	mass() []int64
	signs() []int8
	// rows returns the variable and the unit of every row, and the weight of a row of each unit.
	rows() (variable, unit []int32, count []int64)

	// setWeights sets the pair weights. reset makes all signs +1 and updates the fields.
	setWeights(w weights)
	reset(ctx context.Context) error
	// blocks returns the number of blocks, and that of the rows in them; solve minimises over block b and reports
	// whether a sign changed.
	blocks() (n, rows int)
	solve(ctx context.Context, b int) (bool, error)

	// product sets y = W x for x constant over the rows of a variable; totals does so for x = 1.
	product(ctx context.Context, w weights, x, y []float64) error
	totals(ctx context.Context, w weights, y []float64) error
	// fields writes for every row the sum of w h over the other rows, for h by row.
	fields(ctx context.Context, w weights, h []int8, rows []float64) error

	// another returns a problem over the same variables with signs of its own, on so many threads: both may be solved
	// at the same time. What a bit adds to one, both have.
	another(threads int) problem

	// push appends a bit, given by row. losses sums L over similar and over dissimilar pairs.
	push(h []int8)
	losses(ctx context.Context, l *Pair, length int) (similar, dissimilar float64, err error)
	// counts returns the number of similar and dissimilar pairs.
	counts() (similar, dissimilar int64)
}

// New prepares Step 1 for codes of the given number of bits.
func New(y affinity.Matrix, bits int, o Options, seed uint64) (*Inference, error) {
	o, err := o.WithDefaults()
	if err != nil {
		return nil, err
	}
	if err := o.check(y.Len(), bits); err != nil {
		return nil, err
	}
	if o.Own != nil {
		if err := o.Own.check(bits, o.Length); err != nil {
			return nil, err
		}
	}
	p := &Inference{opt: o, bits: bits, seed: seed, n: y.Len()}
	if p.z, err = vectors.Alloc[int8](o.Spill, y.Len()); err != nil {
		return nil, err
	}
	count, err := o.rowCounts(y, bits)
	if err != nil {
		return nil, err
	}
	switch y := y.(type) {
	case *affinity.Classes:
		p.p, err = newGrouped(y, nil, count, &p.parts, o, seed)
	case *affinity.Tags:
		p.p, err = newGrouped(y, y, count, &p.parts, o, seed)
	case *affinity.Pairs:
		p.p = newListed(y, count, o, seed)
	}
	return p, err
}

// length returns the loss length of bit k.
func (p *Inference) length(k int) int {
	if p.opt.Length > 0 {
		return p.opt.Length
	}
	return k
}

// weights returns the pair weights of the next bit; sign multiplies those of similar pairs.
func (p *Inference) weights(sign int64) weights {
	return p.opt.pair().weights(p.done, p.length(p.done+1), sign*int64(p.opt.SimilarWeight), int64(p.opt.DissimilarWeight))
}

// MeanBlock returns the mean number of rows in a block.
func (p *Inference) MeanBlock() float64 {
	n, rows := p.p.blocks()
	return float64(rows) / float64(n)
}

// Push appends the output of a hash function, +1 or -1 for every row, to the codes.
func (p *Inference) Push(h []int8) {
	if len(h) != p.n || p.done == p.bits {
		panic("inference: a bit of the wrong length, or one bit too many")
	}
	for _, v := range h {
		if v != 1 && v != -1 {
			panic("inference: a bit that is neither +1 nor -1")
		}
	}
	p.p.push(h)
	p.done++
	p.parts.Store(0)
}

// Objective returns the mean loss of the defined pairs over the bits pushed so far, weighted as the options say.
func (p *Inference) Objective(ctx context.Context) (float64, error) {
	if p.done == 0 {
		return 0, errors.New("there is no bit yet to judge")
	}
	near, far, err := p.p.losses(ctx, p.opt.pair(), p.length(p.done))
	if err != nil {
		return 0, err
	}
	s, d := p.p.counts()
	ws, wd := float64(p.opt.SimilarWeight), float64(p.opt.DissimilarWeight)
	return (float64(ws*near) + float64(wd*far)) / (float64(ws*float64(s)) + float64(wd*float64(d))), nil
}

// Fields writes for every row the weighted sum over its pairs of w_ij h_j, with the weights of the next bit, for any h
// of +1 and -1. Step 1 minimises half the sum of h_i times the field of row i.
func (p *Inference) Fields(ctx context.Context, h []int8, dst []float64) error {
	if len(h) != p.n || len(dst) != p.n {
		panic("inference: fields of a bit of the wrong length")
	}
	if err := p.p.fields(ctx, p.weights(1), h, dst); err != nil {
		return err
	}
	_, unit, count := p.p.rows()
	p.eachRow(func(i int) { dst[i] *= float64(count[unit[i]]) })
	return nil
}

// eachRow calls f for every row, on several cores if there are many.
func (p *Inference) eachRow(f func(i int)) {
	_ = par.Blocks(context.Background(), p.opt.Threads, p.n, rowBlock, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			f(i)
		}
	})
}

// RowCounts writes the weight of each row: 1, unless classes are balanced.
func (p *Inference) RowCounts(dst []float64) {
	_, unit, count := p.p.rows()
	p.eachRow(func(i int) { dst[i] = float64(count[unit[i]]) })
}

// RowWeights writes how much the next bit matters to each row: the weighted sum over its pairs of |w_ij|, scaled to
// mean 1. A row without pairs gets 0.
func (p *Inference) RowWeights(ctx context.Context, dst []float64) error {
	if len(dst) != p.n {
		panic("inference: row weights of the wrong length")
	}
	// Similar weights are negative, dissimilar ones are not: with the former negated, sums are sums of |w|.
	y := make([]float64, len(p.p.mass()))
	if err := p.p.totals(ctx, p.weights(-1), y); err != nil {
		return err
	}
	variable, unit, count := p.p.rows()
	p.eachRow(func(i int) { dst[i] = y[variable[i]] * float64(count[unit[i]]) })
	sum := 0.0
	for _, v := range dst {
		sum += v
	}
	for i := range dst {
		if sum == 0 {
			dst[i] = 1
		} else {
			dst[i] *= float64(p.n) / sum
		}
	}
	return nil
}
