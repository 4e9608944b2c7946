package plot

import (
	"fmt"
	"math"
	"strconv"
	"testing"
)

func linear(hex string) [3]float64 {
	v, err := strconv.ParseUint(hex[1:], 16, 24)
	if err != nil {
		panic(err)
	}
	var out [3]float64
	for i := range out {
		s := float64(v>>(16-8*i)&255) / 255
		if s <= 0.04045 {
			out[i] = s / 12.92
		} else {
			out[i] = math.Pow((s+0.055)/1.055, 2.4)
		}
	}
	return out
}

func luminance(c [3]float64) float64 { return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] }

// eyes are full colour-blindness of three kinds (Machado, Oliveira and Fernandes, 2009) on linear RGB, and none.
var eyes = map[string][3][3]float64{
	"all colours": {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"no red":      {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"no green":    {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"no blue":     {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

// lab returns the colour as an eye sees it, in CIE L*a*b*, where 2 is just about visible.
func lab(hex string, eye [3][3]float64) [3]float64 {
	in := linear(hex)
	var c [3]float64
	for i, row := range eye {
		for k, w := range row {
			c[i] += w * in[k]
		}
		c[i] = min(max(c[i], 0), 1)
	}
	f := func(t float64) float64 {
		if t > 0.008856 {
			return math.Cbrt(t)
		}
		return 7.787*t + 16.0/116
	}
	x, y := f((0.4124*c[0]+0.3576*c[1]+0.1805*c[2])/0.95047), f(luminance(c))
	z := f((0.0193*c[0] + 0.1192*c[1] + 0.9505*c[2]) / 1.08883)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

func TestPalette(t *testing.T) {
	for name, theme := range map[string]Theme{"light": Light, "dark": Dark} {
		if len(theme.Series) != len(Styles) {
			t.Fatalf("%s has %d colours for %d styles", name, len(theme.Series), len(Styles))
		}
		ground := luminance(linear(theme.Surface))
		contrast := func(c string) float64 {
			l := luminance(linear(c))
			return (max(l, ground) + 0.05) / (min(l, ground) + 0.05)
		}
		for _, c := range theme.Series {
			if got := contrast(c); got < 3 {
				t.Errorf("%s: the line colour %s has a contrast of %.2f, want 3", name, c, got)
			}
		}
		for _, c := range []string{theme.Text, theme.Muted} {
			if got := contrast(c); got < 4.5 {
				t.Errorf("%s: the text colour %s has a contrast of %.2f, want 4.5", name, c, got)
			}
		}
		for kind, eye := range eyes {
			for i, a := range theme.Series {
				for _, b := range theme.Series[:i] {
					la, lb := lab(a, eye), lab(b, eye)
					if d := math.Hypot(math.Hypot(la[0]-lb[0], la[1]-lb[1]), la[2]-lb[2]); d < 10 {
						t.Errorf("%s: eyes that see %s take %s for %s: they are only %.1f apart", name, kind, a, b, d)
					}
				}
			}
		}
	}
}

// TestStylesDifferWithoutColour: every two styles differ in dash and in marker.
func TestStylesDifferWithoutColour(t *testing.T) {
	for i, a := range Styles {
		for _, b := range Styles[:i] {
			if fmt.Sprint(a.Marker) == fmt.Sprint(b.Marker) || fmt.Sprint(a.Dash) == fmt.Sprint(b.Dash) {
				t.Errorf("style %d has the dash or the marker of an earlier one", i)
			}
		}
		if len(a.Dash)%2 != 0 {
			t.Errorf("style %d has a stroke without a gap", i)
		}
	}
}
