// Discrete Fourier transforms of eight signals side by side, for GIST.
//
//	X_o = sum over i of x_i e^(2 pi i o / n)      (no factor 1/n; the forward transform is X_-o)
//
// Cooley and Tukey's algorithm, decimation in time: with n = p m, the transform is p transforms of length m, of every
// p-th number each, and for every output a sum of p numbers:
//
//	X_o = sum over r < p of e^(2 pi i r o / n) X^(r)_(o mod m)
//
//	order     numbers are taken in the order that puts every sub-transform side by side
//	radix 4   as often as 4 divides n, in place
//	combine   other factors; the last stage computes only the outputs that are asked for
//
// A picture is padded to three times its side and cropped again, so two thirds of the last stage are saved on each
// axis. Lanes are pictures, not columns: no transposition, no remainder. gonum's transforms take one signal at
// a time, compute all outputs, and promise no last bit, which GIST does.

package feature

import "hashgrove/internal/numeric/portable"

// fft is the plan of a transform, which depends only on n and the wanted outputs.
type fft struct {
	n      int
	order  []int32 // position i of the input takes number order[i]
	stages []stage
}

// stage joins p transforms of length m into one of length p*m, in every block of p*m numbers.
type stage struct {
	p, m  int
	turns []*[6]vector // radix 4: factors of the butterflies k = 0..m-1 of every block; the first is nil
	start []int32      // combine: where the p numbers of every output begin
	w     []float32    // combine: the p-1 complex factors of every output
}

// newFFT plans a transform of length n that computes only the given outputs (any integers, modulo n).
func newFFT(n int, outputs []int) *fft {
	f := &fft{n: n}
	m := 1
	for _, p := range radices(n) {
		s := stage{p: p, m: m}
		last := p*m == n
		switch {
		case last:
			s.plan(n, outputs)
		case p == 4:
			for k := range m {
				s.turns = append(s.turns, turns(k, 4*m))
			}
		default:
			all := make([]int, n)
			for o := range all {
				all[o] = o
			}
			s.plan(n, all)
		}
		f.stages = append(f.stages, s)
		m *= p
	}
	f.addOrder(0, 1, len(f.stages))
	return f
}

// radices factors n: fours first, then the other primes, and last the factor that saves most: combined with a single 2,
// if there is one, so that it needs no stage of its own.
func radices(n int) []int {
	var fours, others []int
	for ; n%4 == 0; n /= 4 {
		fours = append(fours, 4)
	}
	two := n%2 == 0
	if two {
		n /= 2
	}
	for p := 3; n > 1; p += 2 {
		for ; n%p == 0; n /= p {
			others = append(others, p)
		}
	}
	all := append(fours, others...)
	if two && len(others) > 0 {
		all[len(all)-1] *= 2
	} else if two {
		all = append(all, 2)
	}
	return all
}

// plan sets the outputs of a combining stage.
func (s *stage) plan(n int, outputs []int) {
	size := s.p * s.m
	for _, o := range outputs {
		o = (o%n + n) % n
		s.start = append(s.start, int32(o-o%size+o%s.m)) // before the last stage there are several blocks
		for r := 1; r < s.p; r++ {
			re, im := portable.Cis(r*(o%size), size)
			s.w = append(s.w, float32(re), float32(im))
		}
	}
}

// addOrder appends the numbers start, start+step, ... in the order that the first stages need.
func (f *fft) addOrder(start, step, stages int) {
	if stages == 0 {
		f.order = append(f.order, int32(start))
		return
	}
	p := f.stages[stages-1].p
	for r := range p {
		f.addOrder(start+r*step, step*p, stages-1)
	}
}

// run transforms the numbers in buf, which gather has put in order, and writes the outputs to dst. It overwrites buf
// and spare, both of n numbers.
func (f *fft) run(dst, buf, spare []complex8) {
	for i := range f.stages {
		s := &f.stages[i]
		switch {
		case i == len(f.stages)-1:
			combine(dst, buf, s.start, s.p, s.m, s.w)
		case s.turns != nil:
			for k, w := range s.turns {
				radix4(buf[k:], s.m, f.n/(4*s.m), w)
			}
		default:
			combine(spare, buf, s.start, s.p, s.m, s.w)
			buf, spare = spare, buf
		}
	}
}

// turns returns e^(2 pi i r k/n) for r = 1, 2, 3 in all lanes, or nil if all are one.
func turns(k, n int) *[6]vector {
	if k == 0 {
		return nil
	}
	w := new([6]vector)
	for r := 1; r < 4; r++ {
		re, im := portable.Cis(r*k, n)
		for l := range lanes {
			w[2*r-2][l], w[2*r-1][l] = float32(re), float32(im)
		}
	}
	return w
}
