package inference

import (
	"strings"

	"hashgrove/internal/message"
)

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

// Pair is a pair loss.
type Pair struct {
	Name  Loss
	About string // in a line of help

	linear bool  // the dissimilar weights are linear in d
	near   int64 // the similar weights are -near (2d+1)
	// value returns L(d) for a loss length k, and far the weight of a dissimilar pair.
	value func(d, k float64, similar bool) float64
	far   func(d, k int) int64
}

// Losses lists the losses. A new one is an entry here, for which the tests of definitions come by themselves.
var Losses = []Pair{
	{
		Name: KSH, About: "squared difference from the wanted inner product, as in the paper", linear: true, near: 1,
		value: func(d, k float64, similar bool) float64 {
			if similar {
				return square(2 * d / k)
			}
			return square(2 - 2*d/k)
		},
		far: func(d, k int) int64 { return int64(2*k - 2*d - 1) },
	},
	{
		Name: Hinge, About: "dissimilar pairs need half of the bits to differ", near: 4,
		value: func(d, k float64, similar bool) float64 {
			if similar {
				return square(d / k)
			}
			return square(max(0, 0.5-d/k))
		},
		far: func(d, k int) int64 {
			a, b := int64(max(0, k-2*d)), int64(max(0, k-2*d-2))
			return a*a - b*b
		},
	},
}

func square(x float64) float64 { return x * x }

// Own returns a loss from outside: similar pairs cost (d/K)², as with Hinge, and dissimilar ones cost(d, K) / 4K².
// The costs are whole numbers from 0 to 4K² that do not rise with d.
func Own(cost func(d, k int) int64) *Pair {
	return &Pair{
		near: 4,
		value: func(d, k float64, similar bool) float64 {
			if similar {
				return square(d / k)
			}
			return float64(cost(int(d), int(k))) / (4 * k * k)
		},
		far: func(d, k int) int64 { return cost(d, k) - cost(d+1, k) },
	}
}

// check reports costs that are not as Own wants them, for codes of some bits.
func (l *Pair) check(bits, length int) error {
	for p := range bits {
		k, sum := length, int64(0)
		if k == 0 {
			k = p + 1
		}
		for d := range p + 1 {
			w := l.far(d, k)
			if sum += w; w < 0 || sum > 4*int64(k)*int64(k) {
				return message.New("bad-loss", "the loss of dissimilar pairs of codes of %d bits, times %d, rises at distance %d "+
					"or falls by more than %[2]d: give costs from 0 to %[2]d that do not rise", k, 4*k*k, d)
			}
		}
	}
	return nil
}

// pair returns the loss of the options.
func (o *Options) pair() *Pair {
	if o.Own != nil {
		return o.Own
	}
	for i := range Losses {
		if Losses[i].Name == o.Loss {
			return &Losses[i]
		}
	}
	return nil
}

// lossNames are the names of the losses, for a sentence.
func lossNames() string {
	names := make([]string, len(Losses))
	for i, l := range Losses {
		names[i] = string(l.Name)
	}
	return strings.Join(names, ", ")
}

// weights are the pair weights of one bit.
type weights struct {
	sim, dis []int64 // by distance 0 to the number of bits before this one

	// sim[d] = near (c.c + nearShift); dis[d] = far (c.c + farShift) if the loss is linear.
	near, nearShift int64
	far, farShift   int64
}

// weights returns the pair weights after p bits; similar and dissimilar are factors.
func (l *Pair) weights(p, length int, similar, dissimilar int64) weights {
	w := weights{sim: make([]int64, p+1), dis: make([]int64, p+1)}
	w.near, w.nearShift = similar*l.near, -int64(p+1)
	w.far, w.farShift = dissimilar, int64(2*length-1-p)
	for d := range p + 1 {
		w.sim[d] = -w.near * int64(2*d+1)
		w.dis[d] = dissimilar * l.far(d, length)
	}
	return w
}
