package inference

// Sums over many codes. Nearly all groups of a hard problem have one row, so the bits of their codes are counted in
// bytes, eight at a time, and added to the sums when a byte may be full. That is much cheaper than adding every bit.

// tally adds groups of one unit, or of units whose rows weigh the same, to sums.
type tally struct {
	to    *sums[int64]
	by    int64
	unit  int64    // weight of a row
	mass  int64    // of the groups that were counted
	bytes []uint64 // eight for each word of a code: byte k of the i-th counts bit 8k + i
	rows  int64    // in the counts
}

// begin starts adding by times some groups to a, in rows of the given weight.
func (t *tally) begin(a *sums[int64], by, unit int64) {
	t.to, t.by, t.unit, t.mass = a, by, unit, 0
	if need := len(a.set) / 8; len(t.bytes) != need {
		t.bytes = make([]uint64, need)
	}
}

// add adds a group. end must be called after the last.
func (t *tally) add(code []uint64, mass int64) {
	rows := int64(1)
	if mass != t.unit {
		rows = mass / t.unit
	}
	if rows > 255 {
		t.to.add(code, t.by*mass)
		return
	}
	t.mass += mass
	if t.rows += rows; t.rows > 255 {
		t.flush()
		t.rows = rows
	}
	for w, v := range code {
		counts := (*[8]uint64)(t.bytes[w<<3:])
		for i := range counts {
			counts[i] += v >> i & 0x0101010101010101 * uint64(rows)
		}
	}
}

// flush adds the counts to the sums and clears them.
func (t *tally) flush() {
	for at, counts := range t.bytes {
		for k := range 8 {
			t.to.set[at>>3<<6|k<<3|at&7] += int64(counts>>(8*k)&255) * t.by * t.unit
		}
	}
	clear(t.bytes)
}

// end adds what was counted.
func (t *tally) end() {
	if t.rows > 0 {
		t.flush()
	}
	t.rows = 0
	t.to.s += t.by * t.mass
}
