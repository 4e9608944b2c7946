//go:build !(amd64 || arm64) || purego

package svm

const hasKernels = false

func dotBytes(sum *[turn]float32, x []uint8, v []float32) { dotGo(sum, x, v) }
func addBytes(y []float32, a *[4]float32, x0, x1, x2, x3 []uint8) {
	addGo(y, a, x0, x1, x2, x3)
}
