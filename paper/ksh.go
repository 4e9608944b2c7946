package paper

import (
	"context"

	"hashgrove/method"
)

// kshTable is Table 1 (tab:ksh): KSH with more and more anchors, which the paper calls support vectors, against FastHash on
// codebook features.
func kshTable(c collection) Experiment {
	paper := map[string][5]paperRow{ // KSH with 300, 1000 and 3000 anchors, FastHash on 5,000 rows and on all
		"cifar10": {{precision: 0.480, train: 1082, test: 22}, {precision: 0.553, train: 3481, test: 57}, {precision: 0.590, train: 52747, test: 145},
			{precision: 0.634, train: 331, test: 21}, {precision: 0.763, train: 1794, test: 21}},
		"iaprtc12": {{precision: 0.199, train: 1129, test: 7}, {precision: 0.235, train: 3447, test: 21}, {precision: 0.273, train: 51927, test: 51},
			{precision: 0.285, train: 331, test: 9}, {precision: 0.371, train: 620, test: 9}},
		"espgame": {{precision: 0.124, train: 1120, test: 8}, {precision: 0.139, train: 3358, test: 22}, {precision: 0.163, train: 52115, test: 46},
			{precision: 0.188, train: 309, test: 9}, {precision: 0.261, train: 663, test: 9}},
		"mirflickr": {{precision: 0.387, train: 1036, test: 5}, {precision: 0.407, train: 3337, test: 13}, {precision: 0.434, train: 52031, test: 42},
			{precision: 0.555, train: 278, test: 7}, {precision: 0.595, train: 509, test: 7}},
	}[c.name]
	words := codebook(800)
	rows := []row{
		methodRow(words, 5000, "ksh", method.Options{Anchors: 300}, paper[0]),
		methodRow(words, 5000, "ksh", method.Options{Anchors: 1000}, paper[1]),
		methodRow(words, 5000, "ksh", method.Options{Anchors: 3000}, paper[2]),
		fastHashRow(words, 5000, plain(64), "FastHash", paper[3]),
		fastHashRow(words, 0, plain(64), "FastHash, full", paper[4]),
	}
	return Experiment{
		Name:  c.name + "-ksh",
		About: "KSH with 300, 1,000 and 3,000 anchors against FastHash on " + c.title + ": the paper's Table 1",
		Run: func(ctx context.Context, lab *Lab) (*Table, error) {
			return lab.table(ctx, c, c.title+": KSH against FastHash (Table 1)", "", rows)
		},
	}
}
