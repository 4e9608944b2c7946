package atlas

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/testkit/needs"
)

var ctx = context.Background()

// clustered returns n codes around some centres; the label of a code is the number of its centre.
func clustered(n, bits, centres, flips int, seed uint64) (hamming.Codes, []string) {
	rng := rand.New(rand.NewPCG(seed, 1))
	middle := hamming.NewCodes(centres, bits)
	for i := range centres {
		for b := range bits {
			middle.SetBit(i, b, rng.IntN(2) == 1)
		}
	}
	codes, labels := hamming.NewCodes(n, bits), make([]string, n)
	for i := range n {
		c := rng.IntN(centres)
		labels[i] = fmt.Sprint(c)
		copy(codes.Row(i), middle.Row(c))
		for range rng.IntN(flips + 1) {
			b := rng.IntN(bits)
			codes.SetBit(i, b, !codes.Bit(i, b))
		}
	}
	return codes, labels
}

// snapshot is an index of codes with labels.
func snapshot(t testing.TB, codes hamming.Codes, labels []string) *index.Snapshot {
	t.Helper()
	b := index.NewBatch(codes.Bits)
	for i := range codes.Len() {
		it := index.Item{ID: index.Int(int64(i)), Code: codes.Row(i)}
		if labels != nil {
			it.Label = labels[i]
		}
		b.Append(it)
	}
	x := index.New(codes.Bits, hamming.Fingerprint{}, index.Config{Tables: -1})
	if err := x.Add(ctx, b); err != nil {
		t.Fatal(err)
	}
	return x.Snapshot()
}

// TestNearestCodesEqualTheDefinition sorts all codes by distance and position.
func TestNearestCodesEqualTheDefinition(t *testing.T) {
	all, labels := clustered(2500, 70, 5, 12, 1)
	codes, _, _ := snapshot(t, all, labels).Groups(MaxPoints)
	n := codes.Len()
	for _, detail := range []int{0, 30} {
		got := make([][]neighbour, n)
		f := func(i int, near []neighbour) { got[i] = near }
		if err := nearestCodes(ctx, codes, detail, 2, func(float64) {}, f); err != nil {
			t.Fatal(err)
		}
		weights := hamming.EqualWeights(codes.Bits, detail)
		for i := range n {
			var want []neighbour
			for j := range n {
				distance := hamming.Distance(codes.Row(i), codes.Row(j))
				if detail > 0 {
					distance = hamming.WeightedDistance(codes.Row(i), codes.Row(j), weights)
				}
				if j != i {
					want = append(want, neighbour{int32(j), distance})
				}
			}
			slices.SortStableFunc(want, func(a, b neighbour) int { return cmp.Compare(a.distance, b.distance) })
			if !slices.Equal(got[i], want[:neighbourCount]) {
				t.Fatalf("code %d with %d bits of detail: %v, want %v", i, detail, got[i], want[:neighbourCount])
			}
		}
	}
}

// TestGraphEqualsTheDefinition computes w = p + p' - p p' from a table of all p.
func TestGraphEqualsTheDefinition(t *testing.T) {
	all, _ := clustered(300, 32, 4, 6, 2)
	codes, _, _ := snapshot(t, all, nil).Groups(MaxPoints)
	n := codes.Len()
	p := make([][]float64, n)
	var mu sync.Mutex
	err := nearestCodes(ctx, codes, 0, 2, func(float64) {}, func(i int, near []neighbour) {
		row := make([]float64, n)
		for r, m := range memberships(near) {
			row[near[r].code] = float64(m)
		}
		mu.Lock()
		defer mu.Unlock()
		p[i] = row
	})
	if err != nil {
		t.Fatal(err)
	}
	g, err := neighbourGraph(ctx, codes, 0, 2, func(float64) {})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		row := make([]float64, n)
		for e := g.start[i]; e < g.start[i+1]; e++ {
			if row[g.to[e]] != 0 {
				t.Fatalf("code %d is tied to %d twice", i, g.to[e])
			}
			row[g.to[e]] = float64(g.weight[e])
		}
		for j := range n {
			if want := p[i][j] + p[j][i] - p[i][j]*p[j][i]; math.Abs(row[j]-want) > 1e-5 {
				t.Fatalf("weight of %d and %d: %v, want %v", i, j, row[j], want)
			}
		}
	}
}

// sameLabelShare returns the share of the ten nearest points in the plane that have a point's label.
func sameLabelShare(x, y func(i int) float64, groups []index.Group) float64 {
	n, sum, asked := len(groups), 0.0, 0
	for q := 0; q < n; q += max(n/300, 1) {
		order := make([]int, 0, n)
		for i := range n {
			if i != q {
				order = append(order, i)
			}
		}
		distance := func(i int) float64 { return math.Hypot(x(i)-x(q), y(i)-y(q)) }
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(distance(a), distance(b)) })
		for _, i := range order[:10] {
			if groups[i].Label == groups[q].Label {
				sum += 0.1
			}
		}
		asked++
	}
	return sum / float64(asked)
}

// TestMapsKeepNeighboursTogether judges maps by labels, compared with principal components alone.
func TestMapsKeepNeighboursTogether(t *testing.T) {
	needs.Check(t, "the race detector makes seconds of it half a minute")
	all, labels := clustered(3000, 64, 12, 14, 4)
	s := snapshot(t, all, labels)
	m, err := Make(ctx, s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	share := sameLabelShare(func(i int) float64 { return float64(m.X[i]) },
		func(i int) float64 { return float64(m.Y[i]) }, m.Groups)
	codes, groups, _ := s.Groups(MaxPoints)
	plane, err := principalPlane(ctx, codes, 0)
	if err != nil {
		t.Fatal(err)
	}
	alone := sameLabelShare(func(i int) float64 { return float64(plane[2*i]) },
		func(i int) float64 { return float64(plane[2*i+1]) }, groups)
	if share < 0.98 || share < alone+0.2 || alone < 0.3 { // by chance it would be a twelfth
		t.Errorf("share %.3f, of principal components %.3f", share, alone)
	}
}

// TestMapsAreFunctionsOfTheItems makes the same map with other threads, and from items added in another way.
func TestMapsAreFunctionsOfTheItems(t *testing.T) {
	codes, labels := clustered(2000, 48, 6, 9, 5)
	first, err := Make(ctx, snapshot(t, codes, labels), Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	second, err := Make(ctx, snapshot(t, codes, labels), Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(first, second) {
		t.Error("two threads make another map than one")
	}
	x := index.New(48, hamming.Fingerprint{}, index.Config{})
	for i := range codes.Len() { // one by one, in segments
		b := index.NewBatch(48)
		at := (i*7 + 3) % codes.Len()
		b.Append(index.Item{ID: index.Int(int64(at)), Code: codes.Row(at), Label: labels[at]})
		if err := x.Add(ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	third, err := Make(ctx, x.Snapshot(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(first, third) {
		t.Error("the map depends on the order in which items came")
	}
}

func TestMapsOfFewCodes(t *testing.T) {
	for distinct := range 5 {
		for _, copies := range []int{1, 300} {
			codes := hamming.NewCodes(distinct*copies, 16)
			for i := range codes.Len() {
				codes.Row(i)[0] = uint64(i%distinct) << 50
			}
			m, err := Make(ctx, snapshot(t, codes, nil), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(m.Groups) != distinct || len(m.X) != distinct || len(m.Y) != distinct || !m.All {
				t.Fatalf("%d codes: %+v", distinct, m)
			}
			places := map[[2]uint16]bool{}
			for i, g := range m.Groups {
				if g.Items != copies {
					t.Errorf("%d items in a group, want %d", g.Items, copies)
				}
				places[[2]uint16{m.X[i], m.Y[i]}] = true
			}
			if len(places) != distinct {
				t.Errorf("%d codes lie at %d places: %v %v", distinct, len(places), m.X, m.Y)
			}
		}
	}
}

// TestMapsCanBeStopped: work stops when the context ends, at any stage.
func TestMapsCanBeStopped(t *testing.T) {
	codes, labels := clustered(20_000, 64, 8, 20, 7)
	s := snapshot(t, codes, labels)
	for _, at := range []float64{0, 0.1, 0.5} {
		ctx, cancel := context.WithCancel(ctx)
		stopped, more := false, 0
		_, err := Make(ctx, s, Options{Progress: func(share float64) {
			if stopped {
				more++
			} else if share >= at {
				cancel()
				stopped = true
			}
		}})
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("stopped at %v: %v", at, err)
		}
		if more > 1 {
			t.Errorf("stopped at %v: %d more steps were made", at, more)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := Make(ended, snapshot(t, hamming.NewCodes(0, 8), nil), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("of nothing: %v", err)
	}
}
