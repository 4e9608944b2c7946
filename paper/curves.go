package paper

import (
	"context"
	"fmt"

	"hashgrove/eval"
	"hashgrove/internal/plot"
)

// retrieval is Figure 2 (fig:features): precision over recall, and precision of the first 2,000 retrieved pictures, on
// codebook features. The paper shows curves without numbers.
func retrieval(c collection) Experiment {
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
			drawn, err := lab.curves(ctx, c, rows)
			if err != nil {
				return nil, err
			}
			t.Failures, t.NotRun = drawn.failures, drawn.notRun
			for _, d := range drawn.list {
				t.Head = append(t.Head, d.name)
			}
			for _, rank := range []int{1, 10, 50, 100, 200, 500, 1000, 1500, 2000} {
				t.add("retrieved", fmt.Sprint(rank), drawn, func(c curve) float64 { return c.atRank(rank) })
			}
			for recall := 0.1; recall < 0.95; recall += 0.1 {
				t.add("recall", fmt.Sprintf("%.1f", recall), drawn, func(c curve) float64 { return c.atRecall(recall) })
			}
			lab.mark(t, c)
			t.Figures = []Figure{recallFigure(c.name+"-curves", c, drawn), precisionFigure(c.name+"-curves", c, drawn)}
			return t, nil
		},
	}
}

// add appends the values of all curves at a place.
func (t *Table) add(what, at string, drawn drawing, value func(curve) float64) {
	cells := []string{what, at}
	for _, d := range drawn.list {
		cells = append(cells, number("%.3f", value(d.curve)))
	}
	t.Rows = append(t.Rows, cells)
}

// drawing is the curves of the rows that have some.
type drawing struct {
	list []struct {
		name  string
		curve curve
	}
	failures, notRun []string
}

// curves makes the curves of all rows.
func (lab *Lab) curves(ctx context.Context, c collection, rows []row) (drawing, error) {
	var out drawing
	if err := lab.check(c); err != nil {
		return out, err
	}
	for _, r := range lab.shorts(rows) {
		var v curve
		err := lab.attempt(ctx, r.method, func(lab *Lab) error {
			t, err := lab.trial(ctx, c, r)
			if err == nil {
				v, err = lab.curve(ctx, t)
			}
			return err
		})
		t := Table{}
		if err := t.fail(ctx, lab, r.title()+" on "+r.recipe.title(), err); err != nil {
			return out, err
		}
		out.failures, out.notRun = append(out.failures, t.Failures...), append(out.notRun, t.NotRun...)
		if err == nil {
			out.list = append(out.list, struct {
				name  string
				curve curve
			}{r.title(), v})
		}
	}
	return out, nil
}

// atRank is the precision of the first pictures, along straight lines between the ranks that are known; 0 beyond them.
func (c curve) atRank(rank int) float64 {
	for i, p := range c.Rank {
		if p.Rank == rank {
			return p.Precision
		}
		if p.Rank > rank && i > 0 {
			before := c.Rank[i-1]
			return between(float64(before.Rank), before.Precision, float64(p.Rank), p.Precision, float64(rank))
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
			return between(before.Recall, before.Precision, p.Recall, p.Precision, recall)
		}
		before = p
	}
	return 0
}

// between is the height at x of the line through two points.
func between(x0, y0, x1, y1, x float64) float64 { return y0 + (y1-y0)*(x-x0)/(x1-x0) }

func precisionFigure(name string, c collection, drawn drawing) Figure {
	l := plot.Lines{
		Title: c.title + ": precision of the first pictures", Desc: "Precision against the number of retrieved pictures.",
		X: plot.Axis{Label: "retrieved", Zero: true}, Y: plot.Axis{Label: "precision", Zero: true},
	}
	for i, d := range drawn.list {
		s := plot.Series{Name: d.name, Style: i}
		for _, p := range d.curve.Rank {
			s.X, s.Y = append(s.X, float64(p.Rank)), append(s.Y, p.Precision)
		}
		l.Series = append(l.Series, s)
	}
	return Figure{name + "-precision", l}
}

func recallFigure(name string, c collection, drawn drawing) Figure {
	l := plot.Lines{
		Title: c.title + ": precision and recall", Desc: "Precision against recall at every Hamming radius.",
		X: plot.Axis{Label: "recall", To: 1}, Y: plot.Axis{Label: "precision", Zero: true},
	}
	for i, d := range drawn.list {
		s := plot.Series{Name: d.name, Style: i}
		for _, p := range d.curve.Reach {
			s.X, s.Y = append(s.X, p.Recall), append(s.Y, p.Precision)
		}
		l.Series = append(l.Series, s)
	}
	return Figure{name + "-recall", l}
}
