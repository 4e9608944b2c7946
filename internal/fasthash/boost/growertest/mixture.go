package growertest

import (
	"math/rand/v2"

	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/numeric/portable"
	"hashgrove/internal/vectors"
)

// Mixture is 10 classes of three Gaussian clouds each, like GIST vectors of pictures, and a bit of them.
func Mixture(n, dim int) (*vectors.Columns, []int8) {
	rng := rand.New(rand.NewPCG(5, 6))
	centre := make([]float32, 30*dim)
	for i := range centre {
		centre[i] = float32(128 + 12*portable.Normal(rng))
	}
	x := vectors.NewColumns(n, vectors.Quantizer{Lo: make([]float32, dim), Hi: make([]float32, dim)})
	z, cloud := make([]int8, n), make([]int, n)
	for i := range z {
		cloud[i] = rng.IntN(30)
		z[i] = int8(cloud[i]/3%2)*2 - 1
	}
	noise := make([]float32, 1<<16)
	for i := range noise {
		noise[i] = float32(35 * portable.Normal(rng))
	}
	for j := range dim {
		column, at := x.Column(j), rng.Uint32()
		for i := range column {
			at = at*1664525 + 1013904223
			column[i] = uint8(min(max(centre[cloud[i]*dim+j]+noise[at>>16], 0), 255))
		}
	}
	return x, z
}

// Size is what a benchmark learns from.
type Size struct {
	Name    string
	Rows    int
	Columns int
	Options boost.Options
}

// Sizes are what benchmarks of growers learn from.
var Sizes = []Size{
	{"20000x320", 20_000, 320, boost.Options{NodeFeatures: -1}},
	{"50000x320", 50_000, 320, boost.Options{NodeFeatures: -1}},
	{"50000x320-default", 50_000, 320, boost.Options{Boost: boost.Logistic, Depth: 6, Rate: 0.5, ColumnShare: 0.5}},
	{"50000x11200", 50_000, 11_200, boost.Options{}},
	{"50000x11200-all", 50_000, 11_200, boost.Options{NodeFeatures: -1}},
	{"1000000x320", 1_000_000, 320, boost.Options{NodeFeatures: -1}},
}
