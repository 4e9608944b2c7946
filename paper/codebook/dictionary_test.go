package codebook

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"testing"

	"hashgrove/internal/numeric/gemm"
	"hashgrove/internal/picture"
	"hashgrove/internal/vectors"
)

// samplesOf lays out rows as samples.
func samplesOf(x vectors.Matrix) *samples {
	return &samples{*gemm.PackRight(gemm.RowMajor(x.Rows, x.Cols, x.Data).T()), x.Rows, x.Cols}
}

// TestWhitening checks that the covariance becomes d/(d + epsilon) along every eigenvector: the identity, almost.
func TestWhitening(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const n, d = 5000, 7
	x := vectors.Matrix{Rows: n, Cols: d, Data: make([]float32, n*d)}
	for i := range n {
		common := rng.NormFloat64() * 500
		for j := range d {
			x.Row(i)[j] = float32(300 + common + rng.NormFloat64()*float64(100*j+100))
		}
	}
	mean, p, err := whitening(context.Background(), x, 2)
	if err != nil {
		t.Fatal(err)
	}
	white, err := whitened(context.Background(), x, mean, p, 2)
	if err != nil {
		t.Fatal(err)
	}
	at := func(i, k int) float64 { return float64(white.Panel(i / 16)[k*16+i%16]) }
	for j := range d {
		for k := range d {
			sum := 0.0
			for i := range n {
				sum += at(i, j) * at(i, k) / n
			}
			if want := map[bool]float64{true: 1}[j == k]; math.Abs(sum-want) > 1e-4 {
				t.Errorf("covariance (%d, %d) is %v", j, k, sum)
			}
			if p[j*d+k] != p[k*d+j] && math.Abs(float64(p[j*d+k]-p[k*d+j])) > 1e-6 {
				t.Errorf("P is not symmetric at (%d, %d)", j, k)
			}
		}
	}
}

// planted returns patches made of one word each, and the words.
func planted(rng *rand.Rand, n, words, dim int) (vectors.Matrix, [][]float64) {
	d := make([][]float64, words)
	for w := range d {
		length := 0.0
		for range dim {
			v := rng.NormFloat64()
			d[w] = append(d[w], v)
			length += v * v
		}
		for k := range d[w] {
			d[w][k] /= math.Sqrt(length)
		}
	}
	x := vectors.Matrix{Rows: n, Cols: dim, Data: make([]float32, n*dim)}
	for i := range n {
		w, g := d[rng.IntN(words)], 1+rng.Float64()
		if rng.IntN(2) == 0 {
			g = -g
		}
		for k, v := range w {
			x.Row(i)[k] = float32(g * v)
		}
	}
	return x, d
}

// found returns the number of planted words that d contains, up to sign.
func found(d []float32, words [][]float64) int {
	dim, n := len(words[0]), 0
	for _, w := range words {
		best := 0.0
		for i := 0; i < len(d); i += dim {
			dot := 0.0
			for k, v := range w {
				dot += v * float64(d[i+k])
			}
			best = max(best, math.Abs(dot))
		}
		if best > 0.98 {
			n++
		}
	}
	return n
}

func TestDictionariesFindPlantedWords(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	x, words := planted(rng, 4000, 16, 20)
	d, err := Options{Words: 40, Iterations: 15}.dictionary(context.Background(), samplesOf(x), 2)
	if err != nil {
		t.Fatal(err)
	}
	if n := found(d, words); n < 10 {
		t.Errorf("found %d of 16 words", n)
	}
	for i := 0; i < len(d); i += 20 {
		length := 0.0
		for _, v := range d[i:][:20] {
			length += float64(v) * float64(v)
		}
		if math.Abs(length-1) > 1e-5 {
			t.Errorf("word %d has the squared length %v", i/20, length)
		}
	}
}

// TestEveryMachineAgrees checks digests of codebooks and of what they make, which must be the same on all kinds of
// machines and on any number of threads.
func TestEveryMachineAgrees(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var pictures []picture.Picture
	for range 3 {
		// Integers only: the pictures must not depend on the machine either.
		p := picture.Picture{Width: 32, Height: 32, Channels: 3, Pix: make([]uint8, 3072)}
		for i := range p.Pix {
			p.Pix[i] = uint8(i*i>>7 + i>>3 + rng.IntN(60))
		}
		pictures = append(pictures, p)
	}
	for _, c := range []struct {
		want string
		o    Options
	}{
		{"b76c1e6eff29cfd9", Options{Words: 30, Patches: 3000, Iterations: 3, Patch: 6, Unscaled: true}},
		{"1da714941477d2f5", Options{Words: 30, Patches: 3000, Iterations: 3}},
		{"fb1f75b2a0b07528", Options{Words: 15, Patches: 3000, Iterations: 3, Split: true, Unscaled: true}},
	} {
		for _, threads := range []int{1, 2, 7} {
			book, err := Learn(context.Background(), c.o, pictures, threads)
			if err != nil {
				t.Fatal(err)
			}
			h := sha256.New()
			for _, values := range [][]float32{book.Bias, book.Filters, extract(t, book, pictures, threads).Data} {
				if err := binary.Write(h, binary.LittleEndian, values); err != nil {
					t.Fatal(err)
				}
			}
			if got := hex.EncodeToString(h.Sum(nil)[:8]); got != c.want {
				t.Errorf("%+v on %d threads: digest %s, want %s", c.o, threads, got, c.want)
			}
		}
	}
}

// TestFlatPictures: without structure to learn from, nothing may become NaN.
func TestFlatPictures(t *testing.T) {
	flat := []picture.Picture{{Width: 8, Height: 8, Channels: 1, Pix: make([]uint8, 64)}}
	c, err := Learn(context.Background(), Options{Words: 4, Patch: 3, Patches: 100, Iterations: 3}, flat, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range extract(t, c, flat, 1).Data {
		if v != 0 {
			t.Fatalf("value %d is %v", i, v)
		}
	}
}
