//go:build !amd64 || purego

package linalg

const hasKernel = false

func subtract(n, stride int, f, x, y []float64) { subtractGo(n, stride, f, x, y) }
