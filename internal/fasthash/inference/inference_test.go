package inference

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/hamming"
	"hashgrove/internal/message"
)

var ctx = context.Background()

// rowBlocks tells the rows of each block.
func rowBlocks(p problem) [][]int32 {
	q, ok := p.(*grouped)
	if !ok {
		return p.(*listed).sets
	}
	var blocks [][]int32
	for _, units := range q.sets {
		var rows []int32
		for _, u := range units {
			rows = append(rows, q.order()[q.from[u]:q.from[u+1]]...)
		}
		blocks = append(blocks, rows)
	}
	return blocks
}

func TestBlocksAreSolvedAsIfByTrying(t *testing.T) {
	mixed := 0
	grid(t, 11, 8, BlockGC, func(t *testing.T, r *rand.Rand, y affinity.Matrix, o Options) {
		inf, s := pushSome(t, r, y, o, []int{0, 1, 3, 9, 66}[r.IntN(5)])
		w, p := s.matrix(), inf.p
		p.setWeights(inf.weights(1))
		if err := p.reset(ctx); err != nil {
			t.Fatal(err)
		}
		blocks := rowBlocks(p)
		z := make([]int8, y.Len())
		for range 3 * len(blocks) {
			for v := range p.signs() { // somewhere else than where the sweeps would lead
				if r.IntN(6) == 0 {
					flip(p, v)
				}
			}
			b := r.IntN(len(blocks))
			rowSigns(p, z)
			_, want := smallestByTrying(w, z, blocks[b])
			moved, err := p.solve(ctx, b)
			if err != nil {
				t.Fatal(err)
			}
			if moved == slices.Equal(z, want) {
				t.Errorf("block %v: moved is %v", blocks[b], moved)
			}
			rowSigns(p, z)
			if !slices.Equal(z, want) {
				t.Fatalf("block %v: got %v with energy %d, want %v with %d", blocks[b], z, energy(w, z), want, energy(w, want))
			}
			inside := 0
			for _, i := range blocks[b] {
				if z[i] > 0 {
					inside++
				}
			}
			if inside > 0 && inside < len(blocks[b]) {
				mixed++
			}
		}
	})
	if mixed < 700 {
		t.Errorf("only %d blocks have both signs: the test shows little", mixed)
	}
}

func TestProductsAndRowWeights(t *testing.T) {
	grid(t, 60, 2, Spectral, func(t *testing.T, r *rand.Rand, y affinity.Matrix, o Options) {
		inf, s := pushSome(t, r, y, o, []int{0, 2, 70}[r.IntN(3)])
		w, p := s.matrix(), inf.p
		x, prod := make([]float64, len(p.mass())), make([]float64, len(p.mass()))
		for i := range x {
			x[i] = r.Float64() - 0.5
		}
		if err := p.product(ctx, inf.weights(1), x, prod); err != nil {
			t.Fatal(err)
		}
		rows, got, weights := make([]float64, y.Len()), make([]float64, y.Len()), make([]float64, y.Len())
		variable, _, _ := p.rows()
		for i, v := range variable {
			rows[i], got[i] = x[v], prod[v]
		}
		if err := inf.RowWeights(ctx, weights); err != nil {
			t.Fatal(err)
		}
		total := 0.0
		for i := range w {
			for j := range w {
				total += math.Abs(float64(w[i][j]))
			}
		}
		for i := range w {
			want, abs := 0.0, 0.0
			for j := range w {
				want += float64(w[i][j]) * rows[j]
				abs += math.Abs(float64(w[i][j]))
			}
			if math.Abs(got[i]*float64(s.count[i])-want) > 1e-9*(abs+1) {
				t.Fatalf("row %d: product %v, want %v", i, got[i], want)
			}
			if want := abs / total * float64(len(w)); math.Abs(weights[i]-want) > 1e-12*(want+1) {
				t.Fatalf("row %d: weight %v, want %v", i, weights[i], want)
			}
		}
	})
}

func TestObjectiveIsTheMeanLoss(t *testing.T) {
	grid(t, 70, 2, BlockGC, func(t *testing.T, r *rand.Rand, y affinity.Matrix, o Options) {
		p := []int{1, 2, 9, 66}[r.IntN(4)]
		inf, s := pushSome(t, r, y, o, p)
		if o.Length == 0 {
			s.length = p
		}
		sum, count := 0.0, 0.0
		for i := range y.Len() {
			for j := range i {
				if v := y.At(i, j); v != 0 {
					factor := s.factor(v) * float64(s.count[i]*s.count[j])
					sum += factor * slowLoss(o.Loss, s.distance(i, j), s.length, v)
					count += factor
				}
			}
		}
		got, err := inf.Objective(ctx)
		if err != nil || math.Abs(got-sum/count) > 1e-12 {
			t.Fatalf("objective %v, want %v; error %v", got, sum/count, err)
		}
	})
}

func TestICMFollowsItsDefinition(t *testing.T) {
	grid(t, 25, 2, ICM, func(t *testing.T, r *rand.Rand, y affinity.Matrix, o Options) {
		inf, s := pushSome(t, r, y, o, []int{0, 3, 65}[r.IntN(3)])
		w := s.matrix()
		want := make([]int8, y.Len())
		for i := range want {
			want[i] = 1
		}
		rng := rand.New(rand.NewPCG(inf.seed, stream|uint64(inf.done+1)))
		for range 2 {
			for _, v := range rng.Perm(len(want)) {
				i := int32(v)
				if q, ok := inf.p.(*grouped); ok {
					i = q.order()[v]
				}
				f := int64(0)
				for j := range want {
					f += w[i][j] * int64(want[j])
				}
				want[i] = -1
				if f < 0 {
					want[i] = 1
				}
			}
		}
		if got, err := inf.Infer(ctx); err != nil || !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v; error %v", got, want, err)
		}
	})
}

// train feeds back z with noise, as a hash function would, and returns all z in sequence.
func train(t testing.TB, y affinity.Matrix, bits int, o Options, noise float64) ([]int8, *Inference) {
	t.Helper()
	inf, err := New(y, bits, o, 5)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 3))
	var all []int8
	for range bits {
		z, err := inf.Infer(ctx)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, z...)
		h := slices.Clone(z)
		for i := range h {
			if r.Float64() < noise {
				h[i] = -h[i]
			}
		}
		inf.Push(h)
	}
	return all, inf
}

func TestResultIsTheSameForAnyThreadsAndMerging(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	large, small := kinds(t, r, 530), kinds(t, r, 60)
	for _, kind := range kindNames {
		for _, loss := range lossesOfTests() {
			for _, method := range []Algorithm{BlockGC, ICM, Spectral} {
				y, bits := large[kind], 2
				if method == Spectral { // slow
					y = small[kind]
				}
				o := Options{Method: method, Loss: loss, SimilarWeight: 3, Threads: 1}
				want, _ := train(t, y, bits, o, 0.1)
				o.Threads = 2
				two, _ := train(t, y, bits, o, 0.1)
				o.Threads = 7
				seven, _ := train(t, y, bits, o, 0.1)
				if !slices.Equal(want, two) || !slices.Equal(want, seven) {
					t.Errorf("%s %s %s: the result depends on threads", kind, loss, method)
				}
				o.noMerge = true
				if got, _ := train(t, y, bits, o, 0.1); method == BlockGC && !slices.Equal(want, got) {
					t.Errorf("%s %s: the result depends on merging", kind, loss)
				}
			}
		}
	}
}

func TestListsAreFoundAgainWhenTooLong(t *testing.T) {
	y := kinds(t, rand.New(rand.NewPCG(5, 5)), 80)["tags"].(*affinity.Tags)
	for _, o := range []Options{{}, {SimilarWeight: 3}, {Loss: Hinge}, {Method: ICM}, {Method: Spectral}} {
		stored, s := pushSome(t, rand.New(rand.NewPCG(1, 1)), y, o, 5)
		found, _ := pushSome(t, rand.New(rand.NewPCG(1, 1)), y, o, 5)
		found.p.(*grouped).near = newNeighbours(y, 2, 100)
		if found.p.(*grouped).near.list != nil || stored.p.(*grouped).near.list == nil {
			t.Fatal("the lists are not where the test wants them")
		}
		a, err := stored.Infer(ctx)
		if err != nil {
			t.Fatal(err)
		}
		b, err := found.Infer(ctx)
		if err != nil || !slices.Equal(a, b) {
			t.Errorf("%+v: the result depends on storing lists; error %v", s.o, err)
		}
		va, _ := stored.Objective(ctx)
		if vb, err := found.Objective(ctx); err != nil || va != vb {
			t.Errorf("%+v: objective %v or %v; error %v", s.o, va, vb, err)
		}
	}
}

// The relaxation is loose, but not by much on so few rows.
func TestSpectralIsNearTheBest(t *testing.T) {
	got, best := 0.0, 0.0
	grid(t, 11, 2, Spectral, func(t *testing.T, r *rand.Rand, y affinity.Matrix, o Options) {
		inf, s := pushSome(t, r, y, o, 3)
		w := s.matrix()
		z, err := inf.Infer(ctx)
		if err != nil {
			t.Fatal(err)
		}
		all := make([]int32, y.Len())
		for i := range all {
			all[i] = int32(i)
		}
		least, _ := smallestByTrying(w, z, all[1:]) // z and -z are the same
		got += float64(energy(w, z)) / math.Abs(float64(least))
		best--
	})
	if got > 0.9*best {
		t.Errorf("mean energy %v of the best", got/best)
	}
}

func TestBlocksHaveNoDissimilarPair(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for range 20 {
		for kind, y := range kinds(t, r, 40) {
			seen := make([]bool, y.Len())
			inf, err := New(y, 1, Options{}, r.Uint64())
			if err != nil {
				t.Fatal(err)
			}
			for _, block := range rowBlocks(inf.p) {
				for k, i := range block {
					seen[i] = true
					for _, j := range block[:k] {
						if i == j || y.At(int(i), int(j)) < 0 {
							t.Fatalf("%s: rows %d and %d in one block", kind, i, j)
						}
					}
				}
			}
			if slices.Contains(seen, false) {
				t.Fatalf("%s: some row is in no block", kind)
			}
		}
	}
}

func TestErrors(t *testing.T) {
	y := kinds(t, rand.New(rand.NewPCG(2, 2)), 10)["classes"]
	one, _ := affinity.ByClass([]int32{1})
	type mistake struct {
		y    affinity.Matrix
		bits int
		o    Options
		code message.Code
		fact string
	}
	mistakes := []mistake{
		{y, 8, Options{Method: "magic"}, "unknown-method", `"magic"`},
		{y, 8, Options{Loss: "exp"}, "unknown-loss", `"exp"`},
		{y, 8, Options{Sweeps: -1}, "bad-sweeps", "-1"},
		{y, 8, Options{SimilarWeight: -2}, "bad-weights", "-2"},
		{y, 0, Options{}, "bad-bits", " 0 "},
		{y, hamming.MaxBits + 1, Options{}, "bad-bits", strconv.Itoa(hamming.MaxBits + 1)},
		{y, 8, Options{Length: 4}, "bad-length", "4"},
		{one, 8, Options{}, "too-few", ""},
	}
	const great = 1 << (strconv.IntSize - 14)
	if strconv.IntSize == 64 { // weights of 32 bits are never too great for ten rows
		mistakes = append(mistakes, mistake{y, 8, Options{SimilarWeight: 4 * great}, "too-large", "2^62"},
			mistake{y, 8, Options{SimilarWeight: great, Loss: Hinge}, "too-large", "2^62"})
	}
	for _, c := range mistakes {
		_, err := New(c.y, c.bits, c.o, 1)
		if d := message.Differs(err, c.code, c.fact); d != "" {
			t.Errorf("%+v: %s", c.o, d)
		}
	}
	if _, err := New(y, 8, Options{SimilarWeight: great}, 1); err != nil {
		t.Error(err)
	}
	inf, err := New(y, 1, Options{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := inf.Objective(ctx); err == nil {
		t.Error("an objective without bits")
	}
	inf.Push([]int8{1, 1, 1, 1, 1, -1, -1, -1, -1, -1})
	if _, err := inf.Infer(ctx); err == nil {
		t.Error("one bit too many")
	}
}

func TestInferStopsWhenCancelled(t *testing.T) {
	stop := errors.New("enough")
	gone, cancel := context.WithCancelCause(ctx)
	cancel(stop)
	all := kinds(t, rand.New(rand.NewPCG(1, 2)), 30)
	for _, kind := range kindNames {
		for _, method := range []Algorithm{BlockGC, ICM, Spectral} {
			inf, err := New(all[kind], 4, Options{Method: method}, 1)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := inf.Infer(gone); !errors.Is(err, stop) {
				t.Errorf("%s %s: error %v", kind, method, err)
			}
		}
	}
}

// Weights are the other kind's share, rounded, and never 0.
func TestBalanced(t *testing.T) {
	for _, c := range []struct {
		name  string
		class []int32
		want  [2]int // of similar and dissimilar pairs
	}{
		{"one similar pair of six", []int32{1, 1, 2, 3}, [2]int{5, 1}},
		{"three similar pairs of six", []int32{1, 1, 1, 2}, [2]int{1, 1}},
		{"six similar pairs of ten", []int32{1, 1, 1, 1, 2}, [2]int{1, 2}}, // 1.5 is rounded up
		{"no similar pair", []int32{1, 2, 3}, [2]int{1, 1}},
		{"no dissimilar pair", []int32{1, 1, 1}, [2]int{1, 1}},
	} {
		y, err := affinity.ByClass(c.class)
		if err != nil {
			t.Fatal(err)
		}
		o := Options{Sweeps: 3, SimilarWeight: 7}.Balanced(y)
		if got := [2]int{o.SimilarWeight, o.DissimilarWeight}; got != c.want || o.Sweeps != 3 {
			t.Errorf("%s: %v instead of %v", c.name, got, c.want)
		}
	}
}

// order is the rows, unit by unit.
func (q *grouped) order() []int32 {
	rows, next := make([]int32, len(q.unit)), slices.Clone(q.from)
	for i, u := range q.unit {
		rows[next[u]] = int32(i)
		next[u]++
	}
	return rows
}

// TestOwnLoss: the hinge, said as a loss of somebody else, gives the same bits, and a loss that rises is refused.
func TestOwnLoss(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	class := make([]int32, 60)
	for i := range class {
		class[i] = int32(rng.IntN(4))
	}
	y, err := affinity.ByClass(class)
	if err != nil {
		t.Fatal(err)
	}
	infer := func(o Options) (bits []int8) {
		p, err := New(y, 6, o, 1)
		if err != nil {
			t.Fatal(err)
		}
		for range 6 {
			z, err := p.Infer(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			bits = append(bits, z...)
			p.Push(z)
		}
		return bits
	}
	hinge := func(d, k int) int64 { return int64(max(0, k-2*d) * max(0, k-2*d)) }
	if !slices.Equal(infer(Options{Loss: Hinge}), infer(Options{Own: Own(hinge)})) {
		t.Error("the hinge as a loss of one's own gives other bits")
	}
	for name, cost := range map[string]func(d, k int) int64{
		"rises": func(d, _ int) int64 { return int64(d) }, "falls deep": func(d, k int) int64 { return int64(-5 * k * k * d) },
	} {
		if _, err := New(y, 4, Options{Own: Own(cost)}, 1); !message.Is(err, "bad-loss") {
			t.Errorf("a loss that %s: %v", name, err)
		}
	}
}

// Sums of pair weights stay below 2^62, whatever factor happens to be 4.
func TestWeightsThatOverflowAreRefused(t *testing.T) {
	const great = 1 << (strconv.IntSize - 15) // 2^49 where int has 64 bits, and no matter where it has 32
	for _, c := range []struct {
		name string
		n    int
		bits int
		o    Options
		ok   bool
	}{
		{"2^61", 1 << 25, 1024, Options{Loss: KSH, SimilarWeight: 1, DissimilarWeight: 1}, true},
		{"2^63 by a weight of 4", 1 << 25, 1024, Options{Loss: KSH, SimilarWeight: 4, DissimilarWeight: 1}, false},
		{"2^63 by the hinge", 1 << 25, 1024, Options{Loss: Hinge, SimilarWeight: 1, DissimilarWeight: 1}, false},
		{"2^63 with 2 bits", 1 << 30, 2, Options{Loss: KSH, SimilarWeight: 2, DissimilarWeight: 1}, false},
		{"2^61 with 2 bits", 1 << 29, 2, Options{Loss: KSH, SimilarWeight: 2, DissimilarWeight: 1}, true},
		{"4 rows", 4, 1024, Options{Loss: KSH, SimilarWeight: great, DissimilarWeight: 1}, strconv.IntSize == 32},
	} {
		if err := c.o.check(c.n, c.bits); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// A block with more undecided groups than a cut takes is minimised in parts: its energy never rises, every part is at
// its minimum after its turn, and the number of parts is told. With room for all groups it is one exact cut.
func TestLargeBlocksAreCutInParts(t *testing.T) {
	inParts, exact, worse := 0, 0, 0
	for _, kind := range []string{"classes", "tags"} {
		for turn := range 200 {
			r := rand.New(rand.NewPCG(uint64(turn), 8))
			y := kinds(t, r, 14)[kind]
			inf, s := pushSome(t, r, y, Options{SimilarWeight: 3}, 5)
			w, q := s.matrix(), inf.p.(*grouped)
			q.setWeights(inf.weights(1))
			if err := q.reset(ctx); err != nil {
				t.Fatal(err)
			}
			for v := range q.z {
				if r.IntN(2) == 0 {
					flip(q, v)
				}
			}
			q.cut.most = 1 + r.IntN(3)
			z := make([]int8, y.Len())
			for b, block := range rowBlocks(q) {
				rowSigns(q, z)
				before := energy(w, z)
				best, _ := smallestByTrying(w, z, block)
				q.parts.Store(0)
				if _, err := q.solve(ctx, b); err != nil {
					t.Fatal(err)
				}
				rowSigns(q, z)
				after := energy(w, z)
				switch {
				case after > before:
					t.Fatalf("%s, block %v: the energy rose from %d to %d", kind, block, before, after)
				case inf.Parts() == 0 && after != best:
					t.Fatalf("%s, block %v: energy %d instead of %d, but no parts are told", kind, block, after, best)
				case inf.Parts() == 0:
					exact++
				default:
					inParts++
				}
				if after > best {
					worse++
				}
			}
		}
	}
	if inParts < 50 || exact < 50 || worse == 0 {
		t.Errorf("%d blocks in parts, %d whole, %d above their minimum: the test shows little", inParts, exact, worse)
	}
}

// Fields of any bit, also where rows of a group differ, are sums over pairs.
func TestFieldsOfAnyBit(t *testing.T) {
	grid(t, 30, 2, BlockGC, func(t *testing.T, r *rand.Rand, y affinity.Matrix, o Options) {
		inf, s := pushSome(t, r, y, o, []int{0, 2, 5}[r.IntN(3)])
		w := s.matrix()
		h, got := make([]int8, y.Len()), make([]float64, y.Len())
		for i := range h {
			h[i] = int8(2*r.IntN(2) - 1)
		}
		if err := inf.Fields(ctx, h, got); err != nil {
			t.Fatal(err)
		}
		for i := range w {
			want := int64(0)
			for j := range w {
				want += w[i][j] * int64(h[j])
			}
			if math.Abs(got[i]-float64(want)) > 1e-6 {
				t.Fatalf("row %d: field %v, want %d", i, got[i], want)
			}
		}
	})
}

func TestBalanceNeedsClasses(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for _, kind := range []string{"tags", "pairs"} {
		_, err := New(kinds(t, r, 20)[kind], 8, Options{BalanceClasses: true}, 1)
		if !message.Is(err, "no-classes") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// A tally is the sum of its groups one by one, however many there are, and of every mass.
func TestTallyIsTheSumOneByOne(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	var counted tally
	for turn := range 400 {
		words := r.IntN(4)
		unit, by := 1+r.Int64N(20), r.Int64N(5)-2
		var want, got sums[int64]
		want.reset(64 * words)
		got.reset(64 * words)
		counted.begin(&got, by, unit)
		for range []int{0, 1, 7, 8, 9, 300, 1000}[turn%7] {
			code := make([]uint64, words)
			for w := range code {
				code[w] = r.Uint64() | r.Uint64()<<r.IntN(64) // some bits in nearly all codes
				if turn%3 == 0 {
					code[w] |= 1 << 40 // and one in all: no count may overflow
				}
			}
			mass := unit
			if turn%2 > 0 {
				mass *= 1 + r.Int64N(12)
			}
			want.add(code, by*mass)
			counted.add(code, mass)
		}
		counted.end()
		if got.s != want.s || !slices.Equal(got.set, want.set) {
			t.Fatalf("turn %d: %+v, want %+v", turn, got, want)
		}
	}
}
