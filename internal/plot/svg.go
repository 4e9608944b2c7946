package plot

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// svg is a canvas that writes elements. In a page the colours come from classes, which CSS defines; in a file of its
// own they are attributes, since few programs other than browsers read style sheets.
type svg struct {
	strings.Builder
	page bool
}

func drawSVG(f Figure, id string, file bool) string {
	c := &svg{page: !file}
	height := f.layout(c, file)
	var b strings.Builder
	size := fmt.Sprintf(`viewBox="0 0 %d %s"`, wide, short(height))
	if file {
		fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%s" %s role="img">`+"\n", wide, short(height), size)
	} else {
		fmt.Fprintf(&b, `<svg %s role="img" aria-labelledby="%s-title" aria-describedby="%s-desc">`+"\n", size, html.EscapeString(id), html.EscapeString(id))
	}
	name := func(tag, text string) {
		if file {
			fmt.Fprintf(&b, "<%s>%s</%s>\n", tag, html.EscapeString(legal(text)), tag)
		} else {
			fmt.Fprintf(&b, "<%s id=\"%s-%s\">%s</%s>\n", tag, html.EscapeString(id), tag, html.EscapeString(legal(text)), tag)
		}
	}
	name("title", f.Heading())
	name("desc", f.Describe())
	if file {
		fmt.Fprintf(&b, `<rect width="%d" height="%s" fill="%s"/>`+"\n", wide, short(height), Light.Surface)
	}
	b.WriteString(c.String())
	b.WriteString("</svg>\n")
	return b.String()
}

func (c *svg) paint(property byte, i ink) string {
	switch {
	case c.page:
		return fmt.Sprintf(`class="%c%d"`, property, int(i))
	case property == 's':
		return `stroke="` + Light.colour(i) + `"`
	}
	return `fill="` + Light.colour(i) + `"`
}

func (c *svg) line(path []point, i ink, width float64, dash []float64) {
	fmt.Fprintf(c, `<path %s fill="none" stroke-width="%s"`, c.paint('s', i), short(width))
	if dash != nil {
		lengths := make([]string, len(dash))
		for k, d := range dash {
			lengths[k] = short(d)
		}
		fmt.Fprintf(c, ` stroke-dasharray="%s"`, strings.Join(lengths, " "))
	}
	fmt.Fprintf(c, ` stroke-linejoin="round" d="%s"/>`+"\n", trace(path, false))
}

// marker has a thin rim of the surface, so that it stands off from lines below it.
func (c *svg) marker(m Marker, at point, radius float64, i ink) {
	shape := m.outline()
	for k, p := range shape {
		shape[k] = point{at.x + float64(p.x*radius), at.y + float64(p.y*radius)}
	}
	if c.page {
		fmt.Fprintf(c, `<path class="f%d s%d" stroke-width=".8" d="%s"/>`+"\n", int(i), int(inkSurface), trace(shape, true))
		return
	}
	fmt.Fprintf(c, `<path fill="%s" stroke="%s" stroke-width=".8" d="%s"/>`+"\n", Light.colour(i), Light.colour(inkSurface), trace(shape, true))
}

func (c *svg) box(from, to point, i ink, hollow bool) {
	x, y, w, h := from.x, from.y, to.x-from.x, to.y-from.y
	if hollow {
		fmt.Fprintf(c, `<rect x="%s" y="%s" width="%s" height="%s" fill="none" %s stroke-width="1.6" stroke-dasharray="4 2"/>`+"\n",
			short(x+0.8), short(y+0.8), short(max(w-1.6, 0.1)), short(h-1.6), c.paint('s', i))
		return
	}
	fmt.Fprintf(c, `<rect x="%s" y="%s" width="%s" height="%s" %s/>`+"\n", short(x), short(y), short(max(w, 0.1)), short(h), c.paint('f', i))
}

func (c *svg) text(at point, s string, size float64, a anchor, i ink, bold bool) {
	fmt.Fprintf(c, `<text x="%s" y="%s" font-size="%s" %s`, short(at.x), short(at.y), short(size), c.paint('f', i))
	if !c.page {
		c.WriteString(` font-family="sans-serif"`)
	}
	switch a {
	case centre:
		c.WriteString(` text-anchor="middle"`)
	case end:
		c.WriteString(` text-anchor="end"`)
	}
	if bold {
		c.WriteString(` font-weight="bold"`)
	}
	fmt.Fprintf(c, ">%s</text>\n", html.EscapeString(legal(s)))
}

// trace is the path as SVG says it.
func trace(path []point, closed bool) string {
	var b strings.Builder
	for i, p := range path {
		if i == 0 {
			b.WriteByte('M')
		} else {
			b.WriteByte('L')
		}
		b.WriteString(short(p.x))
		b.WriteByte(' ')
		b.WriteString(short(p.y))
	}
	if closed {
		b.WriteByte('Z')
	}
	return b.String()
}

// short is a length to a tenth of a unit.
func short(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10+0, 'f', -1, 64) // + 0 turns -0 into 0
}

// legal leaves out what XML forbids even when escaped: control characters and broken UTF-8.
func legal(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' || r == 0xFFFE || r == 0xFFFF || r == 0xFFFD {
			return '?'
		}
		return r
	}, s)
}
