package eval

import (
	"cmp"
	"math/rand/v2"
	"testing"

	"hashgrove/internal/fasthash/affinity"
)

func TestTagsShareEnough(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	rows := func(n int) (start []int, tag []int32) {
		start = []int{0}
		for range n {
			for _, k := range rng.Perm(9)[:rng.IntN(9)] {
				tag = append(tag, int32(k))
			}
			start = append(start, len(tag))
		}
		return start, tag
	}
	for trial := range 50 {
		qs, qt := rows(1 + rng.IntN(6))
		bs, bt := rows(1 + rng.IntN(20))
		minShared := trial % 4
		truth := byTags(qs, qt, bs, bt, minShared)
		mark := make([]uint8, truth.Base)
		for q := range truth.Queries {
			truth.Mark(q, mark)
			for i := range mark {
				shared := 0
				for tag := range int32(9) {
					has := func(row []int32) bool {
						for _, v := range row {
							if v == tag {
								return true
							}
						}
						return false
					}
					if has(qt[qs[q]:qs[q+1]]) && has(bt[bs[i]:bs[i+1]]) {
						shared++
					}
				}
				if want := shared >= cmp.Or(minShared, affinity.DefaultShared); (mark[i] == Relevant) != want || mark[i] == Ignored {
					t.Fatalf("trial %d: query %d, item %d share %d of %d tags, marked %d", trial, q, i, shared, minShared, mark[i])
				}
			}
		}
	}
}

func TestManySharedTags(t *testing.T) {
	var tag []int32
	for i := range int32(400) {
		tag = append(tag, i)
	}
	truth := byTags([]int{0, 400, 654}, append(tag, tag[:254]...), []int{0, 400}, tag, 255)
	mark := make([]uint8, 1)
	for q, want := range []uint8{Relevant, Irrelevant} {
		if truth.Mark(q, mark); mark[0] != want {
			t.Errorf("query %d is marked %d", q, mark[0])
		}
	}
}

func TestPairsIgnoreTheRest(t *testing.T) {
	truth := byPairs(2, 4, []affinity.Pair{{A: 1, B: 0, Y: 1}, {A: 1, B: 2, Y: 1}, {A: 1, B: 2, Y: -1}, {A: 0, B: 3, Y: 1}, {A: 0, B: 2, Y: 0}})
	mark := make([]uint8, 4)
	for q, want := range [][4]uint8{{Ignored, Ignored, Ignored, Relevant}, {Relevant, Ignored, Irrelevant, Ignored}} {
		if truth.Mark(q, mark); [4]uint8(mark) != want {
			t.Errorf("query %d is marked %v, want %v", q, mark, want)
		}
	}
}

func TestUnknownClassesAreIgnored(t *testing.T) {
	truth := ByClass([]int32{2, -1}, []int32{2, -1, 1})
	mark := make([]uint8, 3)
	for q, want := range [][3]uint8{{Relevant, Ignored, Irrelevant}, {Ignored, Ignored, Ignored}} {
		if truth.Mark(q, mark); [3]uint8(mark) != want {
			t.Errorf("query %d is marked %v, want %v", q, mark, want)
		}
	}
}
