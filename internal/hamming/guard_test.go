package hamming

import (
	"math"
	"math/rand/v2"
	"testing"

	"hashgrove/internal/testkit/fencetest"
)

// TestKernelsEqualGo tries up to 300 codes which, like queries and distances, end where mapped memory ends: a kernel
// that reads or writes beyond them crashes.
func TestKernelsEqualGo(t *testing.T) {
	const most = 300
	hits := fencetest.Slice[uint32](t, most+slack)
	eachKernel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(4, 2))
		for _, words := range []int{1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 32, 64} {
			q, data := fencetest.Slice[uint64](t, words), fencetest.Slice[uint64](t, most*(words+1))
			for i := range data {
				data[i] = rng.Uint64()
			}
			copy(q, data[len(data)/2:])
			for n := range most + 1 {
				for stride := words; stride <= words+1; stride++ {
					last := []uint64{math.MaxUint64, math.MaxUint64 << rng.IntN(64)}[n%2]
					codes := data[len(data)-max(n*stride-stride+words, 0):]
					if n == 0 {
						codes = data[len(data):]
					}
					limit := []int{32*words - rng.IntN(4*words), 32 * words, 64 * words, 0, -1}[(n+n/64)%5]
					h := hits[most-n:]
					h = h[:below(h, q, codes, stride, last, limit)]
					for i := range n {
						want := distanceGo(q, codes[i*stride:], last)
						if want <= limit {
							if len(h) == 0 || h[0] != uint32(want)<<16|uint32(i) {
								t.Fatalf("code %d of %d of %d words, stride %d, is not the next hit", i, n, words, stride)
							}
							h = h[1:]
						}
					}
					if len(h) > 0 {
						t.Fatalf("%d codes of %d words, stride %d: %d hits beyond the limit", n, words, stride, len(h))
					}
				}
			}
		}
	})
}

// TestPlanesKeepToTheirCodes does the same for codes, planes, tables and blocks of a sweep by margins.
func TestPlanesKeepToTheirCodes(t *testing.T) {
	eachKernel(t, func(t *testing.T) {
		if groupBits() == 0 {
			return // plain Go has no planes
		}
		rng := rand.New(rand.NewPCG(6, 2))
		for turn := range 8 {
			words, queries := turn/2+1, 1+8*(turn%2) // one query may scan without planes
			c := Codes{Bits: 64 * words, Words: words, Data: fencetest.Slice[uint64](t, 4*perBlock*words)}
			for i := range c.Data {
				c.Data[i] = rng.Uint64()
			}
			var tile weightedTile
			tile.open(c, c.Bits, queries)
			tile.near = fencetest.Slice[nearBlock](t, 4)
			if tile.size > 0 {
				tile.planes = fencetest.Slice[uint8](t, 4*tile.size)
			}
			tile.n = c.Len()
			tile.load()
			q := NewWeightedQuery(c.Row(7), someWeights(rng, c.Bits))
			for _, limit := range []int{254, 0, 40, 254, 255, q.Most() / 2, q.Most()} {
				tile.below(q, limit) // makes the tables
				tables := fencetest.Slice[uint8](t, len(q.tables))
				copy(tables, q.tables)
				q.tables = tables
				hits := tile.below(q, limit)
				for i := range c.Len() {
					d := q.Distance(c.Row(i))
					if d > limit {
						continue
					}
					if len(hits) == 0 || hits[0] != uint32(d)<<16|uint32(i) {
						t.Fatalf("%d words, limit %d: code %d at %d is not the next hit", words, limit, i, d)
					}
					hits = hits[1:]
				}
				if len(hits) > 0 {
					t.Fatalf("%d words, limit %d: %d hits beyond the limit", words, limit, len(hits))
				}
			}
		}
	})
}
