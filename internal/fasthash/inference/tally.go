package inference

// Sums over many codes. Nearly all groups of a hard problem have one row, so their codes are counted, bit by bit: eight
// at a time go through full adders (Harley & Seal), whose carries are counters of 64 bits each. That takes about seven
// operations for a word of a code, and adding it bit by bit a hundred.

// tally adds groups of one unit, or of units whose rows weigh the same, to sums.
type tally struct {
	to     *sums[int64]
	by     int64
	unit   int64 // weight of a row
	mass   int64 // of all groups so far
	counts [3]counter
}

// counter counts the set bits of codes.
type counter struct {
	waiting []uint64 // eight codes, word by word
	planes  []uint64 // for every word the eight binary digits of its 64 counts
	some    int      // codes waiting
	rounds  int      // of eight codes
}

// fullRounds is the number of rounds after which no count passes eight digits.
const fullRounds = 31

// begin starts adding by times some groups to a, in rows of the given weight.
func (t *tally) begin(a *sums[int64], by, unit int64) {
	t.to, t.by, t.unit, t.mass = a, by, unit, 0
	for i := range t.counts {
		c := &t.counts[i]
		if need := len(a.set) / 8; len(c.planes) != need {
			c.waiting, c.planes = make([]uint64, need), make([]uint64, need)
		}
	}
}

// add adds a group. end must be called after the last.
func (t *tally) add(code []uint64, mass int64) {
	t.mass += mass
	if mass == t.unit {
		t.count(0, code)
		return
	}
	rows := mass / t.unit
	if rows >= 1<<len(t.counts) {
		t.to.addBits(code, t.by*mass)
		return
	}
	for i := range t.counts {
		if rows>>i&1 != 0 {
			t.count(i, code)
		}
	}
}

// count counts a code as 2^i rows.
func (t *tally) count(i int, code []uint64) {
	c := &t.counts[i]
	for w, v := range code {
		c.waiting[w<<3|c.some] = v
	}
	if c.some++; c.some < 8 {
		return
	}
	c.carry()
	if c.rounds == fullRounds {
		t.flush(i)
	}
}

// carry adds the eight codes that wait to the counts.
func (c *counter) carry() {
	for w := 0; w < len(c.waiting); w += 8 {
		v, p := (*[8]uint64)(c.waiting[w:]), (*[8]uint64)(c.planes[w:])
		ones, a := addBits(p[0], v[0], v[1])
		ones, b := addBits(ones, v[2], v[3])
		twos, c := addBits(p[1], a, b)
		ones, a = addBits(ones, v[4], v[5])
		ones, b = addBits(ones, v[6], v[7])
		twos, d := addBits(twos, a, b)
		fours, carry := addBits(p[2], c, d)
		p[0], p[1], p[2] = ones, twos, fours
		for i := 3; i < 8; i++ {
			p[i], carry = p[i]^carry, p[i]&carry
		}
	}
	c.some = 0
	c.rounds++
}

// addBits is a full adder for each of 64 bits.
func addBits(a, b, c uint64) (sum, carry uint64) {
	half := a ^ b
	return half ^ c, a&b | half&c
}

// flush adds the counts of 2^i rows to the sums and clears them.
func (t *tally) flush(i int) {
	c := &t.counts[i]
	words, x := len(c.planes)/8, t.by*t.unit<<i
	for w := range words {
		for digit, v := range c.planes[w<<3:][:8] {
			t.to.addWord(w, v, x<<digit)
		}
		for _, v := range c.waiting[w<<3:][:c.some] {
			t.to.addWord(w, v, x)
		}
	}
	clear(c.planes)
	c.some, c.rounds = 0, 0
}

// end adds what was counted.
func (t *tally) end() {
	for i := range t.counts {
		if c := &t.counts[i]; c.some+c.rounds > 0 {
			t.flush(i)
		}
	}
	t.to.s += t.by * t.mass
}
