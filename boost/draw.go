package boost

import "math/rand/v2"

// The random draws of a node. Every node of every tree of every bit has its own stream, so that no draw depends on
// how another node turned out.

// draws is the source of all draws, set to a stream before each use.
type draws struct {
	pcg  *rand.PCG
	rng  *rand.Rand
	deck []uint32
}

func newDraws() draws {
	pcg := new(rand.PCG)
	return draws{pcg: pcg, rng: rand.New(pcg)}
}

// stream starts the stream of the numbers seed and id.
func (d *draws) stream(seed, id uint64) { d.pcg.Seed(seed, id) }

// columns fills out with different columns of from, in random order (LazyBoost: Escudero et al., 2000; Lin et al.,
// CVPR 2014). When all fit, they come in their own order and nothing is drawn.
func (d *draws) columns(from, out []uint32) {
	if len(out) == len(from) {
		copy(out, from)
		return
	}
	d.deck = append(d.deck[:0], from...)
	for i := range out {
		j := i + int(d.rng.Uint32N(uint32(len(d.deck)-i)))
		d.deck[i], d.deck[j] = d.deck[j], d.deck[i]
		out[i] = d.deck[i]
	}
}

// sample draws len(outRows) of the rows with probability proportional to their mass (FastH-N: Lin et al., CVPR 2014,
// "weighted sampling"). It lays the masses end to end and picks at equal steps from a random start, so that a row with k
// steps of mass is drawn k times or once more or less. A drawn row counts
// as one unit of mass. It returns the sum of the drawn words.
func (d *draws) sample(rows []uint32, words []int64, shift uint, outRows []uint32, outWords []int64) (sum int64) {
	total := uint64(0)
	for _, w := range words {
		total += heft(w, shift)
	}
	// In units of 1/k of a mass all picks are whole numbers, and total*k still fits: see massBits.
	k := uint64(len(outRows))
	pick, end, i := d.rng.Uint64N(total), k*heft(words[0], shift), 0
	for j := range outRows {
		for pick >= end {
			i++
			end += k * heft(words[i], shift)
		}
		outRows[j] = rows[i]
		word := (words[i]>>63*2+1)<<shift + 1 // z_i units, one row
		outWords[j] = word
		sum += word
		pick += total
	}
	return sum
}

// heft is the mass in a row's word, without its sign.
func heft(word int64, shift uint) uint64 {
	m := word >> shift
	return uint64(max(m, -m))
}
