package server

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// snapshotOf is an index of items, which come in a given order.
func snapshotOf(t *testing.T, items *index.Batch, order func(i int) int) *index.Snapshot {
	t.Helper()
	b, x := index.NewBatch(items.Codes.Bits), index.New(items.Codes.Bits, hamming.Fingerprint{}, index.Config{})
	for i := range items.IDs {
		b.Append(items.Item(order(i)))
	}
	if err := x.Add(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	return x.Snapshot()
}

// TestNeighboursAreTheNearest compares the distances of the neighbours with a table of all distances.
func TestNeighboursAreTheNearest(t *testing.T) {
	codes := clusters(0, 300, 70, 12, "a", "b", "c", "d").Codes
	for _, detail := range []int{0, 30} {
		near, err := neighbours(t.Context(), codes, detail)
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

// TestMapsKeepNeighboursTogether judges positions by the share of the ten nearest ones with the same label, compared
// with the places they start from.
func TestMapsKeepNeighboursTogether(t *testing.T) {
	items := clusters(0, 2000, 64, 30, "a", "b", "c", "d", "e", "f", "g", "h", "i", "j")
	y, err := layOut(t.Context(), items.Codes, 0)
	if err != nil {
		t.Fatal(err)
	}
	shareOf := func(y [][2]float64) (share float64) {
		for q := range 300 {
			order := make([]int, len(y))
			for i := range order {
				order[i] = i
			}
			distance := func(i int) float64 { return math.Hypot(y[i][0]-y[q][0], y[i][1]-y[q][1]) }
			slices.SortFunc(order, func(a, b int) int { return cmp.Compare(distance(a), distance(b)) })
			for _, i := range order[1:11] {
				if items.Labels[i] == items.Labels[q] {
					share += 0.1 / 300
				}
			}
		}
		return share
	}
	if share, start := shareOf(y), shareOf(farPlane(items.Codes)); share < 0.9 || share < start+0.2 || start < 0.3 {
		t.Errorf("share %.3f, at the start %.3f", share, start) // by chance it would be a tenth
	}
}

// TestMapsAreFunctionsOfTheItems takes the same points from items that came in another order, and a sample of many.
func TestMapsAreFunctionsOfTheItems(t *testing.T) {
	items := clusters(0, 5000, 48, 9, "a", "b", "c", "d", "e", "f")
	first, all, err := pointsOf(snapshotOf(t, items, func(i int) int { return i }))
	if err != nil || all || len(first) != mostPoints {
		t.Errorf("%d points, all of them: %v, %v", len(first), all, err)
	}
	second, _, err := pointsOf(snapshotOf(t, items, func(i int) int { return (i*7 + 3) % 5000 }))
	if err != nil || !reflect.DeepEqual(first, second) {
		t.Errorf("the points depend on the order in which items came, %v", err)
	}
}

func TestMapsOfFewCodes(t *testing.T) {
	for distinct := range 5 {
		items := index.NewBatch(16)
		for i := range distinct * 3 {
			items.Append(index.Item{ID: index.Int(int64(i)), Code: []uint64{uint64(i%distinct) << 50}})
		}
		points, all, err := pointsOf(snapshotOf(t, items, func(i int) int { return i }))
		if err != nil {
			t.Fatal(err)
		}
		codes := hamming.NewCodes(0, 16)
		for _, p := range points {
			codes.Data = append(codes.Data, p.code...)
			if p.items != 3 {
				t.Errorf("%d items in a point, want 3", p.items)
			}
		}
		y, err := layOut(t.Context(), codes, 0)
		if err != nil {
			t.Fatal(err)
		}
		places := map[uint32]bool{}
		for xy := range slices.Chunk(packed(y), 4) {
			places[binary.LittleEndian.Uint32(xy)] = true
		}
		if len(places) != distinct || len(y) != distinct || !all {
			t.Errorf("%d codes lie at %d places: %v", distinct, len(places), y)
		}
	}
}

func TestMapsCanBeStopped(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := layOut(ended, clusters(0, 100, 64, 20, "a").Codes, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
