package main

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"hashgrove"
	"hashgrove/internal/fasthash"
)

// reportedText is what the paper reports, one table row per line.
//
//go:embed reported.txt
var reportedText string

// reported returns the paper's figures in a table for a data set, in the order of reported.txt.
func reported(table, dataset string) (rows []paperRow) {
	prefix := fmt.Sprintf("%-8s %-9s ", table, dataset) // the columns are aligned
	for line := range strings.Lines(reportedText) {
		values, ok := strings.CutPrefix(line, prefix)
		if !ok {
			continue
		}
		var v [5]float64
		for i, text := range strings.Fields(values)[:5] {
			var err error
			if v[i], err = strconv.ParseFloat(text, 64); err != nil {
				panic("paper: reported.txt: " + err.Error())
			}
		}
		rows = append(rows, paperRow{v[0], v[1], v[2], v[3], v[4]})
	}
	return rows
}

// rowsExperiment returns an experiment whose table has a line for each row. Its name and title follow those of the data
// set.
func rowsExperiment(c collection, name, about, title, note string, rows []row) Experiment {
	return Experiment{
		Name: c.name + "-" + name, About: about,
		Run: func(ctx context.Context, runner *Runner) (*Table, error) {
			return runner.table(ctx, c, c.title+": "+title, note, rows)
		},
	}
}

// kshTable is Table 1 (tab:ksh): KSH with more and more anchors, which the paper calls support vectors, against
// FastHash on codebook features.
func kshTable(c collection) Experiment {
	paper, words := reported("ksh", c.name), codebook(800)
	return rowsExperiment(c, "ksh",
		"KSH with 300, 1,000 and 3,000 anchors against FastHash on "+c.title+": the paper's Table 1",
		"KSH against FastHash (Table 1)", "", []row{
			methodRow(words, 5000, "ksh", hashgrove.Options{Other: hashgrove.OtherOptions{Anchors: 300}}, paper[0]),
			methodRow(words, 5000, "ksh", hashgrove.Options{Other: hashgrove.OtherOptions{Anchors: 1000}}, paper[1]),
			methodRow(words, 5000, "ksh", hashgrove.Options{Other: hashgrove.OtherOptions{Anchors: 3000}}, paper[2]),
			fastHashRow(words, 5000, paperTrees(64), "FastHash", paper[3]),
			fastHashRow(words, 0, paperTrees(64), "FastHash, full", paper[4]),
		})
}

// cifar10Features runs the FastHash rows of Table 3 (tab:features) on CIFAR-10, with our settings beside the paper's.
func cifar10Features() Experiment {
	gist, words := reported("gist", "cifar10"), reported("codebook", "cifar10")
	rows := []row{
		fastHashRow(gist320(), 5000, paperTrees(64), "depth 4", gist[4]),
		fastHashRow(gist320(), 5000, trees(64, 800, 4), "800 trees", gist[4]),
		fastHashRow(gist320().mirrored(), 5000, fewRows(64),
			"800 trees of depth 3, trimmed to 0.9, mirror images too", gist[4]),
		fastHashRow(gist320(), 0, paperTrees(64), "depth 4", gist[5]),
		fastHashRow(gist320(), 0, trees(64, 400, 6), "400 trees of depth 6", gist[5]),
		fastHashRow(gist320().mirrored(), 0, manyRows(64),
			"400 trees of depth 6, trimmed to 0.9, mirror images too", gist[5]),
		fastHashRow(codebook(800), 5000, paperTrees(64), "depth 4", words[4]),
		fastHashRow(signed(800), 5000, trees(64, 1600, 3), "1,600 trees of depth 3", words[4]),
		fastHashRow(signed(800), 5000, fewRows(64), "800 trees of depth 3, trimmed to 0.9", words[4]),
		fastHashRow(signed(800).mirrored(), 5000, fewRows(64), "the same, mirror images too", words[4]),
		fastHashRow(codebook(800), 0, paperTrees(64), "depth 4", words[5]),
		fastHashRow(signed(800), 0, paperTrees(64), "depth 4", words[5]),
		fastHashRow(signed(800), 0, trees(64, 400, 6), "400 trees of depth 6", words[5]),
		fastHashRow(signed(800).mirrored(), 0, manyRows(64),
			"400 trees of depth 6, trimmed to 0.9, mirror images too", words[5]),
	}
	return rowsExperiment(cifar10, "features",
		"FastHash on CIFAR-10 with GIST and codebook features, 64 bits: the paper's Table 3",
		"FastHash on two kinds of features (Table 3)", "", rows)
}

// methodsTable is Table 3 (tab:features): the supervised methods on GIST and on codebook features. Methods that are not
// in the paper come after its own; a classifier's output as a code serves as the reference.
func methodsTable(c collection) Experiment {
	// ours is the kind of features that FastHash gets with our own settings.
	kind := func(r, ours recipe, table string) []row {
		p := reported(table, c.name)
		rows := append(supervised(r, p),
			fastHashRow(ours.mirrored(), 5000, fewRows(64), "FastHash, our settings", p[4]),
			fastHashRow(ours.mirrored(), 0, manyRows(64), "FastHash, full, our settings", p[5]))
		for _, name := range []string{"cca-itq", "sdh", "fsdh", "tsh", "tsh-kernel", "classifier",
			"classifier-onehot"} {
			rows = append(rows, methodRow(r, 5000, name, hashgrove.Options{}, paperRow{}))
		}
		return append(rows, twoStep(r, 5000, 64, fasthash.Trees))
	}
	rows := append(kind(c.gist, c.gist, "gist"), kind(codebook(800), signed(800), "codebook")...)
	note := `All methods learn from the same 5,000 rows, except that "full" means all rows; methods without numbers from
the paper are not in its table. Our settings, chosen on CIFAR-10, add mirror images and trim to
0.9; they use 800 trees of depth 3 for 5,000 rows, 400 trees of depth 6 for all rows, and signed codebooks.`
	return rowsExperiment(c, "methods",
		"All supervised methods on "+c.title+" with GIST and codebook features: the paper's Table 3",
		"supervised methods on two kinds of features (Table 3)", note, rows)
}

// supervised returns the paper's supervised methods on 5,000 rows: KSH, BREs, SPLH, STHs, FastHash, and FastHash on all
// rows.
func supervised(r recipe, p []paperRow) []row {
	return []row{
		methodRow(r, 5000, "ksh", hashgrove.Options{Other: hashgrove.OtherOptions{Anchors: 3000}}, p[0]),
		methodRow(r, 5000, "bre", hashgrove.Options{}, p[1]),
		methodRow(r, 5000, "splh", hashgrove.Options{}, p[2]),
		methodRow(r, 5000, "sth", hashgrove.Options{}, p[3]),
		fastHashRow(r, 5000, paperTrees(64), "FastHash", p[4]),
		fastHashRow(r, 0, paperTrees(64), "FastHash, full", p[5]),
	}
}

// pcaTable is Table 4 (tab:pca): methods that learn from all rows after principal components have reduced the codebook
// features to 500 dimensions. CCA+ITQ and FastHash use the features as they are.
func pcaTable(c collection) Experiment {
	paper := reported("pca", c.name)
	words := codebook(800)
	rows := []row{
		methodRow(words, 0, "cca-itq", hashgrove.Options{}, paper[3]),
		// The pairs of all rows would not fit in memory.
		methodRow(words, 0, "splh", hashgrove.Options{Other: hashgrove.OtherOptions{PCA: 500, Rows: 10_000}}, paper[1]),
		methodRow(words, 0, "sth", hashgrove.Options{Other: hashgrove.OtherOptions{PCA: 500}}, paper[2]),
		// For each bit, KSH reads a matrix of all its rows and anchors a thousand times.
		methodRow(words, 0, "ksh", hashgrove.Options{
			Other: hashgrove.OtherOptions{PCA: 500, Anchors: 3000, Rows: 5_000}}, paper[0]),
		fastHashRow(words, 0, paperTrees(64), "FastHash", paper[4]),
		fastHashRow(signed(800).mirrored(), 0, manyRows(64), "FastHash, our settings", paper[4]),
	}
	note := `The paper could not train KSH with PCA on all rows of CIFAR-10. SPLH uses the covariance of all rows and the
pairs of 10,000. KSH uses the components of all rows and learns from 5,000. Our settings are those of Table 3.`
	return rowsExperiment(c, "pca",
		"Methods after PCA to 500 dimensions on all rows of "+c.title+": the paper's Table 4",
		"methods after principal component analysis (Table 4)", note, rows)
}

// cifar10Bits is Table 5 (tab:long_bits): more dimensions and more bits. Its first row, 64 bits, is in
// cifar10-features.
func cifar10Bits() Experiment {
	paper := reported("bits", "cifar10")
	deep := trees(256, 200, 6)
	deep.Trees.NodeFeatures = 100
	trimmed := trees(256, 400, 6)
	trimmed.Trees.Trim, trimmed.Trees.NodeFeatures = 0.9, 50
	return rowsExperiment(cifar10, "bits",
		"FastHash on CIFAR-10 with 22,400 dimensions and more bits: the paper's Table 5",
		"more dimensions and more bits (Table 5)",
		`The paper's 1,024 bits (0.803 and 0.826 in 22,687 s) were not run: training time grows with the number of
bits, so they would take four times as long.`, []row{
			fastHashRow(signed(1600), 0, deep, "depth 6, 100 columns per node", paper[1]),
			fastHashRow(signed(1600).mirrored(), 0, trimmed,
				"400 trees of depth 6, 50 columns per node, trimmed to 0.9, mirror images too", paper[1]),
		})
}
