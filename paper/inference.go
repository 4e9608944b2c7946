package paper

import (
	"context"
	"fmt"

	"hashgrove/fasthash"
	"hashgrove/inference"
	"hashgrove/internal/plot"
)

// inferenceFigure is Figure 1 (fig:tsh): the spectral inference of TSH or Block-GC, with linear SVMs or trees as hash
// functions, by the number of bits, on codebook features. The paper shows curves without numbers.
//
// A model of FastHash is learned stage by stage, so that its first bits are the model of fewer bits. TSH infers with
// the whole length in view: each length is trained by itself.
func inferenceFigure(c collection) Experiment {
	words := codebook(800)
	lengths := []int{16, 32, 64}
	var rows []row
	for _, learner := range []fasthash.Learner{fasthash.Trees, fasthash.Linear} {
		for _, bits := range lengths {
			t := paperTrees(64)
			if learner == fasthash.Linear {
				t.Learner = learner // trees are the default, and defaults keep the key
			}
			r := fastHashRow(words, 5000, t, fmt.Sprintf("Block-GC, %s (FastHash)", learner), paperRow{})
			if bits < 64 {
				r.first = bits
			}
			rows = append(rows, r)
		}
	}
	for _, learner := range []fasthash.Learner{fasthash.Trees, fasthash.Linear} {
		for _, bits := range lengths {
			rows = append(rows, twoStep(words, 5000, bits, learner))
		}
	}
	return Experiment{
		Name: c.name + "-inference",
		About: "Spectral or Block-GC inference with linear or tree hash functions on " + c.title +
			": the paper's Figure 1",
		Run: func(ctx context.Context, lab *Lab) (*Table, error) {
			note := `The paper does not say how many training pictures its figure is based on; here they are the 5,000 of its
other tables. All pairs count. With Block-GC, codes of 16 and 32 bits are prefixes of those of 64 bits, so they have no
training time of their own.`
			t, err := lab.table(ctx, c, c.title+": inference and hash functions (Figure 1)", note, rows)
			if err != nil {
				return nil, err
			}
			t.Figures = []figure{bitsFigure(c, lab.shortened(rows), t.values)}
			return t, nil
		},
	}
}

// twoStep is a row of TSH with all pairs, trained as FastHash is: it can be interrupted.
func twoStep(r recipe, train, bits int, learner fasthash.Learner) row {
	t := fasthash.Options{Bits: bits, Order: fasthash.TSH, Learner: learner,
		Inference: inference.Options{Method: inference.Spectral}}
	return fastHashRow(r, train, t, fmt.Sprintf("spectral, %s (TSH)", learner), paperRow{})
}

// bitsFigure draws precision@100 against bits, a line for each label.
func bitsFigure(c collection, rows []row, values []result) figure {
	l := plot.Lines{
		Title: c.title + ": precision@100 by bits",
		Desc:  "Precision of the first 100 pictures against the length of the codes.",
		X:     plot.Axis{Label: "bits", Zero: true}, Y: plot.Axis{Label: "precision@100", Zero: true},
	}
	for i, r := range rows {
		if values[i].Precision == 0 {
			continue // it has no numbers
		}
		if n := len(l.Series); n == 0 || l.Series[n-1].Name != r.title() {
			l.Series = append(l.Series, plot.Series{Name: r.title(), Style: n})
		}
		s := &l.Series[len(l.Series)-1]
		s.X, s.Y = append(s.X, float64(r.bits())), append(s.Y, values[i].Precision)
	}
	return figure{c.name + "-inference-precision", l}
}
