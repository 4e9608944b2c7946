package inference

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/internal/fasthash/affinity"
)

// What the words mean, slowly: everything here follows from At and from the formulas of the losses.

// lossesOfTests returns all losses: one without a definition here fails.
func lossesOfTests() (list []Loss) {
	for _, l := range Losses {
		list = append(list, l.Name)
	}
	return list
}

func slowLoss(l Loss, d, length, y int) float64 {
	x, k := float64(d), float64(length)
	switch {
	case l == KSH:
		return math.Pow(float64(y)-(k-2*x)/k, 2)
	case l == Hinge && y > 0:
		return math.Pow(x/k, 2)
	case l == Hinge:
		return math.Pow(max(0, 0.5-x/k), 2)
	}
	return math.NaN()
}

// slow is a problem with all pairs looked at.
type slow struct {
	y      affinity.Matrix
	o      Options
	codes  [][]int8 // bit by bit
	length int
	count  []int64 // of each row
}

// slowCounts is what rows count where classes are balanced: the ratio of the largest class to their own, both with ten
// rows more, in sixteenths, and in the smallest whole numbers of the same ratios.
func slowCounts(y affinity.Matrix, balanced bool) []int64 {
	count := slices.Repeat([]int64{1}, y.Len())
	if !balanced {
		return count
	}
	if p, ok := y.(*affinity.Pairs); ok {
		y = p.Classes()
	}
	size, most := make([]int, y.Len()), 0
	for i := range size {
		for j := range size {
			if i == j || y.At(i, j) > 0 {
				size[i]++
			}
		}
		most = max(most, size[i])
	}
	for i, c := range size {
		count[i] = int64(math.Round(16 * float64(most+10) / float64(c+10)))
	}
	for d := int64(16); d > 1; d /= 2 { // the largest class counts 16
		if !slices.ContainsFunc(count, func(c int64) bool { return c%d != 0 }) {
			for i := range count {
				count[i] /= d
			}
		}
	}
	return count
}

func (s slow) distance(i, j int) int {
	d := 0
	for _, c := range s.codes {
		if c[i] != c[j] {
			d++
		}
	}
	return d
}

func (s slow) factor(y int) float64 {
	if y > 0 {
		return float64(s.o.SimilarWeight)
	}
	return float64(s.o.DissimilarWeight)
}

// weight is w_ij of the next bit as an integer.
func (s slow) weight(i, j int) int64 {
	y := s.y.At(i, j)
	if y == 0 || i == j {
		return 0
	}
	d, k := s.distance(i, j), float64(s.length)
	scale := map[Loss]float64{KSH: k * k / 4, Hinge: 4 * k * k}[s.o.Loss]
	w := scale * s.factor(y) * (slowLoss(s.o.Loss, d, s.length, y) - slowLoss(s.o.Loss, d+1, s.length, y))
	if math.Abs(w-math.Round(w)) > 1e-6 {
		panic(fmt.Sprintf("weight %v is not an integer", w))
	}
	return int64(math.Round(w)) * s.count[i] * s.count[j]
}

func (s slow) matrix() [][]int64 {
	w := make([][]int64, s.y.Len())
	for i := range w {
		w[i] = make([]int64, s.y.Len())
		for j := range w[i] {
			w[i][j] = s.weight(i, j)
		}
	}
	return w
}

func energy(w [][]int64, z []int8) int64 {
	sum := int64(0)
	for i := range w {
		for j := range i {
			sum += w[i][j] * int64(z[i]) * int64(z[j])
		}
	}
	return sum
}

// smallestByTrying tries every labelling of a block. It returns the least energy, and of the best labellings what all
// have at +1.
func smallestByTrying(w [][]int64, z []int8, block []int32) (int64, []int8) {
	best, side := int64(math.MaxInt64), 0
	try := slices.Clone(z)
	for mask := range 1 << len(block) {
		for k, i := range block {
			try[i] = int8(2*(mask>>k&1) - 1)
		}
		switch e := energy(w, try); {
		case e < best:
			best, side = e, mask
		case e == best:
			side &= mask
		}
	}
	for k, i := range block {
		try[i] = int8(2*(side>>k&1) - 1)
	}
	return best, try
}

// kinds makes one affinity of every kind over about n rows.
func kinds(t testing.TB, r *rand.Rand, n int) map[string]affinity.Matrix {
	t.Helper()
	class := make([]int32, n)
	start, tag := []int{0}, []int32{}
	var pairs []affinity.Pair
	for i := range class {
		class[i] = r.Int32N(3) * 7
		set := r.Perm(6)[:r.IntN(5)]
		slices.Sort(set)
		for _, v := range set {
			tag = append(tag, int32(v*5))
		}
		start = append(start, len(tag))
		for j := range i {
			pairs = append(pairs, affinity.Pair{A: int32(i), B: int32(j), Y: int8(r.IntN(3) - 1)})
		}
	}
	pairs = append(pairs, affinity.Pair{A: 0, B: 1, Y: pairs[0].Y})
	if pairs[0].Y == 0 {
		pairs[len(pairs)-1].Y = 1
	}
	classes, err := affinity.ByClass(class)
	if err != nil {
		t.Fatal(err)
	}
	tags, err := affinity.ByTags(start, tag, 0)
	if err != nil {
		t.Fatal(err)
	}
	listed, err := affinity.FromPairs(n, pairs)
	if err != nil {
		t.Fatal(err)
	}
	sampled, err := affinity.Sample(classes, 2, 3, r.Uint64())
	if err != nil {
		t.Fatal(err)
	}
	return map[string]affinity.Matrix{"classes": classes, "tags": tags, "pairs": listed, "sampled": sampled}
}

var kindNames = []string{"classes", "tags", "pairs", "sampled"}

// grid calls f for every kind of affinity, loss, pair weights and loss length, several times.
func grid(t *testing.T, n, turns int, method Algorithm, f func(t *testing.T, r *rand.Rand, y affinity.Matrix, o Options)) {
	for _, kind := range kindNames {
		for _, loss := range lossesOfTests() {
			for _, factor := range [][2]int{{1, 1}, {3, 2}, {4, 1}} {
				for _, length := range []int{0, 90} {
					t.Run(fmt.Sprintf("%s/%s/%v/%d", kind, loss, factor, length), func(t *testing.T) {
						for turn := range turns {
							r := rand.New(rand.NewPCG(uint64(turn), 7))
							y := kinds(t, r, n)[kind]
							o := Options{Method: method, Loss: loss, Length: length, SimilarWeight: factor[0],
								DissimilarWeight: factor[1], Threads: 1 + turn%2, noMerge: turn%3 == 2}
							o.BalanceClasses = turn%2 == 1 && (kind == "classes" || kind == "sampled")
							f(t, r, y, o)
						}
					})
				}
			}
		}
	}
}

// pushSome makes an inference with p random bits pushed: some clean, so that groups stay, some noisy.
func pushSome(t testing.TB, r *rand.Rand, y affinity.Matrix, o Options, p int) (*Inference, slow) {
	t.Helper()
	inf, err := New(y, 80, o, r.Uint64())
	if err != nil {
		t.Fatal(err)
	}
	s := slow{y: y, o: inf.opt, length: o.Length, count: slowCounts(y, o.BalanceClasses)}
	if s.length == 0 {
		s.length = p + 1
	}
	for b := range p {
		h := make([]int8, y.Len())
		for i := range h {
			h[i] = int8(2*(i>>(b%4)&1) - 1)
			if b < 2 || r.IntN(4) == 0 {
				h[i] = int8(2*r.IntN(2) - 1)
			}
		}
		inf.Push(h)
		s.codes = append(s.codes, h)
	}
	return inf, s
}

// flip changes the sign of a variable.
func flip(p problem, v int) {
	p.signs()[v] *= -1
	if q, ok := p.(*grouped); ok {
		q.f.noteFlips([]int32{int32(v)})
	}
}

func rowSigns(p problem, z []int8) {
	variable, _, _ := p.rows()
	for i, v := range variable {
		z[i] = p.signs()[v]
	}
}
