package feature

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/picture"
)

// randomBook is a codebook of random words.
func randomBook(rng *rand.Rand, words, patch, channels int) *Codebook {
	c := &Codebook{Patch: patch, Channels: channels, Stride: 1, Levels: 3, Threshold: 0.25, Contrast: 10, Norm: NoNorm}
	for range words {
		c.Bias = append(c.Bias, rng.Float32()-0.5)
		for range patch * patch * channels {
			c.Filters = append(c.Filters, rng.Float32()-0.5)
		}
	}
	return c
}

// encodeSlowly is the definition of the features, in float64.
func encodeSlowly(c *Codebook, p picture.Picture) []float64 {
	across, down := (p.Width-c.Patch)/c.Stride+1, (p.Height-c.Patch)/c.Stride+1
	words := c.Words()
	z := make([][]float64, across*down)
	for y := range down {
		for x := range across {
			var v []float64
			for dy := range c.Patch {
				for dx := range c.Patch {
					for ch := range c.Channels {
						v = append(v, float64(p.Pix[((y*c.Stride+dy)*p.Width+x*c.Stride+dx)*c.Channels+ch]))
					}
				}
			}
			mean, variance := 0.0, 0.0
			for _, a := range v {
				mean += a / float64(len(v))
			}
			for _, a := range v {
				variance += (a - mean) * (a - mean) / float64(max(len(v)-1, 1))
			}
			for w := range words {
				sum := float64(c.Bias[w])
				for k, a := range v {
					sum += float64(c.Filters[w*len(v)+k]) * (a - mean) / math.Sqrt(variance+float64(c.Contrast))
				}
				z[y*across+x] = append(z[y*across+x], sum)
			}
		}
	}
	var out []float64
	alpha := float64(c.Threshold)
	for level := 1; level <= c.Levels; level++ {
		for cy := range level {
			for cx := range level {
				pooled := func(f func(z float64) float64) {
					for w := range words {
						total := 0.0
						for y := int(math.Round(float64(cy*down) / float64(level))); y < int(math.Round(float64((cy+1)*down)/float64(level))); y++ {
							for x := int(math.Round(float64(cx*across) / float64(level))); x < int(math.Round(float64((cx+1)*across)/float64(level))); x++ {
								v := f(z[y*across+x][w])
								if c.Pool == SumPool {
									total += v
								} else if math.Abs(v) > math.Abs(total) {
									total = v
								}
							}
						}
						out = append(out, total)
					}
				}
				switch c.Sides {
				case Positive:
					pooled(func(z float64) float64 { return max(z-alpha, 0) })
				case Absolute:
					pooled(func(z float64) float64 { return max(math.Abs(z)-alpha, 0) })
				case Split:
					pooled(func(z float64) float64 { return max(z-alpha, 0) })
					pooled(func(z float64) float64 { return -max(-z-alpha, 0) })
				}
			}
		}
	}
	return out
}

func TestCodebookIsTheDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		words, patch, channels, stride, levels, width, height int
	}{
		{17, 6, 3, 1, 3, 24, 24}, {16, 5, 1, 2, 2, 20, 13}, {1, 1, 1, 1, 1, 1, 1}, {5, 3, 3, 1, 4, 4, 9},
		{7, 4, 1, 3, 3, 50, 40}, {3, 6, 1, 1, 8, 8, 40},
	} {
		for _, sides := range []Sides{Positive, Absolute, Split} {
			for _, pool := range []Pool{SumPool, MaxPool} {
				b := randomBook(rng, c.words, c.patch, c.channels)
				b.Stride, b.Levels, b.Sides, b.Pool = c.stride, c.levels, sides, pool
				if err := b.Check(); err != nil {
					t.Fatal(err)
				}
				p := noise(rng, c.width, c.height, c.channels)
				got, want := extract(t, b, []picture.Picture{p}, 1).Row(0), encodeSlowly(b, p)
				if len(got) != len(want) {
					t.Fatalf("%+v: %d values, want %d", c, len(got), len(want))
				}
				for i := range want {
					if math.Abs(float64(got[i])-want[i]) > 1e-4*(1+math.Abs(want[i])) {
						t.Fatalf("%+v, sides %d, pool %d: value %d is %v, want %v", c, sides, pool, i, got[i], want[i])
					}
				}
			}
		}
	}
}

// TestScaledVectorsSumToOne compares them with the same vectors that are not scaled.
func TestScaledVectorsSumToOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for _, sides := range []Sides{Positive, Absolute, Split} {
		plain := randomBook(rng, 21, 4, 3)
		plain.Sides = sides
		scaled := &Codebook{
			Patch: plain.Patch, Channels: 3, Stride: 1, Levels: 3, Sides: sides, Threshold: plain.Threshold,
			Contrast: plain.Contrast, Filters: plain.Filters, Bias: plain.Bias,
		}
		if Fingerprint(plain) == Fingerprint(scaled) {
			t.Error("a scaled codebook has the fingerprint of the plain one")
		}
		pictures := []picture.Picture{noise(rng, 12, 9, 3), noise(rng, 20, 20, 3)}
		x, y := extract(t, plain, pictures, 1), extract(t, scaled, pictures, 1)
		for i := range pictures {
			length, sum := 0.0, 0.0
			for _, v := range x.Row(i) {
				length += math.Abs(float64(v))
			}
			for j, v := range y.Row(i) {
				sum += math.Abs(float64(v))
				if want := float32(float64(x.Row(i)[j]) / length); v != want {
					t.Fatalf("sides %d: value %d of picture %d is %v, want %v", sides, j, i, v, want)
				}
			}
			if math.Abs(sum-1) > 1e-5 {
				t.Errorf("sides %d: picture %d sums to %v", sides, i, sum)
			}
		}
		scaled = &Codebook{ // no response is above this threshold
			Patch: plain.Patch, Channels: 3, Stride: 1, Levels: 3, Sides: sides, Threshold: 1e6,
			Contrast: plain.Contrast, Filters: plain.Filters, Bias: plain.Bias,
		}
		if none := extract(t, scaled, pictures[:1], 1); slices.ContainsFunc(none.Data, func(v float32) bool { return v != 0 }) {
			t.Error("zeros do not stay zeros")
		}
	}
}

func TestCodebookDoesNotDependOnThreadsOrNeighbours(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	b := randomBook(rng, 40, 6, 3)
	b.Norm = SumNorm
	var pictures []picture.Picture
	for i := range 9 {
		pictures = append(pictures, noise(rng, 16+i%3, 18, 3))
	}
	want := extract(t, b, pictures, 1)
	for _, threads := range []int{2, 7} {
		if got := extract(t, b, pictures, threads); !slices.Equal(got.Data, want.Data) {
			t.Errorf("%d threads give other values", threads)
		}
	}
	for i := range pictures {
		if got := extract(t, b, pictures[i:i+1], 1); !slices.Equal(got.Data, want.Row(i)) {
			t.Errorf("picture %d alone has other values", i)
		}
	}
}

// TestPaperSizes counts values as the FastHash paper does.
func TestPaperSizes(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for words, dim := range map[int]int{800: 11200, 1600: 22400} {
		if got := randomBook(rng, words, 6, 3).Dim(); got != dim {
			t.Errorf("%d words: %d values, want %d", words, got, dim)
		}
	}
	g := newGrid(32, 32, 6, 1, 3)
	if want := []int{0, 9, 14, 18, 27}; !slices.Equal(g.xs, want) || len(g.places) != 729 {
		t.Errorf("cuts %v of %d places", g.xs, len(g.places))
	}
}

func TestPicturesThatDoNotFit(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	book := randomBook(rng, 3, 6, 3)
	good := noise(rng, 32, 32, 3)
	for _, c := range []struct {
		e   Extractor
		bad picture.Picture
	}{
		{book, noise(rng, 5, 32, 3)},
		{book, noise(rng, 32, 32, 1)},
		{book, picture.Picture{Width: 32, Height: 32, Channels: 3, Pix: make([]uint8, 5)}},
		{book, picture.Picture{}},
		{named("gist320"), noise(rng, 32, 30, 3)},
		{&Pixels{32, 32, 3}, noise(rng, 32, 32, 1)},
		{&Pixels{32, 32, 3}, noise(rng, 30, 32, 3)},
	} {
		m := extract(t, c.e, []picture.Picture{good, good}, 1)
		err := c.e.Extract(context.Background(), []picture.Picture{good, c.bad}, m, 1)
		if err == nil || !strings.Contains(err.Error(), "picture 1") {
			t.Errorf("%s: error %v", c.e.Kind(), err)
		}
	}
}

func TestExtractStopsWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	rng := rand.New(rand.NewPCG(9, 10))
	pictures := []picture.Picture{noise(rng, 32, 32, 3)}
	for _, e := range []Extractor{randomBook(rng, 3, 6, 3), named("gist320"), &Pixels{32, 32, 3}} {
		if err := e.Extract(ctx, pictures, extract(t, e, pictures, 1), 1); err == nil {
			t.Errorf("%s: no error", e.Kind())
		}
	}
}

func TestPixels(t *testing.T) {
	p := picture.Picture{Width: 2, Height: 1, Channels: 3, Pix: []uint8{1, 2, 3, 250, 5, 6}}
	got := extract(t, &Pixels{2, 1, 3}, []picture.Picture{p, p}, 2)
	if want := []float32{1, 2, 3, 250, 5, 6}; !slices.Equal(got.Row(1), want) {
		t.Errorf("%v", got.Row(1))
	}
}

func BenchmarkCodebook(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	book := randomBook(rng, 800, 6, 3)
	var pictures []picture.Picture
	for range 16 {
		pictures = append(pictures, noise(rng, 32, 32, 3))
	}
	extract(b, book, pictures[:1], 1)
	for b.Loop() {
		extract(b, book, pictures, 1)
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e6/float64(b.N*len(pictures)), "us/picture")
}
