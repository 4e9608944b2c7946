package svm

// The inner loops of the conjugate gradients, in plain Go. kernels_amd64.go has the same with AVX2, kernels_arm64.go
// with NEON. None of them fuses a product with a sum, so all give the same bits everywhere.

// turn is the number of values that kernels handle at once; rows are padded to a multiple of it.
const turn = 32

// dotGo sums x[j] v[j] in 32 sums, one for each j modulo 32.
func dotGo(sum *[turn]float32, x []uint8, v []float32) {
	*sum = [turn]float32{}
	v = v[:len(x)]
	for j := 0; j < len(x); j += turn {
		for i, b := range x[j : j+turn] {
			sum[i] += float32(float32(b) * v[j+i])
		}
	}
}

// addGo adds a[0] x0[j], then a[1] x1[j] and so on, to y[j].
func addGo(y []float32, a *[4]float32, x0, x1, x2, x3 []uint8) {
	x0, x1, x2, x3 = x0[:len(y)], x1[:len(y)], x2[:len(y)], x3[:len(y)]
	for j, s := range y {
		s += float32(a[0] * float32(x0[j]))
		s += float32(a[1] * float32(x1[j]))
		s += float32(a[2] * float32(x2[j]))
		s += float32(a[3] * float32(x3[j]))
		y[j] = s
	}
}
