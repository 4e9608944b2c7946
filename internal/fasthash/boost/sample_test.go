package boost

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// isDrawn is the definition of drawing a row: a number that hangs on seed, tree and row is below the share.
func isDrawn(seed, id uint64, row int, share float64) bool {
	if share == 0 || share == 1 {
		return true
	}
	v := rand.NewPCG(seed, id+511).Uint64() + uint64(row)
	v *= 0x9e3779b97f4a7c15
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return float64((v^v>>31)>>32)/(1<<32) < math.Floor(share*(1<<32))/(1<<32)
}

// A tree is the one grown node by node, of a sample that of the rows and columns in it.
func TestTreeEqualsGrowingNodeByNode(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 3))
	for turn := range 200 {
		columns := 1 + rng.IntN(20)
		if turn%25 == 0 {
			columns = 505 + rng.IntN(40) // on both sides of fewColumns
		}
		x, z, weight := problem(rng, 1+rng.IntN(300), columns)
		o := Options{Depth: 1 + turn%8, NodeFeatures: []int{-1, 0, 1, 3, 9, 200}[rng.IntN(6)], MinNode: rng.IntN(5) - 1,
			TrimMass: []float64{-1, 0.9, 0.99}[rng.IntN(3)], RowShare: []float64{0, 0.3, 0.7, 1}[rng.IntN(4)],
			ColumnShare: []float64{0, 0.01, 0.5, 1}[rng.IntN(4)]}
		b := newTrainer(t, x, o, 1+turn%3)
		if err := b.setProblem(z, weight); err != nil {
			t.Fatal(err)
		}
		for id := uint64(1 << 9); id < 4<<9; id += 1 << 9 { // histograms that are kept must not tell of other samples
			b.updateMasses(b.z, 1, 1)
			b.draw(7, id)
			b.trim()
			b.grow(7, id)

			rows := rowsOf(b)
			if b.o.TrimMass > 0 {
				rows = slowTrim(rows, b.o.TrimMass)
			}
			rows = slices.DeleteFunc(rows, func(r row) bool { return !isDrawn(7, id, r.i, o.RowShare) })
			s := slowTree{b, 7, id, make([]uint32, len(b.tree.bin)), make([]uint8, len(b.tree.bin)),
				make([]bool, 1<<b.o.Depth)}
			for i := range s.bin {
				s.bin[i] = noBin
			}
			s.grow(0, 0, rows)
			for i := range s.bin {
				if s.bin[i] != b.tree.bin[i] || s.bin[i] != noBin && s.feature[i] != b.tree.feature[i] {
					t.Fatalf("turn %d, node %d: column %d bin %d, want %d %d", turn, i, b.tree.feature[i], b.tree.bin[i],
						s.feature[i], s.bin[i])
				}
			}
			for i, plus := range s.leaf {
				if plus != (b.tree.leaf[i/64]>>(i%64)&1 == 1) {
					t.Fatalf("turn %d: leaf %d is not %v", turn, i, plus)
				}
			}
		}
	}
}

func TestShares(t *testing.T) {
	x, _, _ := problem(rand.New(rand.NewPCG(32, 3)), 2000, 40)
	b := newTrainer(t, x, Options{RowShare: 0.3, ColumnShare: 0.26}, 2)
	rows, seen := 0, map[uint32]bool{}
	const trees = 50
	for q := range uint64(trees) {
		b.draw(1, q<<9)
		for i := range x.Rows {
			rows += int(b.drawn.rows[i/64] >> (i % 64) & 1)
		}
		if len(b.drawn.columns) != int(math.Ceil(0.26*float64(len(b.usable)))) || !slices.IsSorted(b.drawn.columns) ||
			len(slices.Compact(slices.Clone(b.drawn.columns))) != len(b.drawn.columns) {
			t.Fatalf("columns %v of %d", b.drawn.columns, len(b.usable))
		}
		for _, c := range b.drawn.columns {
			seen[c] = true
		}
	}
	if share := float64(rows) / float64(trees*x.Rows); math.Abs(share-0.3) > 0.01 || len(seen) != len(b.usable) {
		t.Errorf("%v of the rows and %d of %d columns are drawn", share, len(seen), len(b.usable))
	}
}

// A sample without a row of one sign grows no split, which is no reason to end.
func TestSamplingOfFewRowsGoesOn(t *testing.T) {
	x := columnsOf(40, 2, func(i, j int) uint8 { return uint8(i * (j + 1)) })
	z := slices.Repeat([]int8{-1}, 40)
	for i := 30; i < 40; i++ {
		z[i] = 1
	}
	for _, boost := range []Algorithm{AdaBoost, Logistic} {
		o := Options{Boost: boost, Rounds: 200, RowShare: 0.1, MinNode: -1}
		if e, _, wrong := fit(t, newTrainer(t, x, o, 1), z, nil, 1, 0); wrong > 0 {
			t.Errorf("%s: error %v with %d trees", boost, wrong, e.Trees())
		}
		for i := range z {
			z[i] = 1
		}
		if e, _, wrong := fit(t, newTrainer(t, x, o, 1), z, nil, 1, 0); wrong > 0 || e.Trees() > 2 {
			t.Errorf("%s, a constant bit: error %v with %d trees", boost, wrong, e.Trees())
		}
		for i := range 30 {
			z[i] = -1
		}
	}
}
