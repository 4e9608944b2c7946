package boost

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"hashgrove/internal/par"
)

// Weight trimming (Friedman, Hastie and Tibshirani, 2000; Lin et al., CVPR 2014, Step 2): a tree sees the shortest run of
// rows, from the heaviest down, that holds more than the share TrimMass of the weight. Of equal weights the first rows
// are kept.
//
// The weights become integers first, the masses. From then on all sums are exact, so their order is free and any number
// of threads grows the same tree. A row that is kept carries one word,
//
//	z_i mass_i 2^shift + 1,   2^shift > n,
//
// so that a sum of words holds the number of rows in its lowest shift bits, and their signed mass above.
//
//	weigh    masses of all rows, summed by magnitude                                         O(n)
//	trim     down the magnitudes to the one where the share is reached; sort only that one   O(n)

// massBits is the length of the sum of all masses, shifted. It leaves room for rounding, for the row counts and for
// a sign.
const massBits = 60

// A magnitude of a mass is its length in bits and its next six bits.
const magnitudes = 64 * 64

func magnitude(mass int64) int {
	over := max(bits.Len64(uint64(mass)), 7) - 7
	return over<<6 + int(mass>>over)
}

// siftBlock is the number of rows whose masses are summed by magnitude in one turn.
const siftBlock = 1 << 14

// sift is the memory for trimming.
type sift struct {
	blocks [][magnitudes]int64 // the sums of each block
	parts  []node              // what each block keeps
	edge   []int64             // rows of the magnitude where the share is reached, as keys
}

func newSift(n int) sift {
	blocks := (n + siftBlock - 1) / siftBlock
	return sift{blocks: make([][magnitudes]int64, blocks), parts: make([]node, blocks)}
}

// weigh multiplies the weights of the rows that the last tree got right or wrong, which must bring their sum to n, and
// sets the masses.
func (t *Trainer) weigh(last []uint64, right, wrong float64) {
	scale := float64(uint64(1)<<(massBits-t.shift)) / float64(t.n)
	_ = par.Blocks(context.Background(), t.threads, t.n, siftBlock, func(b, lo, hi int) {
		sums := &t.blocks[b]
		clear(sums[:])
		factor := [2]float64{wrong, right}
		u, mass := t.u[lo:hi], t.mass[lo:hi]
		mass = mass[:len(u)]
		for i := range u {
			// No mass is 0: its sign must tell the sign of z.
			r := lo + i
			v := u[i] * factor[^(last[r/64]^t.z[r/64])>>(r%64)&1]
			u[i] = v
			m := max(1, int64(float64(v*scale)+0.5))
			mass[i] = m
			sums[magnitude(m)%magnitudes] += m
		}
	})
}

// key orders the rows by falling mass, then by rising number: the greatest key is first.
func (t *Trainer) key(i int) int64 { return t.mass[i]<<t.shift | int64(t.n-1-i) }

// trim lists the rows that the next tree sees.
func (t *Trainer) trim() {
	least := int64(math.MinInt64) // the least key kept
	if t.o.TrimMass > 0 && t.o.TrimMass < 1 {
		least = t.leastKey()
	}
	// Each block lists its rows in the memory of the next level, which is free, at its own place; then they are joined.
	_ = par.Blocks(context.Background(), t.threads, t.n, siftBlock, func(b, lo, hi int) {
		rows, words := t.rows[1][lo:hi], t.words[1][lo:hi]
		words = words[:len(rows)]
		var part node
		for i, m := range t.mass[lo:hi] {
			r := lo + i
			z := int64(t.z[r/64] >> (r % 64) & 1) // 1 for +1
			word := (m^(z-1)-(z-1))<<t.shift + 1  // of m or -m
			keep := 0
			if t.key(r) >= least {
				keep = 1
			}
			rows[part.hi], words[part.hi] = uint32(r), word
			part.hi += keep
			part.sum += word & -int64(keep)
			part.plus += int(z) & keep
		}
		t.parts[b] = part
	})
	t.root = node{}
	for b, part := range t.parts {
		lo := b * siftBlock
		copy(t.rows[0][t.root.hi:], t.rows[1][lo:lo+part.hi])
		copy(t.words[0][t.root.hi:], t.words[1][lo:lo+part.hi])
		t.root.hi += part.hi
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
	t.edge = t.edge[:0]
	for i, m := range t.mass {
		if magnitude(m) == at {
			t.edge = append(t.edge, t.key(i))
		}
	}
	slices.Sort(t.edge)
	for _, key := range slices.Backward(t.edge) {
		if limit -= key >> t.shift; limit < 0 {
			return key
		}
	}
	return math.MinInt64
}
