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
	size := fmt.Sprintf(`viewBox="0 0 %d %s"`, figureWidth, decimal(height))
	if file {
		fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%s" %s role="img">`+"\n",
			figureWidth, decimal(height), size)
	} else {
		fmt.Fprintf(&b, `<svg %s role="img" aria-labelledby="%s-title" aria-describedby="%s-desc">`+"\n",
			size, html.EscapeString(id), html.EscapeString(id))
	}
	name := func(tag, text string) {
		if file {
			fmt.Fprintf(&b, "<%s>%s</%s>\n", tag, html.EscapeString(xmlText(text)), tag)
		} else {
			fmt.Fprintf(&b, "<%s id=\"%s-%s\">%s</%s>\n", tag, html.EscapeString(id), tag, html.EscapeString(xmlText(text)), tag)
		}
	}
	name("title", f.Heading())
	name("desc", f.Describe())
	if file {
		fmt.Fprintf(&b, `<rect width="%d" height="%s" fill="%s"/>`+"\n", figureWidth, decimal(height), Light.Surface)
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
	fmt.Fprintf(c, `<path %s fill="none" stroke-width="%s"`, c.paint('s', i), decimal(width))
	if dash != nil {
		lengths := make([]string, len(dash))
		for k, d := range dash {
			lengths[k] = decimal(d)
		}
		fmt.Fprintf(c, ` stroke-dasharray="%s"`, strings.Join(lengths, " "))
	}
	fmt.Fprintf(c, ` stroke-linejoin="round" d="%s"/>`+"\n", pathData(path, false))
}

// marker draws a thin rim in the colour of the surface, which sets the marker off from the lines below it.
func (c *svg) marker(m markerShape, at point, radius float64, i ink) {
	shape := m.outline()
	for k, p := range shape {
		shape[k] = point{at.x + float64(p.x*radius), at.y + float64(p.y*radius)}
	}
	if c.page {
		fmt.Fprintf(c, `<path class="f%d s%d" stroke-width=".8" d="%s"/>`+"\n",
			int(i), int(inkSurface), pathData(shape, true))
		return
	}
	fmt.Fprintf(c, `<path fill="%s" stroke="%s" stroke-width=".8" d="%s"/>`+"\n",
		Light.colour(i), Light.colour(inkSurface), pathData(shape, true))
}

func (c *svg) box(from, to point, i ink, hollow bool) {
	x, y, w, h := from.x, from.y, to.x-from.x, to.y-from.y
	if hollow {
		fmt.Fprintf(c, `<rect x="%s" y="%s" width="%s" height="%s" fill="none" %s`+
			` stroke-width="1.6" stroke-dasharray="4 2"/>`+"\n",
			decimal(x+0.8), decimal(y+0.8), decimal(max(w-1.6, 0.1)), decimal(h-1.6), c.paint('s', i))
		return
	}
	fmt.Fprintf(c, `<rect x="%s" y="%s" width="%s" height="%s" %s/>`+"\n",
		decimal(x), decimal(y), decimal(max(w, 0.1)), decimal(h), c.paint('f', i))
}

func (c *svg) text(at point, s string, size float64, a anchor, i ink, bold bool) {
	fmt.Fprintf(c, `<text x="%s" y="%s" font-size="%s" %s`, decimal(at.x), decimal(at.y), decimal(size), c.paint('f', i))
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
	fmt.Fprintf(c, ">%s</text>\n", html.EscapeString(xmlText(s)))
}

// pathData returns the path in the notation of SVG.
func pathData(path []point, closed bool) string {
	var b strings.Builder
	for i, p := range path {
		if i == 0 {
			b.WriteByte('M')
		} else {
			b.WriteByte('L')
		}
		b.WriteString(decimal(p.x))
		b.WriteByte(' ')
		b.WriteString(decimal(p.y))
	}
	if closed {
		b.WriteByte('Z')
	}
	return b.String()
}

// decimal formats a length to a tenth of a unit.
func decimal(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10+0, 'f', -1, 64) // + 0 turns -0 into 0
}

// xmlText replaces characters that XML forbids even when escaped: control characters and invalid UTF-8.
func xmlText(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' || r == 0xFFFE || r == 0xFFFF || r == 0xFFFD {
			return '?'
		}
		return r
	}, s)
}
