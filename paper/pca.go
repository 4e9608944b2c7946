package paper

import (
	"context"

	"hashgrove/method"
)

// pcaTable is Table 4 (tab:pca): methods that learn from all rows once principal components have left 500 dimensions of the
// codebook features. CCA+ITQ and FastHash take the features as they are.
func pcaTable(c collection) Experiment {
	paper := map[string][5]paperRow{ // KSH, SPLH, STHs behind PCA, CCA+ITQ, FastHash
		"cifar10": {{}, {precision: 0.482, mapping: 0.388, train: 25984, test: 18}, {precision: 0.287, mapping: 0.200, train: 7980, test: 18},
			{precision: 0.676, mapping: 0.642, train: 1055, test: 7}, {precision: 0.763, mapping: 0.775, train: 1794, test: 21}},
		"iaprtc12": {{precision: 0.082, mapping: 0.103, train: 55031, test: 11}, {precision: 0.239, mapping: 0.169, train: 1855, test: 7}, {precision: 0.174, mapping: 0.126, train: 2463, test: 7},
			{precision: 0.332, mapping: 0.198, train: 804, test: 3}, {precision: 0.371, mapping: 0.276, train: 620, test: 9}},
		"espgame": {{precision: 0.141, mapping: 0.084, train: 55714, test: 11}, {precision: 0.153, mapping: 0.103, train: 2409, test: 7}, {precision: 0.098, mapping: 0.069, train: 2777, test: 7},
			{precision: 0.216, mapping: 0.131, train: 814, test: 3}, {precision: 0.261, mapping: 0.189, train: 663, test: 9}},
		"mirflickr": {{precision: 0.384, mapping: 0.313, train: 54260, test: 8}, {precision: 0.445, mapping: 0.391, train: 1054, test: 5}, {precision: 0.347, mapping: 0.301, train: 1768, test: 5},
			{precision: 0.519, mapping: 0.408, train: 699, test: 3}, {precision: 0.595, mapping: 0.558, train: 509, test: 7}},
	}[c.name]
	words := codebook(800)
	rows := []row{
		methodRow(words, 0, "cca-itq", method.Options{}, paper[3]),
		// The pairs of all rows would not fit into memory.
		methodRow(words.pca(500), 0, "splh", method.Options{Rows: splhRows}, paper[1]),
		methodRow(words.pca(500), 0, "sth", method.Options{}, paper[2]),
		// KSH reads a matrix of all its rows and anchors a thousand times for a bit.
		methodRow(words.pca(500), 0, "ksh", method.Options{Anchors: 3000, Rows: kshRows}, paper[0]),
		fastHashRow(words, 0, plain(64), "FastHash", paper[4]),
		fastHashRow(signed(800).mirrored(), 0, manyRows(64), "FastHash, our settings", paper[4]),
	}
	note := `The paper could not train KSH with PCA on all rows of CIFAR-10. SPLH uses the covariance of all rows and the
pairs of 10,000. KSH uses the components of all rows and learns from 5,000. Our settings are those of Table 3.`
	return Experiment{
		Name:  c.name + "-pca",
		About: "Methods after PCA to 500 dimensions on all rows of " + c.title + ": the paper's Table 4",
		Run: func(ctx context.Context, lab *Lab) (*Table, error) {
			return lab.table(ctx, c, c.title+": methods after principal component analysis (Table 4)", note, rows)
		},
	}
}

// Labelled rows that SPLH and KSH take where they see all rows.
const (
	splhRows = 10_000
	kshRows  = 5_000
)
