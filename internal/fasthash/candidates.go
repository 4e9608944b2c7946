package fasthash

// Candidates for each bit. Step 1 has many bits that are about equally good, one for every order in which it visits its
// blocks, and trees predict some of them far better than others. So Step 1 infers several candidates for each bit,
// which costs little, and the one that serves new rows best is kept. With z a candidate, f_i the sum over j of w_ij z_j
// and E the sum of z_i f_i, twice what Step 1 minimises,
//
//	h = what quick trees that learned z on some of the rows say of the others
//	a = (sum of h_i f_i) / (sum of z_i f_i), over these others
//
// the candidate with the least a² E is kept, the first in case of a tie. a is the share of right bits minus that of
// wrong ones, each row weighted by how much it matters to the bit; a² E is the energy of new rows if errors in the two
// rows of a pair are independent. A bit that is easy to learn but repeats an earlier one does not win: its E is poor.
//
// Cost: the trees. They get so few rows that all candidates together take about a quarter of Step 2.

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/fasthash/inference"
	"hashgrove/internal/model"
	"hashgrove/internal/par"
	"hashgrove/internal/vectors"
)

const (
	maxCandidates = 64
	quickRounds   = 30     // trees that judge a candidate, at most
	quickDepth    = 3      // of these trees, at most
	quickColumns  = 100    // drawn by each of their nodes, at most
	quickRows     = 20_000 // to learn from at most, and to judge on at most
	candidatePart = 4      // Step 2 takes this many times as long as all candidates together
	fewestQuick   = 50     // rows in either part; with fewer, the first candidate is kept
)

// chooser keeps the best of several candidates for each bit.
type chooser struct {
	Options
	learned, judged []int32 // the rows of the two parts
	trees           *boost.Trainer
	held            *vectors.Columns // the rows to judge on

	target, said  []int8
	weight, field []float64
	tried         [][]int8 // the candidates, of all rows
}

// checkCandidates validates the number of candidates.
func (t Options) checkCandidates() error {
	switch {
	case t.Candidates < 0 || t.Candidates > maxCandidates:
		return fmt.Errorf("%d candidates for each bit; give 1 to %d", t.Candidates, maxCandidates)
	case t.Candidates > 1 && !t.mayGrowTrees():
		return fmt.Errorf("candidates for each bit are judged by trees, so they need the learner %q", Trees)
	}
	return nil
}

// newChooser splits the rows in two. It returns nil if there is nothing to choose.
func (t Options) newChooser(ctx context.Context, x *vectors.Columns) (*chooser, error) {
	if t.Candidates <= 1 || x.Rows < 2*fewestQuick {
		return nil, nil
	}
	c := &chooser{Options: t}
	o := t.quickTrees()
	affordable := x.Rows * t.Trees.Rounds / (candidatePart * t.Candidates * o.Rounds)
	c.learned, c.judged = t.quickParts(x.Rows, max(fewestQuick, min(affordable, x.Rows/2, quickRows)))
	part, err := x.Take(ctx, t.Threads, c.learned)
	if err != nil {
		return nil, err
	}
	if c.held, err = x.Take(ctx, t.Threads, c.judged); err != nil {
		return nil, err
	}
	if c.trees, err = t.trainer(ctx, part, o); err != nil {
		return nil, err
	}
	c.target, c.said = make([]int8, len(c.learned)), make([]int8, len(c.judged))
	c.weight = make([]float64, len(c.learned))
	for range t.Candidates {
		room, err := vectors.Alloc[int8](x.Spill(), x.Rows)
		if err != nil {
			return nil, err
		}
		c.tried = append(c.tried, room)
	}
	c.field, err = vectors.Alloc[float64](x.Spill(), x.Rows)
	return c, err
}

// release gives back what the quick trees hold on a device.
func (c *chooser) release() {
	if c != nil {
		release(c.trees)
	}
}

// quickTrees returns the options of the trees that judge candidates: like those of Step 2, but fewer and smaller.
func (t Options) quickTrees() boost.Options {
	o := t.Trees
	o.Rounds, o.Depth = min(o.Rounds, quickRounds), min(o.Depth, quickDepth)
	if o.NodeFeatures <= 0 || o.NodeFeatures > quickColumns {
		o.NodeFeatures = quickColumns
	}
	return o
}

// quickParts draws about size rows for quick trees to learn from, and the rows to judge them on. A picture and its
// copies are in the same part.
func (t Options) quickParts(rows, size int) (learned, judged []int32) {
	originals := t.Similar.originals(rows)
	order := make([]int32, originals) // like rand.Perm, in half the memory
	for i := range order {
		order[i] = int32(i)
	}
	rand.New(rand.NewPCG(t.Seed, 'C')).Shuffle(originals, func(i, j int) { order[i], order[j] = order[j], order[i] })
	for _, first := range order {
		i := int(first)
		part := &learned
		if len(learned) >= size {
			part = &judged
		}
		if len(*part) >= quickRows {
			break
		}
		for ; i < rows; i += originals {
			*part = append(*part, int32(i))
		}
	}
	slices.Sort(learned)
	slices.Sort(judged)
	return learned, judged
}

// infer runs Step 1 for bit k. The result is valid until the next call.
func (c *chooser) infer(ctx context.Context, step1 *inference.Inference, weight []float64, k int) ([]int8, error) {
	if c == nil {
		return step1.Infer(ctx)
	}
	kept, err := c.distinct(ctx, step1)
	if err != nil {
		return nil, err
	}
	best, least := 0, 0.0
	var grown, before model.Function
	for i := range len(kept) + 1 {
		e, failed := 0.0, [2]error{}
		turns := [2]func() error{
			func() (err error) {
				if i < len(kept) {
					grown, err = c.fit(ctx, c.tried[kept[i]], weight, k)
				}
				return err
			},
			func() (err error) { // of the candidate before, while a device grows trees
				if i > 0 {
					e, err = c.judge(ctx, step1, c.tried[kept[i-1]], before)
				}
				return err
			},
		}
		err := par.For(ctx, min(2, par.Threads(c.Threads)), len(turns), func(t int) { failed[t] = turns[t]() })
		if err = cmp.Or(err, failed[1], failed[0]); err != nil {
			return nil, fmt.Errorf("choosing among candidates: %w", err)
		}
		if i == 1 || i > 1 && e < least {
			best, least = kept[i-1], e
		}
		before = grown
	}
	return c.tried[best], nil
}

// distinct infers all candidates of the next bit and returns the numbers of those that split the rows like none before
// them.
func (c *chooser) distinct(ctx context.Context, step1 *inference.Inference) (kept []int, err error) {
	if err := step1.InferCandidates(ctx, c.tried); err != nil {
		return nil, err
	}
	for number, z := range c.tried {
		if !slices.ContainsFunc(kept, func(o int) bool { return isSameSplit(c.tried[o], z) }) {
			kept = append(kept, number)
		}
	}
	return kept, nil
}

// isSameSplit reports whether two bits are equal, or equal after flipping all signs.
func isSameSplit(a, b []int8) bool {
	for i, v := range a {
		if v*b[i] != a[0]*b[0] {
			return false
		}
	}
	return true
}

// judge returns a² E of a candidate and the trees that learned it.
func (c *chooser) judge(
	ctx context.Context, step1 *inference.Inference, z []int8, h model.Function,
) (float64, error) {
	if err := model.Outputs(ctx, h, c.held, c.Threads, c.said); err != nil {
		return 0, err
	}
	if err := step1.Fields(ctx, z, c.field); err != nil {
		return 0, err
	}
	energy, right, all := 0.0, 0.0, 0.0
	for i, f := range c.field {
		energy += float64(f * float64(z[i])) // a sign: no rounding
	}
	for i, r := range c.judged {
		right += float64(c.field[r] * float64(c.said[i]))
		all += float64(c.field[r] * float64(z[r]))
	}
	if energy >= 0 || all >= 0 {
		return max(energy, 0), nil
	}
	a := max(0, right/all)
	return float64(a*a) * energy, nil
}

// fit fits quick trees to z on one part of the rows.
func (c *chooser) fit(ctx context.Context, z []int8, weight []float64, k int) (model.Function, error) {
	sum := 0.0
	for i, r := range c.learned {
		c.target[i] = z[r]
		if weight != nil {
			c.weight[i] = weight[r]
			sum += weight[r]
		}
	}
	heavy := c.weight
	if sum == 0 { // equal weights, or no pair involves these rows
		heavy = nil
	}
	return c.trees.Fit(ctx, c.target, heavy, c.Seed, k)
}
