package fasthash

import (
	"context"
	"fmt"
	"slices"

	"hashgrove/internal/eval"
	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/fasthash/columns"
	"hashgrove/internal/hamming"
	"hashgrove/internal/supervision"
)

// The learner Auto tries what predicts bits best where trees may not: with few rows of each class or tag. A third of
// the rows are set aside, trees and scores each learn a few bits of the others, and the codes of the rows set aside
// search each other, one half the other half. Scores learn from all rows unless trees are clearly better. If classes
// are unequal, trees are also tried with balanced classes.
//
// This costs as much as training a third of 64 bits, or two thirds where rows have tags.

const (
	learnerBits  = 24
	tagBits      = 64 // likewise, for tags: scores are ahead with few bits, and trees go on to learn
	learnerParts = 3
	learnerRows  = 12_000 // with more, only trees are used
	fewPerClass  = 250    // with more rows a class, in the median, only trees are used
	tagRows      = 6_000  // likewise, for tags

	// Classes of fewer rows than this hardly take part in the trial. Scores suit them better than trees do, so trees must
	// find the others better, by this part of the share of such classes.
	fewToJudge = 4 * learnerParts
	treesAhead = 0.4
	leastAhead = 1.01 // in any case: scores train in seconds
)

// resolveLearner settles the learner Auto.
func (t *training) resolveLearner(ctx context.Context, train *supervision.Data) error {
	switch {
	case t.Learner == Scores:
		t.useScores(train)
		if t.Grow != nil {
			return nil
		}
		return t.needsScores(train)
	case t.Learner != Auto:
		return nil
	case t.Grow != nil:
		t.Learner = Trees
		if _, ok := scoresBehind(t.Grow.Encoder); ok {
			t.useScores(train)
		}
		return nil
	case !t.worthTrying(train):
		t.Learner = Trees
		return nil
	}
	return t.tryLearners(ctx, train)
}

// useScores settles the learner Scores and what it implies.
func (t *training) useScores(d *supervision.Data) {
	t.Learner, t.Candidates = Scores, 0
	t.Inference.BalanceClasses = t.Inference.BalanceClasses || d.Kind() == supervision.ByClasses && !t.weighted
}

// wantsTrees reports options that only trees have.
func (t Options) wantsTrees() bool {
	return t.Trees != boost.Options{} || t.Candidates != 0 || t.LinearColumns != "" || t.Order == TSH ||
		t.Effort == Paper || t.EqualRowWeights
}

// worthTrying reports whether scores may predict bits better than trees.
func (t *training) worthTrying(d *supervision.Data) bool {
	if t.needsScores(d) != nil || t.Similar.PerPicture() > 1 || d.Rows > learnerRows || d.Rows < 2*leastScored {
		return false
	}
	if d.Labels == nil {
		return d.Rows <= tagRows
	}
	sizes := classSizes(d)
	return len(sizes) > 2 && sizes[len(sizes)/2] <= fewPerClass
}

// classSizes returns the numbers of rows of all classes that have any, least first.
func classSizes(d *supervision.Data) []int {
	sizes := slices.DeleteFunc(d.Labels.Counts(), func(n int) bool { return n == 0 })
	slices.Sort(sizes)
	return sizes
}

// tryLearners trains both learners on some of the rows and keeps the one whose codes find the others better.
func (t *training) tryLearners(ctx context.Context, d *supervision.Data) error {
	fold, err := columns.Divide(ctx, d, learnerParts, t.columns(""))
	if err != nil {
		t.Learner = Trees
		return nil
	}
	var parts [learnerParts][]bool
	for p := range parts {
		parts[p] = make([]bool, d.Rows)
	}
	held := 0
	for i, f := range fold {
		at := 0
		if f == 0 {
			at = 1 + held%2
			held++
		}
		parts[at][i] = true
	}
	learn, a, b := d.Only(parts[0]), d.Only(parts[1]), d.Only(parts[2])
	if learn.Trainable() != nil {
		t.Learner = Trees
		return nil
	}
	bits := learnerBits
	if d.Labels == nil {
		bits = tagBits
	}
	try := func(learner Learner, balanced bool) (found, error) {
		o := t.Options
		o.Learner, o.Bits, o.Inference.BalanceClasses = learner, min(t.Bits, bits), balanced
		if learner == Scores {
			o.Candidates, o.Inference.BalanceClasses = 0, balanced || d.Labels != nil && !t.weighted
		}
		return t.tryCodes(ctx, o, learn, a, b)
	}
	balanced := t.Inference.BalanceClasses
	trees, err := try(Trees, balanced)
	if err != nil {
		return fmt.Errorf("trying trees: %w", err)
	}
	scores, err := try(Scores, balanced)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil { // some rows have no scores: all alike, or too few of them
		t.Learner, t.tried = Trees, fmt.Sprintf("learner %s: scores cannot be tried: %v", Trees, err)
		return nil
	}
	ahead := leastAhead
	if d.Labels != nil {
		sizes := classSizes(d)
		few, _ := slices.BinarySearch(sizes, fewToJudge)
		ahead += treesAhead * float64(few) / float64(len(sizes))
	}
	lead, chance := trees.ahead(scores)
	if t.Learner = Trees; lead <= max(chance, (ahead-1)*scores.mean()) {
		t.useScores(d)
	}
	t.tried = fmt.Sprintf("learner %s: codes of trees find rows held out with MAP %.3f, those of scores %.3f, by queries "+
		"and by classes alike; trees are taken if ahead by %.0f %% and more than chance explains, %.3f",
		t.Learner, trees.mean(), scores.mean(), 100*(ahead-1), chance)
	if d.Labels == nil || t.Inference.BalanceClasses || t.weighted || !unequal(classSizes(d)) {
		return nil
	}
	even, err := try(Trees, true)
	if err != nil {
		return fmt.Errorf("trying balanced classes: %w", err)
	}
	if lead, _ := even.ahead(trees); lead > 0 {
		t.Inference.BalanceClasses = true
	}
	t.tried += fmt.Sprintf("; with balanced classes trees have %.3f", even.mean())
	return nil
}

// noteBest says so where the effort best learns the same as the effort normal.
func (t *training) noteBest(d *supervision.Data) {
	if t.Learner == Scores && t.Effort == Best && d.Rows <= columns.Anchors(codeMicroseconds[Normal], d.Dim()) {
		t.tried += "; all rows are anchors already with the effort normal, so the effort best has nothing to add"
	}
}

// unequal reports whether the largest class has more than twice the rows of the median one.
func unequal(sizes []int) bool { return sizes[len(sizes)-1] > 2*sizes[len(sizes)/2] }

// found is how well codes find rows that they did not learn from.
type found struct {
	ap    []float64 // of each row that asks
	class []int32   // of those rows; nil for tags
}

// ahead returns how far f is ahead of g, and how far chance may put it ahead.
func (f found) ahead(g found) (lead, chance float64) { return eval.Ahead(f.ap, g.ap, f.class) }

// mean returns the mean of the MAP over queries and over classes.
func (f found) mean() float64 {
	most, _ := f.ahead(found{ap: make([]float64, len(f.ap))})
	return most
}

// tryCodes learns codes from some rows and finds others by them.
func (t *training) tryCodes(ctx context.Context, o Options, learn, a, b *supervision.Data) (f found, err error) {
	m, err := Trainer{Options: o}.Train(ctx, learn)
	if err != nil {
		return f, err
	}
	ca, err := m.EncodeAll(ctx, a, t.Threads)
	if err != nil {
		return f, err
	}
	cb, err := m.EncodeAll(ctx, b, t.Threads)
	if err != nil {
		return f, err
	}
	if err := f.add(ctx, a, b, ca, cb, t.Threads); err != nil {
		return f, err
	}
	return f, f.add(ctx, b, a, cb, ca, t.Threads)
}

// add adds what queries find.
func (f *found) add(
	ctx context.Context, queries, base *supervision.Data, asked, codes hamming.Codes, threads int,
) error {
	r, err := columns.Judge(ctx, queries, base, asked, codes, threads)
	if err != nil {
		return err
	}
	if f.ap = append(f.ap, r.AP...); queries.Labels != nil {
		f.class = append(f.class, queries.Labels.Class...)
	}
	return nil
}
