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
	"testing"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
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

// snapshot is an index of codes with labels, which come in a given order.
func snapshot(t testing.TB, codes hamming.Codes, labels []string, order func(i int) int) *index.Snapshot {
	t.Helper()
	b := index.NewBatch(codes.Bits)
	for i := range codes.Len() {
		at := order(i)
		b.Append(index.Item{ID: index.Int(int64(at)), Code: codes.Row(at), Label: labels[at]})
	}
	x := index.New(codes.Bits, hamming.Fingerprint{}, index.Config{Tables: -1})
	if err := x.Add(ctx, b); err != nil {
		t.Fatal(err)
	}
	return x.Snapshot()
}

func inOrder(i int) int { return i }

// TestNeighboursAreTheNearest compares the distances of the neighbours with a table of all distances.
func TestNeighboursAreTheNearest(t *testing.T) {
	codes, _ := clustered(300, 70, 4, 12, 2)
	for _, detail := range []int{0, 30} {
		near, err := neighbours(ctx, codes, detail)
		if err != nil {
			t.Fatal(err)
		}
		for i, list := range near {
			distance := func(j int) int {
				return hamming.WeightedDistance(codes.Row(i), codes.Row(j), hamming.EqualWeights(codes.Bits, detail))
			}
			var all, got []int
			for j := range codes.Len() {
				all = append(all, distance(j))
			}
			for _, j := range list {
				got = append(got, distance(j))
			}
			if slices.Sort(all); !slices.Equal(got, all[1:1+neighbourCount]) || slices.Contains(list, i) {
				t.Fatalf("the neighbours of %d are at the distances %v, and the nearest at %v", i, got, all[1:1+neighbourCount])
			}
		}
	}
}

// sameLabelShare returns the share of the ten nearest points in the plane that have a point's label.
func sameLabelShare(y [][2]float64, groups []Group) (share float64) {
	for q := range 300 {
		order := make([]int, len(y))
		for i := range order {
			order[i] = i
		}
		distance := func(i int) float64 { return math.Hypot(y[i][0]-y[q][0], y[i][1]-y[q][1]) }
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(distance(a), distance(b)) })
		for _, i := range order[1:11] {
			if groups[i].Label == groups[q].Label {
				share += 0.1 / 300
			}
		}
	}
	return share
}

// TestMapsKeepNeighboursTogether judges maps by labels, compared with the places they start from.
func TestMapsKeepNeighboursTogether(t *testing.T) {
	all, labels := clustered(3000, 64, 12, 14, 4)
	s := snapshot(t, all, labels, inOrder)
	m, err := Make(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	y := make([][2]float64, len(m.X))
	for i := range y {
		y[i] = [2]float64{float64(m.X[i]), float64(m.Y[i])}
	}
	codes, groups, _, err := groupItems(s)
	if err != nil {
		t.Fatal(err)
	}
	share, alone := sameLabelShare(y, m.Groups), sameLabelShare(farPlane(codes), groups)
	if share < 0.98 || share < alone+0.2 || alone < 0.3 { // by chance it would be a twelfth
		t.Errorf("share %.3f, at the start %.3f", share, alone)
	}
}

// TestMapsAreFunctionsOfTheItems makes the same map of items that came in another order, and a sample of many.
func TestMapsAreFunctionsOfTheItems(t *testing.T) {
	codes, labels := clustered(5000, 48, 6, 9, 5)
	first, err := Make(ctx, snapshot(t, codes, labels, inOrder))
	if err != nil {
		t.Fatal(err)
	}
	second, err := Make(ctx, snapshot(t, codes, labels, func(i int) int { return (i*7 + 3) % codes.Len() }))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(first, second) {
		t.Error("the map depends on the order in which items came")
	}
	if first.All || len(first.X) != MaxPoints {
		t.Errorf("%d points, all of them: %v", len(first.X), first.All)
	}
}

func TestMapsOfFewCodes(t *testing.T) {
	for distinct := range 5 {
		codes := hamming.NewCodes(distinct*3, 16)
		for i := range codes.Len() {
			codes.Row(i)[0] = uint64(i%distinct) << 50
		}
		m, err := Make(ctx, snapshot(t, codes, make([]string, codes.Len()), inOrder))
		if err != nil {
			t.Fatal(err)
		}
		places := map[[2]uint16]bool{}
		for i, g := range m.Groups {
			if g.Items != 3 {
				t.Errorf("%d items in a group, want 3", g.Items)
			}
			places[[2]uint16{m.X[i], m.Y[i]}] = true
		}
		if len(places) != distinct || len(m.X) != distinct || len(m.Y) != distinct || !m.All {
			t.Errorf("%d codes lie at %d places: %+v", distinct, len(places), m)
		}
	}
}

func TestMapsCanBeStopped(t *testing.T) {
	codes, labels := clustered(100, 64, 8, 20, 7)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := Make(ended, snapshot(t, codes, labels, inOrder)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
