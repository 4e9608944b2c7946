package inference

// Block GraphCut: Step 1 of FastHash for one bit (Lin et al., CVPR 2014, Algorithm 2, alg:step1).
//
// With all other blocks fixed, block B minimises (eq:opt_step1_block)
//
//	sum over i of u_i z_i + sum over i < j of v_ij z_i z_j       over z in {-1, +1}^|B|.
//
// No pair in a block is dissimilar, so v_ij <= 0 (Proposition 1, pro:p1), the function is submodular, and its minimum
// is a cut. Of several minima the one with the fewest +1 is taken, so that equal rows get equal signs.
//
//	sweep                     twice by default
//		shuffle the blocks
//		for each block        unless nothing has changed since it was solved
//			outside           u, from the sums of all rows and of the block
//			rise, fall        two monotone passes decide most rows
//			maxflow           decides the rest
//
// Rise: from all -1, every variable rises whose rise lowers the energy, until none does. Returns diminish, so what
// rises is +1 in every minimum. Fall: from all +1, every variable falls whose fall does not raise the energy; what
// falls is -1 in the smallest minimum. The energy of a block, and so of the bit, never rises.
//
// A cut needs n² / 4 bytes for n undecided groups. More than maxflow.MaxNodes of them are minimised in parts, one after
// the other, with the rest fixed: the energy still never rises, but the block may miss its minimum. Inference.Parts
// tells.
//
// With blocks of one row this is iterated conditional modes (ICM: Besag 1986).

import (
	"context"
	"math/rand/v2"
	"slices"

	"hashgrove/internal/fasthash/maxflow"
)

func graphCut(ctx context.Context, p problem, sweeps int, rng *rand.Rand) error {
	if err := p.reset(ctx); err != nil {
		return err
	}
	changes := 0
	blocks, _ := p.blocks()
	solved := make([]int, blocks) // 1 + the number of changes when the block was last solved
	for range sweeps {
		for _, b := range rng.Perm(blocks) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if solved[b] == 1+changes {
				continue
			}
			moved, err := p.solve(ctx, b)
			if err != nil {
				return err
			}
			if moved {
				changes++
			}
			solved[b] = 1 + changes
		}
	}
	return nil
}

// cutter holds the memory for solving blocks of groups.
type cutter struct {
	groups  []int32
	u       []int64
	weight  int64       // of a row
	whole   sums[int64] // of all groups of the block, with signs +1
	own     sums[int64] // with their signs
	set     sums[int64] // with the signs of a pass
	risen   sums[int64] // and those after the rise
	tally   tally
	product dotter[int64]
	open    []int32 // places in groups that are undecided
	sign    []int8

	most   int             // groups in one cut
	flow   maxflow.Hamming // for OwnNodes groups
	code   []uint64
	mass   []int64
	excess []int64
	sink   []bool
	moved  []int32
}

// solve implements problem: it minimises over the groups of block b.
func (q *grouped) solve(ctx context.Context, b int) (bool, error) {
	c := &q.cut
	c.collect(q, b)
	c.u = append(c.u[:0], make([]int64, len(c.groups))...)
	q.f.outsideFields(c.groups, &c.own, c.u)
	if err := q.minimise(ctx); err != nil {
		return false, err
	}
	c.moved = c.moved[:0]
	for i, g := range c.groups {
		if q.z[g] != c.sign[i] {
			q.z[g] = c.sign[i]
			c.moved = append(c.moved, g)
		}
	}
	if len(c.moved) > 0 {
		q.f.noteFlips(c.moved)
	}
	return len(c.moved) > 0, nil
}

// collect lists the groups of a block, and sums them with all signs +1 and with their own.
func (c *cutter) collect(q *grouped, b int) {
	c.groups = c.groups[:0]
	if q.sets == nil {
		c.groups = append(c.groups, int32(b))
	} else {
		for _, u := range q.sets[b] {
			for g := q.first[u]; g < q.first[u+1]; g++ {
				c.groups = append(c.groups, g)
			}
		}
	}
	c.weight = q.count[q.owner[c.groups[0]]]
	c.whole.reset(q.p)
	c.tally.begin(&c.whole, 1, c.weight)
	for _, g := range c.groups {
		c.tally.add(q.bits(g), q.size[g])
	}
	c.tally.end()
	c.own.copyOf(&c.whole, 1)
	c.tally.begin(&c.own, -2, c.weight)
	for _, g := range c.groups {
		if q.z[g] < 0 {
			c.tally.add(q.bits(g), q.size[g])
		}
	}
	c.tally.end()
}

// minimise finds the smallest minimiser of a block of similar groups, given u, and stores it in c.sign.
func (q *grouped) minimise(ctx context.Context) error {
	c := &q.cut
	c.sign = append(c.sign[:0], make([]int8, len(c.groups))...)
	c.open = c.open[:0]
	for i := range c.groups {
		c.open = append(c.open, int32(i))
	}
	c.decide(q, +1)
	c.risen.copyOf(&c.set, 1)
	c.decide(q, -1)
	if len(c.open) == 0 {
		return nil
	}
	// The rest, under the field of the decided groups: cuts in which the sink side is +1. Both sums hold the decided
	// groups with their signs, and the undecided ones with opposite signs.
	c.set.addSums(&c.risen)
	c.set.halve()
	if len(c.open) <= c.most {
		return c.cutPart(ctx, q, c.open)
	}
	for _, i := range c.open {
		c.sign[i] = q.z[c.groups[i]]
	}
	c.addSigns(q, c.open, 1)
	for part := range slices.Chunk(c.open, c.most) {
		q.parts.Add(1)
		c.addSigns(q, part, -1)
		if err := c.cutPart(ctx, q, part); err != nil {
			return err
		}
		c.addSigns(q, part, 1)
	}
	return nil
}

// cutPart finds the best signs of some groups, which are not in the sums, with all others fixed.
func (c *cutter) cutPart(ctx context.Context, q *grouped, part []int32) error {
	n := len(part)
	c.code, c.mass, c.excess = c.code[:0], c.mass[:0], c.excess[:0]
	c.sink = append(c.sink[:0], make([]bool, n)...)
	c.product.load(&c.set, q.p, q.w.near, n)
	for _, i := range part {
		g := c.groups[i]
		c.code = append(c.code, q.bits(g)...)
		c.mass = append(c.mass, q.size[g])
		c.excess = append(c.excess, q.size[g]*(c.u[i]+q.w.near*q.w.nearShift*c.set.s+c.product.dot(q.bits(g))))
	}
	flow := &c.flow
	if !q.beside || n > OwnNodes {
		q.large.Lock()
		defer q.large.Unlock()
		flow = &q.large.flow
	}
	graph := maxflow.Coded{Code: c.code, Words: q.words, Mass: c.mass, Scale: q.w.near}
	if err := flow.Cut(ctx, graph, c.excess, c.sink); err != nil {
		return err
	}
	for k, i := range part {
		c.sign[i] = -1
		if c.sink[k] {
			c.sign[i] = 1
		}
	}
	return nil
}

// addSigns adds some groups with their signs to the sums, or removes them.
func (c *cutter) addSigns(q *grouped, part []int32, by int64) {
	for _, i := range part {
		g := c.groups[i]
		c.set.add(q.bits(g), by*q.size[g]*int64(c.sign[i]))
	}
}

// decide fixes the groups that take the given sign while all undecided groups have the opposite one: +1 is the rise, -1
// the fall. It starts with all groups of the opposite sign, and leaves their sums in c.set.
func (c *cutter) decide(q *grouped, sign int64) {
	w := &q.w
	c.set.copyOf(&c.whole, -sign)
	for moved := true; moved && len(c.open) > 0; {
		shift := w.near * w.nearShift * c.set.s
		c.product.load(&c.set, q.p, w.near, len(c.open))
		c.tally.begin(&c.set, 2*sign, c.weight)
		left := c.open[:0]
		for _, i := range c.open {
			g := c.groups[i]
			// Exclude the group's own term, -near m z with z = -sign.
			e := c.u[i] + shift + c.product.dot(q.bits(g)) - w.near*q.size[g]*sign
			if sign > 0 && e >= 0 || sign < 0 && e < 0 {
				left = append(left, i)
				continue
			}
			c.sign[i] = int8(sign)
			c.tally.add(q.bits(g), q.size[g])
		}
		c.tally.end()
		moved = len(left) < len(c.open)
		c.open = left
	}
}
