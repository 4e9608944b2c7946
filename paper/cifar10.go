package paper

import "context"

// cifar10Features is the FastHash rows of Table 3 (tab:features) on CIFAR-10, with our settings beside the paper's.
var cifar10Features = Experiment{
	Name:  "cifar10-features",
	About: "FastHash on CIFAR-10 with GIST and codebook features, 64 bits: the paper's Table 3",
	Run: func(ctx context.Context, lab *Lab) (*Table, error) {
		gist5, gist := paperRow{0.517, 0.462, 0.243, 304, 21}, paperRow{0.649, 0.653, 0.450, 1681, 21}
		words5, words := paperRow{0.634, 0.575, 0.358, 331, 21}, paperRow{0.763, 0.775, 0.605, 1794, 21}
		rows := []row{
			fastHashRow(gist320(), 5000, paperTrees(64), "depth 4", gist5),
			fastHashRow(gist320(), 5000, trees(64, 800, 4), "800 trees", gist5),
			fastHashRow(gist320().mirrored(), 5000, fewRows(64),
				"800 trees of depth 3, trimmed to 0.9, mirror images too", gist5),
			fastHashRow(gist320(), 0, paperTrees(64), "depth 4", gist),
			fastHashRow(gist320(), 0, trees(64, 400, 6), "400 trees of depth 6", gist),
			fastHashRow(gist320().mirrored(), 0, manyRows(64),
				"400 trees of depth 6, trimmed to 0.9, mirror images too", gist),
			fastHashRow(codebook(800), 5000, paperTrees(64), "depth 4", words5),
			fastHashRow(signed(800), 5000, trees(64, 1600, 3), "1,600 trees of depth 3", words5),
			fastHashRow(signed(800), 5000, fewRows(64), "800 trees of depth 3, trimmed to 0.9", words5),
			fastHashRow(signed(800).mirrored(), 5000, fewRows(64), "the same, mirror images too", words5),
			fastHashRow(codebook(800), 0, paperTrees(64), "depth 4", words),
			fastHashRow(signed(800), 0, paperTrees(64), "depth 4", words),
			fastHashRow(signed(800), 0, trees(64, 400, 6), "400 trees of depth 6", words),
			fastHashRow(signed(800).mirrored(), 0, manyRows(64),
				"400 trees of depth 6, trimmed to 0.9, mirror images too", words),
		}
		return lab.table(ctx, cifar10, "CIFAR-10: FastHash on two kinds of features (Table 3)", "", rows)
	},
}
