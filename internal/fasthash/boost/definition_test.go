package boost

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// The definitions, written to be read, and the fast code held against them.

// columnsOf fills columns with bins.
func columnsOf(n, dim int, bin func(i, j int) uint8) *vectors.Columns {
	q := vectors.Quantizer{Lo: make([]float32, dim), Hi: make([]float32, dim)}
	for j := range dim {
		q.Hi[j] = vectors.Bins - 1
	}
	x := vectors.NewColumns(n, q)
	for i := range n {
		for j := range dim {
			x.Column(j)[i] = bin(i, j)
		}
	}
	return x
}

func newTrainer(t testing.TB, x *vectors.Columns, o Options, threads int) *Trainer {
	t.Helper()
	b, err := New(x, o, threads)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// row is one row as a slow learner sees it.
type row struct {
	i    int
	mass int64
	plus bool
}

func (r row) signed() int64 {
	if r.plus {
		return r.mass
	}
	return -r.mass
}

func (r row) item() item { return newItem(r.i, int32(r.signed())) }

// slowSplit tries every column, bin and polarity and counts the mistakes. Its second result is false where no
// split leaves rows on both sides.
func slowSplit(x *vectors.Columns, rows []row, columns []uint32) (feature uint32, bin uint8, ok bool) {
	least := int64(math.MaxInt64)
	for _, f := range columns {
		column := x.Column(int(f))
		for b := range vectors.Bins - 1 {
			var left int
			var mistakes [2]int64 // when the left is +1, when the left is -1, with the sign of a side chosen for itself
			var side [2][2]int64  // mass by side and sign
			for _, r := range rows {
				s, p := 0, 0
				if int(column[r.i]) > b {
					s = 1
				} else {
					left++
				}
				if r.plus {
					p = 1
				}
				side[s][p] += r.mass
			}
			if left == 0 || left == len(rows) {
				continue
			}
			for s := range side {
				mistakes[s] = min(side[s][0], side[s][1])
			}
			if e := mistakes[0] + mistakes[1]; e < least {
				least, feature, ok = e, f, true
				// The middle of the gap up to the next bin that has a row.
				next := vectors.Bins
				for _, r := range rows {
					if c := int(column[r.i]); c > b {
						next = min(next, c)
					}
				}
				bin = uint8((b + next - 1) / 2)
			}
		}
	}
	return feature, bin, ok
}

// slowTree grows a tree node by node.
type slowTree struct {
	*Trainer
	seed, id uint64
	feature  []uint32
	bin      []uint8
	leaf     []bool
}

func (s *slowTree) grow(at, depth int, rows []row) {
	sum, plus := int64(0), 0
	for _, r := range rows {
		sum += r.signed()
		if r.plus {
			plus++
		}
	}
	least := max(s.o.MinNode, 0)
	if depth < s.o.Depth && plus > least && len(rows)-plus > least {
		columns := slices.Clone(s.drawn.columns)
		k := s.o.NodeFeatures
		if k == 0 && len(columns) > 512 { // the default
			k = 200
		}
		if k > 0 && k < len(columns) {
			d := newDraws(len(s.usable))
			d.stream(s.seed, s.id+uint64(at))
			columns = make([]uint32, k)
			d.columns(s.drawn.columns, columns)
		}
		if f, b, ok := slowSplit(s.x, rows, columns); ok {
			s.feature[at], s.bin[at] = f, b
			var left, right []row
			for _, r := range rows {
				if s.x.Column(int(f))[r.i] <= b {
					left = append(left, r)
				} else {
					right = append(right, r)
				}
			}
			s.grow(2*at+1, depth+1, left)
			s.grow(2*at+2, depth+1, right)
			return
		}
	}
	below := s.o.Depth - depth
	for leaf := (at - model.Splits(depth)) << below; leaf < (at+1-model.Splits(depth))<<below; leaf++ {
		s.leaf[leaf] = sum >= 0
	}
}

// slowTrim sorts all rows and takes the shortest run that holds more than the share.
func slowTrim(rows []row, share float64) []row {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(b.mass, a.mass) })
	total := int64(0)
	for _, r := range rows {
		total += r.mass
	}
	held := int64(0)
	for k, r := range rows {
		if held += r.mass; float64(held) > share*float64(total) {
			rows = rows[:k+1]
			break
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.i, b.i) })
	return rows
}

// rowsOf are all rows with the masses that the trainer gave them.
func rowsOf(b *Trainer) []row {
	rows := make([]row, b.n)
	for i := range rows {
		rows[i] = row{i, int64(b.mass[i]), b.z[i/64]>>(i%64)&1 == 1}
	}
	return rows
}

// problem is random data of one of several kinds: few bins make ties and empty bins.
func problem(rng *rand.Rand, n, dim int) (*vectors.Columns, []int8, []float64) {
	top := []int{0, 1, 2, 7, 255}[rng.IntN(5)]
	x := columnsOf(n, dim, func(i, j int) uint8 {
		if j%5 == 4 {
			return 17 // constant
		}
		return uint8(rng.IntN(top+1) * (255 / max(top, 1)))
	})
	z := make([]int8, n)
	share := rng.Float64()
	for i := range z {
		z[i] = -1
		if rng.Float64() < share || dim > 1 && x.Column(0)[i] > x.Column(1)[i] {
			z[i] = 1
		}
	}
	weight := make([]float64, n)
	for i := range weight {
		weight[i] = float64(1 + rng.IntN(3))
		if top > 2 {
			weight[i] = math.Exp(2 * rng.NormFloat64())
		}
	}
	return x, z, weight
}

func TestSplitIsTheBestOfAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 400 {
		x, z, weight := problem(rng, 1+rng.IntN(60), 1+rng.IntN(11))
		b := newTrainer(t, x, Options{NodeFeatures: -1, TrimMass: -1}, 1)
		if err := b.setProblem(z, weight); err != nil {
			t.Fatal(err)
		}
		b.updateMasses(b.z, 1, 1)
		b.trim()
		columns := make([]uint32, x.Dim()) // constant ones too
		for i, f := range rng.Perm(x.Dim()) {
			columns[i] = uint32(f)
		}
		v := b.root
		v.items, v.columns, v.open = b.items[0][:v.hi], columns, true
		v.groups = make([]split, (len(columns)+groupColumns-1)/groupColumns)
		for group := range v.groups {
			b.fillGroup(pass{node: &v, items: v.items}, group)
		}
		v.keepBest()
		got, ok := b.finalSplit(&v)
		f, bin, wantOK := slowSplit(x, rowsOf(b), columns)
		if ok != wantOK || ok && (got.feature != f || got.bin != bin) {
			t.Fatalf("%d rows, %d columns: %+v %v, want column %d, bin %d, %v", x.Rows, x.Dim(), got, ok, f, bin, wantOK)
		}
	}
}

func TestTrimEqualsSorting(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for turn, n := range []int{1, 2, 63, 64, 64, 64, 65, 1000, trimBlock + 100} {
		for _, share := range []float64{0.01, 0.5, 0.9, 0.99, 0.999999} {
			x, z, weight := problem(rng, n, 2)
			// Half of the mass, exactly, in the first half of the rows, or in the rows of one weight.
			for i := range weight {
				switch {
				case turn == 3:
					weight[i] = 1
				case turn == 4 && i < 16:
					weight[i] = 4
				case turn == 4 && i < 48:
					weight[i] = 1
				case turn == 4:
					weight[i] = 2
				case turn == 7 && i == 9:
					weight[i] = 1e12 // beside it all others are next to nothing
				}
			}
			b := newTrainer(t, x, Options{TrimMass: share}, 2)
			if err := b.setProblem(z, weight); err != nil {
				t.Fatal(err)
			}
			grown := 1 + turn%swell // the sum of the weights, in parts of n
			b.updateMasses(b.z, float64(grown), 1)
			b.trim()
			total := int64(0)
			for _, m := range b.mass {
				if m < 1 {
					t.Fatalf("n %d: a row has the mass %d", n, m)
				}
				total += int64(m)
			}
			if total > totalMass || total < totalMass/swell*int64(grown)-2*int64(n)-2 {
				t.Fatalf("n %d: the masses add up to %d", n, total)
			}
			want := slowTrim(rowsOf(b), share)
			v := b.root
			if v.hi != len(want) {
				t.Fatalf("n %d, share %v: kept %d rows, want %d", n, share, v.hi, len(want))
			}
			sum, plus := int64(0), 0
			for k, r := range want {
				if v := b.items[0][k]; v != r.item() {
					t.Fatalf("n %d, share %v: row %d with mass %d, want %+v", n, share, v.row(), v.mass(), r)
				}
				sum += r.signed()
				if r.plus {
					plus++
				}
			}
			if v.sum != sum || v.plus != plus {
				t.Fatalf("n %d, share %v: root %+v, want mass %d, %d positive", n, share, v, sum, plus)
			}
		}
	}
}

// Histograms that are taken from the parent's must be the same as those that are counted.
func TestKeptHistogramsChangeNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for depth := 1; depth <= model.MaxDepth; depth++ {
		x, z, weight := hills(rng, 900, 9)
		o := Options{Rounds: 10, Depth: depth, NodeFeatures: -1, MinNode: 10}
		keeping, plain := newTrainer(t, x, o, 2), newTrainer(t, x, o, 2)
		plain.kept = kept{}
		flipped, constant := slices.Clone(z), slices.Repeat([]int8{1}, len(z))
		for i := range flipped {
			flipped[i] = -z[i]
		}
		for bit, z := range [][]int8{z, flipped, constant, z} { // the histograms of the root stay from bit to bit
			a, _, _ := fit(t, keeping, z, weight, 1, bit)
			b, _, _ := fit(t, plain, z, weight, 1, bit)
			if !reflect.DeepEqual(a, b) {
				t.Errorf("depth %d, bit %d: other trees", depth, bit)
			}
		}
		if share := float64(keeping.updates) / float64(plain.updates); share > 0.6 || depth > 2 && share > 0.4 {
			t.Errorf("depth %d: %d additions, and %d without histograms kept", depth, keeping.updates, plain.updates)
		}
	}
	if k, err := newKept(nil, 10, 1, 8, 1<<12); err != nil || k.root != nil {
		t.Error("histograms take more memory than they may")
	}
}

func TestColumnsAreDrawnWithoutReplacement(t *testing.T) {
	from := []uint32{3, 4, 8, 9, 11, 20, 21}
	d := newDraws(len(from))
	seen := map[uint32]int{}
	const turns = 7000
	for id := range uint64(turns) {
		d.stream(1, id)
		out := make([]uint32, 3)
		d.columns(from, out)
		if out[0] >= out[1] || out[1] >= out[2] {
			t.Fatalf("drew %v", out)
		}
		for _, f := range out {
			seen[f]++
		}
	}
	for _, f := range from {
		if n := seen[f]; n < turns*3/7*9/10 || n > turns*3/7*11/10 {
			t.Errorf("column %d drawn %d times of %d", f, n, turns)
		}
	}
}

// Every tree weight must follow from the formulas, in plain floats, given the trees.
func TestTreeWeightsFollowTheFormulas(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	x, z, weight := hills(rng, 700, 12)
	b := newTrainer(t, x, Options{Rounds: 40, Depth: 2, NodeFeatures: 3, TrimMass: 0.9}, 2)
	f, err := b.Fit(context.Background(), z, weight, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	e := f.(*model.Ensemble)
	u := slices.Clone(weight)
	var w []float64
	sum := 0.0
	for q := range e.Trees() {
		right, wrong := 0.0, 0.0
		for i := range u {
			if sayOf(e, q, x, i) == z[i] {
				right += u[i]
			} else {
				wrong += u[i]
			}
		}
		w = append(w, math.Log(right/wrong)/2)
		sum += w[q]
		for i := range u {
			u[i] *= math.Exp(-w[q] * float64(z[i]) * float64(sayOf(e, q, x, i)))
		}
	}
	if e.Trees() < 30 {
		t.Errorf("only %d trees", e.Trees())
	}
	for q := range w {
		if got, want := float64(e.Weight[q]), w[q]/sum*math.MaxInt32; math.Abs(got-want) > 1e-6*want+2 {
			t.Errorf("tree %d has weight %v, want %v", q, got, want)
		}
	}
}

func TestStep(t *testing.T) {
	for _, c := range []struct {
		vRight, vWrong  float64
		n               int
		w, right, wrong float64
	}{
		{3, 1, 4, math.Log(3) / 2, 1, 3},
		{6, 2, 4, math.Log(3) / 2, 1, 3},
		{9, 3, 4, math.Log(3) / 2, 4.0 / 18, 12.0 / 18}, // more than swell*4 together
		{1, 1, 2, 0, 1, 1},
		{1, 3, 4, 0, 1, 1},
		{100, 0, 100, math.Log(100) + math.Log(1e8), 1, 1e20},
	} {
		w, right, wrong := treeWeight(c.vRight, c.vWrong, c.n)
		for _, p := range [][2]float64{{w, c.w}, {right, c.right}, {wrong, c.wrong}} {
			if math.Abs(p[0]-p[1]) > 1e-9*p[1] {
				t.Errorf("step(%v, %v, %d) = %v %v %v, want %v %v %v", c.vRight, c.vWrong, c.n, w, right, wrong, c.w, c.right,
					c.wrong)
			}
		}
	}
}

// TestFavouredColumnsAreDrawnFirst: all of them where they are at most half of the draw, else half; the rest of the draw
// is from the others.
func TestFavouredColumnsAreDrawnFirst(t *testing.T) {
	from := []uint32{3, 4, 8, 9, 11, 20, 21}
	d := newDraws(len(from))
	for _, c := range []struct {
		first uint32
		draw  int
		want  int // of the favoured ones
	}{{20, 4, 2}, {20, 5, 2}, {11, 4, 2}, {20, 1, 0}, {3, 4, 4}, {22, 4, 0}, {8, 6, 4}} {
		d.favoured = c.first
		seen := map[uint32]bool{}
		for id := range uint64(500) {
			d.stream(1, id)
			out := make([]uint32, c.draw)
			d.columns(from, out)
			favoured := 0
			for k, f := range out {
				if seen[f] = true; k > 0 && f <= out[k-1] || !slices.Contains(from, f) {
					t.Fatalf("drew %v", out)
				}
				if f >= c.first {
					favoured++
				}
			}
			if favoured != c.want {
				t.Fatalf("%+v: drew %v", c, out)
			}
		}
		if c.draw > 1 && len(seen) != len(from) {
			t.Errorf("%+v: only the columns %v are ever drawn", c, seen)
		}
	}
}

// TestMassesOfManyRows: above 8 million rows masses had fewer than 64 units on average although there was room for more.
func TestMassesOfManyRows(t *testing.T) {
	for _, n := range []int{1, 1000, coarseRows, coarseRows + 1, 10_000_000, 30_000_000, 100_000_000, maxRows} {
		for _, share := range []float64{0.5, 1, 1.7, swell} { // of the sum of the weights in n
			sum := share * float64(n)
			scale := weightScale(n, sum)
			// Rounded up, all masses together stay below the total, whatever the weights are.
			if most := float64(scale*sum) + float64(n); most >= totalMass {
				t.Errorf("%d rows of weight %v: masses of up to %v", n, sum, most)
			}
			if n <= coarseRows { // as models have always been made
				if want := float64(totalMass-1-n) / (swell * float64(n)); scale != want {
					t.Errorf("%d rows: scale %v, want %v", n, scale, want)
				}
				continue
			}
			if mean, want := scale*share, float64(totalMass)/float64(n)-1; math.Abs(mean-want) > 0.01*want {
				t.Errorf("%d rows of weight %v: the mean mass is %v, and there is room for %v", n, sum, mean, want)
			}
		}
	}
	if coarseRows < 8_000_000 || coarseRows > 9_000_000 {
		t.Errorf("masses are coarse from %d rows on", coarseRows)
	}
}
