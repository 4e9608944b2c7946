package paper

import (
	"context"
	"fmt"

	"hashgrove/eval"
	"hashgrove/internal/plot"
)

// curvesFigure is Figure 2 (fig:features): precision over recall, and precision of the first 2,000 retrieved pictures,
// on codebook features. The paper shows curves without numbers.
func curvesFigure(c collection) Experiment {
	rows := supervised(codebook(800), [6]paperRow{})
	return Experiment{
		Name:  c.name + "-curves",
		About: "Precision-recall curves and precision of the first 2,000 on " + c.title + ": the paper's Figure 2",
		Run: func(ctx context.Context, lab *Lab) (*Table, error) {
			t := &Table{
				Title: c.title + ": curves of the supervised methods (Figure 2)", Head: []string{"precision at", ""},
				Note: c.parts + ` Codes have 64 bits and are learned from codebook features. Precision of the first pictures is an
expectation over ties. Precision at a given recall is read from the curve that pools all queries at every Hamming radius,
interpolated linearly between radii.`,
			}
			drawn, err := lab.curves(ctx, c, t, rows)
			if err != nil {
				return nil, err
			}
			for _, d := range drawn {
				t.Head = append(t.Head, d.name)
			}
			for _, rank := range []int{1, 10, 50, 100, 200, 500, 1000, 1500, 2000} {
				t.addCurveValues("retrieved", fmt.Sprint(rank), drawn, func(c curve) float64 { return c.atRank(rank) })
			}
			for recall := 0.1; recall < 0.95; recall += 0.1 {
				t.addCurveValues("recall", fmt.Sprintf("%.1f", recall), drawn,
					func(c curve) float64 { return c.atRecall(recall) })
			}
			lab.labelShort(t, c)
			t.Figures = []figure{recallFigure(c.name+"-curves", c, drawn), precisionFigure(c.name+"-curves", c, drawn)}
			return t, nil
		},
	}
}

// addCurveValues appends the values of all curves at a place.
func (t *Table) addCurveValues(what, at string, drawn []namedCurve, value func(curve) float64) {
	cells := []string{what, at}
	for _, d := range drawn {
		cells = append(cells, number("%.3f", value(d.curve)))
	}
	t.Rows = append(t.Rows, cells)
}

// namedCurve is the curve of a row under its title.
type namedCurve struct {
	name string
	curve
}

// curves makes the curves of the rows; the table says which rows have none.
func (lab *Lab) curves(ctx context.Context, c collection, t *Table, rows []row) ([]namedCurve, error) {
	rows = lab.shortened(rows)
	values, err := runRows(ctx, lab, c, t, rows, func(lab *Lab, run *training, _ row) (curve, error) {
		return lab.curve(ctx, run)
	})
	var list []namedCurve
	for i, v := range values {
		if v.Rank != nil {
			list = append(list, namedCurve{rows[i].title(), v})
		}
	}
	return list, err
}

// atRank is the precision of the first pictures, along straight lines between the ranks that are known; 0 beyond them.
func (c curve) atRank(rank int) float64 {
	for i, p := range c.Rank {
		if p.Rank == rank {
			return p.Precision
		}
		if p.Rank > rank && i > 0 {
			before := c.Rank[i-1]
			return interpolate(float64(before.Rank), before.Precision, float64(p.Rank), p.Precision, float64(rank))
		}
	}
	return 0
}

// atRecall is the precision where the curve reaches a recall.
func (c curve) atRecall(recall float64) float64 {
	var before eval.PRPoint
	for i, p := range c.Reach {
		if p.Recall >= recall {
			if i == 0 {
				return p.Precision // nothing is nearer: the curve begins level
			}
			return interpolate(before.Recall, before.Precision, p.Recall, p.Precision, recall)
		}
		before = p
	}
	return 0
}

// interpolate is the height at x of the line through two points.
func interpolate(x0, y0, x1, y1, x float64) float64 { return y0 + (y1-y0)*(x-x0)/(x1-x0) }

func precisionFigure(name string, c collection, drawn []namedCurve) figure {
	l := plot.Lines{
		Title: c.title + ": precision of the first pictures",
		Desc:  "Precision against the number of retrieved pictures.",
		X:     plot.Axis{Label: "retrieved", Zero: true}, Y: plot.Axis{Label: "precision", Zero: true},
	}
	for i, d := range drawn {
		s := plot.Series{Name: d.name, Style: i}
		for _, p := range d.curve.Rank {
			s.X, s.Y = append(s.X, float64(p.Rank)), append(s.Y, p.Precision)
		}
		l.Series = append(l.Series, s)
	}
	return figure{name + "-precision", l}
}

func recallFigure(name string, c collection, drawn []namedCurve) figure {
	l := plot.Lines{
		Title: c.title + ": precision and recall", Desc: "Precision against recall at every Hamming radius.",
		X: plot.Axis{Label: "recall", To: 1}, Y: plot.Axis{Label: "precision", Zero: true},
	}
	for i, d := range drawn {
		s := plot.Series{Name: d.name, Style: i}
		for _, p := range d.curve.Reach {
			s.X, s.Y = append(s.X, p.Recall), append(s.Y, p.Precision)
		}
		l.Series = append(l.Series, s)
	}
	return figure{name + "-recall", l}
}
