package inference

// Pair losses and the pair weights of one bit, as small integer tables.
//
// A loss L(d) judges the Hamming distance d of a pair, with loss length K (the number of bits it is normalised by):
//
//	        similar      dissimilar
//	KSH     (2d/K)²      (2 - 2d/K)²             = (y - (K-2d)/K)²
//	Hinge   (d/K)²       max(0, 1/2 - d/K)²
//
// Let d count the bits before bit k. If the pair agrees in bit k it costs L(d), else L(d+1): with z in {-1, +1} that is
// w z_i z_j plus a constant, where w = L(d) - L(d+1) up to a positive factor. Times the factor (K²/4, 4K²):
//
//	        similar      dissimilar
//	KSH     -(2d+1)      2K - 2d - 1             the paper's a_ij, eq:opt_step1_bqp2, when K = k
//	Hinge   -4(2d+1)     max(0, K-2d)² - max(0, K-2d-2)²
//
// Similar weights are negative and dissimilar ones never are (K >= k), hence Proposition 1. With c in {-1, +1} the
// earlier bits and p their number, c_i.c_j = p - 2d: similar weights are linear in the inner product for every loss,
// dissimilar ones for KSH. The loss of BRE is a quarter of KSH's and gives the same codes.

// Loss names a pair loss.
type Loss string

// The losses. KSH, the paper's, is the default; Hinge is the default of the released code.
const (
	KSH   Loss = "ksh"
	Hinge Loss = "hinge"
)

// isLinear reports whether the dissimilar weights are linear in d.
func (l Loss) isLinear() bool { return l != Hinge }

// value returns L(d) for a loss length.
func (l Loss) value(d, length int, similar bool) float64 {
	x, k := float64(d), float64(length)
	switch {
	case similar && l == KSH:
		x = 2 * x / k
	case similar:
		x = x / k
	case l == KSH:
		x = 2 - 2*x/k
	default:
		x = max(0, 0.5-x/k)
	}
	return x * x
}

// weights are the pair weights of one bit.
type weights struct {
	p        int     // bits before this one
	sim, dis []int64 // by distance 0 to p

	// sim[d] = near (c.c + nearShift); dis[d] = far (c.c + farShift) if the loss is linear.
	near, nearShift int64
	far, farShift   int64
}

// weights returns the pair weights after p bits; similar and dissimilar are factors.
func (l Loss) weights(p, length int, similar, dissimilar int64) weights {
	w := weights{p: p, sim: make([]int64, p+1), dis: make([]int64, p+1)}
	w.near, w.nearShift = similar, -int64(p+1)
	w.far, w.farShift = dissimilar, int64(2*length-1-p)
	if l == Hinge {
		w.near *= 4
	}
	for d := range p + 1 {
		w.sim[d] = -w.near * int64(2*d+1)
		if l == Hinge {
			a, b := int64(max(0, length-2*d)), int64(max(0, length-2*d-2))
			w.dis[d] = dissimilar * (a*a - b*b)
		} else {
			w.dis[d] = dissimilar * int64(2*length-2*d-1)
		}
	}
	return w
}
