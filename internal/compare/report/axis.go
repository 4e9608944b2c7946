package report

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Axis maps numbers to positions. The zero value fits the data.
type Axis struct {
	Label string
	To    float64   // the axis runs from 0 to here; 0 fits it to the data
	Zero  bool      // a fitted axis starts at 0
	Ticks []float64 // nil: round numbers
}

// scale is an axis fitted to data.
type scale struct {
	from, to float64
	ticks    []float64
}

// share returns the position of v: 0 at from, 1 at to, clamped in between.
func (s scale) share(v float64) float64 {
	return min(max((v-s.from)/(s.to-s.from), 0), 1)
}

// fit chooses the ends and the ticks. A fitted axis ends on ticks.
func (a Axis) fit(values []float64) scale {
	if len(values) == 0 {
		values = []float64{1}
	}
	s := scale{to: a.To, ticks: a.Ticks}
	if a.To == 0 {
		s.from, s.to = slices.Min(values), slices.Max(values)
	}
	if a.To == 0 && a.Zero {
		s.from = min(0, s.from)
	}
	if s.from == s.to {
		s.from, s.to = s.from-0.5, s.to+0.5
	}
	step := niceStep(s.to - s.from)
	if a.To == 0 {
		s.from, s.to = math.Floor(s.from/step+1e-9)*step, math.Ceil(s.to/step-1e-9)*step
	}
	if s.ticks == nil {
		for i := math.Ceil(s.from/step-1e-9) + 0; i <= s.to/step+1e-9; i++ {
			s.ticks = append(s.ticks, i*step)
		}
	}
	return s
}

// niceStep returns the smallest of 1, 2, 2.5 and 5 times a power of ten that divides the span into at most six steps.
func niceStep(span float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(span/6)))
	for _, m := range []float64{1, 2, 2.5, 5, 10} {
		if m*power >= span/6*(1-1e-9) {
			return m * power
		}
	}
	return 20 * power
}

// number formats a number for a chart: at most four significant digits below 10,000, with commas between thousands.
func number(v float64) string {
	if v == 0 {
		return "0"
	}
	if size := math.Abs(v); size < 1e-4 || size >= 1e12 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	digits := max(0, 3-int(math.Floor(float64(math.Log10(math.Abs(v)))+1e-9)))
	if math.Abs(v) < 1 {
		digits = min(digits, 4)
	}
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	whole, fraction, _ := strings.Cut(text, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "−", whole[1:]
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction != "" {
		return sign + whole + "." + fraction
	}
	return sign + whole
}
