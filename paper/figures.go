package main

import (
	"context"
	"fmt"

	"hashgrove"
	"hashgrove/internal/compare/report"
	"hashgrove/internal/fasthash"
	"hashgrove/internal/fasthash/inference"
)

// cifar10Inference is Figure 1 (fig:tsh): the spectral inference of TSH or Block-GC, with linear SVMs or trees as hash
// functions, by number of bits, on codebook features. The paper shows curves without numbers.
//
// FastHash learns a model stage by stage, so its first bits are the model of fewer bits. TSH infers with the whole
// length in view, so each length is trained separately.
func cifar10Inference() Experiment {
	c, words := cifar10, codebook(800)
	lengths := []int{16, 32, 64}
	var rows []row
	for _, spectral := range []bool{false, true} {
		for _, learner := range []fasthash.Learner{fasthash.Trees, fasthash.Linear} {
			for _, bits := range lengths {
				if spectral {
					rows = append(rows, twoStep(words, 5000, bits, learner))
					continue
				}
				t := paperTrees(64)
				if learner == fasthash.Linear {
					t.FastHash.Learner = string(learner) // trees are the default, which must not change the key
				}
				r := fastHashRow(words, 5000, t, fmt.Sprintf("Block-GC, %s (FastHash)", learner), paperRow{})
				r.first = bits % 64 // the first of 64
				rows = append(rows, r)
			}
		}
	}
	return Experiment{
		Name: c.name + "-inference",
		About: "Spectral or Block-GC inference with linear or tree hash functions on " + c.title +
			": the paper's Figure 1",
		Run: func(ctx context.Context, runner *Runner) (*Table, error) {
			note := `The paper does not say how many training pictures its figure is based on; here they are the 5,000 of its
other tables. All pairs count. With Block-GC, codes of 16 and 32 bits are prefixes of those of 64 bits, so they have no
training time of their own.`
			t, err := runner.table(ctx, c, c.title+": inference and hash functions (Figure 1)", note, rows)
			if err != nil {
				return nil, err
			}
			t.Figures = []figure{bitsFigure(c, runner.chosen(rows), t.values)}
			return t, nil
		},
	}
}

// twoStep returns a row of TSH with all pairs, trained like FastHash, so that it can be interrupted.
func twoStep(r recipe, train, bits int, learner fasthash.Learner) row {
	t := hashgrove.Options{Bits: bits, Effort: fasthash.Paper, FastHash: hashgrove.FastHashOptions{
		Order: string(fasthash.TSH), Learner: string(learner), Inference: string(inference.Spectral),
	}}
	return fastHashRow(r, train, t, fmt.Sprintf("spectral, %s (TSH)", learner), paperRow{})
}

// bitsFigure plots precision@100 against bits, with a line for each label.
func bitsFigure(c collection, rows []row, values []result) figure {
	l := report.Lines{
		Title: c.title + ": precision@100 by bits",
		Desc:  "Precision of the first 100 pictures against the length of the codes.",
		X:     report.Axis{Label: "bits"}, Y: report.Axis{Label: "precision@100"},
	}
	for i, r := range rows {
		if values[i].Precision == 0 {
			continue // it has no numbers
		}
		if n := len(l.Series); n == 0 || l.Series[n-1].Name != r.title() {
			l.Series = append(l.Series, report.Series{Name: r.title(), Style: n})
		}
		s := &l.Series[len(l.Series)-1]
		s.X, s.Y = append(s.X, float64(r.bits())), append(s.Y, values[i].Precision)
	}
	return figure{c.name + "-inference-precision", l}
}

// cifar10Curves is Figure 2 (fig:features): precision over recall, and precision of the first 2,000 retrieved pictures,
// on codebook features. The paper shows curves without numbers.
func cifar10Curves() Experiment {
	c := cifar10
	rows := supervised(codebook(800), make([]paperRow, 6))
	return Experiment{
		Name:  c.name + "-curves",
		About: "Precision-recall curves and precision of the first 2,000 on " + c.title + ": the paper's Figure 2",
		Run: func(ctx context.Context, runner *Runner) (*Table, error) {
			t := &Table{
				Title: c.title + ": curves of the supervised methods (Figure 2)", Head: []string{"precision at", ""},
				Note: c.parts + ` Codes have 64 bits and are learned from codebook features. Precision of the first pictures is an
expectation over ties. Precision at a given recall is read from the curve that pools all queries at every Hamming
radius, interpolated linearly between radii.`,
			}
			byRank, byRecall, err := runner.curves(ctx, c, t, rows)
			if err != nil {
				return nil, err
			}
			for _, s := range byRank {
				t.Head = append(t.Head, s.Name)
			}
			for _, rank := range []int{1, 10, 50, 100, 200, 500, 1000, 1500, 2000} {
				t.addHeights("retrieved", fmt.Sprint(rank), byRank, float64(rank))
			}
			for recall := 0.1; recall < 0.95; recall += 0.1 {
				t.addHeights("recall", fmt.Sprintf("%.1f", recall), byRecall, recall)
			}
			runner.labelShort(t, c)
			t.Figures = []figure{{c.name + "-curves-recall", report.Lines{
				Title: c.title + ": precision and recall", Desc: "Precision against recall at every Hamming radius.",
				X: report.Axis{Label: "recall", To: 1}, Y: report.Axis{Label: "precision"}, Series: byRecall,
			}}, precisionFigure(c.name+"-curves", c, byRank)}
			return t, nil
		},
	}
}

// addHeights appends the heights of all curves at x.
func (t *Table) addHeights(what, at string, curves []report.Series, x float64) {
	cells := []string{what, at}
	for _, s := range curves {
		cells = append(cells, number("%.3f", heightAt(s.X, s.Y, x)))
	}
	t.Rows = append(t.Rows, cells)
}

// curves returns precision by the number of retrieved pictures and by recall, of each row that has them.
func (runner *Runner) curves(
	ctx context.Context, c collection, t *Table, rows []row,
) (byRank, byRecall []report.Series, err error) {
	rows = runner.chosen(rows)
	values, err := runRows(ctx, runner, c, t, rows, func(run *training, _ row) (curve, error) {
		return runner.curve(ctx, run)
	})
	for i, v := range values {
		if v.Rank == nil {
			continue
		}
		rank := report.Series{Name: rows[i].title(), Style: len(byRank)}
		recall := rank
		for _, p := range v.Rank {
			rank.X, rank.Y = append(rank.X, float64(p.Rank)), append(rank.Y, p.Precision)
		}
		for _, p := range v.Reach {
			recall.X, recall.Y = append(recall.X, p.Recall), append(recall.Y, p.Precision)
		}
		byRank, byRecall = append(byRank, rank), append(byRecall, recall)
	}
	return byRank, byRecall, err
}

// heightAt interpolates linearly at x, level before the first point and 0 beyond the last.
func heightAt(xs, ys []float64, x float64) float64 {
	for i := range xs {
		switch {
		case xs[i] < x:
		case xs[i] == x || i == 0:
			return ys[i]
		default:
			return ys[i-1] + (ys[i]-ys[i-1])*(x-xs[i-1])/(xs[i]-xs[i-1])
		}
	}
	return 0
}

func precisionFigure(name string, c collection, byRank []report.Series) figure {
	return figure{name + "-precision", report.Lines{
		Title: c.title + ": precision of the first pictures",
		Desc:  "Precision against the number of retrieved pictures.",
		X:     report.Axis{Label: "retrieved"}, Y: report.Axis{Label: "precision"}, Series: byRank,
	}}
}

// cifar10Unsupervised is Figure 3 (fig:unsup): methods that do not see the labels, on codebook features. The paper
// shows curves without numbers. GIST is included, because others have published numbers for it.
func cifar10Unsupervised() Experiment {
	c := cifar10
	methods := []string{"lsh", "pca-itq", "agh", "agh2", "spherical", "mdsh"}
	rows := []row{fastHashRow(codebook(800), 0, paperTrees(64), "FastHash", paperRow{})}
	for _, r := range []recipe{codebook(800), c.gist} {
		for _, name := range methods {
			rows = append(rows, methodRow(r, 0, name, hashgrove.Options{}, paperRow{}))
		}
		weighted := methodRow(r, 0, "mdsh", hashgrove.Options{}, paperRow{})
		weighted.weigh, weighted.label = true, "MDSH, its weighted ranking"
		rows = append(rows, weighted)
	}
	note := `On GIST with 64 bits, TreezzZ (re-implementations on GitHub) reports a MAP of 0.144 for LSH and of 0.169 for
PCA-ITQ, with different queries.`
	return Experiment{
		Name:  c.name + "-unsupervised",
		About: "Unsupervised methods against FastHash on " + c.title + ": the paper's Figure 3",
		Run: func(ctx context.Context, runner *Runner) (*Table, error) {
			t, err := runner.table(ctx, c, c.title+": unsupervised methods (Figure 3)", note, rows)
			if err != nil {
				return nil, err
			}
			byRank, _, err := runner.curves(ctx, c, new(Table), rows[:1+len(methods)])
			t.Figures = append(t.Figures, precisionFigure(c.name+"-unsupervised", c, byRank))
			return t, err
		},
	}
}
