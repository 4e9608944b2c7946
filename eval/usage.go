package eval

import (
	"slices"

	"hashgrove/hamming"
)

// Usage describes how the codes of the base use their bits.
type Usage struct {
	Buckets []Bucket  // of rising size
	Ones    []float64 // by bit: share of items in which it is 1
}

// Bucket counts the distinct codes that are shared by a given number of items.
type Bucket struct {
	Size  int // items with one and the same code
	Codes int // distinct codes with that number of items
}

// UsageOf counts the items of each distinct code and the ones of each bit.
func UsageOf(codes hamming.Codes) Usage {
	n := codes.Len()
	if n == 0 {
		return Usage{}
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return slices.Compare(codes.Row(a), codes.Row(b)) })

	var sizes []int
	for i, item := range order {
		if i == 0 || !slices.Equal(codes.Row(item), codes.Row(order[i-1])) {
			sizes = append(sizes, 0)
		}
		sizes[len(sizes)-1]++
	}
	slices.Sort(sizes)
	u := Usage{Ones: make([]float64, codes.Bits)}
	for i, size := range sizes {
		if i == 0 || size != sizes[i-1] {
			u.Buckets = append(u.Buckets, Bucket{Size: size})
		}
		u.Buckets[len(u.Buckets)-1].Codes++
	}
	for b := range u.Ones {
		ones := 0
		for i := range n {
			if codes.Bit(i, b) {
				ones++
			}
		}
		u.Ones[b] = float64(ones) / float64(n)
	}
	return u
}
