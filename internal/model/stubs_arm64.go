//go:build !purego

package model

// finiteNEON is finiteGo for a multiple of 16 values:
//
//	for i := range n { ok = ok && x[i]-x[i] == 0 }
//
//go:noescape
func finiteNEON(x *float32, n int) bool

// quantizeNEON is quantizeGo:
//
//	for w := range n { dst[w] = windows[w].bins(x) }
//
//go:noescape
func quantizeNEON(dst *uint64, x *float32, windows *float64, n int)

// quantize4NEON is quantize4Go:
//
//	for w := range n { for l := range 4 { dst[w][0][l] = windows[w].bins(x_l) } }
//
//go:noescape
func quantize4NEON(dst *uint64, x0 *float32, x1 *float32, x2 *float32, x3 *float32, windows *float64, n int)

// transposeNEON is transposeGo:
//
//	for l, i, j { bit j of a[i][l], bit i of a[j][l] = bit i of a[j][l], bit j of a[i][l] }
//
//go:noescape
func transposeNEON(a *uint64)

// laddersNEON is laddersGo:
//
//	for c := range n { for v := range 15 { dst[c][1+v], dst[c][31-v] = rows with high digit > v, low digit > v } }
//
//go:noescape
func laddersNEON(dst *uint64, planes *uint64, places *uint32, n int)

// testsNEON is testsGo:
//
//	for i := range n { right[i] = ladder[t[i].low] & ladder[t[i].high] | ladder[t[i].high+1] }
//
//go:noescape
func testsNEON(right *uint64, ladder *uint64, t *uint16, n int)

// trees2NEON is treesGo for depth 2.
//
//go:noescape
func trees2NEON(say *uint64, right *uint64, splits *uint32, invert *uint32, n int)

// trees4NEON is treesGo for depth 4.
//
//go:noescape
func trees4NEON(say *uint64, right *uint64, splits *uint32, invert *uint32, n int)

// addTotalsNEON is totalsGo, but adds:
//
//	for each row { for each fold { dst[row] += table[fold][three trees] } }
//
//go:noescape
func addTotalsNEON(dst *int32, say *uint64, tables *int32, n int)

// atLeastNEON is the rows, in the order of totalPlace, whose totals are at least the least:
//
//	for each row { bit of dst = totals[row] >= least }
//
//go:noescape
func atLeastNEON(dst *uint64, totals *int32, least int32)

// walkSix is walkGo for n times 6 trees of any depth; it has no vectors.
//
//go:noescape
func walkSix(bins *uint64, trees *uint32, depth, n int, plus, minus int32) int32

// toBytesNEON is toBytesGo for a multiple of 16 values, and the sum of their squares:
//
//	for i := range n { dst[i] = toByte(x[i], perStep); squares += dst[i] * dst[i] }
//
//go:noescape
func toBytesNEON(dst *byte, x *float32, n int, perStep float32) (squares int32)

// byteTileNEON is gaussiansGo for 4 rows and 16 anchors, and groups a multiple of 4:
//
//	for r, k { dst[r*stride+k] = gaussian(own[r] + squares[k] - 2*product of row r and anchor k, scale) }
//
//go:noescape
func byteTileNEON(dst *float32, stride int, q *byte, step int, panel *byte, groups int, own, squares *int32, scale float32)

// byteTileSDOT is byteTileNEON with products of four bytes in one instruction.
//
//go:noescape
func byteTileSDOT(dst *float32, stride int, q *byte, step int, panel *byte, groups int, own, squares *int32, scale float32)
