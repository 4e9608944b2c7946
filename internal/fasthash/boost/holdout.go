package boost

import (
	"hashgrove/internal/model"
	"hashgrove/internal/numeric/portable"
	"hashgrove/internal/vectors"
)

// Early stopping: a tenth of the rows is held out of a bit, and boosting ends once more trees do not help these. Which
// tenth changes from bit to bit, so nine bits of ten learn from every row. No tree sees a held-out row, and none
// affects a leaf: only its score is tracked.
//
//	error    mean of p_i = 1 / (1 + exp(z_i F_i)) over the rows held out                O(n/10) a round
//	stop     when EarlyStop rounds have lowered it by less than leastGain; the trees up to the least error stay
//
// The share of wrong rows would be too rough a measure for few rows: on 5,000 rows of CIFAR-10 it stops at 60 trees,
// though the error on new rows falls up to 800 trees and beyond. The logistic loss itself rises long before, because
// boosting also grows sure of its mistakes.

// Folds is the number of folds of the rows, one of which a bit holds out.
const Folds = 10

// FoldsOf returns the fold of every row. Equal rows share a fold, and so do row i and its copies i + originals, i +
// 2*originals and so on: having seen one is having seen the others.
func FoldsOf(x *vectors.Columns, originals int) []uint8 {
	// A few columns tell most rows apart, and rows that they do not tell apart may as well share a fold.
	const some = 64
	hashes := make([]uint64, originals)
	step := max(1, x.Dim()/some)
	for j := 0; j < x.Dim(); j += step {
		for i, v := range x.Column(j)[:originals] {
			hashes[i] = mixed(hashes[i] + uint64(v) + 1)
		}
	}
	fold := make([]uint8, x.Rows)
	for i := range fold {
		fold[i] = uint8(hashes[i%originals] % Folds)
	}
	return fold
}

// watch tracks the rows held out of a bit.
type watch struct {
	fold []uint8  // of every row; nil if nothing is held out
	held []int32  // the rows held out of this bit
	out  []uint64 // the same, one bit per row; nil if nothing is held out

	sum   []float64 // scores of the rows held out, for AdaBoost
	best  float64   // least error so far
	trees int       // up to that round
	mark  float64   // the error to improve on, and its round
	round int
	wrong int // held-out rows that the ensemble gets wrong
}

// HoldOut sets the fold of every row, 0 to Folds-1, for early stopping. The default is FoldsOf.
func (t *Trainer) HoldOut(fold []uint8) {
	if len(fold) != t.n {
		panic("boost: HoldOut needs one fold for each row")
	}
	t.watch.fold, t.watch.out = fold, make([]uint64, len(t.z))
}

// HeldOut returns the number of rounds that the last bit kept, the number of rows it held out, and the share of these
// that its function gets wrong; zeros if it held out none.
func (t *Trainer) HeldOut() (rounds, rows int, wrong float64) {
	if len(t.held) == 0 {
		return 0, 0, 0
	}
	return t.watch.trees / max(1, t.o.LeafBits), len(t.held), float64(t.watch.wrong) / float64(len(t.held))
}

// setAside takes the weight from the rows that the bit holds out, unless they have all of it.
func (t *Trainer) setAside(bit int) {
	if t.o.EarlyStop <= 0 {
		return
	}
	if t.watch.fold == nil {
		t.HoldOut(FoldsOf(t.x, t.n))
	}
	w := &t.watch
	w.best, w.trees, w.mark, w.round = 2, 0, 2, 0
	w.held = w.held[:0]
	left := 0.0
	for i, f := range w.fold {
		if int(f) == bit%Folds {
			w.held = append(w.held, int32(i))
		} else {
			left += t.u[i]
		}
	}
	if left == 0 {
		w.held = w.held[:0]
	}
	clear(w.out)
	for _, i := range w.held {
		w.out[i/64] |= 1 << (i % 64)
		t.u[i] = 0
	}
	if len(w.held) > 0 {
		for i := range t.u {
			t.u[i] *= float64(t.n) / left
		}
	}
	w.sum = append(w.sum[:0], make([]float64, len(w.held))...)
}

// leastGain is how much the held-out error must fall in EarlyStop rounds for boosting to go on.
const leastGain = 0.0002

// stopsLogistic reports whether logistic boosting stops after a round that leaves this many trees and this sum of p.
func (t *Trainer) stopsLogistic(round, trees int, sum int64) bool {
	if len(t.held) == 0 {
		return false
	}
	return t.stops(round, trees, float64(sum)/chanceUnit/float64(len(t.held)))
}

// stopsAdaBoost reports whether AdaBoost stops after a round that leaves this many trees, the last of which has output
// said and weight w. The exponential loss has p = 1 / (1 + exp(2 z F)).
func (t *Trainer) stopsAdaBoost(round, trees int, said []uint64, w float64) bool {
	if len(t.held) == 0 {
		return false
	}
	sum := 0.0
	for k, r := range t.held {
		if said[r/64]>>(r%64)&1 == 1 {
			t.sum[k] += w
		} else {
			t.sum[k] -= w
		}
		margin := 2 * t.sum[k]
		if t.z[r/64]>>(r%64)&1 == 0 {
			margin = -margin
		}
		sum += 1 / (1 + portable.Exp(min(margin, 40)))
	}
	return t.stops(round, trees, sum/float64(len(t.held)))
}

// stops records the error after a round and reports whether it has not fallen by leastGain for EarlyStop rounds.
func (t *Trainer) stops(round, trees int, wrong float64) bool {
	if w := &t.watch; wrong < w.best {
		w.best, w.trees = wrong, trees
		t.engine.Keep()
		if wrong < w.mark-leastGain {
			w.mark, w.round = wrong, round
		}
	}
	return round-t.watch.round >= t.o.EarlyStop
}

// shorten keeps the first trees of an ensemble.
func shorten(e *model.Ensemble, trees int) {
	splits, words := model.Splits(e.Depth), model.LeafWords(e.Depth)
	e.Feature, e.Bin, e.Leaf = e.Feature[:trees*splits], e.Bin[:trees*splits], e.Leaf[:trees*words]
	e.Weight = e.Weight[:min(trees, len(e.Weight))]
}
