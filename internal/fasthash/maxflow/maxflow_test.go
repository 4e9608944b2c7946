package maxflow

import (
	"context"
	"errors"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/internal/message"
)

// A graph as the tests see it: all capacities, and the signed excess of every node.
type graph struct {
	capacity [][]int64
	excess   []int64
}

// value is the definition of a cut: what leaves the source side for the sink side.
func (g graph) value(sink func(i int) bool) int64 {
	sum := int64(0)
	for i, e := range g.excess {
		if sink(i) {
			sum += max(e, 0)
		} else {
			sum += max(-e, 0)
			for j, c := range g.capacity[i] {
				if sink(j) {
					sum += c
				}
			}
		}
	}
	return sum
}

// smallestByTrying tries every cut and intersects the sink sides of the cheapest.
func (g graph) smallestByTrying() (best int64, sink []bool) {
	best = math.MaxInt64
	side := 0
	for mask := range 1 << len(g.excess) {
		switch v := g.value(func(i int) bool { return mask>>i&1 == 1 }); {
		case v < best:
			best, side = v, mask
		case v == best:
			side &= mask
		}
	}
	sink = make([]bool, len(g.excess))
	for i := range sink {
		sink[i] = side>>i&1 == 1
	}
	return best, sink
}

// codes is a random complete graph with few distinct values, so that ties between cuts are common.
type codes struct {
	code  []uint64
	words int
	mass  []int64
	scale int64
}

func randomCodes(r *rand.Rand, n, words, width int) codes {
	c := codes{make([]uint64, n*words), words, make([]int64, n), 1 + r.Int64N(3)}
	for i := range c.code {
		c.code[i] = r.Uint64() & (1<<width - 1)
	}
	for i := range c.mass {
		c.mass[i] = 1 + r.Int64N(3)
	}
	return c
}

func (c codes) graph(r *rand.Rand, spread int64) graph {
	n := len(c.mass)
	g := graph{make([][]int64, n), make([]int64, n)}
	for i := range n {
		g.capacity[i] = make([]int64, n)
		g.excess[i] = r.Int64N(2*spread+1) - spread
		for j := range n {
			if i == j {
				continue
			}
			d := 0
			for w := range c.words {
				d += bits.OnesCount64(c.code[i*c.words+w] ^ c.code[j*c.words+w])
			}
			g.capacity[i][j] = c.scale * c.mass[i] * c.mass[j] * int64(1+2*d)
		}
	}
	return g
}

func cutSparse(t *testing.T, s *Sparse, g graph) []bool {
	t.Helper()
	s.Start()
	for i := range g.capacity {
		for j, c := range g.capacity[i] {
			if c > 0 {
				s.Add(int32(j), c)
			}
		}
		s.Close()
	}
	sink := make([]bool, len(g.excess))
	if err := s.Cut(context.Background(), slices.Clone(g.excess), sink); err != nil {
		t.Fatal(err)
	}
	return sink
}

func cutHamming(t *testing.T, h *Hamming, c codes, g graph) []bool {
	t.Helper()
	sink := make([]bool, len(g.excess))
	if err := h.Cut(context.Background(), Coded{c.code, c.words, c.mass, c.scale}, slices.Clone(g.excess),
		sink); err != nil {
		t.Fatal(err)
	}
	return sink
}

func TestSmallGraphsAgainstAllCuts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var h Hamming // shared, so that memory left by one cut must not leak into the next
	var s Sparse
	for turn := range 2000 {
		n := r.IntN(10)
		c := randomCodes(r, n, 1+turn%2, 1+turn%4)
		g := c.graph(r, []int64{1, 5, 40, 200}[r.IntN(4)])
		_, want := g.smallestByTrying()
		if got := cutHamming(t, &h, c, g); !slices.Equal(got, want) {
			t.Fatalf("turn %d: Hamming %v, want %v of %+v", turn, got, want, g)
		}
		if got := cutSparse(t, &s, g); !slices.Equal(got, want) {
			t.Fatalf("turn %d: complete Sparse %v, want %v of %+v", turn, got, want, g)
		}
		for i := range n { // and a graph with few edges
			for j := range i {
				if r.IntN(3) > 0 {
					g.capacity[i][j], g.capacity[j][i] = 0, 0
				}
			}
		}
		_, want = g.smallestByTrying()
		if got := cutSparse(t, &s, g); !slices.Equal(got, want) {
			t.Fatalf("turn %d: Sparse %v, want %v of %+v", turn, got, want, g)
		}
	}
}

// Two algorithms find the same cuts of larger graphs.
func TestLargerGraphsAreCutAlike(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	var h Hamming
	var s Sparse
	mixed := 0
	for turn := range 4000 {
		n := 20 + r.IntN(60)
		c := randomCodes(r, n, 1+turn%3, 6)
		g := c.graph(r, int64(n)*[]int64{10, 100, 300}[turn%3])
		want := cutSparse(t, &s, g)
		if got := cutHamming(t, &h, c, g); !slices.Equal(got, want) {
			t.Fatalf("turn %d: Hamming differs", turn)
		}
		if slices.Contains(want, true) && slices.Contains(want, false) {
			mixed++
		}
	}
	if mixed < 1000 {
		t.Errorf("only %d of 4000 cuts have nodes on both sides: the test shows little", mixed)
	}
}

func TestCutStopsWhenCancelled(t *testing.T) {
	stop := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(stop)
	sink := make([]bool, 2)
	var h Hamming
	if err := h.Cut(ctx, Coded{[]uint64{1, 2}, 1, []int64{1, 1}, 1}, []int64{3, -3}, sink); !errors.Is(err, stop) {
		t.Errorf("Hamming: error %v", err)
	}
	var s Sparse
	s.Start()
	s.Add(1, 5)
	s.Close()
	s.Add(0, 5)
	s.Close()
	if err := s.Cut(ctx, []int64{3, -3}, sink); !errors.Is(err, stop) {
		t.Errorf("Sparse: error %v", err)
	}
}

// What does not fit is refused and not computed with places that wrap: more arcs than an int32 counts, and more nodes
// than two bit matrices should hold.
func TestTooLargeGraphs(t *testing.T) {
	s := Sparse{most: 3}
	s.Start()
	for g := range int32(3) { // a triangle: 6 arcs
		for h := range int32(3) {
			if h != g {
				s.Add(h, 1)
			}
		}
		s.Close()
	}
	err := s.Cut(context.Background(), make([]int64, 3), make([]bool, 3))
	if d := message.Differs(err, "too-many-pairs", "3", "6"); d != "" {
		t.Errorf("6 arcs where 3 fit: %s", d)
	}
	defer func() {
		if recover() == nil {
			t.Error("a complete graph of more than MaxNodes nodes was cut")
		}
	}()
	n := MaxNodes + 1
	g := Coded{Code: make([]uint64, n), Words: 1, Mass: make([]int64, n), Scale: 1}
	var c Hamming
	_ = c.Cut(context.Background(), g, make([]int64, n), make([]bool, n))
}
