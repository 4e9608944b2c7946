package inference

// Blocks: sets of rows without a dissimilar pair (Lin et al., CVPR 2014, Algorithm 1, alg:block).
//
//	repeat until every row is in a block
//		draw a row x_i that is in none
//		try x_i, the rows similar to it (also those that have a block), then in random order the rows that have none
//			add a row if it is dissimilar to no row of the block
//
// Classes are their own blocks. With tags the rows of a unit go together, and every pair is defined: a row that is not
// similar to x_i cannot join, and one that is joins if it is similar to all. Cost: for each row of a block, its list.

import (
	"math/rand/v2"
	"slices"

	"hashgrove/internal/fasthash/affinity"
)

// tagBlocks makes blocks of units.
func tagBlocks(similar *neighbours, units int, seed uint64) [][]int32 {
	rng := rand.New(rand.NewPCG(seed, stream))
	near := similar.reader()
	placed := make([]bool, units)
	fits := make([]int32, units)    // members to which the unit is similar, of the last block that touched it
	toucher := make([]int32, units) // 1 + the number of that block
	var blocks [][]int32
	var candidates []int32
	for _, root := range rng.Perm(units) {
		if placed[root] {
			continue
		}
		candidates = append(candidates[:0], int32(root))
		for _, u := range near(int32(root)) {
			if int(u) != root {
				candidates = append(candidates, u)
			}
		}
		var block []int32
		number := int32(len(blocks) + 1)
		for _, u := range candidates {
			if len(block) > 0 && (toucher[u] != number || int(fits[u]) != len(block)) {
				continue
			}
			block = append(block, u)
			placed[u] = true
			for _, o := range near(u) {
				if toucher[o] != number {
					toucher[o], fits[o] = number, 0
				}
				fits[o]++
			}
		}
		slices.Sort(block)
		blocks = append(blocks, block)
	}
	return blocks
}

// pairBlocks makes blocks of rows.
func pairBlocks(y *affinity.Pairs, seed uint64) [][]int32 {
	var blocks [][]int32
	if c := y.Classes(); c != nil {
		for u := range c.Units() {
			blocks = append(blocks, c.Rows(int32(u)))
		}
		return blocks
	}
	rng := rand.New(rand.NewPCG(seed, stream))
	n := y.Len()
	member, barred := make([]int, n), make([]int, n) // the last block that has, or cannot have, the row
	order := make([]int32, n)
	for i, r := range rng.Perm(n) {
		order[i] = int32(r)
	}
	for t := 1; len(order) > 0; t++ {
		var block []int32
		try := func(i int32) {
			if barred[i] == t || member[i] == t {
				return
			}
			block = append(block, i)
			member[i] = t
			for _, j := range y.Dissimilar(int(i)) {
				barred[j] = t
			}
		}
		root := order[0]
		try(root)
		for _, j := range y.Similar(int(root)) {
			try(j)
		}
		rng.Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
		left := order[:0]
		for _, i := range order {
			if try(i); member[i] == 0 {
				left = append(left, i)
			}
		}
		order = left
		slices.Sort(block)
		blocks = append(blocks, block)
	}
	return blocks
}
