package boost

import (
	"math"
	"math/bits"
	"slices"
)

// Weight trimming (Friedman, Hastie and Tibshirani, 2000; Lin et al., CVPR 2014, Step 2): a tree sees the shortest run
// of rows, from the heaviest down, that holds more than the share TrimMass of the weight. Of equal weights the first
// rows are kept.
//
// The weights become integers first, the masses, in all less than 2^31. From then on all sums are exact, so their order
// is free and any number of threads grows the same tree. A row that is kept is one item: z_i mass_i and i.
//
//	updateMasses    masses of all rows, summed by magnitude                                         O(n)
//	trim            down the magnitudes to the one where the share is reached; sort only that one   O(n)

// totalMass bounds the sum of all masses, and so every sum of signed masses: both fit an int32.
const totalMass = math.MaxInt32

// item is a row as a tree sees it: its number in the lower half, its signed mass in the upper half. The mass is not 0,
// so its sign is that of z. One word is one load in the loop that counts.
type item uint64

func newItem(row int, mass int32) item { return item(uint32(mass))<<32 | item(uint32(row)) }

func (v item) row() uint32 { return uint32(v) }
func (v item) mass() int32 { return int32(v >> 32) }

// A magnitude of a mass is its length in bits and its next six bits.
const magnitudes = 32 * 64

func magnitude(mass int32) int {
	over := max(bits.Len32(uint32(mass)), 7) - 7
	return over<<6 + int(mass>>over)
}

// sift is the memory for trimming.
type sift struct {
	block  int                 // rows whose masses are summed by magnitude in one turn
	blocks [][magnitudes]int64 // the sums of each block
	parts  []node              // what each block keeps
	least  int64               // the least key kept
	edges  [][]int64           // by block: rows of the magnitude where the share is reached, as keys
	edge   []int64             // all of them
	counts []int               // of items that each block keeps
	places []int               // of these items when they are joined
}

// siftBlock is the least number of rows in a block.
const siftBlock = 1 << 12

// siftRows is the number of rows in a block: there are enough blocks for many cores, few enough that adding up their
// sums takes no time. All sums are integers, so the cut changes nothing.
func siftRows(n int) int {
	const blocks = 64
	return max(siftBlock, (n/blocks+63)&^63)
}

func newSift(n int) sift {
	s := sift{block: siftRows(n)}
	blocks := (n + s.block - 1) / s.block
	s.blocks, s.parts, s.edges = make([][magnitudes]int64, blocks), make([]node, blocks), make([][]int64, blocks)
	s.counts, s.places = make([]int, blocks), make([]int, blocks)
	return s
}

// join copies what each block has found at its own place in from, counts[b] items, to where it belongs, one after the
// other, and returns their number. The two do not overlap.
func (t *Trainer) join(to, from []item, counts []int) int {
	n := 0
	for b, count := range counts {
		t.places[b] = n
		n += count
	}
	t.team.Blocks(t.n, t.block, func(b, lo, _ int) {
		copy(to[t.places[b]:][:counts[b]], from[lo:])
	})
	return n
}

// coarseRows is the number of rows from which on the masses of swell*n would have fewer than 64 units on average.
const coarseRows = totalMass / (64 * swell)

// weightScale turns the weights of n rows, whose sum is known but for rounding and at most swell*n, into masses. With
// very many rows it makes the most of the sum that there is, which is n after a while: up to swell times finer masses.
func weightScale(n int, sum float64) float64 {
	room := float64(totalMass - 1 - n) // rounding adds at most 1 to each mass
	if n <= coarseRows {
		return room / (swell * float64(n))
	}
	return room / min(swell*float64(n), float64(sum*(1+1e-6)))
}

// updateMasses multiplies the weights of the rows that the last tree got right or wrong and sets the masses.
func (t *Trainer) updateMasses(last []uint64, right, wrong float64) {
	scale := weightScale(t.n, t.total)
	t.team.Blocks(t.n, t.block, func(b, lo, hi int) {
		sums := &t.blocks[b]
		clear(sums[:])
		factor := [2]float64{wrong, right}
		u, mass := t.u[lo:hi], t.mass[lo:hi]
		mass = mass[:len(u)]
		for i := range u {
			// No mass is 0: its sign is that of z.
			r := lo + i
			v := u[i] * factor[^(last[r/64]^t.z[r/64])>>(r%64)&1]
			u[i] = v
			m := max(1, int32(float64(v*scale)+0.5))
			mass[i] = m
			sums[magnitude(m)%magnitudes] += int64(m)
		}
	})
}

// signed returns z_i mass_i.
func (t *Trainer) signed(i int) int32 {
	z := int32(t.z[i/64]>>(i%64)&1) - 1 // 0 or -1
	return (t.mass[i] ^ z) - z
}

// key orders the rows by falling mass, then by rising number: the greatest key is first.
func (t *Trainer) key(i int) int64 { return int64(t.mass[i])<<32 | int64(t.n-1-i) }

// trim lists the rows that the next tree sees.
func (t *Trainer) trim() {
	t.least = math.MinInt64
	if t.o.TrimMass > 0 && t.o.TrimMass < 1 {
		t.least = t.leastKey()
	}
	// Each block lists its rows in the memory of the next level, which is free, at its own place; then they are joined.
	t.team.Blocks(t.n, t.block, func(b, lo, hi int) {
		items := t.items[1][lo:hi]
		var part node
		for r := lo; r < hi; r++ {
			m := t.signed(r)
			keep := 0
			if t.sees(r) {
				keep = 1
			}
			items[part.hi] = newItem(r, m)
			part.hi += keep
			part.sum += int64(m) & -int64(keep)
			part.plus += int(uint32(^m)>>31) & keep
		}
		t.parts[b], t.sift.counts[b] = part, part.hi
	})
	t.root = node{hi: t.join(t.items[0], t.items[1], t.sift.counts)}
	for _, part := range t.parts {
		t.root.sum += part.sum
		t.root.plus += part.plus
	}
}

// leastKey returns the key of the last row of the shortest run that holds more than TrimMass of the mass.
func (t *Trainer) leastKey() int64 {
	total := t.blocks[0]
	all := int64(0)
	for b := 1; b < len(t.blocks); b++ {
		for i, v := range t.blocks[b] {
			total[i] += v
		}
	}
	for _, v := range total {
		all += v
	}
	limit := int64(t.o.TrimMass * float64(all)) // of integers, more than the product is more than its floor
	at := magnitudes - 1
	for ; at > 0 && limit >= total[at]; at-- {
		limit -= total[at]
	}
	t.team.Blocks(t.n, t.block, func(b, lo, hi int) {
		edge := t.edges[b][:0]
		for i, m := range t.mass[lo:hi] {
			if magnitude(m) == at {
				edge = append(edge, t.key(lo+i))
			}
		}
		t.edges[b] = edge
	})
	t.edge = t.edge[:0]
	for _, edge := range t.edges {
		t.edge = append(t.edge, edge...)
	}
	slices.Sort(t.edge)
	for _, key := range slices.Backward(t.edge) {
		if limit -= key >> 32; limit < 0 {
			return key
		}
	}
	return math.MinInt64
}
