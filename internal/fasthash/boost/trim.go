package boost

import (
	"math"
	"math/bits"
	"unsafe"

	"hashgrove/internal/vectors"
)

// Weight trimming (Friedman, Hastie and Tibshirani, 2000; Lin et al., CVPR 2014, Step 2): a tree sees the shortest run
// of rows, from the heaviest down, that holds more than the share TrimMass of the weight. Of equal weights the first
// rows are kept.
//
// The weights become integers first, the masses, in all less than 2^31. From then on all sums are exact, so their order
// is free and any number of threads grows the same tree. A row that is kept is one item: z_i mass_i and i.
//
//	updateMasses    masses of all rows, summed by magnitude                                           O(n)
//	leastKey        down the magnitudes to the one where the share is reached, and down the masses in it    O(n)
//	trim            lists the rows, and what has changed since the last tree                          O(n)

// totalMass bounds the sum of all masses, and so every sum of signed masses: both fit an int32.
const totalMass = math.MaxInt32

// item is a row as a tree sees it: its number in the lower half, its signed mass in the upper half. The mass is not 0,
// so its sign is that of z. A single word takes a single load in the counting loop.
type item uint64

// allocItems returns memory for items, possibly in a file.
func allocItems(m *vectors.Spill, n int) ([]item, error) {
	words, err := vectors.AllocHot[uint64](m, n)
	return unsafe.Slice((*item)(unsafe.SliceData(words)), n), err
}

func newItem(row int, mass int32) item { return item(uint32(mass))<<32 | item(uint32(row)) }

func (v item) row() uint32 { return uint32(v) }
func (v item) mass() int32 { return int32(v >> 32) }

// A magnitude of a mass is its length in bits and its next six bits.
const magnitudes = 32 * 64

func magnitude(mass int32) int {
	over := max(bits.Len32(uint32(mass)), 7) - 7
	return over<<6 + int(mass>>over)
}

// trimmer holds the memory for trimming.
type trimmer struct {
	block  int                 // rows whose masses are summed by magnitude in one turn
	blocks [][magnitudes]int64 // the sums of each block, until leastKey narrows them down
	whole  []int64             // all masses of each block
	parts  []node              // what each block keeps
	least  int64               // the least key kept
	counts []int               // of items that each block keeps
	places []int               // where these items, or changes, begin
}

// trimBlock is the least number of rows in a block.
const trimBlock = 1 << 10

// trimRows returns the number of rows in a block: as many blocks as many threads can share evenly, and no more, since
// their sums must be added up. All sums are integers, so block boundaries change nothing.
func trimRows(n, threads int) int { return max(trimBlock, (n/(3*threads)+64)&^63) }

func newTrimmer(n, block int) trimmer {
	s := trimmer{block: block}
	blocks := (n + s.block - 1) / s.block
	s.blocks, s.parts, s.whole = make([][magnitudes]int64, blocks), make([]node, blocks), make([]int64, blocks)
	s.counts, s.places = make([]int, blocks), make([]int, blocks)
	return s
}

// setPlaces lays out the blocks' entries back to back and returns their total number.
func (s *trimmer) setPlaces(counts []int) int {
	n := 0
	for b, count := range counts {
		s.places[b] = n
		n += count
	}
	return n
}

// coarseRows is the number of rows from which the masses of swell*n would have fewer than 64 units on average.
const coarseRows = totalMass / (64 * swell)

// weightScale returns the factor that turns the weights of n rows into masses. Their sum is known up to rounding and at
// most swell*n. With very many rows it makes the most of the actual sum, which is n after a while: up to swell times
// finer masses.
func weightScale(n int, sum float64) float64 {
	room := weightRoom(n)
	if n <= coarseRows {
		return room / (swell * float64(n))
	}
	return room / min(swell*float64(n), float64(sum*(1+1e-6)))
}

// weightRoom returns what the masses of n rows may sum up to before rounding, which adds at most 1 to each.
func weightRoom(n int) float64 { return float64(totalMass - 1 - n) }

// updateMasses scales the weights of the rows that the last tree got right or wrong, and sets the masses.
func (t *cores) updateMasses(last []uint64, right, wrong float64) {
	scale := weightScale(t.n, t.total)
	t.team.Blocks(t.n, t.block, func(b, lo, hi int) {
		sums := &t.blocks[b]
		clear(sums[:])
		whole := int64(0)
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
			whole += int64(m)
			sums[magnitude(m)%magnitudes] += int64(m)
		}
		t.whole[b] = whole
	})
}

// signed returns z_i mass_i.
func (t *cores) signed(i int) int32 {
	z := int32(t.z[i/64]>>(i%64)&1) - 1 // 0 or -1
	return (t.mass[i] ^ z) - z
}

// key orders the rows by falling mass, then by rising number: the greatest key is first.
func (t *cores) key(i int) int64 { return int64(t.mass[i])<<32 | int64(t.n-1-i) }

// trim lists the rows that the next tree sees and, if histograms are kept, how they differ from those of the last tree.
func (t *cores) trim() {
	t.least = math.MinInt64
	if isShare(t.o.TrimMass) {
		t.least = t.leastKey()
	}
	t.countSeen()
	t.root = node{hi: t.setPlaces(t.trimmer.counts)}
	t.team.Blocks(t.n, t.block, func(b, lo, hi int) {
		t.parts[b] = t.listBlock(t.items[0][t.places[b]:][:t.trimmer.counts[b]], lo)
		if t.kept.root != nil {
			t.kept.counts[b] = t.listChanges(lo, hi)
		}
	})
	for _, part := range t.parts {
		t.root.sum += part.sum
		t.root.plus += part.plus
	}
	if t.kept.root != nil { // the memory of the next level is free
		t.kept.changes = t.items[1][:t.setPlaces(t.kept.counts)]
		t.team.Blocks(t.n, t.block, func(b, lo, _ int) {
			copy(t.kept.changes[t.places[b]:], t.kept.changed[lo:][:t.kept.counts[b]])
		})
	}
}

// listBlock lists rows that the next tree sees, starting at row lo, until the list is full.
func (t *cores) listBlock(items []item, lo int) (part node) {
	for r := lo; part.hi < len(items); r++ {
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
	return part
}

// countSeen counts the rows of each block that the next tree sees.
func (t *cores) countSeen() {
	t.team.Blocks(t.n, t.block, func(b, lo, hi int) {
		count, least, last := 0, t.least, int64(t.n-1-lo)
		for i, m := range t.mass[lo:hi] {
			if int64(m)<<32|(last-int64(i)) >= least && t.isOffered(lo+i) {
				count++
			}
		}
		t.trimmer.counts[b] = count
	})
}

// leastKey returns the key of the last row of the shortest run that holds more than TrimMass of the mass. It sums the
// masses of the magnitude where the share is reached by ever narrower ranges, down to one mass; of the rows with that
// mass, the first are kept.
func (t *cores) leastKey() int64 {
	at, limit := t.edgeMagnitude()
	over := max(at>>6-1, 0)
	lo, width := int32(at-over<<6)<<over, int32(1)<<over
	for width > 1 {
		share := max(width/magnitudes, 1)
		t.team.Blocks(t.n, t.block, func(b, first, end int) {
			sums := &t.blocks[b]
			clear(sums[:])
			for _, m := range t.mass[first:end] {
				if m >= lo && m-lo < width {
					sums[(m-lo)/share%magnitudes] += int64(m)
				}
			}
		})
		for at = int(width/share) - 1; at >= 0; at-- {
			here := t.sumOf(at)
			if limit < here {
				break
			}
			limit -= here
		}
		if at < 0 {
			return math.MinInt64
		}
		lo, width = lo+int32(at)*share, share
	}
	one := int64(max(lo, 1))
	wanted := limit/one + 1 // rows of this mass that together pass the limit
	for b := range t.blocks {
		if count := t.blocks[b][at] / one; wanted > count {
			wanted -= count
			continue
		}
		for i := b * t.block; ; i++ {
			if t.mass[i] == lo {
				if wanted--; wanted == 0 {
					return t.key(i)
				}
			}
		}
	}
	return math.MinInt64
}

// sumOf returns the sum over the blocks of what each has in place k.
func (t *cores) sumOf(k int) (sum int64) {
	for b := range t.blocks {
		sum += t.blocks[b][k]
	}
	return sum
}

// edgeMagnitude returns the magnitude in which the share TrimMass is reached, and how much of the share is left for it.
func (t *cores) edgeMagnitude() (at int, limit int64) {
	all := int64(0)
	for _, v := range t.whole {
		all += v
	}
	limit = int64(t.o.TrimMass * float64(all)) // an integer exceeds the product if it exceeds its floor
	for at = magnitudes - 1; at > 0; at-- {
		here := t.sumOf(at)
		if limit < here {
			break
		}
		limit -= here
	}
	return at, limit
}
