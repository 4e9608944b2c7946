package vectors

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSampleOfRows: the rows of the sample are decided by their numbers alone, whatever the chunks are, and are the most
// that there is room for.
func TestSampleOfRows(t *testing.T) {
	for _, n := range []int{1, 255, 4096, 4097, 10000, 50000} {
		var s rowSample
		for row := 0; row < n; {
			first, size := row, min(1+row%777, n-row)
			m := Matrix{Rows: size, Cols: 1}
			for range size {
				m.Data = append(m.Data, float32(row))
				row++
			}
			s.add(m, first)
		}
		of := func(level int) (want []float32) {
			for row := range n {
				if trailingZeros(row) >= level {
					want = append(want, float32(row))
				}
			}
			return want
		}
		if want := of(s.level); !slices.Equal(s.x.Data, want) || len(want) > sampleMost || s.x.Rows != len(want) {
			t.Errorf("%d rows: %d in the sample of level %d, want %d", n, s.x.Rows, s.level, len(want))
		}
		if s.level > 0 && len(of(s.level-1)) <= sampleMost {
			t.Errorf("%d rows: level %d leaves %d, and %d would have had room", n, s.level, s.x.Rows, len(of(s.level-1)))
		}
	}
	// Classes often take turns: a sample at even distances would miss most of them.
	seen := map[int]int{}
	for row := range 100000 {
		if trailingZeros(row) >= 5 {
			seen[row%10]++
		}
	}
	for class := range 10 {
		if seen[class] < 200 || seen[class] > 450 { // 312 on average
			t.Errorf("class %d has %d rows in the sample", class, seen[class])
		}
	}
}

// slowBin is the definition of a bin with edges of its own or missing values.
func slowBin(q Quantizer, x float32) int {
	first := 0
	if q.Missing {
		first = 1
	}
	switch {
	case x != x:
		return 0
	case q.Edges == nil:
		return max(first, int(Quantizer{Lo: q.Lo, Hi: q.Hi}.Scale(0).Bin(x)))
	}
	for _, e := range q.Edges[0] {
		if x >= e {
			first++
		}
	}
	return first
}

func TestBinsFollowTheDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for edges := range 256 {
		q := Quantizer{Lo: []float32{-1}, Hi: []float32{2}, Missing: rng.IntN(2) == 0}
		if edges > q.MaxEdges() {
			edges = q.MaxEdges()
		}
		for len(q.Edges) == 0 && edges > 0 {
			list := make([]float32, edges)
			for i := range list {
				list[i] = float32(math.Sinh(5 * rng.NormFloat64()))
			}
			if rng.IntN(3) == 0 {
				list[0] = float32(math.Copysign(0, -1))
			}
			slices.Sort(list)
			if list = slices.Compact(list); len(list) == edges {
				q.Edges = [][]float32{list}
			}
		}
		if err := q.Check(); err != nil {
			t.Fatal(err)
		}
		s := q.Scale(0)
		many := s.Searcher()
		for range 200 {
			x := float32(math.Sinh(5 * rng.NormFloat64()))
			if edges > 0 && rng.IntN(2) == 0 {
				x = q.Edges[0][rng.IntN(edges)]
			}
			if got := int(s.Bin(x)); got != slowBin(q, x) {
				t.Fatalf("%d edges, missing %v: %v is in bin %d, want %d", edges, q.Missing, x, got, slowBin(q, x))
			}
			for _, v := range []float32{x, -x, 0, float32(math.Copysign(0, -1)), math.MaxFloat32, -math.MaxFloat32,
				float32(math.NaN())} {
				if many.Bin(v) != s.Bin(v) {
					t.Fatalf("%d edges, missing %v: %v is in bin %d among many, and in %d alone", edges, q.Missing, v,
						many.Bin(v), s.Bin(v))
				}
			}
			for _, b := range []uint8{0, 1, uint8(rng.IntN(256)), s.Bin(x), 254, 255} {
				if (s.Bin(x) <= b) != (x < s.Edge(b)) {
					t.Fatalf("%d edges, missing %v: %v is in bin %d, and the edge of bin %d is %v",
						edges, q.Missing, x, s.Bin(x), b, s.Edge(b))
				}
			}
		}
		if q.Missing && (s.Bin(float32(math.NaN())) != 0 || s.Bin(-math.MaxFloat32) == 0) {
			t.Errorf("%d edges: a missing value and a small one share a bin", edges)
		}
	}
}

func TestQuantileEdges(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct {
		name        string
		value       func() float64
		bins        int
		least, most int // values of a bin, of 10,000; those of one value may be more
		number      int // of bins at least
	}{
		{"normal", rng.NormFloat64, 256, 30, 50, 250},
		{"heavy tail", func() float64 { return math.Exp(3 * rng.NormFloat64()) }, 255, 30, 50, 250},
		{"half zeros", func() float64 { return max(0, rng.NormFloat64()) }, 256, 15, 30, 240},
		{"few values", func() float64 { return float64(rng.IntN(256)) }, 256, 1, 10000, 256},
		{"two values", func() float64 { return float64(rng.IntN(2)) }, 256, 1, 10000, 2},
	} {
		values := make([]float32, 10000)
		for i := range values {
			values[i] = float32(c.value())
		}
		slices.Sort(values)
		q := Quantizer{Lo: []float32{0}, Hi: []float32{1}, Edges: [][]float32{quantileEdges(values, c.bins)}}
		if err := q.Check(); err != nil {
			t.Fatal(err)
		}
		counts, kinds := make([]int, 256), make([]int, 256)
		for i, v := range values {
			b := slowBin(q, v)
			if counts[b]++; i == 0 || v != values[i-1] {
				kinds[b]++
			}
		}
		for b, n := range counts[:len(q.Edges[0])] { // the last is what is left over
			if n < c.least && kinds[b] > 1 || n > c.most && kinds[b] > 1 {
				t.Errorf("%s: bin %d has %d values", c.name, b, n)
			}
		}
		if n := len(q.Edges[0]) + 1; n < c.number || n > c.bins {
			t.Errorf("%s: %d bins, want %d to %d", c.name, n, c.number, c.bins)
		}
	}
}

// TestHybridBins: one far value used to leave all others in one bin; columns that are well without stay as they were.
func TestHybridBins(t *testing.T) {
	const linear, clipped, edged = "linear", "clipped", "edged"
	rng := rand.New(rand.NewPCG(7, 8))
	far := func(share float64, value float64) func() float64 {
		return func() float64 {
			if rng.Float64() < share {
				return value
			}
			return rng.NormFloat64()
		}
	}
	for _, c := range []struct {
		name  string
		value func() float64
		last  float64 // value of the last row
		want  string
	}{
		{"even", rng.Float64, 0.5, linear},
		{"normal", rng.NormFloat64, 0, linear},
		{"exponential", rng.ExpFloat64, 1, linear},
		{"mostly zeros", func() float64 { return max(0, rng.NormFloat64()-2) }, 0, linear},
		{"two values", func() float64 { return float64(rng.IntN(2)) }, 1, linear},
		{"two values and a far one", func() float64 { return float64(rng.IntN(2)) }, 1e6, clipped},
		{"digits", func() float64 { return float64(rng.IntN(17)) }, 99999, clipped},
		{"one far value", rng.NormFloat64, 1e9, clipped},
		{"the farthest value", rng.NormFloat64, math.MaxFloat32, clipped},
		{"1 % far values", far(0.01, -1e5), 0, clipped},
		{"30 % of -999", far(0.3, -999), 0, edged},
		{"log-normal", func() float64 { return math.Exp(3 * rng.NormFloat64()) }, 1, edged},
		{"one value", func() float64 { return 7 }, 7, linear},
	} {
		m := Matrix{Rows: 3000, Cols: 2}
		for range m.Rows {
			m.Data = append(m.Data, float32(c.value()), rng.Float32())
		}
		m.Row(m.Rows - 1)[0] = float32(c.last)
		r := NewRanges(2)
		r.Add(m)
		plain, err := r.QuantizerBy(Linear)
		if err != nil {
			t.Fatal(err)
		}
		q, err := r.QuantizerBy(Hybrid)
		if err != nil {
			t.Fatal(err)
		}
		got := linear
		if q.Edges != nil && q.Edges[0] != nil {
			got = edged
		} else if q.Lo[0] != plain.Lo[0] || q.Hi[0] != plain.Hi[0] {
			got = clipped
		}
		if got != c.want {
			t.Errorf("%s: bins are %s, want %s; %v to %v", c.name, got, c.want, q.Lo[0], q.Hi[0])
		}
		if q.Lo[1] != plain.Lo[1] || q.Hi[1] != plain.Hi[1] || q.Edges != nil && q.Edges[1] != nil {
			t.Errorf("%s: the other column changed", c.name)
		}
	}
}

// TestMissingHasItsBin: numbers keep clear of the bin of missing values, however the columns are cut.
func TestMissingHasItsBin(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	m := Matrix{Rows: 2000, Cols: 5}
	for range m.Rows {
		v := rng.NormFloat64()
		m.Data = append(m.Data, float32(v), float32(rng.IntN(256)), float32(math.Exp(4*v)), 5, float32(math.NaN()))
	}
	for i := range m.Rows {
		if j := rng.IntN(10); j < 4 {
			m.Row(i)[j] = float32(math.NaN())
		}
	}
	for _, how := range []Binning{"", Hybrid, Quantile, Linear} {
		r := NewRanges(m.Cols)
		r.Missing = make([]int, m.Cols)
		r.Add(m)
		if !slices.Equal(r.Constant(), []int{4}) {
			t.Errorf("the constant columns are %v", r.Constant())
		}
		q, err := r.QuantizerBy(how)
		if err != nil {
			t.Fatal(err)
		}
		least, most := uint8(255), uint8(0)
		for i := range m.Rows {
			for j, v := range m.Row(i) {
				b := q.Scale(j).Bin(v)
				if (b == 0) != (v != v) {
					t.Fatalf("%q: %v of column %d is in bin %d", how, v, j, b)
				}
				if j == 0 && b > 0 {
					least, most = min(least, b), max(most, b)
				}
			}
		}
		if least != 1 || most < 250 {
			t.Errorf("%q: numbers have the bins %d to %d", how, least, most)
		}
	}
}

func TestUnknownBins(t *testing.T) {
	r := NewRanges(1)
	r.Add(Matrix{Rows: 1, Cols: 1, Data: []float32{1}})
	if _, err := r.QuantizerBy("cubic"); err == nil {
		t.Error("bins of an unknown kind")
	}
	for _, q := range []Quantizer{
		{Lo: []float32{0}, Hi: []float32{1}, Edges: [][]float32{{}}},
		{Lo: []float32{0}, Hi: []float32{1}, Edges: [][]float32{{2, 1}}},
		{Lo: []float32{0}, Hi: []float32{1}, Edges: [][]float32{{1, 1}}},
		{Lo: []float32{0}, Hi: []float32{1}, Edges: [][]float32{{float32(math.NaN())}}},
		{Lo: []float32{0}, Hi: []float32{1}, Edges: [][]float32{{float32(math.Inf(1))}}},
		{Lo: []float32{0}, Hi: []float32{1}, Edges: [][]float32{nil, nil}},
		{Lo: []float32{0}, Hi: []float32{1}, Missing: true, Edges: [][]float32{make([]float32, 255)}},
	} {
		if q.Check() == nil {
			t.Errorf("%+v passes", q)
		}
	}
}
