package boost

import (
	"math/bits"
	"math/rand/v2"
)

// The random draws of a node. Every node of every tree of every bit has its own stream, so that no draw depends on
// how another node turned out.

// draws is the source of all draws, set to a stream before each use.
type draws struct {
	pcg   *rand.PCG
	rng   *rand.Rand
	drawn []uint64 // a bit for each column
}

func newDraws(columns int) draws {
	pcg := new(rand.PCG)
	return draws{pcg, rand.New(pcg), make([]uint64, (columns+63)/64)}
}

// stream starts the stream of the numbers seed and id.
func (d *draws) stream(seed, id uint64) { d.pcg.Seed(seed, id) }

// columns fills out with different columns of from, in their order (LazyBoost: Escudero et al., 2000; Lin et al., CVPR
// 2014). Every choice is equally likely (Floyd's algorithm: Bentley, 1987). When all fit, nothing is drawn.
func (d *draws) columns(from, out []uint32) {
	if len(out) == len(from) {
		copy(out, from)
		return
	}
	clear(d.drawn)
	for j := len(from) - len(out); j < len(from); j++ {
		i := int(d.rng.Uint32N(uint32(j + 1)))
		if d.drawn[i/64]>>(i%64)&1 == 1 {
			i = j
		}
		d.drawn[i/64] |= 1 << (i % 64)
	}
	k := 0
	for w, word := range d.drawn {
		for ; word != 0; word &= word - 1 {
			out[k] = from[64*w+bits.TrailingZeros64(word)]
			k++
		}
	}
}

// sample fills out with rows drawn with probability proportional to their mass (FastH-N: Lin et al., CVPR 2014,
// "weighted sampling"). It lays the masses end to end and picks at equal steps from a random start, so that a row with
// k steps of mass is drawn k times or once more or less. A drawn row counts as one unit of mass. It returns the signed
// sum of these units.
func (d *draws) sample(items, out []item) (sum int64) {
	total := uint64(0)
	for _, v := range items {
		total += absoluteMass(v)
	}
	// In units of 1/k of a mass all picks are whole numbers. The greatest is below totalMass * maxRows.
	k := uint64(len(out))
	pick, end, i := d.rng.Uint64N(total), k*absoluteMass(items[0]), 0
	for j := range out {
		for pick >= end {
			i++
			end += k * absoluteMass(items[i])
		}
		unit := items[i].mass()>>31*2 + 1 // z_i
		out[j] = newItem(int(items[i].row()), unit)
		sum += int64(unit)
		pick += total
	}
	return sum
}

// absoluteMass is the mass of an item without its sign.
func absoluteMass(v item) uint64 {
	m := int64(v.mass())
	return uint64(max(m, -m))
}
