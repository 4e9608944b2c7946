package inference

import "math/bits"

// number is the type of fields: integers where they decide a sign, floats for the spectral relaxation.
type number interface{ int64 | float64 }

// sums holds the sum S of some x_g, and for every bit the sum of those x_g whose code has the bit: with codes c in
// {-1, +1}, V_b = sum of x_g c_gb = 2 set[b] - S.
type sums[T number] struct {
	s   T
	set []T // a multiple of 64
}

// reset empties the sums for codes of p bits.
func (a *sums[T]) reset(p int) {
	a.s = 0
	a.set = append(a.set[:0], make([]T, (p+63)/64*64)...)
}

// add adds x with the given code: about half a step per bit.
func (a *sums[T]) add(code []uint64, x T) {
	a.s += x
	for w, v := range code {
		set := (*[64]T)(a.set[w<<6:])
		for ; v != 0; v &= v - 1 {
			set[bits.TrailingZeros64(v)&63] += x
		}
	}
}

// copyOf makes a equal to scale times b.
func (a *sums[T]) copyOf(b *sums[T], scale T) {
	a.s = scale * b.s
	a.set = append(a.set[:0], b.set...)
	for i := range a.set {
		a.set[i] *= scale
	}
}

// addSums adds other sums.
func (a *sums[T]) addSums(b *sums[T]) {
	a.s += b.s
	for i, v := range b.set {
		a.set[i] += v
	}
}

// halve divides sums that are even by two.
func (a *sums[T]) halve() {
	a.s /= 2
	for i := range a.set {
		a.set[i] /= 2
	}
}

// dotter multiplies codes by a vector: c.X. For many codes it looks up eight bits at a time.
type dotter[T number] struct {
	x     []T
	total T   // sum of x
	table []T // for every byte of the code 256 values, if in use
}

// load sets X = scale V for the sums a, over p bits; many is the number of codes that will follow.
func (d *dotter[T]) load(a *sums[T], p int, scale T, many int) {
	d.x = d.x[:0]
	d.total = 0
	for b, v := range a.set {
		if b < p {
			v = T(scale * T(T(v+v)-a.s))
			d.total += v
		} else {
			v = 0
		}
		d.x = append(d.x, v)
	}
	d.table = d.table[:0]
	if many < 40 { // filling the tables costs as much as about 40 codes
		return
	}
	for b := 0; b < p; b += 8 {
		at := len(d.table)
		var none T
		for _, v := range d.x[b : b+8] {
			none -= v
		}
		d.table = append(d.table, none)
		for _, v := range d.x[b : b+8] { // with the next bit set: all so far, and twice its x
			for _, t := range d.table[at:] {
				d.table = append(d.table, t+T(v+v))
			}
		}
	}
}

// dot returns c.X.
func (d *dotter[T]) dot(code []uint64) T {
	var sum T
	if len(d.table) == 0 {
		for w, v := range code {
			x := (*[64]T)(d.x[w<<6:])
			for ; v != 0; v &= v - 1 {
				sum += x[bits.TrailingZeros64(v)&63]
			}
		}
		return T(sum+sum) - d.total
	}
	table := d.table
	for _, v := range code {
		if len(table) >= 8*256 {
			t := (*[8 * 256]T)(table)
			sum += t[v&255] + t[256+v>>8&255] + t[512+v>>16&255] + t[768+v>>24&255] +
				t[1024+v>>32&255] + t[1280+v>>40&255] + t[1536+v>>48&255] + t[1792+v>>56]
			table = table[8*256:]
			continue
		}
		for ; len(table) > 0; table = table[256:] {
			sum += table[v&255]
			v >>= 8
		}
	}
	return sum
}
