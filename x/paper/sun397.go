package paper

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hashgrove/internal/dataset"
	"hashgrove/internal/fault"
	learn "hashgrove/internal/train"
	"hashgrove/internal/trial"
	"hashgrove/internal/vectors"
)

// sun397 holds the scenes of Xiao et al. (CVPR 2010) as published: SUN397/a/abbey/sun_....jpg, with some classes in
// deeper folders such as SUN397/a/apse/indoor. As in the paper, 8,000 pictures drawn at random are the queries.
var sun397 = collection{
	name: "sun397", title: "SUN397", prefix: "sun397-", gist: gist512(),
	parts: fmt.Sprintf(`The queries are 8,000 pictures drawn at random; the database is all others, a few more than the
paper's 100,417, which does not say what it left out. Pictures are reduced to %d x %d pixels.`, side, side),
	open: func(runner *Runner) (base, queries split, err error) {
		dir := filepath.Join(runner.Data, "sun397")
		g, err := findScenes(dir, 8000, runner.Seed)
		if err != nil {
			return base, queries, err
		}
		base, queries = g.split("sun397-")
		return base, queries, nil
	},
}

// findScenes finds the pictures below SUN397 and draws queries.
func findScenes(dir string, queries int, seed uint64) (gallery, error) {
	g := gallery{dir: dir, items: map[string]item{}, skip: true}
	files, err := pictures(dir)
	if err != nil {
		return g, err
	}
	var names []string
	for name, size := range files {
		folder, ok := strings.CutPrefix(path.Dir(name), "SUN397/")
		letter, class, found := strings.Cut(folder, "/")
		if !ok || !found || len(letter) != 1 {
			continue
		}
		g.items[name] = item{Label: class, Size: size}
		names = append(names, name)
	}
	if len(names) <= queries {
		return g, fault.New("too-few-pictures", "%s holds %d pictures of classes as SUN397/a/abbey, and %d queries must "+
			"leave a database: unpack SUN397.tar.gz there", dir, len(names), queries)
	}
	slices.Sort(names)
	for _, i := range rand.New(rand.NewPCG(seed, 8000)).Perm(len(names))[:queries] {
		it := g.items[names[i]]
		it.Query = true
		g.items[names[i]] = it
	}
	return g, nil
}

// sun397Methods is Table 6 (tab:sun) and Figure 4 (fig:sun): a large data set, and codes of up to 1024 bits.
var sun397Methods = Experiment{
	Name:  "sun397-methods",
	About: "Supervised and unsupervised methods on SUN397: the paper's Table 6 and its curves of 1024 bits",
	Run: func(ctx context.Context, runner *Runner) (*Table, error) {
		words := codebook(800)
		long := func(name string, bits int, p paperRow) row {
			return methodRow(words, 0, name, learn.Options{Bits: bits}, p)
		}
		short := func(name string, anchors int, p paperRow) row {
			return methodRow(words, 10_000, name, learn.Options{Anchors: anchors}, p)
		}
		sampled := trees(1024, 0, 6)
		sampled.NodeRows = 5000
		curves := []row{
			fastHashRow(words, 0, trees(1024, 0, 6), "FastHash", paperRow{0.165, 0.163, 0, 62076, 536}),
			fastHashRow(words, 0, sampled, "FastHash-N", paperRow{0.177, 0.184, 0, 71203, 749}),
			long("cca-itq", 1024, paperRow{0.120, 0.081, 0, 15580, 127}),
			long("pca-itq", 1024, paperRow{0.030, 0.021, 0, 1686, 127}),
			long("spherical", 1024, paperRow{0.039, 0.024, 0, 35954, 121}),
			long("lsh", 1024, paperRow{0.028, 0.019, 0, 99, 99}),
		}
		rows := append([]row{
			short("ksh", 3000, paperRow{0.034, 0.023, 0, 57045, 463}),
			short("bre", 0, paperRow{0.019, 0.013, 0, 105240, 23}),
			short("splh", 0, paperRow{0.022, 0.015, 0, 27552, 14}),
			short("sth", 0, paperRow{0.010, 0.008, 0, 22914, 14}),
			long("cca-itq", 512, paperRow{0.113, 0.076, 0, 7484, 66}),
			fastHashRow(words, 0, trees(512, 0, 6), "FastHash", paperRow{0.149, 0.142, 0, 29624, 302}),
		}, curves...)
		t, err := runner.table(ctx, sun397, "SUN397: a large data set and long codes (Table 6)", "Trees have depth 6.",
			rows)
		if err != nil {
			return nil, err
		}
		drawn, err := runner.curves(ctx, sun397, new(Table), curves)
		t.Figures = []figure{precisionFigure("sun397-methods", sun397, drawn)}
		return t, err
	},
}

// standin is a source of synthetic vectors of a chosen size: every class raises a fifteenth of the columns a little,
// and the rest is noise. Row i depends only on the seed and on i.
type standin struct {
	Rows, Cols, Classes int
	Seed                uint64
}

// Dim implements vectors.Source.
func (s standin) Dim() int { return s.Cols }

// Schema implements vectors.Source.
func (s standin) Schema() vectors.Schema { return vectors.Schema{} }

// Chunks implements vectors.Source.
func (s standin) Chunks(ctx context.Context) iter.Seq2[vectors.Chunk, error] {
	return func(yield func(vectors.Chunk, error) bool) {
		const rows = 256
		x := make([]float32, rows*s.Cols)
		for lo := 0; lo < s.Rows; lo += rows {
			if ctx.Err() != nil {
				yield(vectors.Chunk{}, context.Cause(ctx))
				return
			}
			n := min(rows, s.Rows-lo)
			c := vectors.Chunk{First: lo, X: vectors.Matrix{Rows: n, Cols: s.Cols, Data: x[:n*s.Cols]}}
			for i := range n {
				c.Labels = append(c.Labels, strconv.Itoa(s.row(c.X.Row(i), lo+i)))
			}
			if !yield(c, nil) {
				return
			}
		}
	}
}

// row fills in row i and returns its class.
func (s standin) row(x []float32, i int) int {
	rng := rand.New(rand.NewPCG(s.Seed, uint64(i)))
	class := rng.IntN(s.Classes)
	for j := range x {
		r := rng.Uint32() // the sum of four bytes is close enough to a bell curve
		x[j] = float32(float32(r&255+r>>8&255+r>>16&255+r>>24) / 256)
		if (j*31+class*17)%10 == 0 && (j/10+class)%3 != 0 {
			x[j] += 0.3
		}
	}
	return class
}

// sun397Size trains on synthetic vectors of the size of SUN397, whose pictures not everyone has, to measure time and
// memory. The paper needs less than 7 GB for FastHash, and 62,076 s for 1024 bits: 61 s per bit.
var sun397Size = Experiment{
	Name:  "sun397-size",
	About: "Time and memory on synthetic vectors of the size of SUN397: 100,417 x 11,200 in 397 classes",
	Run: func(ctx context.Context, runner *Runner) (*Table, error) {
		c := collection{name: "sun397-size", title: "SUN397", prefix: "standin-",
			vectors: func(ctx context.Context, runner *Runner) (m material, err error) {
				base := standin{100_417, 11_200, 397, 1}
				queries := standin{8000, 11_200, 397, 2}
				if runner.Short {
					base, queries = standin{600, 120, 12, 1}, standin{100, 120, 12, 2}
				}
				if m.base, m.baseKey, err = base.vectors(ctx, runner, "base"); err != nil {
					return m, err
				}
				m.queries, m.queryKey, err = queries.vectors(ctx, runner, "queries")
				return m, err
			}}
		made := recipe{Name: "made-up"}
		sampled := trees(16, 0, 6)
		sampled.NodeRows = 5000
		rows := []row{
			methodRow(made, 0, "lsh", learn.Options{}, paperRow{}),
			fastHashRow(made, 0, trees(16, 0, 6), "FastHash", paperRow{}),
			fastHashRow(made, 0, sampled, "FastHash-N", paperRow{}),
			methodRow(made, 0, "pca-itq", learn.Options{}, paperRow{}),
			methodRow(made, 0, "cca-itq", learn.Options{}, paperRow{}),
		}
		return runner.table(ctx, c, "Synthetic vectors of the size of SUN397: time and memory", `The training set and database
are 100,417 synthetic vectors of 11,200 values in 397 classes, 4.5 GB as float32 and 1.1 GB as the bytes that trees
learn from; there are 8,000 queries. The quality of the codes says nothing about real pictures. Trees have depth 6.
The paper reports less than 7 GB for FastHash, and 61 s per bit (62,076 s for 1,024 bits).`, rows)
	},
}

// sizes provides the labels of such vectors for Step 1, which needs nothing else.
var sizes = collection{
	name: "sun397-size", title: "labels of the size of SUN397", prefix: "standin-",
	parts: "The 100,417 labels of 397 classes are drawn at random; those of SUN397 are less even.",
	open: func(*Runner) (base, queries split, err error) {
		s := standin{100_417, 1, 397, 1}
		base = split{name: "standin-base", digest: trial.Key("standin 1", s),
			open: func() (vectors.Source, error) { return s, nil }}
		return base, base, nil
	},
}

// vectors writes the file of a stand-in and opens it.
func (s standin) vectors(ctx context.Context, runner *Runner, part string) (set *dataset.Set, key string, err error) {
	key = trial.Key("standin 1", s)
	path, err := runner.file(fmt.Sprintf("standin%d-%s", s.Cols, part), key, ".npy", func(path string) error {
		_, err := dataset.SaveNpy(ctx, s, path, dataset.Float32, nil)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	set, err = openVectors(path)
	return set, key, err
}
