package report

import (
	"math"
	"slices"
	"strconv"
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

// number formats a number for a chart, with at most four digits after the point.
func number(v float64) string { return strconv.FormatFloat(math.Round(v*1e4)/1e4, 'f', -1, 64) }
