package plot

import (
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"
	"strconv"

	"golang.org/x/image/font"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// sharp is how many pixels a unit of a figure has in a PNG.
const sharp = 2

// WritePNG writes the figure as pixels, in the colours of white paper: shapes by golang.org/x/image/vector, letters
// in the Go font.
func WritePNG(w io.Writer, f Figure) error {
	height := f.layout(&svg{}, true) // the size comes first
	c := &raster{img: image.NewRGBA(image.Rect(0, 0, wide*sharp, int(math.Ceil(height*sharp))))}
	draw.Draw(c.img, c.img.Bounds(), image.NewUniform(rgb(Light.Surface)), image.Point{}, draw.Src)
	f.layout(c, true)
	return png.Encode(w, c.img)
}

// raster is a canvas of pixels.
type raster struct {
	img *image.RGBA
	v   vector.Rasterizer
}

// fill paints polygons as one shape, within the rectangle around them. All run the same way round, or where two lie
// over each other the rasterizer would take one from the other.
func (c *raster) fill(i ink, polygons ...[]point) {
	box := rect{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for _, p := range polygons {
		for _, at := range p {
			box = rect{min(box.left, at.x), min(box.top, at.y), max(box.right, at.x), max(box.bottom, at.y)}
		}
	}
	bounds := image.Rect(int(math.Floor(box.left*sharp)), int(math.Floor(box.top*sharp)), int(math.Ceil(box.right*sharp)), int(math.Ceil(box.bottom*sharp)))
	bounds = bounds.Intersect(c.img.Bounds())
	if bounds.Empty() {
		return
	}
	c.v.Reset(bounds.Dx(), bounds.Dy())
	for _, p := range polygons {
		turned := area(p) < 0
		for k := range p {
			at := p[k]
			if turned {
				at = p[len(p)-1-k]
			}
			x, y := float32(float64(at.x*sharp)-float64(bounds.Min.X)), float32(float64(at.y*sharp)-float64(bounds.Min.Y))
			if k == 0 {
				c.v.MoveTo(x, y)
			} else {
				c.v.LineTo(x, y)
			}
		}
		c.v.ClosePath()
	}
	c.v.Draw(c.img, bounds, image.NewUniform(rgb(Light.colour(i))), image.Point{})
}

// area is twice the signed area.
func area(p []point) float64 {
	sum := 0.0
	for i, a := range p {
		b := p[(i+1)%len(p)]
		sum += float64(a.x*b.y) - float64(b.x*a.y)
	}
	return sum
}

func (c *raster) line(path []point, i ink, width float64, dash []float64) {
	for _, stroke := range cut(path, dash) {
		var polygons [][]point
		for k := 1; k < len(stroke); k++ {
			a, b := stroke[k-1], stroke[k]
			length := math.Hypot(b.x-a.x, b.y-a.y)
			if length == 0 {
				continue
			}
			dx, dy := (b.x-a.x)/length*width/2, (b.y-a.y)/length*width/2
			polygons = append(polygons, []point{{a.x - dy, a.y + dx}, {b.x - dy, b.y + dx}, {b.x + dy, b.y - dx}, {a.x + dy, a.y - dx}})
			if k > 1 { // a round joint closes the gap on the outer side of a bend
				polygons = append(polygons, disc(a, width/2))
			}
		}
		c.fill(i, polygons...)
	}
}

// cut cuts a path into its dashes.
func cut(path []point, dash []float64) [][]point {
	if dash == nil {
		return [][]point{path}
	}
	var strokes [][]point
	at, left, on := 0, dash[0], true
	stroke := []point{path[0]}
	for k := 1; k < len(path); k++ {
		a, b := path[k-1], path[k]
		length := math.Hypot(b.x-a.x, b.y-a.y)
		done := 0.0
		for length-done > left {
			done += left
			p := point{a.x + float64((b.x-a.x)*done/length), a.y + float64((b.y-a.y)*done/length)}
			if on {
				strokes = append(strokes, append(stroke, p))
			}
			at = (at + 1) % len(dash)
			left, on, stroke = dash[at], !on, []point{p}
		}
		left -= length - done
		stroke = append(stroke, b)
	}
	if on {
		strokes = append(strokes, stroke)
	}
	return strokes
}

func disc(at point, radius float64) []point {
	ring := Circle.outline()
	for i, p := range ring {
		ring[i] = point{at.x + float64(p.x*radius), at.y + float64(p.y*radius)}
	}
	return ring
}

func (c *raster) marker(m Marker, at point, radius float64, i ink) {
	for _, layer := range []struct {
		radius float64
		ink    ink
	}{{radius + 0.8, inkSurface}, {radius, i}} {
		shape := m.outline()
		for k, p := range shape {
			shape[k] = point{at.x + float64(p.x*layer.radius), at.y + float64(p.y*layer.radius)}
		}
		c.fill(layer.ink, shape)
	}
}

func (c *raster) box(from, to point, i ink, hollow bool) {
	to.x = max(to.x, from.x+0.1)
	if hollow {
		from, to = point{from.x + 0.8, from.y + 0.8}, point{to.x - 0.8, to.y - 0.8}
		c.line([]point{from, {to.x, from.y}, to, {from.x, to.y}, from}, i, 1.6, []float64{4, 2})
		return
	}
	c.fill(i, []point{from, {to.x, from.y}, to, {from.x, to.y}})
}

func (c *raster) text(at point, s string, size float64, a anchor, i ink, bold bool) {
	f := face(size*sharp, bold)
	defer f.Close()
	d := font.Drawer{Dst: c.img, Src: image.NewUniform(rgb(Light.colour(i))), Face: f}
	d.Dot = fixed.Point26_6{X: fixed.Int26_6(math.Round(at.x * sharp * 64)), Y: fixed.Int26_6(math.Round(at.y * sharp * 64))}
	switch a {
	case centre:
		d.Dot.X -= d.MeasureString(s) / 2
	case end:
		d.Dot.X -= d.MeasureString(s)
	}
	d.DrawString(s)
}

// rgb reads #RRGGBB; the themes hold nothing else.
func rgb(hex string) color.RGBA {
	v, err := strconv.ParseUint(hex[1:], 16, 24)
	if err != nil {
		panic("plot: " + err.Error())
	}
	return color.RGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}
}
