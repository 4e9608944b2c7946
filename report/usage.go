package report

import (
	"slices"

	"hashgrove/hamming"
)

// UsageOf counts how the codes use their bits: items for each distinct code, and ones for each bit.
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
