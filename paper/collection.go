package main

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hashgrove/internal/dataset"
	"hashgrove/internal/dataset/fashion"
	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/picture"
	"hashgrove/internal/vectors"
)

// collection is a data set of the paper: where it is, how it is split, and which features the paper uses for it.
type collection struct {
	name, title string
	parts       string // describes the split to people
	prefix      string // of its files in the cache
	gist        recipe
	tagged      bool // rows are similar if they share two tags; else if they share the class
	open        func(runner *Runner) (base, queries split, err error)
}

// split is one part of a data set of pictures, read as often as needed.
type split struct {
	name    string
	digest  string
	open    func() (vectors.Source, error)
	shape   picture.Shape
	similar func() (affinity.Matrix, error) // nil if it takes reading the pictures
}

// cifar10 has the official split.
var cifar10 = collection{
	name: "cifar10", title: "CIFAR-10", gist: gist320(),
	parts: "The database is the whole training set of 50,000 pictures; the queries are the 10,000 test pictures.",
	open: func(runner *Runner) (base, queries split, err error) {
		files := func(name string, paths ...string) (split, error) {
			s := split{name: name, shape: picture.Shape{Width: 32, Height: 32, Channels: 3, Planar: true}}
			for i := range paths {
				paths[i] = filepath.Join(runner.Data, "cifar10", paths[i])
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

// open returns the parts of a collection. A short run uses the demo's pictures instead.
func (runner *Runner) open(c collection) (base, queries split, err error) {
	if parts, ok := runner.opened[c.name]; ok {
		return parts[0], parts[1], nil
	}
	if !runner.Short {
		base, queries, err = c.open(runner)
		if err == nil && runner.opened != nil {
			runner.opened[c.name] = [2]split{base, queries}
		}
		return base, queries, err
	}
	part := func(name, digest string, p func() fashion.Part, n int) split {
		return split{
			name: runner.filePrefix(c) + name, digest: digest, shape: picture.Shape{Width: 28, Height: 28, Channels: 1},
			open: func() (vectors.Source, error) { return demoSource(p(), n, c.tagged), nil },
		}
	}
	kind := "fashion"
	if c.tagged {
		kind = "fashion tags"
	}
	return part("base", kind+" 400", fashion.Train, 400), part("queries", kind+" 100", fashion.Query, 100), nil
}

// filePrefix returns the prefix of a collection's files. Short runs share theirs.
func (runner *Runner) filePrefix(c collection) string {
	if !runner.Short {
		return c.prefix
	}
	if c.tagged {
		return "tagged-"
	}
	return ""
}

// kinds groups the demo's classes, so that pictures can have tags.
var kinds = []string{"top", "legs", "top", "long", "top", "shoe", "top", "shoe", "bag", "shoe"}

// demoSource returns the first pictures of a part of the demo with their classes, or with three tags each: pictures of
// a class share at least two, others may.
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

// gallery is a folder of pictures, some of which belong to the data set, with the facts from its lists.
type gallery struct {
	dir   string
	items map[string]item // by path below the folder, with slashes
}

// item is what is known about a picture.
type item struct {
	Tags  []string
	Query bool  // else it is in the database
	Size  int64 // of the file in bytes
}

// side is the size that pictures are reduced to, in pixels; those of CIFAR-10 are already smaller.
const side = 64

// pictures returns the pictures in a folder by path, with their sizes.
func pictures(dir string) (map[string]int64, error) {
	found := map[string]int64{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return missing(name, err)
		}
		switch strings.ToLower(filepath.Ext(name)) {
		case ".jpg", ".jpeg", ".png":
		default:
			return nil
		}
		below, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		found[filepath.ToSlash(below)] = info.Size()
		return nil
	})
	return found, err
}

// stem returns the name of a picture without folders and extension.
func stem(name string) string {
	name = path.Base(filepath.ToSlash(name))
	switch strings.ToLower(path.Ext(name)) {
	case ".jpg", ".jpeg", ".png":
		return name[:len(name)-len(path.Ext(name))]
	}
	return name
}

// split returns the two parts. Pictures are identified by path, size and lists, not by all their bytes.
func (g gallery) split(prefix string) (base, queries split) {
	part := func(name string, query bool) split {
		names := g.part(query)
		var known []any
		for _, n := range names {
			known = append(known, n, g.items[n])
		}
		return split{
			name: prefix + name, digest: keyOf("gallery 1", side, known),
			shape:   picture.Shape{Width: side, Height: side, Channels: 3},
			open:    func() (vectors.Source, error) { return g.open(query) },
			similar: func() (affinity.Matrix, error) { return g.affinity(names) },
		}
	}
	return part("base", false), part("queries", true)
}

// part returns the pictures of a part in order.
func (g gallery) part(query bool) []string {
	var names []string
	for n, it := range g.items {
		if it.Query == query {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return names
}

// affinity returns which of the named pictures are similar.
func (g gallery) affinity(names []string) (affinity.Matrix, error) {
	number := map[string]int32{}
	start, tags := []int{0}, []int32{}
	for _, n := range names {
		var own []int32
		for _, t := range g.items[n].Tags {
			if _, ok := number[t]; !ok {
				number[t] = int32(len(number))
			}
			own = append(own, number[t])
		}
		slices.Sort(own)
		tags = append(tags, own...)
		start = append(start, len(tags))
	}
	return affinity.ByTags(start, tags, 0)
}

func (g gallery) open(query bool) (vectors.Source, error) {
	set, err := dataset.Open(dataset.Spec{Paths: []string{g.dir}, Size: side})
	if err != nil {
		return nil, err
	}
	return chosen{set, g, query}, nil
}

// chosen is the pictures of one part, with their tags.
type chosen struct {
	vectors.Source
	gallery
	query bool
}

// Chunks implements vectors.Source.
func (s chosen) Chunks(ctx context.Context) iter.Seq2[vectors.Chunk, error] {
	return func(yield func(vectors.Chunk, error) bool) {
		var out vectors.Chunk
		seen := map[string]bool{}
		for c, err := range s.Source.Chunks(ctx) {
			if err != nil {
				yield(c, err)
				return
			}
			out.First += out.X.Rows
			out.X = vectors.Matrix{Cols: c.X.Cols, Data: out.X.Data[:0]}
			out.Tags = nil
			for i, id := range c.IDs {
				name := strings.TrimPrefix(id, filepath.ToSlash(s.dir)+"/")
				it, ok := s.items[name]
				if !ok || it.Query != s.query {
					continue
				}
				seen[name] = true
				out.X.Rows++
				out.X.Data = append(out.X.Data, c.X.Row(i)...)
				out.Tags = append(out.Tags, it.Tags)
			}
			if out.X.Rows > 0 && !yield(out, nil) {
				return
			}
		}
		for _, name := range s.part(s.query) {
			if !seen[name] {
				yield(vectors.Chunk{}, fmt.Errorf("%s was listed, but not read: is it a picture?",
					path.Join(s.dir, name)))
				return
			}
		}
	}
}
