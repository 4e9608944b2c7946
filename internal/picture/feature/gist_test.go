package feature

import (
	"context"
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/internal/picture"
	"hashgrove/internal/vectors"
)

// extract is Extract into a new matrix.
func extract(t testing.TB, e Extractor, pictures []picture.Picture, threads int) vectors.Matrix {
	t.Helper()
	m := vectors.Matrix{Rows: len(pictures), Cols: e.Dim(), Data: make([]float32, len(pictures)*e.Dim())}
	if err := e.Extract(context.Background(), pictures, m, threads); err != nil {
		t.Fatal(err)
	}
	return m
}

// noise is a picture of soft random structure.
func noise(rng *rand.Rand, width, height, channels int) picture.Picture {
	p := picture.Picture{Width: width, Height: height, Channels: channels, Pix: make([]uint8, width*height*channels)}
	for i := range p.Pix {
		v := 128 + 60*math.Sin(float64(i)/7) + 50*(rng.Float64()-0.5)
		p.Pix[i] = uint8(v)
	}
	return p
}

// plane is a complex picture of n x n values.
type plane [][]complex128

// transformed is the two-dimensional discrete Fourier transform by its definition, one axis after the other.
func (p plane) transformed(sign int) plane {
	n := len(p)
	for range 2 {
		out := make(plane, n)
		for i := range out {
			out[i] = make([]complex128, n)
		}
		for y, row := range p {
			for o := range n {
				out[o][y] = dft(row, ((sign*o)%n+n)%n)
			}
		}
		p = out
	}
	return p
}

// filtered multiplies frequencies by gain and goes back.
func (p plane) filtered(gain func(fx, fy float64) float64) plane {
	n := len(p)
	f := p.transformed(-1)
	for y := range f {
		for x := range f[y] {
			f[y][x] *= complex(gain(signed(x, n), signed(y, n))/float64(n*n), 0)
		}
	}
	return f.transformed(1)
}

// padded extends a picture by margin mirrored pixels.
func padded(p plane, margin int) plane {
	n := len(p)
	at := func(i int) int {
		for i < 0 || i >= n {
			if i < 0 {
				i = -1 - i
			} else {
				i = 2*n - 1 - i
			}
		}
		return i
	}
	out := make(plane, n+2*margin)
	for y := range out {
		for x := range len(out) {
			out[y] = append(out[y], p[at(y-margin)][at(x-margin)])
		}
	}
	return out
}

// gistSlowly is GIST word for word, in float64.
func gistSlowly(o GISTOptions, p picture.Picture) []float64 {
	size := o.Size
	least, most := math.Inf(1), math.Inf(-1)
	grey := make(plane, size)
	for y := range grey {
		for x := range size {
			sum := 0.0
			for c := range p.Channels {
				sum += float64(p.Pix[(y*size+x)*p.Channels+c])
			}
			v := sum / float64(p.Channels)
			least, most = min(least, v), max(most, v)
			grey[y] = append(grey[y], complex(v, 0))
		}
	}
	for y := range grey {
		for x := range grey {
			grey[y][x] = complex(math.Log(255*(real(grey[y][x])-least)/(most-least)+1), 0)
		}
	}
	s1 := 4 / math.Sqrt(math.Ln2)
	low := func(fx, fy float64) float64 { return math.Exp(-(fx*fx + fy*fy) / (s1 * s1)) }
	img := padded(grey, 5)
	smooth := img.filtered(low)
	square := make(plane, len(img))
	for y := range img {
		for x := range img {
			img[y][x] -= complex(real(smooth[y][x]), 0)
			square[y] = append(square[y], img[y][x]*img[y][x])
		}
	}
	std := square.filtered(low)
	out := make(plane, size)
	for y := range out {
		for x := range size {
			out[y] = append(out[y], img[y+5][x+5]/complex(0.2+math.Sqrt(cmplx.Abs(std[y+5][x+5])), 0))
		}
	}
	out = padded(out, 32)
	n := float64(len(out))
	var g []float64
	for i, count := range o.Orientations {
		for j := range count {
			r := out.filtered(func(fx, fy float64) float64 {
				fr := math.Hypot(fx, fy)
				tr := cmplx.Phase(complex(fx, fy)) + math.Pi/float64(count)*float64(j)
				if tr < -math.Pi {
					tr += 2 * math.Pi
				}
				if tr > math.Pi {
					tr -= 2 * math.Pi
				}
				return math.Exp(-10*0.35*math.Pow(fr/n/(0.3/math.Pow(1.85, float64(i)))-1, 2) - 2*math.Pi*(16*float64(count*count)/(32*32))*tr*tr)
			})
			for bx := range o.Blocks {
				for by := range o.Blocks {
					sum, area := 0.0, 0.0
					for y := by * size / o.Blocks; y < (by+1)*size/o.Blocks; y++ {
						for x := bx * size / o.Blocks; x < (bx+1)*size/o.Blocks; x++ {
							sum += cmplx.Abs(r[y+32][x+32])
							area++
						}
					}
					g = append(g, sum/area)
				}
			}
		}
	}
	return g
}

func TestGISTIsTheDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		o        GISTOptions
		channels int
	}{
		{GISTOptions{8, []int{2, 1}, 3}, 3},
		{GISTOptions{6, []int{3}, 1}, 1},
		{GISTOptions{32, []int{1, 1}, 4}, 3},
	} {
		e, err := NewGIST(c.o)
		if err != nil {
			t.Fatal(err)
		}
		p := noise(rng, c.o.Size, c.o.Size, c.channels)
		got, want := extract(t, e, []picture.Picture{p}, 1).Row(0), gistSlowly(c.o, p)
		greatest := slices.Max(want)
		for i := range want {
			if math.Abs(float64(got[i])-want[i]) > 5e-6*greatest {
				t.Errorf("%v: value %d is %v, want %v", c.o, i, got[i], want[i])
			}
		}
	}
}

func TestBlocksSitWhereTheyShould(t *testing.T) {
	e := named("gist320")
	for by := range 4 {
		for bx := range 4 {
			// A small checkered patch in one block on grey ground.
			p := picture.Picture{Width: 32, Height: 32, Channels: 1, Pix: slices.Repeat([]uint8{128}, 1024)}
			for y := 8*by + 2; y < 8*by+6; y++ {
				for x := 8*bx + 2; x < 8*bx+6; x++ {
					p.Pix[y*32+x] = uint8(x % 2 * 255)
				}
			}
			got := extract(t, e, []picture.Picture{p}, 1).Row(0)[:16] // the finest horizontal filter
			if best := slices.Index(got, slices.Max(got)); best != 4*bx+by {
				t.Errorf("block in row %d, column %d: value %d is greatest", by, bx, best)
			} else if name := e.ColumnName(best); name != fmt.Sprintf(
				"edges in row %d, column %d of 4 x 4, scale 1, direction 1 of 8", by+1, bx+1) {
				t.Errorf("value %d is called %q", best, name)
			}
		}
	}
}

func TestNamesOfFeatures(t *testing.T) {
	for column, want := range map[int]string{
		8 * 16: "edges in row 1, column 1 of 4 x 4, scale 2, direction 1 of 8",
		319:    "edges in row 4, column 4 of 4 x 4, scale 3, direction 4 of 4",
	} {
		if got := named("gist320").ColumnName(column); got != want {
			t.Errorf("column %d is called %q, want %q", column, got, want)
		}
	}
}

func TestGISTOfFlatPicturesIsZero(t *testing.T) {
	for _, v := range []uint8{0, 128, 255} {
		p := picture.Picture{Width: 32, Height: 32, Channels: 3, Pix: slices.Repeat([]uint8{v}, 3072)}
		for i, v := range extract(t, named("gist512"), []picture.Picture{p}, 1).Row(0) {
			if v != 0 {
				t.Fatalf("value %d is %v", i, v)
			}
		}
	}
}

func TestGISTDoesNotDependOnThreadsOrNeighbours(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var pictures []picture.Picture
	for range 21 {
		pictures = append(pictures, noise(rng, 32, 32, 3))
	}
	e := named("gist320")
	want := extract(t, e, pictures, 1)
	for _, threads := range []int{2, 7} {
		if got := extract(t, e, pictures, threads); !slices.Equal(got.Data, want.Data) {
			t.Errorf("%d threads give other values", threads)
		}
	}
	for _, i := range []int{0, 5, 20} {
		if got := extract(t, named("gist320"), pictures[i:i+1], 1); !slices.Equal(got.Data, want.Row(i)) {
			t.Errorf("picture %d alone has other values", i)
		}
	}
}

func TestGISTOptionsAreChecked(t *testing.T) {
	for _, o := range []GISTOptions{
		{31, []int{8}, 4}, {-2, []int{8}, 4}, {1024, []int{8}, 4}, {32, []int{8}, 0}, {32, []int{8}, 17}, {8, []int{8}, 9},
		{32, nil, 4}, {32, []int{0}, 4}, {32, []int{60, 5}, 4}, {32, []int{math.MaxInt/2 + 1, math.MaxInt/2 + 1, 4}, 4},
	} {
		if _, err := NewGIST(o); err == nil {
			t.Errorf("%+v passes", o)
		}
	}
}

func BenchmarkGIST(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 6))
	var pictures []picture.Picture
	for range 64 {
		pictures = append(pictures, noise(rng, 32, 32, 3))
	}
	e := named("gist320")
	extract(b, e, pictures[:1], 1)
	for b.Loop() {
		extract(b, e, pictures, 1)
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e6/float64(b.N*len(pictures)), "us/picture")
}

// named is a preset for pictures of 32 x 32 pixels.
func named(name string) *GIST {
	e, err := Named(name, picture.Shape{Width: 32, Height: 32, Channels: 3})
	if err != nil {
		panic(err)
	}
	return e.(*GIST)
}
