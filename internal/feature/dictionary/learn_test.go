package dictionary

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/internal/feature"
	"hashgrove/internal/numeric/gemm"
	"hashgrove/internal/picture"
	"hashgrove/internal/vectors"
)

// samplesOf lays out rows as samples.
func samplesOf(x vectors.Matrix) *samples {
	return &samples{*gemm.PackRight(gemm.RowMajor(x.Rows, x.Cols, x.Data).T()), x.Rows, x.Cols}
}

// noise is a picture of random pixels.
func noise(rng *rand.Rand, width, height, channels int) picture.Picture {
	p := picture.Picture{Width: width, Height: height, Channels: channels, Pix: make([]uint8, width*height*channels)}
	for i := range p.Pix {
		p.Pix[i] = uint8(rng.IntN(256))
	}
	return p
}

// extract returns the vectors of pictures.
func extract(t testing.TB, e feature.Extractor, pictures []picture.Picture, threads int) vectors.Matrix {
	t.Helper()
	x := vectors.Matrix{Rows: len(pictures), Cols: e.Dim(), Data: make([]float32, len(pictures)*e.Dim())}
	if err := e.Extract(context.Background(), pictures, x, threads); err != nil {
		t.Fatal(err)
	}
	return x
}

type options = feature.CodebookOptions

func TestEigen(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1, 2, 5, 30} {
		a := make([]float64, n*n)
		for i := range n {
			for j := range i + 1 {
				a[i*n+j] = rng.Float64() - 0.5
				a[j*n+i] = a[i*n+j]
			}
		}
		values, vectors := eigen(slices.Clone(a), n)
		for k := range n {
			v := vectors[k*n:][:n]
			for i := range n {
				sum, dot := 0.0, 0.0
				for j := range n {
					sum += a[i*n+j] * v[j]
					dot += vectors[i*n+j] * v[j]
				}
				if math.Abs(sum-values[k]*v[i]) > 1e-13 {
					t.Fatalf("n = %d: vector %d is no eigenvector", n, k)
				}
				if want := map[bool]float64{true: 1}[i == k]; math.Abs(dot-want) > 1e-13 {
					t.Fatalf("n = %d: vectors %d and %d have the product %v", n, i, k, dot)
				}
			}
		}
	}
}

// TestWhitening checks that the covariance becomes d/(d + epsilon) along every eigenvector: the identity, almost.
func TestWhitening(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const n, d = 5000, 7
	x := vectors.Matrix{Rows: n, Cols: d, Data: make([]float32, n*d)}
	for i := range n {
		common := rng.NormFloat64() * 5
		for j := range d {
			x.Row(i)[j] = float32(3 + common + rng.NormFloat64()*float64(j+1))
		}
	}
	mean, p, err := whitening(context.Background(), x, 1e-6, 2)
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
				sum += at(i, j) * at(i, k) / (n - 1)
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

// planted returns patches made of t words each, and the words.
func planted(rng *rand.Rand, n, words, dim, t int) (vectors.Matrix, [][]float64) {
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
		for range t {
			w, g := d[rng.IntN(words)], 1+rng.Float64()
			if rng.IntN(2) == 0 {
				g = -g
			}
			for k, v := range w {
				x.Row(i)[k] += float32(g * v)
			}
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
	for _, c := range []struct{ sparsity, iterations, want int }{{1, 15, 10}, {3, 30, 10}} {
		x, words := planted(rng, 4000, 16, 20, c.sparsity)
		l := learner{CodebookOptions: options{Words: 40, Sparsity: c.sparsity, Iterations: c.iterations}.WithDefaults()}
		d, err := l.dictionary(context.Background(), samplesOf(x), 2)
		if err != nil {
			t.Fatal(err)
		}
		if n := found(d, words); n < c.want {
			t.Errorf("sparsity %d: found %d of 16 words", c.sparsity, n)
		}
		for i := 0; i < len(d); i += 20 {
			length := 0.0
			for _, v := range d[i:][:20] {
				length += float64(v) * float64(v)
			}
			if math.Abs(length-1) > 1e-5 {
				t.Errorf("sparsity %d: word %d has the squared length %v", c.sparsity, i/20, length)
			}
		}
	}
}

// TestPursuitIsOrthogonal checks that the gains solve the least squares problem for the chosen words.
func TestPursuitIsOrthogonal(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	const words, dim = 30, 12
	x, _ := planted(rng, 40, words, dim, 3)
	_, planted := planted(rng, 0, words, dim, 1)
	var d []float32
	for _, w := range planted {
		for _, v := range w {
			d = append(d, float32(v))
		}
	}
	gram := make([]float32, words*words)
	all := gemm.RowMajor(words, dim, d)
	if err := gemm.Mul(context.Background(), 1, gemm.RowMajor(words, words, gram), all, all.T()); err != nil {
		t.Fatal(err)
	}
	p := pursuit{gram: gram, words: words, a: make([]float32, words), now: make([]float32, words)}
	for i := range x.Rows {
		for w := range words {
			p.a[w] = 0
			for k, v := range x.Row(i) {
				p.a[w] += v * d[w*dim+k]
			}
		}
		word, gain := make([]int32, 4), make([]float32, 4)
		p.run(word, gain)
		r := slices.Clone(x.Row(i))
		for q, w := range word {
			addTimes(r, -gain[q], d[int(w)*dim:][:dim])
			if slices.Contains(word[:q], w) {
				t.Errorf("patch %d: word %d was chosen twice", i, w)
			}
		}
		for _, w := range word {
			dot := 0.0
			for k, v := range r {
				dot += float64(v) * float64(d[int(w)*dim+k])
			}
			if math.Abs(dot) > 1e-5 {
				t.Errorf("patch %d: the residual has the product %v with a chosen word", i, dot)
			}
		}
	}
}

func TestLearningDoesNotDependOnThreads(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	var pictures []picture.Picture
	for i := range 20 {
		pictures = append(pictures, noise(rng, 12+i%2, 12, 3))
	}
	for _, l := range []options{
		{Words: 9, Patch: 4, Patches: 9000, Iterations: 2, Seed: 5},
		{Words: 9, Patch: 4, Patches: 3000, Iterations: 2, Sparsity: 2, Seed: 5},
	} {
		steps := 0
		progress := func(done, total int) { steps += total - done + 1 }
		want, err := Learn(context.Background(), l, pictures, 1, progress)
		if err != nil {
			t.Fatal(err)
		}
		if steps == 0 {
			t.Error("no progress was reported")
		}
		for _, threads := range []int{2, 7} {
			got, err := Learn(context.Background(), l, pictures, threads, nil)
			if err != nil {
				t.Fatal(err)
			}
			if feature.Fingerprint(got) != feature.Fingerprint(want) {
				t.Errorf("sparsity %d: %d threads give another codebook", l.Sparsity, threads)
			}
		}
		l.Seed++
		if got, err := Learn(context.Background(), l, pictures, 1, nil); err != nil || feature.Fingerprint(got) == feature.Fingerprint(want) {
			t.Errorf("another seed gives the same codebook (error %v)", err)
		}
	}
}

func TestLearnerRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	good := []picture.Picture{noise(rng, 12, 12, 3)}
	for _, c := range []struct {
		l        options
		pictures []picture.Picture
	}{
		{options{}, nil},
		{options{}, []picture.Picture{noise(rng, 5, 12, 3)}},
		{options{}, []picture.Picture{good[0], noise(rng, 12, 12, 1)}},
		{options{Words: -1}, good},
		{options{Words: feature.MaxWords + 1}, good},
		{options{Patch: 17}, good},
		{options{Stride: -1}, good},
		{options{Levels: 9}, good},
		{options{Sides: 3}, good},
		{options{Pool: 2}, good},
		{options{Threshold: math.NaN()}, good},
		{options{Threshold: math.Inf(1)}, good},
		{options{Contrast: -1}, good},
		{options{Whitening: -1}, good},
		{options{Patches: -1}, good},
		{options{Iterations: -1}, good},
		{options{Sparsity: 17}, good},
		{options{Sparsity: 3, Words: 2}, good},
	} {
		if _, err := Learn(context.Background(), c.l, c.pictures, 1, nil); err == nil {
			t.Errorf("%+v with %d pictures is accepted", c.l, len(c.pictures))
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Learn(ctx, options{}, good, 1, nil); err == nil {
		t.Error("a cancelled context is ignored")
	}
}

// TestFlatPictures: without structure to learn from, nothing may become NaN.
func TestFlatPictures(t *testing.T) {
	flat := []picture.Picture{{Width: 8, Height: 8, Channels: 1, Pix: make([]uint8, 64)}}
	c, err := Learn(context.Background(), options{Words: 4, Patch: 3, Patches: 100, Iterations: 3}, flat, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range extract(t, c, flat, 1).Data {
		if v != 0 {
			t.Fatalf("value %d is %v", i, v)
		}
	}
}
