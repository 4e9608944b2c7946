package boost

import (
	"context"

	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// Logistic boosting (Friedman, Hastie and Tibshirani: Additive logistic regression, 2000; Newton steps as in Chen and
// Guestrin, KDD 2016) with trees that split as those of AdaBoost do. With F_i the score of row i so far, m_i = z_i F_i
// its margin and u_i its weight before the first round,
//
//	p_i = 1 / (1 + exp(m_i)),   g_i = u_i p_i,   h_i = u_i p_i (1 - p_i)      gradient and curvature of the loss
//	v   = Rate * (sum of z_i g_i) / (sum of h_i + Ridge)                      value of a leaf, over its rows
//	F_i += v
//
// The masses that a tree sees are the g_i, which no row can drive beyond u_i: that is why rows that cannot be learned
// do less harm than in AdaBoost, whose weights grow without bound. Splits are by the least weighted error, not by the
// greatest fall of the quadratic loss, so that all of grow.go serves both.
//
// A leaf value is one of 2^LeafBits odd multiples of a unit, so a tree is LeafBits trees of the form that models have:
// the same splits, the signs of one binary digit each, and the weights 1, 2, 4... times the unit. Scores are updated
// with these values, so later trees correct what rounding has changed. Everything but p is an integer, and p comes from
// a table: models are the same on every machine and any number of cores.
//
//	for each round
//		weigh      g_i of all rows as masses                    O(n)
//		trim, grow as in AdaBoost                               nearly all the time
//		settle     leaf of every row, sums, values, scores      O(Depth * n)

// Scores are integers in units of 1/scoreUnit. Margins are clipped at topMargin, 16.
const (
	scoreUnit = 1 << 12
	topMargin = 1<<16 - 1
	topLeaf   = 8 * scoreUnit // greatest value of a leaf
)

// scorer holds the memory for logistic boosting; empty for AdaBoost.
type scorer struct {
	score  []int32
	leaf   []uint8      // of each row in the last tree
	chance []float32    // p by topMargin + margin
	sums   [][][2]int64 // by block of rows and leaf: signed g and h, in masses
	value  []int32      // of each leaf of the last tree
	digits []uint8      // of each leaf: the multiple of the unit, 0 for the least
	unit   int32
}

func (t *cores) newScorer() (err error) {
	leaves := 1 << t.o.Depth
	s := scorer{
		chance: Chances(), sums: make([][][2]int64, len(t.blocks)),
		value: make([]int32, leaves), digits: make([]uint8, leaves),
	}
	for b := range s.sums {
		s.sums[b] = make([][2]int64, leaves)
	}
	if s.leaf, err = vectors.AllocHot[uint8](t.x.Spill(), t.n); err != nil {
		return err
	}
	s.score, err = vectors.AllocHot[int32](t.x.Spill(), t.n)
	t.scorer = s
	return err
}

// chanceOf returns p for a row whose target is z: 0 for -1, 1 for +1.
func (s *scorer) chanceOf(row int, z uint64) float64 {
	margin := int(s.score[row])
	if z == 0 {
		margin = -margin
	}
	return float64(s.chance[topMargin+max(-topMargin, min(margin, topMargin))])
}

// fitLogistic implements Fit for the logistic loss, once the grower has begun.
func (t *Trainer) fitLogistic(ctx context.Context) (*model.Ensemble, error) {
	e := &model.Ensemble{Depth: t.o.Depth}
	allRows := !isShare(t.o.RowShare)
	var r *Round
	for q := range t.o.Rounds {
		var err error
		if r, err = t.next(ctx, q); err != nil {
			return nil, err
		}
		if r.Unit == 0 {
			continue // nothing to gain from these columns
		}
		t.addTrees(e, r)
		if !r.isSplit() && (allRows || t.isConstant()) {
			break
		}
	}
	if e.Trees() == 0 { // no round found anything: keep the last tree, which says +1 to all
		most := int32(1)<<t.o.LeafBits - 1
		for l := range r.Digits {
			r.Digits[l] = uint8((1 + most) / 2)
		}
		r.Unit = 1
		t.addTrees(e, r)
	}
	return e, nil
}

// massScale returns the factor that turns weights with sum n into masses with a sum below totalMass.
func massScale(n int) float64 { return float64(totalMass-1-n) / float64(n) }

// rate returns the share of a Newton step in units of 1/2^16.
func (o Options) rate() int64 { return int64(o.Rate * (1 << 16)) }

// ridge returns what is added to the curvature of a leaf, in masses.
func (o Options) ridge(n int) int64 { return int64(o.Ridge * massScale(n)) }

// weigh sets the masses to the gradients.
func (t *cores) weigh() {
	scale := massScale(t.n)
	t.team.Blocks(t.n, t.block, func(b, lo, hi int) {
		sums := &t.blocks[b]
		clear(sums[:])
		whole := int64(0)
		for r := lo; r < hi; r++ {
			g := t.u[r] * t.chanceOf(r, t.z[r/64]>>(r%64)&1)
			m := max(1, int32(float64(g*scale)+0.5))
			t.mass[r] = m
			whole += int64(m)
			sums[magnitude(m)%magnitudes] += int64(m)
		}
		t.whole[b] = whole
	})
}

// settle finds the leaf of every row, sets the values of the leaves and adds them to the scores.
func (t *cores) settle() {
	t.setPaths()
	scale := massScale(t.n)
	t.team.Blocks(t.n, t.block, func(b, lo, hi int) {
		sums := t.scorer.sums[b]
		clear(sums)
		for r := lo; r < hi; r++ {
			leaf := leafOf(r, t.paths, t.tree.bin)
			t.leaf[r] = uint8(leaf)
			p := t.chanceOf(r, t.z[r/64]>>(r%64)&1)
			h := t.u[r] * float64(p*(1-p))
			sums[leaf][0] += int64(t.signed(r))
			sums[leaf][1] += int64(float64(h*scale) + 0.5)
		}
	})
	total := make([][2]int64, len(t.value))
	for _, sums := range t.scorer.sums {
		for l, s := range sums {
			total[l][0] += s[0]
			total[l][1] += s[1]
		}
	}
	ridge := t.o.ridge(t.n)
	for l, s := range total {
		t.value[l] = newtonStep(s[0], s[1]+ridge, t.o.rate())
	}
	t.roundLeaves(total)
	t.team.Blocks(t.n, t.block, func(_, lo, hi int) {
		for r := lo; r < hi; r++ {
			t.score[r] += t.value[t.leaf[r]]
		}
	})
}

// newtonStep returns rate/2^16 * g/h in score units, rounded and clipped at topLeaf.
func newtonStep(g, h, rate int64) int32 {
	if h <= 0 {
		return 0
	}
	// |g| is below 2^31, so the product is below 2^60.
	return int32(max(-topLeaf, min(g*rate/(h*(1<<16/scoreUnit)), topLeaf)))
}

// roundLeaves replaces the values by odd multiples of one unit. It tries several units and takes the one with the least
// cost: the sum over leaves of h times the squared change.
func (t *cores) roundLeaves(total [][2]int64) {
	top := int32(0)
	for _, v := range t.value {
		top = max(top, v, -v)
	}
	most := int32(1)<<t.o.LeafBits - 1 // greatest multiple
	t.unit = 0
	if top == 0 {
		return
	}
	best := -1.0
	for part := int32(4); part <= 16; part++ {
		unit := max(1, int32(int64(top)*int64(part)/int64(16*most)))
		cost := 0.0
		for l, v := range t.value {
			d := float64(v - oddMultiple(v, unit, most)*unit)
			cost += float64(float64(total[l][1]) * float64(d*d))
		}
		if best < 0 || cost < best {
			best, t.unit = cost, unit
		}
	}
	for l, v := range t.value {
		k := oddMultiple(v, t.unit, most)
		t.digits[l], t.value[l] = uint8((k+most)/2), k*t.unit
	}
}

// oddMultiple returns the odd number k, of size at most most, for which k*unit is nearest to v.
func oddMultiple(v, unit, most int32) int32 {
	size := max(v, -v)
	k := min(size/unit/2*2+1, most)
	if v < 0 {
		return -k
	}
	return k
}

// addTrees adds the tree of a round to the ensemble, once for each binary digit of its leaves.
func (t *Trainer) addTrees(e *model.Ensemble, r *Round) {
	for digit := range t.o.LeafBits {
		leaf := make([]uint64, model.LeafWords(t.o.Depth))
		for l, d := range r.Digits {
			leaf[l/64] |= uint64(d>>digit&1) << (l % 64)
		}
		e.Feature = append(e.Feature, r.Feature...)
		e.Bin = append(e.Bin, r.Bin...)
		e.Leaf = append(e.Leaf, leaf...)
		e.Weight = append(e.Weight, r.Unit<<digit)
	}
}
