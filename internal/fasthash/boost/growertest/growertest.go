// Package growertest is what all growers of package boost have in common: the same trees, to the last bit.
package growertest

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

// Case is a problem that growers must agree on.
type Case struct {
	Name    string
	Rows    int
	Columns int
	Options boost.Options
	Data    string // "" is a mixture; others are special cases of columns, signs or weights
	Bits    int    // learned one after the other; 0 means 2
}

// Cases returns problems with all options of package boost, and data that are easy to get wrong.
func Cases() []Case {
	ada := func(o boost.Options) boost.Options { o.Boost = boost.AdaBoost; return o }
	logistic := func(o boost.Options) boost.Options { o.Boost = boost.Logistic; return o }
	cases := []Case{
		{Name: "one row", Rows: 1, Columns: 1, Options: boost.Options{Rounds: 2}},
		{Name: "two rows", Rows: 2, Columns: 3, Options: boost.Options{Rounds: 3, MinNode: -1}},
		{Name: "constant columns", Rows: 60, Columns: 4, Options: boost.Options{Rounds: 3}, Data: "constant columns"},
		{Name: "constant signs", Rows: 300, Columns: 4, Options: boost.Options{Rounds: 4}, Data: "constant signs"},
		{Name: "nothing gains", Rows: 400, Columns: 6, Options: boost.Options{Rounds: 6, Depth: 3}, Data: "exclusive or"},
		{Name: "no tree is better than chance", Rows: 40, Columns: 2, Options: boost.Options{Rounds: 4}, Data: "balanced"},
		{Name: "equal rows", Rows: 900, Columns: 5, Options: boost.Options{Rounds: 8}, Data: "equal rows"},
		{Name: "gaps", Rows: 1500, Columns: 9, Options: boost.Options{Rounds: 10, Depth: 6}, Data: "gaps"},
		{Name: "heavy rows", Rows: 1500, Columns: 9, Options: boost.Options{Rounds: 12}, Data: "heavy rows"},
		{Name: "rows without weight", Rows: 800, Columns: 5, Options: boost.Options{Rounds: 8}, Data: "no weight"},
		{Name: "several blocks", Rows: 9001, Columns: 20, Options: boost.Options{Rounds: 6}},
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
		cases = append(cases, Case{Name: "adaboost, " + name, Rows: 2200, Columns: 37, Options: ada(o)},
			Case{Name: "logistic, " + name, Rows: 2200, Columns: 37, Options: logistic(o)})
	}
	for bits := range 4 {
		o := boost.Options{Rounds: 6, LeafBits: bits + 1, Rate: 0.7, Ridge: 3}
		name := fmt.Sprintf("leaves of %d bits", bits+1)
		cases = append(cases, Case{Name: name, Rows: 1000, Columns: 11, Options: logistic(o)})
	}
	cases = append(cases, Case{Name: "many columns", Rows: 500, Columns: 700, Options: logistic(boost.Options{Rounds: 4})})
	slices.SortFunc(cases, func(a, b Case) int { return len(a.Name) - len(b.Name) })
	return cases
}

// Run learns the bits of all cases on a device, and on the cores of the machine, and compares.
func Run(t *testing.T, device boost.Device) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) { RunCase(t, device, c) })
	}
}

// RunCase compares one case.
func RunCase(t *testing.T, device boost.Device, c Case) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(len(c.Name)), uint64(c.Rows)))
	x, z, weight := c.make(rng)
	want, err := boost.New(x, c.Options, 2)
	if err != nil {
		t.Fatal(err)
	}
	got, err := boost.NewOn(t.Context(), device, x, c.Options, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	for bit := range max(c.Bits, 2) {
		w := weight
		if bit == 1 {
			w = nil
		}
		wantE, wantOut, wantMiss, err := want.Fit(t.Context(), z, w, 7, bit)
		if err != nil {
			t.Fatal(err)
		}
		wantOut = slices.Clone(wantOut)
		e, out, miss, err := got.Fit(t.Context(), z, w, 7, bit)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(e, wantE) {
			t.Fatalf("bit %d: got %+v\nwant %+v", bit, e, wantE)
		}
		if !slices.Equal(out, wantOut) || miss != wantMiss {
			t.Fatalf("bit %d: other outputs; %v are wrong, want %v", bit, miss, wantMiss)
		}
		for i := range z {
			if rng.IntN(5) == 0 && c.Data != "constant signs" {
				z[i] = -z[i]
			}
		}
	}
}

// make makes the data of a case.
func (c Case) make(rng *rand.Rand) (*vectors.Columns, []int8, []float64) {
	q := vectors.Quantizer{Lo: make([]float32, c.Columns), Hi: make([]float32, c.Columns)}
	x := vectors.NewColumns(c.Rows, q)
	z, weight := make([]int8, c.Rows), make([]float64, c.Rows)
	for i := range z {
		z[i] = int8(rng.IntN(2))*2 - 1
		weight[i] = 0.2 + rng.Float64()
	}
	for j := range c.Columns {
		column := x.Column(j)
		for i := range column {
			column[i] = c.value(rng, i, j, z)
		}
	}
	for i := range z {
		switch c.Data {
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

func (c Case) value(rng *rand.Rand, i, j int, z []int8) uint8 {
	v := 128 + 40*portable.Normal(rng)
	if j%3 == 0 {
		v += 15 * float64(z[i])
	}
	v = min(max(v, 0), 255)
	switch c.Data {
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
