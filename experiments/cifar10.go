package experiments

import (
	"context"
	"fmt"

	"hashgrove"
	"hashgrove/boost"
	"hashgrove/feature"
)

// paperRow is what the paper says: precision@100, MAP, PR area, training and test seconds.
type paperRow struct{ precision, mapping, area, train, test float64 }

// The recipes of the features that the paper uses on CIFAR-10.
func gist320() recipe { return recipe{Name: "gist320", GIST: []int{8, 8, 4}} }
func codebook(words int) recipe {
	return recipe{Name: fmt.Sprintf("codebook%d", words*14), Codebook: &feature.Learner{Words: words}}
}

// row is one line of a table: what to run and what the paper got.
type row struct {
	recipe  recipe
	train   int // rows to learn from; 0 means all 50,000
	trainer hashgrove.Trainer
	method  string
	paper   paperRow
}

// plain is the paper's setting, deep ours: trees of depth 6 fit the codes of the database better.
func plain(bits int) hashgrove.Trainer { return hashgrove.Trainer{Bits: bits} }
func deep(bits int) hashgrove.Trainer {
	return hashgrove.Trainer{Bits: bits, Trees: boost.Options{Depth: 6}}
}

// CIFAR10Features is the FastHash rows of Table 3 (tab:features) on CIFAR-10.
var CIFAR10Features = Experiment{
	Name:  "cifar10-features",
	About: "FastHash on CIFAR-10 with GIST and codebook features, 64 bits: the paper's Table 3",
	Run: func(ctx context.Context, lab *Lab) (*Table, error) {
		gist, words := gist320(), codebook(800)
		rows := []row{
			{gist, 5000, plain(64), "depth 4", paperRow{0.517, 0.462, 0.243, 304, 21}},
			{gist, 0, plain(64), "depth 4", paperRow{0.649, 0.653, 0.450, 1681, 21}},
			{gist, 0, deep(64), "depth 6", paperRow{0.649, 0.653, 0.450, 1681, 21}},
			{words, 5000, plain(64), "depth 4", paperRow{0.634, 0.575, 0.358, 331, 21}},
			{words, 0, plain(64), "depth 4", paperRow{0.763, 0.775, 0.605, 1794, 21}},
			{words, 0, deep(64), "depth 6", paperRow{0.763, 0.775, 0.605, 1794, 21}},
		}
		return lab.table(ctx, "CIFAR-10: FastHash on two kinds of features (Table 3)", rows)
	},
}

// CIFAR10Bits is Table 5 (tab:long_bits) on CIFAR-10.
var CIFAR10Bits = Experiment{
	Name:  "cifar10-bits",
	About: "FastHash on CIFAR-10 with 22,400 dimensions and more bits: the paper's Table 5",
	Run: func(ctx context.Context, lab *Lab) (*Table, error) {
		return lab.table(ctx, "CIFAR-10: more dimensions and more bits (Table 5)", []row{
			{codebook(1600), 0, plain(256), "depth 4", paperRow{0.794, 0.814, 0, 5588, 71}},
		})
	},
}

// table runs the rows.
func (lab *Lab) table(ctx context.Context, title string, rows []row) (*Table, error) {
	t := &Table{
		Title: title,
		Head: []string{"features", "trained on", "bits", "method", "train s", "paper", "test s", "paper",
			"precision@100", "paper", "MAP*", "paper", "PR area*", "paper", "MAP", "PR area"},
		Note: `The database is the whole training set of 50,000 pictures, the queries are the 10,000 test pictures. Columns marked * follow
the paper's convention: ties in database order, lists cut at 10,000, MAP divided by the hits in the list. MAP and PR area without a mark
are expectations over ties in the whole ranking. Test seconds are for encoding all queries, reading their vectors included; training
seconds do not count the making of the features. The paper's times are of its authors' machine.`,
	}
	if lab.Short {
		t.Title += ", short run on built-in pictures"
		t.Note = "A short run shows that the experiment works; its numbers say nothing about CIFAR-10."
	}
	for _, r := range rows {
		if lab.Short {
			r = r.short()
		}
		v, err := lab.judge(ctx, r.recipe, r.trainer, r.train)
		if err != nil {
			return nil, err
		}
		trained := "all"
		if r.train > 0 {
			trained = fmt.Sprint(r.train)
		}
		p := r.paper
		t.Rows = append(t.Rows, []string{
			r.recipe.Name, trained, fmt.Sprint(r.trainer.Bits), r.method,
			fmt.Sprintf("%.0f", v.Train), number("%.0f", p.train), fmt.Sprintf("%.1f", v.Test), number("%.0f", p.test),
			fmt.Sprintf("%.3f", v.Precision), number("%.3f", p.precision), fmt.Sprintf("%.3f", v.MAPPaper), number("%.3f", p.mapping),
			fmt.Sprintf("%.3f", v.AreaPaper), number("%.3f", p.area), fmt.Sprintf("%.3f", v.MAP), fmt.Sprintf("%.3f", v.Area),
		})
	}
	return t, nil
}

// short makes a row small enough for a test.
func (r row) short() row {
	r.trainer.Bits = 8
	r.trainer.Trees.Rounds = 10
	r.train = min(r.train, 300)
	r.paper = paperRow{}
	if r.recipe.Codebook != nil {
		r.recipe.Codebook = &feature.Learner{Words: 16, Patches: 2000, Iterations: 3}
	}
	return r
}

func number(format string, v float64) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf(format, v)
}
