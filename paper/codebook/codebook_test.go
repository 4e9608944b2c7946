package codebook

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/internal/picture"
	"hashgrove/internal/vectors"
)

// randomBook is a codebook of random words.
func randomBook(rng *rand.Rand, words, patch, channels int) *Codebook {
	c := &Codebook{Options: Options{Patch: patch, Unscaled: true}, Channels: channels}
	for range words {
		c.Bias = append(c.Bias, rng.Float32()-0.5)
		for range patch * patch * channels {
			c.Filters = append(c.Filters, rng.Float32()-0.5)
		}
	}
	return c
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
func extract(t testing.TB, c *Codebook, pictures []picture.Picture, threads int) vectors.Matrix {
	t.Helper()
	x := vectors.Matrix{Rows: len(pictures), Cols: c.Dim(), Data: make([]float32, len(pictures)*c.Dim())}
	if err := c.Extract(context.Background(), pictures, x, threads); err != nil {
		t.Fatal(err)
	}
	return x
}

// encodeSlowly is the definition of the features, in float64.
func encodeSlowly(c *Codebook, p picture.Picture) []float64 {
	side := c.Options.Patch
	across, down := p.Width-side+1, p.Height-side+1
	words := len(c.Bias)
	z := make([][]float64, across*down)
	for y := range down {
		for x := range across {
			var v []float64
			for dy := range side {
				for dx := range side {
					for ch := range c.Channels {
						v = append(v, float64(p.Pix[((y+dy)*p.Width+x+dx)*c.Channels+ch]))
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
					sum += float64(c.Filters[w*len(v)+k]) * (a - mean) / math.Sqrt(variance+contrast)
				}
				z[y*across+x] = append(z[y*across+x], sum)
			}
		}
	}
	var out []float64
	for level := 1; level <= levels; level++ {
		for cy := range level {
			for cx := range level {
				pooled := func(f func(z float64) float64) {
					for w := range words {
						total := 0.0
						for y := int(math.Round(float64(cy*down) / float64(level))); y < int(math.Round(float64((cy+1)*down)/float64(level))); y++ {
							for x := int(math.Round(float64(cx*across) / float64(level))); x < int(math.Round(float64((cx+1)*across)/float64(level))); x++ {
								total += f(z[y*across+x][w])
							}
						}
						out = append(out, total)
					}
				}
				pooled(func(z float64) float64 { return max(z-threshold, 0) })
				if c.Options.Split {
					pooled(func(z float64) float64 { return -max(-z-threshold, 0) })
				}
			}
		}
	}
	if c.Options.Unscaled {
		return out
	}
	sum := 0.0
	for _, v := range out {
		sum += math.Abs(v)
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

func TestCodebookIsTheDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ words, patch, channels, width, height int }{
		{17, 6, 3, 24, 24}, {16, 5, 1, 20, 13}, {1, 1, 1, 1, 1}, {5, 3, 3, 4, 9},
	} {
		for i := range 4 {
			b := randomBook(rng, c.words, c.patch, c.channels)
			b.Options.Split, b.Options.Unscaled = i%2 > 0, i/2 > 0
			p := noise(rng, c.width, c.height, c.channels)
			got, want := extract(t, b, []picture.Picture{p}, 1).Row(0), encodeSlowly(b, p)
			if len(got) != len(want) {
				t.Fatalf("%+v: %d values, want %d", c, len(got), len(want))
			}
			for i := range want {
				if math.Abs(float64(got[i])-want[i]) > 1e-4*(1+math.Abs(want[i])) {
					t.Fatalf("%+v, %+v: value %d is %v, want %v", c, b.Options, i, got[i], want[i])
				}
			}
		}
	}
}

func TestPicturesAloneHaveTheSameFeatures(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	b := randomBook(rng, 40, 6, 3)
	b.Options.Unscaled = false
	var pictures []picture.Picture
	for i := range 9 {
		pictures = append(pictures, noise(rng, 16+i%3, 18, 3))
	}
	want := extract(t, b, pictures, 2)
	for i := range pictures {
		if got := extract(t, b, pictures[i:i+1], 1); !slices.Equal(got.Data, want.Row(i)) {
			t.Errorf("picture %d alone has other values", i)
		}
	}
}
