package model

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/numeric/portable"
	"hashgrove/internal/vectors"
)

// The maps as slow as they read.

// fma32 is a*b + c rounded once to float32: the sum is rounded to an odd float64 first, which no float32 is halfway to
// (Boldo and Melquiond, 2008).
func fma32(a, b, c float32) float32 {
	product, addend := float64(a)*float64(b), float64(c) // exact
	sum := float64(product + addend)
	back := float64(sum - product)
	lost := float64(product-float64(sum-back)) + float64(addend-back)
	if even := math.Float64bits(sum)&1 == 0; even && lost != 0 && !math.IsInf(sum, 0) {
		sum = math.Nextafter(sum, math.Copysign(math.Inf(1), lost))
	}
	return float32(sum)
}

// slowProduct is the product of two vectors as mapproduct.go defines it.
func slowProduct(x, w []float32) float64 {
	sum := 0.0
	for lo := 0; lo < len(x); lo += 512 {
		c := float32(0)
		for j := lo; j < min(lo+512, len(x)); j++ {
			c = fma32(x[j], w[j], c)
		}
		sum += float64(c)
	}
	return sum
}

// slowDistances are the squared distances of x to the anchors: both are centred, and the square is taken apart.
func slowDistances(x []float32, a vectors.Matrix) []float64 {
	var list []float64
	centre := make([]float32, a.Cols)
	for j := range centre {
		sum := 0.0
		for q := range a.Rows {
			sum += float64(a.Row(q)[j])
		}
		centre[j] = float32(sum / float64(a.Rows))
	}
	for q := range a.Rows {
		var u, v []float32
		var uu, vv float64
		for j, c := range centre {
			u, v = append(u, x[j]-c), append(v, a.Row(q)[j]-c)
			uu += float64(float64(u[j]) * float64(u[j]))
			vv += float64(float64(v[j]) * float64(v[j]))
		}
		d := uu - float64(2*slowProduct(u, v)) + vv
		if math.IsNaN(d) || math.IsInf(d, 0) {
			d = math.MaxFloat64
		}
		list = append(list, max(d, 0))
	}
	return list
}

func slowMap(m Map, x []float32) []float32 {
	var y []float32
	switch m := m.(type) {
	case *Affine:
		var t []float32
		for j, v := range x {
			if m.Mean != nil {
				v -= m.Mean[j]
			}
			if m.Scale != nil {
				v *= m.Scale[j]
			}
			t = append(t, v)
		}
		square := 0.0
		for k := range m.Out() {
			v := 0.0
			if m.Weight.Data == nil {
				v = float64(t[k])
			} else {
				v = slowProduct(t, m.Weight.Row(k))
			}
			if m.Bias != nil {
				v += float64(m.Bias[k])
			}
			y = append(y, settle(v))
			square += float64(float64(y[k]) * float64(y[k]))
		}
		if m.Unit && square > 0 {
			for k := range y {
				y[k] = float32(float64(y[k]) / math.Sqrt(square))
			}
		}
	case *Gaussian:
		if m.Nearest > 0 {
			return slowShares(m, x)
		}
		for q, d := range slowDistances(x, m.Anchors) {
			if m.Width > 0 {
				d = portable.ExpBelowZero(-d / float64(m.Width))
			}
			if m.Mean != nil {
				d -= float64(m.Mean[q])
			}
			y = append(y, settle(d))
		}
	case *ByteGaussian:
		y = slowBytes(m, x)
	case *Curves:
		for _, c := range m.Curves {
			v, i := x[c.Column], 0
			for i < len(c.X)-2 && v >= c.X[i+1] {
				i++
			}
			slope := (float64(c.Y[i+1]) - float64(c.Y[i])) / (float64(c.X[i+1]) - float64(c.X[i]))
			y = append(y, settle(float64(c.Y[i])+float64((float64(v)-float64(c.X[i]))*slope)))
		}
	case *Extension:
		y = slices.Clone(x)
		for _, inner := range m.Maps {
			x = slowMap(inner, x)
		}
		y = append(y, x...)
	case *Winner:
		y = make([]float32, len(x))
		top := slices.Max(x)
		if !m.Soft {
			y[slices.Index(x, top)] = 1
			break
		}
		sum := 0.0
		for _, v := range x {
			sum += portable.ExpBelowZero(float64(v) - float64(top))
		}
		for k, v := range x {
			y[k] = settle(portable.ExpBelowZero(float64(v)-float64(top)) / sum)
		}
	}
	return y
}

// slowShares is the anchor graph.
func slowShares(m *Gaussian, x []float32) []float32 {
	d := slowDistances(x, m.Anchors)
	order := make([]int, len(d))
	for q := range order {
		order[q] = q
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case d[a] < d[b]:
			return -1
		case d[a] > d[b]:
			return 1
		}
		return 0
	})
	y := make([]float32, len(d))
	sum := 0.0
	for _, q := range order[:m.Nearest] {
		sum += portable.ExpBelowZero((d[order[0]] - d[q]) / float64(m.Width))
	}
	for _, q := range order[:m.Nearest] {
		y[q] = float32(portable.ExpBelowZero((d[order[0]]-d[q])/float64(m.Width)) / sum)
	}
	return y
}

func randomFloats(rng *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	return v
}

func randomMatrix(rng *rand.Rand, rows, cols int) vectors.Matrix {
	return vectors.Matrix{Rows: rows, Cols: cols, Data: randomFloats(rng, rows*cols)}
}

// sampleMaps are maps of every type, of 4 to 3 values or of 4 to 4.
func sampleMaps(rng *rand.Rand) map[string]Map {
	all := map[string]Map{
		"affine":   &Affine{Weight: randomMatrix(rng, 3, 4), Mean: randomFloats(rng, 4), Scale: randomFloats(rng, 4), Bias: randomFloats(rng, 3), Unit: true},
		"weights":  &Affine{Weight: randomMatrix(rng, 3, 4)},
		"standard": &Affine{Weight: vectors.Matrix{Rows: 4, Cols: 4}, Mean: randomFloats(rng, 4), Scale: randomFloats(rng, 4)},
		"unit":     &Affine{Weight: vectors.Matrix{Rows: 4, Cols: 4}, Unit: true},
		"kernel":   &Gaussian{Anchors: randomMatrix(rng, 3, 4), Width: 4, Mean: randomFloats(rng, 3)},
		"distance": &Gaussian{Anchors: randomMatrix(rng, 3, 4)},
		"anchors":  &Gaussian{Anchors: randomMatrix(rng, 3, 4), Nearest: 2, Width: 3},
		"curves": &Curves{Cols: 4, Curves: []Curve{{0, []float32{-1, 0.5, 2}, []float32{3, -1, 4}}, {3, []float32{0, 1}, []float32{0, 1}},
			{3, []float32{-0.5, 0.1}, []float32{5, -5}}}},
		"winner": &Winner{Cols: 4},
		"shares": &Winner{Cols: 4, Soft: true},
		"extension": &Extension{Maps: []Map{&Affine{Weight: randomMatrix(rng, 2, 4), Mean: randomFloats(rng, 4), Scale: randomFloats(rng, 4),
			Bias: randomFloats(rng, 2)}}},
		"extension by several": &Extension{Maps: []Map{&Gaussian{Anchors: randomMatrix(rng, 3, 4), Width: 4}, &Affine{Weight: randomMatrix(rng, 1, 3)}}},
	}
	maps.Copy(all, byteSamples())
	return all
}

// byteSamples are kernels of bytes, of 4 to 3 values, alone and within an extension. They have random numbers of their
// own, because older samples must stay as they are.
func byteSamples() map[string]Map {
	rng := rand.New(rand.NewPCG(13, 13))
	return map[string]Map{
		"bytes":              NewByteGaussian(randomMatrix(rng, 3, 4), 4, 0.03),
		"extension by bytes": &Extension{Maps: []Map{&Affine{Weight: randomMatrix(rng, 2, 4)}, NewByteGaussian(randomMatrix(rng, 3, 2), 3, 0.1)}},
	}
}

// sampleMapped are encoders behind each of them, and behind several.
func sampleMapped(rng *rand.Rand) map[string]*Mapped {
	all := map[string]*Mapped{}
	samples := sampleMaps(rng)
	for _, name := range []string{"affine", "weights", "standard", "unit", "kernel", "distance", "anchors", "curves", "winner", "shares"} {
		m := samples[name]
		all[name] = &Mapped{Maps: []Map{m}, Encoder: randomProjection(rng, 3, m.Out(), name == "kernel")}
	}
	all["trees"] = &Mapped{Maps: []Map{samples["affine"]}, Encoder: randomTrees(rng, 3, 3, 2, 3)}
	all["linear"] = &Mapped{Maps: []Map{samples["kernel"]}, Encoder: randomHyperplanes(rng, 3, 3)}
	all["several"] = Compose(Compose(randomProjection(rng, 3, 3, false), samples["curves"]), samples["standard"], samples["shares"]).(*Mapped)
	for _, name := range []string{"extension", "extension by several"} {
		m := samples[name]
		all[name] = &Mapped{Maps: []Map{m}, Encoder: randomTrees(rng, 3, m.Out(), 2, 3)}
	}
	rng = rand.New(rand.NewPCG(14, 14))
	all["bytes"] = &Mapped{Maps: []Map{samples["bytes"]}, Encoder: randomProjection(rng, 3, 3, true)}
	all["extension by bytes"] = &Mapped{Maps: []Map{samples["extension by bytes"]}, Encoder: randomTrees(rng, 3, 7, 2, 3)}
	return all
}

// hardRows mixes ordinary values with those at which careless code goes wrong.
func hardRows(rng *rand.Rand, dim, rows int) vectors.Matrix {
	x := randomMatrix(rng, rows, dim)
	for i := range x.Data {
		if rng.IntN(6) == 0 {
			x.Data[i] = hard[rng.IntN(len(hard))]
		}
	}
	return x
}

func TestMapsFollowTheDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 8))
	for name, e := range sampleMapped(rng) {
		checkCodes(t, e, randomMatrix(rng, 70, 4))
		checkCodes(t, e, hardRows(rng, 4, 40))
		if t.Failed() {
			t.Fatal(name)
		}
	}
	// Several parts of columns, more rows than a block, and sizes that no tile divides.
	wide := []Map{
		&Affine{Weight: randomMatrix(rng, 7, 1100), Mean: randomFloats(rng, 1100)},
		&Gaussian{Anchors: randomMatrix(rng, 19, 1100), Width: 2000},
		&Gaussian{Anchors: randomMatrix(rng, 17, 1100), Nearest: 5, Width: 100},
		NewByteGaussian(randomMatrix(rng, 150, 1101), 2000, 0.03),
	}
	same := wide[2].(*Gaussian).Anchors
	for q := range 9 {
		copy(same.Row(2*q), same.Row(0)) // equally near
	}
	for _, m := range wide {
		x := randomMatrix(rng, 300, m.dim())
		y, err := Transform(context.Background(), 2, x, m)
		if err != nil {
			t.Fatal(err)
		}
		one := vectors.Matrix{Rows: 1, Cols: m.Out(), Data: make([]float32, m.Out())}
		for i := range x.Rows {
			m.apply(one, x.Slice(i, i+1))
			if !slices.Equal(one.Data, y.Row(i)) {
				t.Fatalf("%T: row %d differs alone", m, i)
			}
		}
		for _, i := range []int{0, 255, 299} {
			if want := slowMap(m, x.Row(i)); !slices.Equal(want, y.Row(i)) {
				t.Fatalf("%T: row %d is %v, want %v", m, i, y.Row(i), want)
			}
		}
	}
}

// hostileMaps are bases of a mapped model of two dimensions that no trainer leaves, and a good one.
func hostileMaps() map[string][]byte {
	with := func(kind string, innerBase []byte, maps ...[]byte) []byte {
		b := []byte{byte(len(maps))}
		for _, m := range maps {
			b = append(binary.LittleEndian.AppendUint64(b, uint64(len(m))), m...)
		}
		return append(append(append(b, byte(len(kind))), kind...), innerBase...)
	}
	one := func(m []byte) []byte { return with(kindProjection, nil, m) }
	affine := func(flags byte, in, out uint32, v ...float64) []byte {
		return join([]byte{affineTag, flags}, u32(in, out), f32(v...))
	}
	kernel := func(flags byte, in, out uint32, v ...float64) []byte {
		return join([]byte{gaussianTag, flags}, u32(in, out), f32(v...))
	}
	anchors := func(in, out, near uint32, v ...float64) []byte {
		return join([]byte{anchorGraphTag}, u32(in, out, near), f32(v...))
	}
	curve := func(cols, curves, column, knots uint32, v ...float64) []byte {
		return join([]byte{curvesTag}, u32(cols, curves, column, knots), f32(v...))
	}
	extension := func(maps ...[]byte) []byte {
		b := []byte{extensionTag, byte(len(maps))}
		for _, m := range maps {
			b = append(binary.LittleEndian.AppendUint64(b, uint64(len(m))), m...)
		}
		return b
	}
	byteGaussian := func(in, out uint32, step, width float64, anchors ...byte) []byte {
		return join([]byte{byteGaussianTag}, u32(in, out), f32(step, width), anchors)
	}
	identity := affine(0, 2, 2)
	deep := identity
	for range 1000 {
		deep = extension(deep)
	}
	nan := math.NaN()
	return map[string][]byte{
		"good":                      one(identity), // but for its fingerprint
		"none":                      {0},
		"too many":                  with(kindProjection, nil, slices.Repeat([][]byte{identity}, maxMaps+1)...),
		"length beyond the section": join([]byte{1}, u32(1<<31, 0), identity),
		"length of 2^64-1":          join([]byte{1}, u32(1<<32-1, 1<<32-1), identity),
		"unknown map":               one([]byte{99, 1, 2, 3}),
		"map of another width":      one(affine(0, 3, 3)),
		"maps that do not meet":     with(kindProjection, nil, affine(affineWeight, 2, 3, 1, 2, 3, 4, 5, 6), identity),
		"encoder cut short":         join([]byte{1}, u32(uint32(len(identity)), 0), identity, []byte{200, 'a'}),
		"mapped in mapped":          with(kindMapped, nil, identity),
		"unknown encoder":           with("magic", nil, identity),
		"wrong width behind":        one(affine(affineWeight, 2, 3, 1, 2, 3, 4, 5, 6)),
		"affine unknown flag":       one(affine(32, 2, 2)),
		"affine claims 2^48":        one(affine(affineWeight, 1<<24, 1<<24)),
		"affine not square":         one(affine(0, 2, 3)),
		"affine too short":          one(affine(affineMean, 2, 2, 1)),
		"affine weight NaN":         one(affine(affineWeight, 2, 2, 1, 1, 1, nan)),
		"kernel width NaN":          one(kernel(0, 2, 2, nan, 0, 0, 0, 0)),
		"kernel anchor NaN":         one(kernel(0, 2, 2, 1, 0, 0, nan, 0)),
		"kernel mean missing":       one(kernel(1, 2, 2, 1, 0, 0, 0, 0)),
		"kernel of 2^24 anchors":    one(kernel(0, 2, 1<<24, 1)),
		"anchors too many near":     one(anchors(2, 2, 3, 1, 0, 0, 0, 0)),
		"anchors cut short":         one(anchors(2, 2, 1)[:8]),
		"curve of no column":        one(curve(2, 1, 2, 2, 0, 1, 0, 1)),
		"curve of one knot":         one(curve(2, 1, 0, 1, 0, 1)),
		"curve falling":             one(curve(2, 1, 0, 2, 1, 0, 0, 1)),
		"curve NaN":                 one(curve(2, 1, 0, 2, 0, nan, 0, 1)),
		"curve of 2^24 knots":       one(curve(2, 2, 0, 1<<24, 0, 1, 0, 1)),
		"bytes step NaN":            one(byteGaussian(2, 2, nan, 1, 0, 0, 0, 0)),
		"bytes step tiny":           one(byteGaussian(2, 2, 1e-40, 1, 0, 0, 0, 0)),
		"bytes width NaN":           one(byteGaussian(2, 2, 1, nan, 0, 0, 0, 0)),
		"bytes width too small":     one(byteGaussian(2, 2, 1, 1e-38, 0, 0, 0, 0)),
		"bytes anchor of -128":      one(byteGaussian(2, 2, 1, 1, 0, 0, 0x80, 0)),
		"bytes cut short":           one(byteGaussian(2, 2, 1, 1, 0, 0, 0)),
		"bytes of no columns":       one(byteGaussian(0, 2, 1, 1)),
		"bytes of 2^48":             one(byteGaussian(1<<24, 1<<24, 1, 1)),
		"bytes of version 3":        one(byteGaussian(2, 2, 1, 1, 0, 0, 0, 0)),
		"bytes behind too many":     with(kindProjection, nil, affine(affineWeight, 2, maxByteCols+1, make([]float64, 2*(maxByteCols+1))...), byteGaussian(maxByteCols+1, 2, 1, 1, make([]byte, 2*(maxByteCols+1))...)),
		"winner of another width":   one(join([]byte{winnerTag, 0}, u32(3))),
		"extension by none":         one([]byte{extensionTag, 0}),
		"extension cut short":       one(extension(identity)[:9]),
		"extension of another":      one(extension(extension(identity))),
		"extension deep":            one(deep),
		"extension that parts":      one(extension(affine(affineWeight, 2, 3, 1, 2, 3, 4, 5, 6), identity)),
		"extension of version 3":    with(kindProjection, nil, extension(affine(affineWeight, 2, 1, 1, 2)), affine(affineWeight, 3, 2, 1, 2, 3, 4, 5, 6)),
	}
}

func TestMappedChecks(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 8))
	good := func() *Mapped { return sampleMapped(rng)["several"] }
	for name, spoil := range map[string]func(e *Mapped){
		"no maps":         func(e *Mapped) { e.Maps = nil },
		"a map missing":   func(e *Mapped) { e.Maps[1] = nil },
		"mapped inside":   func(e *Mapped) { e.Encoder = good() },
		"encoder's width": func(e *Mapped) { e.Encoder = randomProjection(rng, 3, 9, false) },
		"too many":        func(e *Mapped) { e.Maps = append(slices.Repeat([]Map{&Winner{Cols: 4}}, 16), e.Maps...) },
		"bad map":         func(e *Mapped) { e.Maps[1] = &Affine{Weight: vectors.Matrix{Rows: 4, Cols: 4}, Mean: []float32{1}} },
	} {
		e := good()
		if err := e.Check(); err != nil {
			t.Fatal(err)
		}
		spoil(e)
		if err := e.Check(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	defer func() {
		if p, _ := recover().(string); !strings.HasPrefix(p, "model: ") {
			t.Errorf("recovered %q", p)
		}
	}()
	apply(randomMatrix(rng, 2, 4), randomMatrix(rng, 3, 4), []Map{&Winner{Cols: 4}})
}

func TestThrough(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 8))
	maps := sampleMapped(rng)["several"].Maps
	x := randomMatrix(rng, 9000, 4) // more than a chunk
	want, err := Transform(context.Background(), 1, x, maps...)
	if err != nil {
		t.Fatal(err)
	}
	src := Through(pieces{x}, 2, maps...)
	if src.Dim() != 3 || Through(x, 1).Dim() != 4 {
		t.Errorf("%d dimensions", src.Dim())
	}
	n := 0
	for c, err := range src.Chunks(context.Background()) {
		if err != nil || c.First != n || !slices.Equal(c.X.Data, want.Slice(n, n+c.X.Rows).Data) || c.Tags[0][0] != fmt.Sprint(n) {
			t.Fatalf("chunk at %d: %v", n, err)
		}
		n += c.X.Rows
	}
	if n != x.Rows {
		t.Errorf("%d rows", n)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, err := range src.Chunks(ctx) {
		if err == nil {
			t.Error("cancelled, and rows came")
		}
	}
}
