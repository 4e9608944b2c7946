// Normal deviates by the ziggurat method (Marsaglia and Tsang, J. Statistical Software 2000), as in math/rand, but
// with the exponentials and logarithms of this package: those of package math have different last bits on different
// machines.
//
//	128 strips of equal area v cover the density f(x) = exp(-x²/2): the lowest holds the tail beyond r
//	draw      a strip i and x uniform within it                                      one number of the source
//		inside the next narrower strip                  return x                     98.8% of draws
//		in the tail                                     by two logarithms
//		between                                         return x if a uniform height is below f(x)

package portable

import (
	"math"
	"math/rand/v2"
	"sync"
)

const (
	strips    = 128
	tailStart = 3.442619855899      // r
	stripArea = 9.91256303526217e-3 // v
)

// ziggurat holds the strips: x = j · width[i] for a signed 32-bit j, accepted at once if |j| < inside[i], and f at
// their edges.
type ziggurat struct {
	inside        [strips]uint32
	width, height [strips]float32
}

var theZiggurat = sync.OnceValue(func() *ziggurat {
	const whole = 1 << 31
	z := new(ziggurat)
	density := func(x float64) float64 { return Exp(-0.5 * x * x) }
	x := tailStart
	base := stripArea / density(x)
	z.inside[0], z.width[0], z.height[0] = uint32(x/base*whole), float32(base/whole), 1
	z.width[strips-1], z.height[strips-1] = float32(x/whole), float32(density(x))
	for i := strips - 2; i >= 1; i-- {
		next := math.Sqrt(-2 * PreciseLn(stripArea/x+density(x)))
		z.inside[i+1] = uint32(next / x * whole)
		x = next
		z.width[i], z.height[i] = float32(x/whole), float32(density(x))
	}
	return z
})

// Normal draws from the normal distribution: the numbers of rng.NormFloat64, except for the last bits of the rare
// ones in the tail.
func Normal(rng *rand.Rand) float64 {
	z := theZiggurat()
	for {
		u := rng.Uint64()
		j, i := int32(u), u>>32&(strips-1)
		x := float64(j) * float64(z.width[i])
		size := uint32(j)
		if j < 0 {
			size = -size
		}
		if size < z.inside[i] {
			return x
		}
		if i == 0 {
			return math.Copysign(tailStart+tail(rng), float64(j))
		}
		rise := float32(float32(rng.Float64()) * (z.height[i-1] - z.height[i]))
		if z.height[i]+rise < float32(Exp(-0.5*x*x)) {
			return x
		}
	}
}

// tail draws the distance beyond the start of the tail.
func tail(rng *rand.Rand) float64 {
	for {
		x, y := exponential(rng)*(1/tailStart), exponential(rng)
		if y+y >= float64(x*x) {
			return x
		}
	}
}

// exponential draws from the exponential distribution.
func exponential(rng *rand.Rand) float64 {
	u := rng.Float64()
	if u == 0 {
		return math.Inf(1)
	}
	return -PreciseLn(u)
}
