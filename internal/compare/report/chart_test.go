package report

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestLinearTicks(t *testing.T) {
	for _, c := range []struct {
		axis   Axis
		values []float64
		ticks  []float64
	}{
		{Axis{}, []float64{0.31, 0.72}, []float64{0, 0.2, 0.4, 0.6, 0.8}},
		{Axis{To: 1}, nil, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
	} {
		s := c.axis.fit(c.values)
		same := slices.EqualFunc(s.ticks, c.ticks, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
		if !same {
			t.Errorf("%+v of %v: ticks %v", c.axis, c.values, s.ticks)
		}
	}
}

// TestSVGIsXML draws with names that could break it.
func TestSVGIsXML(t *testing.T) {
	const evil = "</svg><script>\x01 & \"quoted\" ✓"
	series := Series{Name: evil, X: []float64{1, 2, 3}, Y: []float64{0.5, 0.6, 0.6}}
	for _, id := range []string{"", "plot"} {
		text := Lines{Title: evil, X: Axis{Label: evil}, Series: []Series{series}}.SVG(id)
		d := xml.NewDecoder(strings.NewReader(text))
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v in\n%s", err, text)
			}
			if e, ok := token.(xml.StartElement); ok && e.Name.Local == "script" {
				t.Error("a name became an element")
			}
		}
	}
}
