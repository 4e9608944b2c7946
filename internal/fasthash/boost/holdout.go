package boost

import (
	"hashgrove/internal/model"
	"hashgrove/internal/numeric/portable"
	"hashgrove/internal/vectors"
)

// Early stopping: a tenth of the rows is held out of a bit, and boosting ends once more trees do not help these. Which
// tenth changes from bit to bit, so that every row is learned from by nine bits of ten. No tree sees a row that is held
// out, and no leaf is set by it: its score alone is followed.
//
//	error    mean of p_i = 1 / (1 + exp(z_i F_i)) over the rows held out                O(n/10) a round
//	stop     when EarlyStop rounds have lowered it by less than leastGain; the trees up to the least error stay
//
// The mean of p, and not the share of rows that are wrong, which is too rough a measure of few rows: on 5,000 rows of
// CIFAR-10 it ends at 60 trees, though the error of new rows falls up to 800 trees and beyond. The logistic loss itself
// rises long before, as boosting grows sure of its mistakes, too.

// Folds is the number of parts of the rows, one of which a bit holds out.
const Folds = 10

// FoldsOf returns the fold of every row. Equal rows are in one fold, and so are row i and its copies i + originals, i +
// 2*originals and so on: who has seen one has seen the others.
func FoldsOf(x *vectors.Columns, originals int) []uint8 {
	// A few columns tell most rows apart, and rows that they do not tell apart may be in one fold as well.
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

// watch follows the rows that are held out of a bit.
type watch struct {
	fold []uint8  // of every row; nil where nothing is held out
	held []int32  // the rows held out of this bit
	out  []uint64 // the same as a bit for each row; nil where nothing is held out

	sum   []float64 // scores of the rows held out, for AdaBoost
	saved []int32   // scores of all rows after the best round, for logistic boosting
	best  float64   // least error so far
	trees int       // up to that round
	mark  float64   // the error that is to be improved on, and the round that had it
	round int
	wrong int // rows held out that the ensemble gets wrong
}

// HoldOut sets the fold of every row, 0 to Folds-1, for early stopping. Without it they are those of FoldsOf.
func (t *Trainer) HoldOut(fold []uint8) {
	if len(fold) != t.n {
		panic("boost: HoldOut needs one fold for each row")
	}
	t.watch.fold, t.watch.out = fold, make([]uint64, len(t.z))
}

// HeldOut returns the number of rounds that the last bit has kept, the number of rows that it has held out, and the
// share of these that its function gets wrong; zeros when it has held out none.
func (t *Trainer) HeldOut() (rounds, rows int, wrong float64) {
	if len(t.held) == 0 {
		return 0, 0, 0
	}
	return t.watch.trees / max(1, t.o.LeafBits), len(t.held), float64(t.watch.wrong) / float64(len(t.held))
}

// setAside takes the weight from the rows that the bit holds out. If they have all of it, none is held out.
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
	t.offer()
}

// leastGain is how much the error of the rows held out must fall in EarlyStop rounds for boosting to go on.
const leastGain = 0.0002

// stopsLogistic reports whether logistic boosting stops after a round that leaves this number of trees.
func (t *Trainer) stopsLogistic(round, trees int) bool {
	if len(t.held) == 0 {
		return false
	}
	sum := 0.0
	for _, r := range t.held {
		sum += t.chanceOf(int(r), t.z[r/64]>>(r%64)&1)
	}
	return t.stops(round, trees, sum/float64(len(t.held)))
}

// stopsAdaBoost reports whether AdaBoost stops after a round that leaves this number of trees, the last of which says
// this of all rows and has the weight w. The exponential loss has p = 1 / (1 + exp(2 z F)).
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

// stops takes note of the error after a round and tells whether it has not fallen by leastGain for EarlyStop rounds.
func (t *Trainer) stops(round, trees int, wrong float64) bool {
	if w := &t.watch; wrong < w.best {
		w.best, w.trees = wrong, trees
		w.saved = append(w.saved[:0], t.score...)
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
