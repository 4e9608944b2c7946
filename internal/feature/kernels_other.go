//go:build !(amd64 || arm64) || purego

package feature

const hasKernels = false

func gather(dst, src []complex8, order []int32, scale []float32) { gatherGo(dst, src, order, scale) }
func radix4(x []complex8, m, blocks int, w *[6]vector)           { radix4Go(x, m, blocks, w) }
func combine(dst, src []complex8, start []int32, p, m int, w []float32) {
	combineGo(dst, src, start, p, m, w)
}
func magnitude(sum *vector, x []complex8)                 { magnitudeGo(sum, x) }
func foldRows(how fold, acc, t *[16]float32, z []float32) { foldGo(how, acc, t, z) }
