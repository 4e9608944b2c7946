package report

import (
	"cmp"
	"math"
	"slices"
	"strconv"
)

// Axis maps numbers from 0 on to positions.
type Axis struct {
	Label string
	To    float64   // where it ends; 0 fits it to the data
	Ticks []float64 // nil: round numbers
}

// scale is an axis fitted to data.
type scale struct {
	to    float64
	ticks []float64
}

// share returns the position of v: 0 at 0, 1 at the end, clamped in between.
func (s scale) share(v float64) float64 { return min(max(v/s.to, 0), 1) }

// fit chooses the end and the ticks. A fitted axis ends on a tick.
func (a Axis) fit(values []float64) scale {
	s := scale{a.To, a.Ticks}
	if s.to == 0 {
		s.to = cmp.Or(slices.Max(append(values, 0)), 1)
	}
	step := niceStep(s.to)
	if a.To == 0 {
		s.to = math.Ceil(s.to/step-1e-9) * step
	}
	for i := 0.0; a.Ticks == nil && i <= s.to/step+1e-9; i++ {
		s.ticks = append(s.ticks, i*step)
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
