package boost

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/internal/vectors"
)

// slowLogistic boosts row by row and node by node, with floats where the fast code has tables.
func slowLogistic(t *testing.T, b *Trainer, z []int8, weight []float64, seed, bit uint64) (value [][]int32, leaf [][]int) {
	t.Helper()
	if err := b.setProblem(z, weight); err != nil {
		t.Fatal(err)
	}
	n, most := len(z), int32(1)<<b.o.LeafBits-1
	scale := float64(math.MaxInt32-1-n) / float64(n)
	score := make([]int32, n)
	for q := range uint64(b.o.Rounds) {
		rows, curvature := make([]row, n), make([]int64, n)
		for i := range rows {
			margin := max(-topMargin, min(int(score[i])*int(z[i]), topMargin))
			p := float64(float32(1 / (1 + math.Exp(float64(margin)/scoreUnit))))
			rows[i] = row{i, max(1, int64(b.u[i]*p*scale+0.5)), z[i] == 1}
			curvature[i] = int64(b.u[i]*(p*(1-p))*scale + 0.5)
		}
		seen := rows
		if b.o.TrimMass > 0 {
			seen = slowTrim(rows, b.o.TrimMass)
		}
		s := slowTree{b, seed, bit<<32 | q<<9, make([]uint32, len(b.tree.bin)), make([]uint8, len(b.tree.bin)),
			make([]bool, 1<<b.o.Depth)}
		for i := range s.bin {
			s.bin[i] = noBin
		}
		s.grow(0, 0, seen)
		at, g, h := make([]int, n), make([]int64, len(s.leaf)), make([]int64, len(s.leaf))
		for i, r := range rows {
			node := 0
			for node < len(s.bin) {
				if s.bin[node] == noBin || b.x.Column(int(s.feature[node]))[i] <= s.bin[node] {
					node = 2*node + 1
				} else {
					node = 2*node + 2
				}
			}
			at[i] = node - len(s.bin)
			g[at[i]] += r.signed()
			h[at[i]] += curvature[i]
		}
		v := make([]int32, len(g))
		for l := range v {
			step := float64(int64(b.o.Rate*(1<<16))) / (1 << 16) * float64(g[l]) / float64(h[l]+int64(b.o.Ridge*scale))
			v[l] = int32(max(-topLeaf, min(math.Trunc(step*scoreUnit+math.Copysign(1e-9, step)), topLeaf)))
		}
		if v = nearestLevels(v, h, most); v == nil {
			continue
		}
		value, leaf = append(value, v), append(leaf, at)
		for i := range score {
			score[i] += v[at[i]]
		}
	}
	return value, leaf
}

// nearestLevels tries the units and the odd multiples of each; nil where all values are 0.
func nearestLevels(v []int32, h []int64, most int32) []int32 {
	top := slices.Max(append(slices.Clone(v), -slices.Min(v)))
	if top == 0 {
		return nil
	}
	least := math.Inf(1)
	var best []int32
	for part := int32(4); part <= 16; part++ {
		unit := max(1, int32(int64(top)*int64(part)/int64(16*most)))
		cost, levels := 0.0, make([]int32, len(v))
		for l := range v {
			sign := int32(1)
			if v[l] < 0 {
				sign = -1
			}
			for k := int32(1); k <= most; k += 2 { // of two that are equally near, the one further from 0
				if d, old := v[l]-sign*k*unit, v[l]-levels[l]; k == 1 || d*d <= old*old {
					levels[l] = sign * k * unit
				}
			}
			d := float64(v[l] - levels[l])
			cost += float64(h[l]) * (d * d)
		}
		if cost < least {
			least, best = cost, levels
		}
	}
	return best
}

func TestLogisticBoostingFollowsItsDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for turn := range 20 {
		var x *vectors.Columns
		var z []int8
		var weight []float64
		if turn%2 == 0 {
			x, z, weight = hills(rng, 30+rng.IntN(200), 3+rng.IntN(8))
		} else {
			x, z, weight = problem(rng, 2+rng.IntN(200), 1+rng.IntN(12))
		}
		o := Options{Boost: Logistic, Rounds: 8, Depth: 1 + turn%5, NodeFeatures: []int{-1, 0, 2}[turn%3],
			TrimMass: []float64{-1, 0.9, 0.99}[rng.IntN(3)], LeafBits: 1 + turn%4, Rate: []float64{0, 0.1, 1}[rng.IntN(3)],
			Ridge: []float64{0, 1e-4, 20}[rng.IntN(3)]}
		b := newTrainer(t, x, o, 1+turn%3)
		e, _, _ := fit(t, b, z, weight, 7, 3)
		value, leaf := slowLogistic(t, newTrainer(t, x, o, 1), z, weight, 7, 3)
		if len(value) == 0 {
			continue // nothing to learn: one tree says +1 to all
		}
		for q := range e.Trees() / b.o.LeafBits {
			for i := range z {
				got := int32(0)
				for digit := range b.o.LeafBits {
					k := q*b.o.LeafBits + digit
					got += e.Weight[k] * int32(sayOf(e, k, x, i))
				}
				if want := value[q][leaf[q][i]]; got != want {
					t.Fatalf("turn %d, tree %d, row %d: %d, want %d", turn, q, i, got, want)
				}
			}
		}
	}
}

// Leaves take the first of the best units: with values and curvatures as small as these, several are often equally good.
func TestLeavesTakeTheFirstOfTheBestUnits(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 9))
	x, _, _ := hills(rng, 30, 3)
	for bits := 1; bits <= 4; bits++ {
		b := newTrainer(t, x, Options{Boost: Logistic, Depth: 2, LeafBits: bits}, 1)
		for turn := range 500 {
			h, total := make([]int64, 4), make([][2]int64, 4)
			for l := range h {
				b.value[l], h[l] = rng.Int32N(200)-100, rng.Int64N(3)
				total[l][1] = h[l]
			}
			want := nearestLevels(b.value, h, int32(1)<<bits-1)
			if b.roundLeaves(total); !slices.Equal(b.value, want) {
				t.Fatalf("%d bits, turn %d: %v, want %v", bits, turn, b.value, want)
			}
		}
	}
}

// A leaf whose rows were all sure of the wrong sign has next to no curvature: its step is bounded.
func TestStepsOfLeavesAreBounded(t *testing.T) {
	for _, c := range []struct {
		g, h, rate int64
		want       int32
	}{
		{3, 2, 1 << 15, scoreUnit * 3 / 4}, {-3, 2, 1 << 15, -scoreUnit * 3 / 4}, {7, 0, 1 << 16, 0},
		{1 << 30, 1, 1 << 16, topLeaf}, {-1 << 30, 1, 1 << 16, -topLeaf}, {17, 2, 1 << 16, topLeaf},
	} {
		if got := newtonStep(c.g, c.h, c.rate); got != c.want {
			t.Errorf("gradient %d, curvature %d, rate %d: %d, want %d", c.g, c.h, c.rate, got, c.want)
		}
	}
}
