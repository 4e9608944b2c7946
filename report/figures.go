package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"hashgrove/internal/plot"
)

// figure is a plot with its place in the page.
type figure struct {
	caption string // how to read it
	plot    plot.Figure
}

// lines is how many methods a plot of curves can show before it is a knot; all are in the overview and the table.
const lines = 8

// look is a method as the curves show it.
type look struct {
	Result
	style int
}

// focus is the code length of the comparison; see Data.Bits.
func (d Data) focus() int {
	if d.Bits != 0 {
		return d.Bits
	}
	count := map[int]int{}
	best := 0
	for _, r := range d.Results {
		if r.Recommended && r.Bits != 0 {
			return r.Bits
		}
		if r.Bits != 0 {
			count[r.Bits]++
		}
	}
	for _, r := range d.Results { // not over the map: its order is random
		if count[r.Bits] > count[best] || count[r.Bits] == count[best] && r.Bits > best {
			best = r.Bits
		}
	}
	return best
}

// compared are the results at the focus and those without a code, best first, one for each name.
func (d Data) compared() []Result {
	focus := d.focus()
	var rows []Result
	for _, r := range d.Results {
		if r.Bits == focus || r.Bits == 0 {
			rows = append(rows, r)
		}
	}
	slices.SortStableFunc(rows, better)
	var kept []Result
	for _, r := range rows {
		if !slices.ContainsFunc(kept, func(k Result) bool { return k.Method == r.Method }) {
			kept = append(kept, r)
		}
	}
	return kept
}

func better(a, b Result) int {
	return cmp.Or(cmp.Compare(b.MAP, a.MAP), cmp.Compare(a.Method, b.Method))
}

// shown are the methods of the curves: the recommended one first, then the best, and of the marks the best ceiling,
// one without codes if there is any, and the lowest floor, which is where random codes are.
func (d Data) shown() []look {
	var first, methods, floors, ceilings []Result
	for _, r := range d.compared() {
		switch {
		case r.Recommended:
			first = append(first, r)
		case r.Kind == Floor:
			floors = append(floors, r)
		case r.Kind == Ceiling:
			ceilings = append(ceilings, r)
		default:
			methods = append(methods, r)
		}
	}
	var marks []Result
	if len(ceilings) > 0 {
		plain := slices.IndexFunc(ceilings, func(r Result) bool { return r.Bits == 0 })
		marks = append(marks, ceilings[max(plain, 0)])
	}
	if len(floors) > 0 {
		marks = append(marks, floors[len(floors)-1])
	}
	picked := append(first, methods...)
	picked = picked[:min(len(picked), lines-len(marks))]
	looks := make([]look, 0, lines)
	for i, r := range append(picked, marks...) {
		looks = append(looks, look{r, i})
	}
	return looks
}

// figures are the plots that the data can fill, in the order of the page.
func (d Data) figures() []figure {
	looks := d.shown()
	at := ""
	if f := d.focus(); f != 0 {
		at = fmt.Sprintf(" at %d bits", f)
	}
	all := []figure{
		d.overview(at), precisionRecall(looks, at), precisionRetrieved(looks, at), d.mapBits(looks),
		d.trainTime(at), objective(looks), codeUsage(looks, at), bitBalance(looks, at),
	}
	return slices.DeleteFunc(all, func(f figure) bool { return f.plot == nil })
}

// curves is a plot of one line for each method that has two points or more, and nothing when none has.
func curves(looks []look, l plot.Lines, points func(Result) (x, y []float64)) plot.Figure {
	for _, m := range looks {
		if x, y := points(m.Result); len(x) > 1 {
			l.Series = append(l.Series, plot.Series{Name: m.Method, X: x, Y: y, Style: m.style, Strong: m.Recommended})
		}
	}
	if l.Series == nil {
		return nil
	}
	return l
}

// last is the end of an axis: the largest number that a method has.
func last(looks []look, of func(Result) int) float64 {
	end := 0
	for _, m := range looks {
		end = max(end, of(m.Result))
	}
	return float64(end)
}

// bitAxis runs to the last bit, with ticks at quarters: code lengths are rarely round in tens.
func bitAxis(label string, looks []look, of func(Result) int) plot.Axis {
	a := plot.Axis{Label: label, To: last(looks, of)}
	if int(a.To)%4 == 0 {
		a.Ticks = []float64{0, a.To / 4, a.To / 2, 3 * a.To / 4, a.To}
	}
	return a
}

// The groups of the overview, by supervision and kind.
var groups = []plot.Group{
	{Name: "supervised", Style: 0},
	{Name: "unsupervised", Style: 1},
	{Name: "floor", Style: 7, Hollow: true},
	{Name: "ceiling: not a code of this length", Style: 2, Hollow: true},
}

func (d Data) overview(at string) figure {
	b := plot.Bars{
		Title:  "Mean average precision" + at,
		Desc:   "Bars, longest first.",
		X:      plot.Axis{Label: "MAP"},
		Groups: groups,
	}
	for _, r := range d.compared() {
		group := 1
		switch {
		case r.Kind == Floor:
			group = 2
		case r.Kind == Ceiling:
			group = 3
		case r.Supervised:
			group = 0
		}
		low, high := r.bounds()
		b.Bars = append(b.Bars, plot.Bar{Name: r.Method, Value: r.MAP, Low: low, High: high, Group: group, Strong: r.Recommended})
	}
	if b.Bars == nil {
		return figure{}
	}
	return figure{"Longer is better. The thin line across the end of a bar runs from the worst to the best order of ties.", b}
}

// bounds of MAP; a result without them has no ties.
func (r Result) bounds() (low, high float64) {
	if r.MAPLow == 0 && r.MAPHigh == 0 {
		return r.MAP, r.MAP
	}
	return r.MAPLow, r.MAPHigh
}

func precisionRecall(looks []look, at string) figure {
	l := plot.Lines{
		Title: "Precision and recall" + at,
		Desc:  "Precision falls as recall grows.",
		X:     plot.Axis{Label: "recall", From: 0, To: 1},
		Y:     plot.Axis{Label: "precision", Zero: true},
	}
	return figure{"Higher is better. Each point is a Hamming radius, all queries together.",
		curves(looks, l, func(r Result) (x, y []float64) {
			for _, p := range r.PRCurve {
				x, y = append(x, p.Recall), append(y, p.Precision)
			}
			return x, y
		})}
}

func precisionRetrieved(looks []look, at string) figure {
	const most = 2000
	l := plot.Lines{
		Title: "Precision of the first results" + at,
		Desc:  "Precision of the nearest items as more are retrieved.",
		X: plot.Axis{Label: "items retrieved", To: last(looks, func(r Result) int {
			if len(r.Retrieved) == 0 {
				return 0
			}
			return min(r.Retrieved[len(r.Retrieved)-1].Rank, most)
		})},
		Y: plot.Axis{Label: "precision", Zero: true},
	}
	return figure{"Higher is better: the share of right ones among the nearest items.",
		curves(looks, l, func(r Result) (x, y []float64) {
			for _, p := range r.Retrieved {
				if p.Rank <= most {
					x, y = append(x, float64(p.Rank)), append(y, p.Precision)
				}
			}
			return x, y
		})}
}

func (d Data) mapBits(looks []look) figure {
	var lengths []float64
	for _, r := range d.Results {
		if r.Bits > 0 && r.Kind == Method { // floors and ceilings have lengths of their own
			lengths = append(lengths, float64(r.Bits))
		}
	}
	slices.Sort(lengths)
	lengths = slices.Compact(lengths)
	if len(lengths) < 2 {
		return figure{}
	}
	l := plot.Lines{
		Title: "What more bits bring",
		Desc:  "Mean average precision by code length.",
		X:     plot.Axis{Label: "bits", Log: true, Ticks: lengths},
		Y:     plot.Axis{Label: "MAP", Zero: true},
	}
	return figure{"A line that has become flat says that more bits are not worth their memory.",
		curves(looks, l, func(r Result) (x, y []float64) {
			if r.Bits == 0 { // no code: the same at every length
				return []float64{lengths[0], lengths[len(lengths)-1]}, []float64{r.MAP, r.MAP}
			}
			for _, bits := range lengths {
				i := slices.IndexFunc(d.Results, func(o Result) bool { return o.Method == r.Method && float64(o.Bits) == bits })
				if i >= 0 {
					x, y = append(x, bits), append(y, d.Results[i].MAP)
				}
			}
			return x, y
		})}
}

func (d Data) trainTime(at string) figure {
	l := plot.Lines{
		Title:  "Training time and what it buys" + at,
		Desc:   "Points: mean average precision by training seconds on a logarithmic axis.",
		X:      plot.Axis{Label: "training time, seconds", Log: true},
		Y:      plot.Axis{Label: "MAP", Zero: true},
		Direct: true,
	}
	styles := map[string]int{}
	for _, m := range d.shown() {
		styles[m.Method] = m.style
	}
	for _, r := range d.compared() {
		if r.TrainSeconds <= 0 {
			continue
		}
		style, ok := styles[r.Method]
		if !ok {
			style = len(plot.Styles) - 1 // the rest share the last look; their names stand beside them
		}
		l.Series = append(l.Series, plot.Series{Name: r.Method, X: []float64{r.TrainSeconds}, Y: []float64{r.MAP}, Style: style, Strong: r.Recommended, Points: true})
	}
	if len(l.Series) < 2 {
		return figure{}
	}
	return figure{"Up and to the left is better. Each step along the axis multiplies the time.", l}
}

func objective(looks []look) figure {
	l := plot.Lines{
		Title: "The objective, bit by bit",
		Desc:  "The loss that training lowers, after each bit.",
		X:     bitAxis("bits learned", looks, func(r Result) int { return len(r.Objective) }),
		Y:     plot.Axis{Label: "objective"},
	}
	return figure{"Lower is better: how far the codes still are from the wanted similarities of the training pairs.",
		curves(looks, l, func(r Result) (x, y []float64) {
			for i, v := range r.Objective {
				x, y = append(x, float64(i+1)), append(y, v)
			}
			return x, y
		})}
}

// codeUsage is the cumulative form of a histogram of items per code: it needs no bins, and methods can be laid over
// each other.
func codeUsage(looks []look, at string) figure {
	largest := 1
	for _, m := range looks {
		if b := m.Usage.Buckets; len(b) > 0 {
			largest = max(largest, b[len(b)-1].Size)
		}
	}
	if largest == 1 {
		return figure{} // every code is its own in every method: nothing to see
	}
	l := plot.Lines{
		Title: "Items that share a code" + at,
		Desc:  "Share of the items whose code at most so many items have.",
		X:     plot.Axis{Label: "items with one code, at most", Log: true},
		Y:     plot.Axis{Label: "share of the items", From: 0, To: 1},
	}
	return figure{"Items of one code cannot be told apart: a line that rises far to the right means crowded codes.",
		curves(looks, l, func(r Result) (x, y []float64) {
			total, sum := 0, 0
			for _, b := range r.Usage.Buckets {
				total += b.Size * b.Codes
			}
			if total == 0 {
				return nil, nil
			}
			// A step before each rise, since between two sizes nothing is added.
			step := func(size int) {
				x, y = append(x, float64(size)), append(y, float64(sum)/float64(total))
			}
			step(1)
			for _, b := range r.Usage.Buckets {
				step(b.Size)
				sum += b.Size * b.Codes
				step(b.Size)
			}
			step(largest)
			return x, y
		})}
}

func bitBalance(looks []look, at string) figure {
	l := plot.Lines{
		Title: "Balance of the bits" + at,
		Desc:  "Share of items in which a bit is one, bits sorted by it.",
		X:     bitAxis("bits, sorted", looks, func(r Result) int { return len(r.Usage.Ones) }),
		Y:     plot.Axis{Label: "share of items with a one", From: 0, To: 1},
	}
	return figure{"A bit near one half tells most; one near 0 or 1 is the same for nearly every item.",
		curves(looks, l, func(r Result) (x, y []float64) {
			y = slices.Sorted(slices.Values(r.Usage.Ones))
			for i := range y {
				x = append(x, float64(i+1))
			}
			return x, y
		})}
}

// finite tells numbers from what division by zero leaves.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
