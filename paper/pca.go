package paper

import (
	"context"

	"hashgrove/method"
)

// pcaTable is Table 4 (tab:pca): methods that learn from all rows once principal components have left 500 dimensions of
// the codebook features. CCA+ITQ and FastHash take the features as they are.
func pcaTable(c collection) Experiment {
	paper := map[string][5]paperRow{ // KSH, SPLH, STHs behind PCA, CCA+ITQ, FastHash
		"cifar10": {{}, {0.482, 0.388, 0, 25984, 18}, {0.287, 0.200, 0, 7980, 18},
			{0.676, 0.642, 0, 1055, 7}, {0.763, 0.775, 0, 1794, 21}},
		"iaprtc12": {{0.082, 0.103, 0, 55031, 11}, {0.239, 0.169, 0, 1855, 7}, {0.174, 0.126, 0, 2463, 7},
			{0.332, 0.198, 0, 804, 3}, {0.371, 0.276, 0, 620, 9}},
		"espgame": {{0.141, 0.084, 0, 55714, 11}, {0.153, 0.103, 0, 2409, 7}, {0.098, 0.069, 0, 2777, 7},
			{0.216, 0.131, 0, 814, 3}, {0.261, 0.189, 0, 663, 9}},
		"mirflickr": {{0.384, 0.313, 0, 54260, 8}, {0.445, 0.391, 0, 1054, 5}, {0.347, 0.301, 0, 1768, 5},
			{0.519, 0.408, 0, 699, 3}, {0.595, 0.558, 0, 509, 7}},
	}[c.name]
	words := codebook(800)
	rows := []row{
		methodRow(words, 0, "cca-itq", method.Options{}, paper[3]),
		// The pairs of all rows would not fit into memory.
		methodRow(words.pca(500), 0, "splh", method.Options{Rows: splhRows}, paper[1]),
		methodRow(words.pca(500), 0, "sth", method.Options{}, paper[2]),
		// KSH reads a matrix of all its rows and anchors a thousand times for a bit.
		methodRow(words.pca(500), 0, "ksh", method.Options{Anchors: 3000, Rows: kshRows}, paper[0]),
		fastHashRow(words, 0, paperTrees(64), "FastHash", paper[4]),
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
