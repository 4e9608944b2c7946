package report_test

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"testing"

	"hashgrove/internal/plot"
)

// luminance and contrast are those of WCAG 2.2.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	v, err := strconv.ParseUint(hex[1:], 16, 24)
	if err != nil {
		t.Fatal(err)
	}
	linear := func(c uint64) float64 {
		s := float64(c&255) / 255
		if s <= 0.04045 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(v>>16) + 0.7152*linear(v>>8) + 0.0722*linear(v)
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	la, lb := luminance(t, a), luminance(t, b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

// TestPageContrast computes every pair of text and ground that the style sheet makes: 4.5:1 for text, 3:1 for the
// borders that mark right and wrong.
func TestPageContrast(t *testing.T) {
	css, err := os.ReadFile("page.css")
	if err != nil {
		t.Fatal(err)
	}
	roots := regexp.MustCompile(`:root\{([^}]*)\}`).FindAllStringSubmatch(string(css), -1)
	if len(roots) != 2 {
		t.Fatalf("page.css has %d sets of colours, want light and dark", len(roots))
	}
	for i, theme := range []plot.Theme{plot.Light, plot.Dark} {
		name := []string{"light", "dark"}[i]
		colour := map[string]string{"surface": theme.Surface, "text": theme.Text, "muted": theme.Muted}
		for _, m := range regexp.MustCompile(`--(\w+):(#[0-9A-Fa-f]{6})`).FindAllStringSubmatch(roots[i][1], -1) {
			colour[m[1]] = m[2]
		}
		for _, c := range []struct {
			front, back string
			least       float64
		}{
			{"text", "surface", 7}, {"muted", "surface", 4.5}, {"link", "surface", 4.5}, {"good", "surface", 4.5},
			{"bad", "surface", 4.5},
			{"text", "soft", 7}, {"muted", "soft", 4.5}, {"text", "pick", 7}, {"muted", "pick", 4.5}, {"text", "barfill", 4.5},
			{"good", "soft", 3}, {"bad", "soft", 3},
		} {
			if colour[c.front] == "" || colour[c.back] == "" {
				t.Fatalf("%s: no colour for %s or %s", name, c.front, c.back)
			}
			if got := contrast(t, colour[c.front], colour[c.back]); got < c.least {
				t.Errorf("%s: %s on %s has a contrast of %.2f, want %.1f", name, c.front, c.back, got, c.least)
			}
		}
	}
}

func TestContrastIsTheDefinition(t *testing.T) {
	if got := contrast(t, "#000000", "#FFFFFF"); math.Abs(got-21) > 1e-9 {
		t.Errorf("black on white has %v", got)
	}
	if got := contrast(t, "#767676", "#FFFFFF"); got < 4.5 || got > 4.6 { // the lightest grey that WCAG allows for text
		t.Errorf("#767676 on white has %v", got)
	}
}
