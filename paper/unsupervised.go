package paper

import (
	"context"

	"hashgrove/method"
)

// unsupervisedFigure is Figure 3 (fig:unsup): methods that do not see the labels, on codebook features. The paper shows
// curves without numbers. GIST is there too, because others have published numbers for it.
func unsupervisedFigure(c collection) Experiment {
	words := codebook(800)
	rows := []row{fastHashRow(words, 0, paperTrees(64), "FastHash", paperRow{})}
	for _, name := range []string{"lsh", "pca-itq", "agh", "agh2", "spherical", "mdsh"} {
		rows = append(rows, methodRow(words, 0, name, method.Options{}, paperRow{}))
	}
	more := rows[:len(rows):len(rows)] // without curves
	for _, r := range []recipe{words, c.gist} {
		if r.Name == c.gist.Name {
			for _, d := range rows[1:] {
				d.recipe = r
				more = append(more, d)
			}
		}
		weighted := methodRow(r, 0, "mdsh", method.Options{}, paperRow{})
		weighted.weigh, weighted.label = true, "MDSH, its weighted ranking"
		more = append(more, weighted)
	}
	note := ""
	if c.name == "cifar10" {
		note = `On GIST with 64 bits, TreezzZ (re-implementations on GitHub) reports a MAP of 0.144 for LSH and of 0.169 for
PCA-ITQ, with different queries.`
	}
	return Experiment{
		Name:  c.name + "-unsupervised",
		About: "Unsupervised methods against FastHash on " + c.title + ": the paper's Figure 3",
		Run: func(ctx context.Context, lab *Lab) (*Table, error) {
			t, err := lab.table(ctx, c, c.title+": unsupervised methods (Figure 3)", note, more)
			if err != nil {
				return nil, err
			}
			drawn, err := lab.curves(ctx, c, new(Table), rows)
			t.Figures = append(t.Figures, precisionFigure(c.name+"-unsupervised", c, drawn))
			return t, err
		},
	}
}
