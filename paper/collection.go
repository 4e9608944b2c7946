package paper

import (
	"context"
	"path/filepath"

	"hashgrove/affinity"
	"hashgrove/dataset"
	"hashgrove/internal/fashion"
	"hashgrove/picture"
	"hashgrove/vectors"
)

// collection is a data set of the paper: where it is, how it is split, and which features the paper makes of it.
type collection struct {
	name, title string
	parts       string // the split, for people
	prefix      string // of its files in the cache
	gist        recipe
	tagged      bool // rows are similar when they share two tags; else those of a class are
	open        func(lab *Lab) (base, queries split, err error)

	vectors func(ctx context.Context, lab *Lab) (material, error) // in place of pictures; nil for all but a stand-in
}

// split is one part of a data set of pictures, read as often as needed.
type split struct {
	name    string
	digest  string
	open    func() (vectors.Source, error)
	shape   picture.Shape
	similar func() (affinity.Matrix, error) // nil where it takes reading the pictures
}

// cifar10 has the official split.
var cifar10 = collection{
	name: "cifar10", title: "CIFAR-10", gist: gist320(),
	parts: "The database is the whole training set of 50,000 pictures; the queries are the 10,000 test pictures.",
	open: func(lab *Lab) (base, queries split, err error) {
		files := func(name string, paths ...string) (split, error) {
			s := split{name: name, shape: picture.Shape{Width: 32, Height: 32, Channels: 3, Planar: true}}
			for i := range paths {
				paths[i] = filepath.Join(lab.Data, "cifar10", paths[i])
			}
			var err error
			s.digest, err = fileDigest(paths...)
			s.open = func() (vectors.Source, error) {
				return dataset.Open(dataset.Spec{Paths: paths, Format: "cifar10"})
			}
			return s, err
		}
		base, err = files("base",
			"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin")
		if err != nil {
			return base, queries, err
		}
		queries, err = files("queries", "test_batch.bin")
		return base, queries, err
	},
}

// open finds the parts of a collection. A short run uses the demo's pictures instead.
func (lab *Lab) open(c collection) (base, queries split, err error) {
	if parts, ok := lab.opened[c.name]; ok {
		return parts[0], parts[1], nil
	}
	if !lab.Short {
		base, queries, err = c.open(lab)
		if err == nil && lab.opened != nil {
			lab.opened[c.name] = [2]split{base, queries}
		}
		return base, queries, err
	}
	part := func(name, digest string, p func() fashion.Part, n int) split {
		return split{
			name: lab.filePrefix(c) + name, digest: digest, shape: picture.Shape{Width: 28, Height: 28, Channels: 1},
			open: func() (vectors.Source, error) { return demoSource(p(), n, c.tagged), nil },
		}
	}
	kind := "fashion"
	if c.tagged {
		kind = "fashion tags"
	}
	return part("base", kind+" 400", fashion.Train, 400), part("queries", kind+" 100", fashion.Query, 100), nil
}

// filePrefix is how the names of a collection's files begin. Short runs share theirs.
func (lab *Lab) filePrefix(c collection) string {
	if !lab.Short {
		return c.prefix
	}
	if c.tagged {
		return "tagged-"
	}
	return ""
}

// kinds groups the demo's classes, so that pictures can have tags.
var kinds = []string{"top", "legs", "top", "long", "top", "shoe", "top", "shoe", "bag", "shoe"}

// demoSource is the first pictures of a part of the demo's with their classes, or with three tags each: pictures of a
// class share two at least, others may.
func demoSource(p fashion.Part, n int, tagged bool) vectors.Source {
	s := vectors.Table{X: p.X.Slice(0, n)}
	for i, class := range p.Class[:n] {
		if !tagged {
			s.Labels = append(s.Labels, fashion.Names[class])
			continue
		}
		sum := float32(0)
		for _, v := range s.X.Row(i) {
			sum += v
		}
		tone := "dark"
		if sum > 70*fashion.Dim {
			tone = "bright"
		}
		s.Tags = append(s.Tags, []string{fashion.Names[class], kinds[class], tone})
	}
	return s
}
