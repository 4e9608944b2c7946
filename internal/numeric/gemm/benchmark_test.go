package gemm

import (
	"context"
	"flag"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// go test ./internal/gemm -run '^$' -bench Mul -cpu 1 -size 2000
var size = flag.Int("size", 1000, "rows and columns of the matrices of BenchmarkMul")

// BenchmarkMul multiplies square matrices on one core, with ours and with gonum's code.
func BenchmarkMul(b *testing.B) {
	n := *size
	rng := rand.New(rand.NewPCG(1, 1))
	x, y, z := random(rng, n*n), random(rng, n*n), make([]float32, n*n)
	report := func(b *testing.B) {
		b.ReportMetric(2*float64(n)*float64(n)*float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
	}
	b.Run("code=hashgrove", func(b *testing.B) {
		for b.Loop() {
			if err := Mul(context.Background(), 1, RowMajor(n, n, z), RowMajor(n, n, x), RowMajor(n, n, y)); err != nil {
				b.Fatal(err)
			}
		}
		report(b)
	})
	b.Run("code=gonum", func(b *testing.B) {
		for b.Loop() {
			gonum.Implementation{}.Sgemm(blas.NoTrans, blas.NoTrans, n, n, n, 1, x, n, y, n, 0, z, n)
		}
		report(b)
	})
}
