package plot

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestLinearTicks(t *testing.T) {
	for _, c := range []struct {
		axis   Axis
		values []float64
		want   string
	}{
		{Axis{}, []float64{0, 1}, "[0 0.2 0.4 0.6 0.8 1]"},
		{Axis{}, []float64{0.41, 0.57}, "[0.4 0.45 0.5 0.55 0.6]"},
		{Axis{Zero: true}, []float64{0.41, 0.57}, "[0 0.1 0.2 0.3 0.4 0.5 0.6]"},
		{Axis{To: 2000}, nil, "[0 500 1000 1500 2000]"},
		{Axis{To: 1872}, nil, "[0 500 1000 1500]"},
		{Axis{}, []float64{3, 3}, "[2.4 2.6 2.8 3 3.2 3.4 3.6]"},
		{Axis{}, nil, "[0.4 0.6 0.8 1 1.2 1.4 1.6]"},
		{Axis{Log: true}, []float64{0.02, 3000}, "[0.01 0.1 1 10 100 1000]"},
		{Axis{Log: true}, []float64{3, 40}, "[5 10 20]"},
		{Axis{Log: true, Ticks: []float64{16, 32}}, []float64{16, 32}, "[16 32]"},
	} {
		s := c.axis.fit(c.values)
		for i, v := range s.ticks { // 0.30000000000000004 is 0.3
			s.ticks[i] = math.Round(v*1e6) / 1e6
		}
		if got := fmt.Sprint(s.ticks); got != c.want {
			t.Errorf("%+v of %v: ticks %s, want %s", c.axis, c.values, got, c.want)
		}
	}
}

// TestAxesHoldTheirData: for any data the ends are finite and in order, all data lie inside, ticks rise and are few.
func TestAxesHoldTheirData(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 5_000 {
		values := make([]float64, 1+rng.IntN(4))
		size := math.Pow(10, 16*rng.Float64()-8)
		for i := range values {
			values[i] = size * rng.Float64()
			if rng.IntN(3) == 0 {
				values[i] = -values[i]
			}
		}
		a := Axis{Log: rng.IntN(2) == 0, Zero: rng.IntN(2) == 0}
		if a.Log {
			for i, v := range values {
				values[i] = max(math.Abs(v), 1e-300) * math.Pow(10, 6*rng.Float64())
			}
		}
		s := a.fit(values)
		if !(s.from < s.to) || math.IsInf(s.from, 0) || math.IsInf(s.to, 0) {
			t.Fatalf("%+v of %v runs from %v to %v", a, values, s.from, s.to)
		}
		slack := (s.to - s.from) * 1e-9
		for _, v := range values {
			if v < s.from-slack || v > s.to+slack {
				t.Fatalf("%+v of %v runs from %v to %v, without %v", a, values, s.from, s.to, v)
			}
		}
		if len(s.ticks) > 12 || !a.Log && len(s.ticks) < 3 {
			t.Fatalf("%+v of %v has the ticks %v", a, values, s.ticks)
		}
		for i, v := range s.ticks {
			if i > 0 && v <= s.ticks[i-1] {
				t.Fatalf("ticks do not rise: %v", s.ticks)
			}
		}
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.1: "0.1", 0.30000000000000004: "0.3", 1234567: "1,234,567", 2000: "2,000", 999.96: "1,000",
		0.75312: "0.7531",
		-1500:   "−1,500", 12.5: "12.5", 1e-7: "1e-07", 0.00125: "0.0013", 16: "16", 3.14159: "3.142", 99999.6: "100,000",
	} {
		if got := Number(v); got != want {
			t.Errorf("%v is written %q, want %q", v, got, want)
		}
	}
}

// few returns a plot with three lines.
func few() Lines {
	l := Lines{Title: "Title & <more>", Desc: "A first sentence.", X: Axis{Label: "x"}, Y: Axis{Label: "y"}}
	for i, name := range []string{"one", "two <script>", "three"} {
		s := Series{Name: name, Style: i, Strong: i == 0}
		for x := range 50 {
			s.X, s.Y = append(s.X, float64(x)), append(s.Y, float64(x*(i+1)))
		}
		l.Series = append(l.Series, s)
	}
	return l
}

func bars() Bars {
	return Bars{
		Title: "Bars", X: Axis{Label: "MAP"},
		Groups: []Group{{Name: "a", Style: 0}, {Name: "b", Style: 3, Hollow: true}},
		Bars: []Bar{
			{Name: "first", Value: 0.8, Low: 0.7, High: 0.9, Strong: true},
			{Name: "a name far too long for the room that there is", Value: 0.5, Low: 0.5, High: 0.5, Group: 1},
		},
	}
}

func TestSVGIsXML(t *testing.T) {
	for _, f := range []Figure{few(), bars(), Lines{Title: "bad \x00\x01\xff text"}} {
		for _, text := range []string{drawSVG(f, "", true), Inline(f, "id")} {
			d := xml.NewDecoder(strings.NewReader(text))
			names := map[string]string{}
			for {
				token, err := d.Token()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatalf("%v in %s", err, text)
				}
				if e, ok := token.(xml.StartElement); ok && (e.Name.Local == "title" || e.Name.Local == "desc") {
					var content string
					if err := d.DecodeElement(&content, &e); err != nil {
						t.Fatal(err)
					}
					names[e.Name.Local] = content
				}
			}
			if want := xmlText(f.Heading()); names["title"] != want || names["desc"] != xmlText(f.Describe()) {
				t.Errorf("title and desc are %q, want %q and %q", names, want, f.Describe())
			}
			if strings.Contains(text, "<script") {
				t.Errorf("a name has become an element in %s", text)
			}
			if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
				t.Errorf("a coordinate is not a number in %s", text)
			}
		}
	}
	if got, again := Inline(few(), "id"), Inline(few(), "id"); got != again {
		t.Error("the same figure gives other bytes")
	}
}

func TestPointsThatCannotBeDrawnAreLeftOut(t *testing.T) {
	l := Lines{X: Axis{Log: true}, Series: []Series{
		{Name: "s", X: []float64{0, -1, 1, 10, 100}, Y: []float64{1, 1, 2, math.NaN(), math.Inf(1)}},
	}}
	if got := l.Describe(); got != "s: 2 at 1." {
		t.Errorf("described as %q", got)
	}
	if svg := drawSVG(l, "", true); strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
		t.Error("a coordinate is not a number")
	}
	defer func() {
		if recover() == nil {
			t.Error("a series with more x than y does not panic")
		}
	}()
	l.Series[0].Y = nil
	l.Describe()
}

// TestSVGHasTheInk checks that a file shows every series, the text and the grid in their own colours, on white paper.
func TestSVGHasTheInk(t *testing.T) {
	for _, f := range []Figure{few(), bars()} {
		var b, again bytes.Buffer
		if err := WriteSVG(&b, f); err != nil {
			t.Fatal(err)
		}
		if err := WriteSVG(&again, f); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
			t.Error("the same figure gives other bytes")
		}
		text := b.String()
		if !strings.Contains(text, fmt.Sprintf(`width="%d"`, figureWidth)) {
			t.Errorf("%s: the file is not %d wide", f.Heading(), figureWidth)
		}
		inks := []string{Light.Text, Light.Muted, Light.Grid, Light.Series[0], Light.Series[3]}
		if _, ok := f.(Lines); ok {
			inks = []string{Light.Text, Light.Muted, Light.Grid, Light.Series[0], Light.Series[1], Light.Series[2]}
		}
		for _, ink := range inks {
			if !strings.Contains(text, `="`+ink+`"`) {
				t.Errorf("%s: nothing is drawn in %s", f.Heading(), ink)
			}
		}
		first := text[strings.Index(text, "</desc>"):]
		if !strings.HasPrefix(first, fmt.Sprintf("</desc>\n<rect width=\"%d\" height=", figureWidth)) ||
			!strings.Contains(first[:strings.Index(first, "/>")], `fill="`+Light.Surface+`"`) {
			t.Errorf("%s: the paper is not drawn first", f.Heading())
		}
	}
}

// TestDashesAreThoseOfTheStyle checks that the lines of a figure have the dashes of their styles and that an undashed
// line has none.
func TestDashesAreThoseOfTheStyle(t *testing.T) {
	var l Lines
	for i := range Styles {
		y := []float64{0, float64(i), 1}
		l.Series = append(l.Series, Series{Name: fmt.Sprint(i), Style: i, X: []float64{0, 1, 2}, Y: y})
	}
	drawn := map[string]int{}
	for element := range strings.Lines(drawSVG(l, "", true)) {
		if !strings.HasPrefix(element, "<path ") || !strings.Contains(element, `fill="none"`) {
			continue
		}
		_, dash, _ := strings.Cut(element, `stroke-dasharray="`)
		dash, _, _ = strings.Cut(dash, `"`)
		_, colour, _ := strings.Cut(element, `stroke="`)
		colour, _, _ = strings.Cut(colour, `"`)
		drawn[colour+": "+dash]++
	}
	for i, s := range Styles {
		dash := strings.Trim(fmt.Sprint(s.Dash), "[]")
		if key := Light.Series[i] + ": " + dash; drawn[key] < 2 { // the line and its sample in the legend
			t.Errorf("style %d: %d lines are drawn as %q: %v", i, drawn[key], key, drawn)
		}
	}
}

// TestWidths checks that every printable character of ASCII and Latin-1 has a width, and that wide ones are wider.
func TestWidths(t *testing.T) {
	if n := len(strings.Fields(widthTable)); n != 2*0x250 {
		t.Fatalf("the table has %d widths", n)
	}
	for weight, table := range widths() {
		for r := ' '; r < 0x100; r++ {
			if (r < 0x7F || r >= 0xA0) && (table[r] < 0.15 || table[r] > 1.2) {
				t.Errorf("weight %d: %q is %v em wide", weight, r, table[r])
			}
		}
		if !(table['i'] < table['e'] && table['e'] < table['m'] && table['m'] < table['W']) {
			t.Errorf("weight %d: i, e, m and W are %v, %v, %v and %v em wide", weight,
				table['i'], table['e'], table['m'], table['W'])
		}
	}
	if regular, bold := measure("precision", 12, false), measure("precision", 12, true); bold <= regular {
		t.Errorf("a word is %v wide and %v in bold", regular, bold)
	}
}

// recorder is a canvas that keeps the room that texts take.
type recorder struct {
	texts []rect
	names []string
}

func (r *recorder) line([]point, ink, float64, []float64) {}
func (r *recorder) marker(outline, point, float64, ink)   {}
func (r *recorder) box(point, point, ink, bool)           {}
func (r *recorder) text(at point, s string, size float64, a anchor, _ ink, bold bool) {
	w := measure(s, size, bold)
	at.x -= w * float64(a) / 2
	r.texts, r.names = append(r.texts, rect{at.x, at.y - size*0.7, at.x + w, at.y + size*0.15}), append(r.names, s)
}

// TestTextNeitherMeetsNorLeaves: no two texts of a figure lie over each other, and all lie inside.
func TestTextNeitherMeetsNorLeaves(t *testing.T) {
	crowd := Lines{Title: "A crowd", X: Axis{Label: "seconds", Log: true}, Y: Axis{Label: "MAP", Zero: true}, Direct: true}
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range 18 {
		crowd.Series = append(crowd.Series, Series{Name: fmt.Sprintf("method %d of all", i), Points: true, Style: i,
			X: []float64{math.Pow(10, 3*rng.Float64())}, Y: []float64{0.3 + 0.5*rng.Float64()*rng.Float64()}})
	}
	long := few()
	long.Title = strings.Repeat("a very long title ", 9)
	for i := range 8 {
		name := strings.Repeat("long name ", i*2)
		long.Series = append(long.Series, Series{Name: name, X: []float64{1, 2}, Y: []float64{1, 1e6}, Style: i})
	}
	for _, f := range []Figure{few(), bars(), crowd, long, Lines{X: Axis{From: 1e6, To: 9e6}, Series: few().Series}} {
		r := &recorder{}
		height := f.layout(r, true)
		for i, a := range r.texts {
			if a.left < -0.5 || a.right > figureWidth+0.5 || a.top < 0 || a.bottom > height {
				t.Errorf("%q leaves the figure: %+v", r.names[i], a)
			}
			for k, b := range r.texts[:i] {
				if a.meets(b) {
					t.Errorf("%q lies over %q", r.names[i], r.names[k])
				}
			}
		}
	}
}

func TestNumbersLieOnTheLine(t *testing.T) {
	l := Lines{X: Axis{Label: "x", Ticks: []float64{-1, 0, 1, 2, 3}}, Series: []Series{
		{Name: "a", X: []float64{0, 2}, Y: []float64{10, 20}},
		{Name: "b", X: []float64{1, 1, 2}, Y: []float64{5, 7, 7}},
	}}
	head, rows := l.Numbers()
	if got := fmt.Sprint(head, rows); got != "[x a b] [[0 10 –] [1 15 5] [2 20 7]]" {
		t.Errorf("the table is %s", got)
	}
	l = Lines{
		X:      Axis{Log: true, Ticks: []float64{1, 10, 100}},
		Series: []Series{{Name: "a", X: []float64{1, 100}, Y: []float64{0, 1}}},
	}
	if _, rows := l.Numbers(); rows[1][1] != "0.5" {
		t.Errorf("halfway on a log axis is %s", rows[1][1])
	}
}

func TestClip(t *testing.T) {
	for _, s := range []string{
		"", "short", "Übergröße für alle Kinder", strings.Repeat("界", 40), strings.Repeat("wide ", 40),
	} {
		got := clip(s, 100, 12, false)
		if measure(got, 12, false) > 100 {
			t.Errorf("%q is still %v wide", got, measure(got, 12, false))
		}
		if !strings.HasPrefix(s, strings.TrimSuffix(got, "…")) {
			t.Errorf("%q is no beginning of %q", got, s)
		}
	}
}
