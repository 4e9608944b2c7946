package affinity

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/message"
)

func countByLooking(m Matrix) (similar, dissimilar int64) {
	for i := range m.Len() {
		for j := range i {
			switch m.At(i, j) {
			case 1:
				similar++
			case -1:
				dissimilar++
			}
		}
	}
	return similar, dissimilar
}

func randomClasses(t *testing.T, r *rand.Rand, n int) *Classes {
	t.Helper()
	class := make([]int32, n)
	for i := range class {
		class[i] = r.Int32N(4) * 1_000_000
	}
	c, err := ByClass(class)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		for j := range n {
			want := -1
			if class[i] == class[j] {
				want = 1
			}
			if i == j {
				want = 0
			}
			if c.At(i, j) != want {
				t.Fatalf("classes %d and %d: %d", class[i], class[j], c.At(i, j))
			}
		}
	}
	return c
}

func randomTags(t *testing.T, r *rand.Rand, n, minShared int) *Tags {
	t.Helper()
	start, tag := []int{0}, []int32{}
	for range n {
		for v := range int32(6) {
			if r.IntN(3) == 0 {
				tag = append(tag, v*1_000_000)
			}
		}
		start = append(start, len(tag))
	}
	m, err := ByTags(start, tag, minShared)
	if err != nil {
		t.Fatal(err)
	}
	if minShared == 0 {
		minShared = 2
	}
	for i := range n {
		for j := range n {
			shared := 0
			for _, v := range m.row(i) {
				if slices.Contains(m.row(j), v) {
					shared++
				}
			}
			want := -1
			if shared >= minShared {
				want = 1
			}
			if i == j {
				want = 0
			}
			if m.At(i, j) != want {
				t.Fatalf("tags %v and %v: %d", m.row(i), m.row(j), m.At(i, j))
			}
		}
	}
	return m
}

// matrices makes one matrix of every kind.
func matrices(t *testing.T, r *rand.Rand, n int) []Matrix {
	t.Helper()
	classes := randomClasses(t, r, n)
	var list []Pair
	for range 3 * n {
		i, j := r.IntN(n), r.IntN(n)
		if y := classes.At(i, j); y != 0 {
			list = append(list, Pair{int32(i), int32(j), int8(y * r.IntN(2))})
		}
	}
	list = append(list, Pair{0, 1, int8(classes.At(0, 1))}, Pair{1, 0, int8(classes.At(0, 1))})
	pairs, err := FromPairs(n, list)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		for j := range n {
			want := 0
			for _, p := range list {
				if p.Y != 0 && (int(p.A) == i && int(p.B) == j || int(p.A) == j && int(p.B) == i) {
					want = int(p.Y)
				}
			}
			if pairs.At(i, j) != want {
				t.Fatalf("pair %d, %d: %d, want %d", i, j, pairs.At(i, j), want)
			}
		}
	}
	return []Matrix{classes, randomTags(t, r, n, 0), randomTags(t, r, n, 1), randomTags(t, r, n, 3), pairs}
}

func TestCounts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		for _, m := range matrices(t, r, 30) {
			s, d := m.Counts()
			if ws, wd := countByLooking(m); s != ws || d != wd {
				t.Errorf("%T: %d and %d pairs, want %d and %d", m, s, d, ws, wd)
			}
		}
	}
}

func TestUnitsAreAlike(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 20 {
		m := randomTags(t, r, 40, 2)
		similar := m.SimilarUnits()
		rows := 0
		for u := range int32(m.Units()) {
			rows += len(m.Rows(u))
			near := slices.Clone(similar(u))
			if !slices.IsSorted(near) || !slices.Contains(near, u) {
				t.Fatalf("unit %d has the similar units %v", u, near)
			}
			for _, i := range m.Rows(u) {
				if m.RowUnits()[i] != u {
					t.Fatalf("row %d is in two units", i)
				}
				for j := range m.Len() {
					if j != int(i) && (m.At(int(i), j) > 0) != slices.Contains(near, m.RowUnits()[j]) {
						t.Fatalf("rows %d and %d, units %d and %d", i, j, u, m.RowUnits()[j])
					}
				}
			}
		}
		if rows != m.Len() {
			t.Fatalf("%d rows in units", rows)
		}
	}
}

func TestSample(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for turn := range 20 {
		for _, m := range matrices(t, r, 40) {
			const similar, dissimilar = 3, 4
			p, err := Sample(m, similar, dissimilar, uint64(turn))
			if err != nil {
				t.Fatal(err)
			}
			for i := range m.Len() {
				near, far := 0, 0
				for j := range m.Len() {
					if y := p.At(i, j); y != 0 && y != m.At(i, j) || y != p.At(j, i) {
						t.Fatalf("%T: sampled %d, %d is %d", m, i, j, y)
					}
					switch m.At(i, j) {
					case 1:
						near++
					case -1:
						far++
					}
				}
				if len(p.Similar(i)) < min(near, similar) || len(p.Dissimilar(i)) < min(far, dissimilar) {
					t.Fatalf("%T: row %d has %d similar and %d dissimilar rows", m, i, len(p.Similar(i)), len(p.Dissimilar(i)))
				}
			}
			s, d := p.Counts()
			if s > similar*40 || d > dissimilar*40 {
				t.Fatalf("%T: %d and %d pairs", m, s, d)
			}
			again, err := Sample(m, similar, dissimilar, uint64(turn))
			if err != nil || !slices.Equal(again.similar.to, p.similar.to) ||
				!slices.Equal(again.dissimilar.to, p.dissimilar.to) {
				t.Fatalf("%T: the same seed gives other pairs; error %v", m, err)
			}
			c, isClasses := m.(*Classes)
			if isClasses && p.Classes() != c || !isClasses && p.Classes() != nil {
				t.Errorf("%T: classes %v", m, p.Classes())
			}
		}
	}
}

// Every row is drawn about equally often, whatever way the rows are drawn.
func TestSampleIsUniform(t *testing.T) {
	class := make([]int32, 60)
	for i := range class {
		class[i] = int32(i / 20)
	}
	c, err := ByClass(class)
	if err != nil {
		t.Fatal(err)
	}
	for _, dissimilar := range []int{5, 30} { // drawn by trying, and from a list
		times := make([]int, 60)
		const turns = 1000
		for seed := range uint64(turns) {
			p, err := Sample(c, 5, dissimilar, seed)
			if err != nil {
				t.Fatal(err)
			}
			for _, j := range p.Similar(0) {
				times[j]++
			}
			for _, j := range p.Dissimilar(0) {
				times[j]++
			}
		}
		for j, k := range times[1:] {
			// Chosen by row 0 or by row j, independently.
			a := float64(5) / 19
			if j+1 >= 20 {
				a = float64(dissimilar) / 40
			}
			want := turns * (1 - (1-a)*(1-a))
			if float64(k) < want-90 || float64(k) > want+90 {
				t.Errorf("%d dissimilar rows: row %d came %d times, expected %.0f", dissimilar, j+1, k, want)
			}
		}
	}
}

func TestErrors(t *testing.T) {
	_, class := ByClass([]int32{3, 1, -1})
	_, none := ByClass(nil)
	_, order := ByTags([]int{0, 2, 4}, []int32{1, 2, 5, 5}, 2)
	_, shared := ByTags([]int{0, 1}, []int32{1}, -1)
	_, empty := ByTags([]int{0}, nil, 1)
	_, self := FromPairs(3, []Pair{{0, 1, 1}, {2, 2, 1}})
	_, far := FromPairs(3, []Pair{{0, 1, 1}, {0, 1, 1}, {0, 3, -1}})
	_, value := FromPairs(3, []Pair{{0, 1, 2}})
	_, clash := FromPairs(3, []Pair{{0, 1, 1}, {0, 2, -1}, {1, 0, 1}, {1, 0, -1}})
	_, unknown := FromPairs(3, []Pair{{0, 1, 0}})
	ok, _ := ByClass([]int32{1, 2})
	_, draw := Sample(ok, 0, 0, 1)
	_, nobody := Sample(ok, 5, 0, 1)
	for _, c := range []struct {
		err   error
		code  message.Code
		facts string
	}{
		{class, "no-label", "2"},
		{none, "no-rows", ""},
		{order, "wrong-order", "1"},
		{shared, "bad-number", "-1"},
		{empty, "no-rows", ""},
		{self, "row-twice", "1 2"},
		{far, "no-such-row", "2 0 3"},
		{value, "unknown-verdict", "0 2"},
		{clash, "contradiction", "3 2 0 1"},
		{unknown, "no-pairs", ""},
		{draw, "bad-number", ""},
		{nobody, "no-pairs", ""},
	} {
		if d := message.Differs(c.err, c.code, strings.Fields(c.facts)...); d != "" {
			t.Error(d)
		}
	}
}
