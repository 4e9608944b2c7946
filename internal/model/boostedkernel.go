package model

// The kernels of boosters in plain Go, which define what they compute. boostedplan.go explains their use.

// completePlanesGo finds the planes of a complete tree: the top level is the highest bit. Tests are 4 times the place
// of their set, in heap order.
func completePlanesGo(planes *[8]set, right []set, tests []uint32, depth int) {
	var level [1 << (maxComplete - 1)]set
	for i := range depth {
		n := 1 << i
		for h, test := range tests[n-1 : 2*n-1] {
			level[h] = right[test/4]
		}
		// The planes above choose among them, the lowest bit of the place first.
		for j := i - 1; j >= 0; j-- {
			n /= 2
			for h := range n {
				level[h] = merge(&level[2*h], &level[2*h+1], &planes[depth-1-j])
			}
		}
		planes[depth-1-i] = level[0]
	}
}

// spread puts bit i of a byte into the lowest bit of byte i.
var spread = func() (table [256]uint64) {
	for b := range table {
		for i := range 8 {
			table[b] |= uint64(b>>i&1) << (8 * i)
		}
	}
	return table
}()

// addLeavesGo adds to each row's sum the leaf whose number is in the first n planes. There are 2^n leaves.
func addLeavesGo[T float32 | float64](sums *[block]T, planes *[8]set, leaves []T, n int) {
	mask := uint8(len(leaves) - 1)
	for g := 0; g < block; g += 8 {
		word := uint64(0)
		for j := range n {
			word |= spread[uint8(planes[j][g/64]>>(g%64))] << j
		}
		for r := range sums[g : g+8] {
			sums[g+r] += leaves[uint8(word)&mask]
			word >>= 8
		}
	}
}
