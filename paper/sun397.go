package paper

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hashgrove/boost"
	"hashgrove/method"
)

// sun397 is the scenes of Xiao et al. (CVPR 2010) as published: SUN397/a/abbey/sun_....jpg, and classes in deeper
// folders as SUN397/a/apse/indoor. 8,000 pictures drawn at random are the queries, as in the paper.
var sun397 = collection{
	name: "sun397", title: "SUN397", prefix: "sun397-", gist: gist512(),
	parts: fmt.Sprintf(`The queries are 8,000 pictures drawn at random; the database is all others, a few more than the
paper's 100,417, which does not say what it left out. Pictures are reduced to %d x %d pixels.`, side, side),
	open: func(lab *Lab) (base, queries split, err error) {
		dir := filepath.Join(lab.Data, "sun397")
		g, err := findScenes(dir, 8000, lab.Seed)
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
		return g, fmt.Errorf("%s holds %d pictures of classes as SUN397/a/abbey, and %d queries must leave a "+
			"database: unpack SUN397.tar.gz there", dir, len(names), queries)
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
	Run: func(ctx context.Context, lab *Lab) (*Table, error) {
		words := codebook(800)
		long := func(name string, bits int, p paperRow) row {
			return methodRow(words, 0, name, method.Options{Bits: bits}, p)
		}
		short := func(name string, anchors int, p paperRow) row {
			return methodRow(words, 10_000, name, method.Options{Anchors: anchors}, p)
		}
		sampled := trees(1024, 0, 6)
		sampled.Trees = boost.Options{Depth: 6, NodeRows: 5000}
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
		t, err := lab.table(ctx, sun397, "SUN397: a large data set and long codes (Table 6)", "Trees have depth 6.",
			rows)
		if err != nil {
			return nil, err
		}
		drawn, err := lab.curves(ctx, sun397, new(Table), curves)
		t.Figures = []figure{precisionFigure("sun397-methods", sun397, drawn)}
		return t, err
	},
}
