//go:build (linux || darwin) && (amd64 || arm64)

package gpu

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/numeric/portable"
	"hashgrove/internal/vectors"
)

// growerCase is a problem that the device and the cores must agree on.
type growerCase struct {
	name          string
	rows, columns int
	options       boost.Options
	data          string // "" is a mixture; others are special cases of columns, signs or weights
}

// growerCases returns problems with all options of package boost, and data that are easy to get wrong.
func growerCases() []growerCase {
	ada := func(o boost.Options) boost.Options { o.Boost = boost.AdaBoost; return o }
	logistic := func(o boost.Options) boost.Options { o.Boost = boost.Logistic; return o }
	cases := []growerCase{
		{name: "one row", rows: 1, columns: 1, options: boost.Options{Rounds: 2}},
		{name: "two rows", rows: 2, columns: 3, options: boost.Options{Rounds: 3, MinNode: -1}},
		{name: "constant columns", rows: 60, columns: 4, options: boost.Options{Rounds: 3}, data: "constant columns"},
		{name: "constant signs", rows: 300, columns: 4, options: boost.Options{Rounds: 4}, data: "constant signs"},
		{name: "nothing gains", rows: 400, columns: 6, options: boost.Options{Rounds: 6, Depth: 3}, data: "exclusive or"},
		{name: "no tree is better than chance", rows: 40, columns: 2, options: boost.Options{Rounds: 4}, data: "balanced"},
		{name: "equal rows", rows: 900, columns: 5, options: boost.Options{Rounds: 8}, data: "equal rows"},
		{name: "gaps", rows: 1500, columns: 9, options: boost.Options{Rounds: 10, Depth: 6}, data: "gaps"},
		{name: "heavy rows", rows: 1500, columns: 9, options: boost.Options{Rounds: 12}, data: "heavy rows"},
		{name: "rows without weight", rows: 800, columns: 5, options: boost.Options{Rounds: 8}, data: "no weight"},
		{name: "several blocks", rows: 9001, columns: 20, options: boost.Options{Rounds: 6}},
	}
	for name, o := range map[string]boost.Options{
		"default":          {Rounds: 12},
		"deep":             {Rounds: 4, Depth: 8, MinNode: 1},
		"shallow":          {Rounds: 9, Depth: 1},
		"all rows":         {Rounds: 6, TrimMass: -1},
		"few rows":         {Rounds: 9, TrimMass: 0.5},
		"columns of nodes": {Rounds: 7, NodeFeatures: 7, Depth: 5},
		"favoured":         {Rounds: 7, NodeFeatures: 6, Favoured: 4},
		"columns of trees": {Rounds: 7, ColumnShare: 0.4},
		"both":             {Rounds: 7, ColumnShare: 0.5, NodeFeatures: 5, Favoured: 3},
		"rows of trees":    {Rounds: 7, RowShare: 0.6},
	} {
		cases = append(cases, growerCase{name: "adaboost, " + name, rows: 2200, columns: 37, options: ada(o)},
			growerCase{name: "logistic, " + name, rows: 2200, columns: 37, options: logistic(o)})
	}
	for bits := range 4 {
		o := boost.Options{Rounds: 6, LeafBits: bits + 1, Rate: 0.7, Ridge: 3}
		name := fmt.Sprintf("leaves of %d bits", bits+1)
		cases = append(cases, growerCase{name: name, rows: 1000, columns: 11, options: logistic(o)})
	}
	cases = append(cases, growerCase{name: "many columns", rows: 500, columns: 700, options: logistic(boost.Options{Rounds: 4})})
	slices.SortFunc(cases, func(a, b growerCase) int { return len(a.name) - len(b.name) })
	return cases
}

// TestGrower compares the trees of the device with those of the cores, and sees that they are the device's own.
func TestGrower(t *testing.T) {
	d := open(t)
	for _, c := range growerCases() {
		t.Run(c.name, func(t *testing.T) { c.compare(t, d) })
	}
	for _, note := range d.notes {
		t.Error(note)
	}
}

// compare learns two bits on a device, and on the cores of the machine.
func (c growerCase) compare(t *testing.T, device *Device) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(len(c.name)), uint64(c.rows)))
	x, z, weight := c.make(rng)
	want, err := boost.New(x, c.options, 2)
	if err != nil {
		t.Fatal(err)
	}
	got, err := boost.NewOn(t.Context(), device, x, c.options, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	for bit := range 2 {
		w := weight
		if bit == 1 {
			w = nil
		}
		wantE, err := want.Fit(t.Context(), z, w, 7, bit)
		if err != nil {
			t.Fatal(err)
		}
		e, err := got.Fit(t.Context(), z, w, 7, bit)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(e, wantE) {
			t.Fatalf("bit %d: got %+v\nwant %+v", bit, e, wantE)
		}
		for i := range z {
			if rng.IntN(5) == 0 && c.data != "constant signs" {
				z[i] = -z[i]
			}
		}
	}
}

// make makes the data of a case.
func (c growerCase) make(rng *rand.Rand) (*vectors.Columns, []int8, []float64) {
	q := vectors.Quantizer{Lo: make([]float32, c.columns), Hi: make([]float32, c.columns)}
	x := vectors.NewColumns(c.rows, q)
	z, weight := make([]int8, c.rows), make([]float64, c.rows)
	for i := range z {
		z[i] = int8(rng.IntN(2))*2 - 1
		weight[i] = 0.2 + rng.Float64()
	}
	for j := range c.columns {
		column := x.Column(j)
		for i := range column {
			column[i] = c.value(rng, i, j, z)
		}
	}
	for i := range z {
		switch c.data {
		case "constant signs":
			z[i] = 1
		case "exclusive or":
			z[i] = int8(x.Column(0)[i]/128^x.Column(1)[i]/128)*2 - 1
		case "balanced":
			z[i] = int8(i/2%2)*2 - 1
			weight[i] = 1
		case "heavy rows":
			if i%100 == 0 {
				weight[i] = 1000
			}
		case "no weight":
			if i%3 == 0 {
				weight[i] = 0
			}
		}
	}
	return x, z, weight
}

func (c growerCase) value(rng *rand.Rand, i, j int, z []int8) uint8 {
	v := 128 + 40*portable.Normal(rng)
	if j%3 == 0 {
		v += 15 * float64(z[i])
	}
	v = min(max(v, 0), 255)
	switch c.data {
	case "constant columns":
		return 9
	case "balanced":
		return uint8(i % 2 * 200)
	case "exclusive or":
		return uint8(rng.IntN(2) * 255)
	case "equal rows":
		return uint8(i % 10 * (j + 1))
	case "gaps":
		return uint8(v) / 16 * 16
	}
	return uint8(v)
}

// mixture is 10 classes of three Gaussian clouds each, like GIST vectors of pictures, and a bit of them.
func mixture(n, dim int) (*vectors.Columns, []int8) {
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
