package paper

import (
	"context"

	"hashgrove/method"
)

// kshTable is Table 1 (tab:ksh): KSH with more and more anchors, which the paper calls support vectors, against
// FastHash on codebook features.
func kshTable(c collection) Experiment {
	paper := map[string][5]paperRow{ // KSH with 300, 1000 and 3000 anchors, FastHash on 5,000 rows and on all
		"cifar10": {{0.480, 0, 0, 1082, 22}, {0.553, 0, 0, 3481, 57}, {0.590, 0, 0, 52747, 145},
			{0.634, 0, 0, 331, 21}, {0.763, 0, 0, 1794, 21}},
		"iaprtc12": {{0.199, 0, 0, 1129, 7}, {0.235, 0, 0, 3447, 21}, {0.273, 0, 0, 51927, 51},
			{0.285, 0, 0, 331, 9}, {0.371, 0, 0, 620, 9}},
		"espgame": {{0.124, 0, 0, 1120, 8}, {0.139, 0, 0, 3358, 22}, {0.163, 0, 0, 52115, 46},
			{0.188, 0, 0, 309, 9}, {0.261, 0, 0, 663, 9}},
		"mirflickr": {{0.387, 0, 0, 1036, 5}, {0.407, 0, 0, 3337, 13}, {0.434, 0, 0, 52031, 42},
			{0.555, 0, 0, 278, 7}, {0.595, 0, 0, 509, 7}},
	}[c.name]
	words := codebook(800)
	rows := []row{
		methodRow(words, 5000, "ksh", method.Options{Anchors: 300}, paper[0]),
		methodRow(words, 5000, "ksh", method.Options{Anchors: 1000}, paper[1]),
		methodRow(words, 5000, "ksh", method.Options{Anchors: 3000}, paper[2]),
		fastHashRow(words, 5000, paperTrees(64), "FastHash", paper[3]),
		fastHashRow(words, 0, paperTrees(64), "FastHash, full", paper[4]),
	}
	return Experiment{
		Name:  c.name + "-ksh",
		About: "KSH with 300, 1,000 and 3,000 anchors against FastHash on " + c.title + ": the paper's Table 1",
		Run: func(ctx context.Context, lab *Lab) (*Table, error) {
			return lab.table(ctx, c, c.title+": KSH against FastHash (Table 1)", "", rows)
		},
	}
}
