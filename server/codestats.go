package server

import (
	"math"
	"math/bits"

	"hashgrove/api"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// cachedStats are statistics and the snapshot they were computed from.
type cachedStats struct {
	of      *index.Snapshot
	bits    []api.BitState
	buckets api.Buckets
}

// codeStats returns statistics of the bits and codes, cached until the items change. A bit is dead if nearly all
// items have the same value, and redundant if it nearly always equals an earlier bit or its inverse: neither tells
// items apart.
func (c *collection) codeStats(x *index.Snapshot) ([]api.BitState, api.Buckets) {
	c.made.mu.Lock()
	defer c.made.mu.Unlock()
	if known, ok := c.made.known["codeStats"].(*cachedStats); ok && known.of == x {
		return known.bits, known.buckets
	}
	n := &cachedStats{of: x}
	n.bits, n.buckets = computeCodeStats(x)
	if c.made.known == nil {
		c.made.known = map[string]any{}
	}
	c.made.known["codeStats"] = n
	return n.bits, n.buckets
}

// few is the share of items below which a bit is as good as constant.
const few = 0.005

func computeCodeStats(x *index.Snapshot) ([]api.BitState, api.Buckets) {
	width, n := x.Bits(), 0
	ones, buckets := make([]int, width), api.Buckets{}
	sample := hamming.NewCodes(0, width)
	codes, step := 0, max(1, x.Codes()/sampledCodes)
	x.EachCode(func(code []uint64, items int) {
		if codes%step == 0 {
			sample.Data = append(sample.Data, code...)
		}
		codes++
		n += items
		if buckets.Largest = max(buckets.Largest, items); items == 1 {
			buckets.Single++
		}
		for w, word := range code {
			for ; word != 0; word &= word - 1 {
				ones[w*64+63-bits.TrailingZeros64(word)] += items
			}
		}
	})
	if codes > 0 {
		buckets.Mean = float64(n) / float64(codes)
	}
	states := make([]api.BitState, width)
	for k := range states {
		states[k] = api.BitState{Bit: k, State: "ok"}
		if n > 0 {
			states[k].Share = float64(ones[k]) / float64(n)
		}
		if n > 1 && math.Min(states[k].Share, 1-states[k].Share) < few {
			states[k].State = "dead"
		}
	}
	markRedundant(states, sample)
	return states, buckets
}

// sampledCodes is the approximate number of codes used to compare bits.
const sampledCodes = 1 << 14

// markRedundant marks bits that repeat or invert an earlier one.
func markRedundant(states []api.BitState, sample hamming.Codes) {
	n := sample.Len()
	if n < 100 {
		return // too few codes to tell
	}
	columns := make([][]uint64, len(states)) // the values of a bit in all codes
	for k := range columns {
		columns[k] = make([]uint64, (n+63)/64)
		for i := range n {
			if sample.Bit(i, k) {
				columns[k][i/64] |= 1 << (i % 64)
			}
		}
	}
	for k := range states {
		for j := 0; j < k && states[k].State == "ok"; j++ {
			if states[j].State != "ok" {
				continue
			}
			differ := 0
			for w := range columns[k] {
				differ += bits.OnesCount64(columns[k][w] ^ columns[j][w])
			}
			if share := float64(differ) / float64(n); math.Min(share, 1-share) < few {
				states[k].State, states[k].Like = "redundant", &j
			}
		}
	}
}
