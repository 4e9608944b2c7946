package paper

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hashgrove/affinity"
	"hashgrove/dataset"
	"hashgrove/internal/trial"
	"hashgrove/picture"
	"hashgrove/vectors"
)

// gallery is a folder of pictures, some of which belong to the data set, with what lists say about them.
type gallery struct {
	dir   string
	items map[string]item // by path below the folder, with slashes
	skip  bool            // leave out pictures that cannot be read
}

// item is what is known of a picture.
type item struct {
	Label string   // or
	Tags  []string // of the picture
	Query bool     // else it is in the database
	Size  int64    // of the file in bytes
}

// side is the size that pictures are reduced to, in pixels; those of CIFAR-10 are smaller by themselves.
const side = 64

// pictures lists the pictures in a folder by path, with their sizes.
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

// stem is the name of a picture without folders and ending.
func stem(name string) string {
	name = path.Base(filepath.ToSlash(name))
	switch strings.ToLower(path.Ext(name)) {
	case ".jpg", ".jpeg", ".png":
		return name[:len(name)-len(path.Ext(name))]
	}
	return name
}

// split returns the two parts. Pictures are told apart by path, size and what the lists say, not by all their bytes.
func (g gallery) split(prefix string) (base, queries split) {
	part := func(name string, query bool) split {
		names := g.part(query)
		var known []any
		for _, n := range names {
			known = append(known, n, g.items[n])
		}
		return split{
			name: prefix + name, digest: trial.Key("gallery 1", side, known),
			shape:   picture.Shape{Width: side, Height: side, Channels: 3},
			open:    func() (vectors.Source, error) { return g.open(query) },
			similar: func() (affinity.Matrix, error) { return g.affinity(names) },
		}
	}
	return part("base", false), part("queries", true)
}

// part lists the pictures of a part in order.
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

// affinity says which of the named pictures are similar.
func (g gallery) affinity(names []string) (affinity.Matrix, error) {
	number := map[string]int32{}
	of := func(name string) int32 {
		if _, ok := number[name]; !ok {
			number[name] = int32(len(number))
		}
		return number[name]
	}
	class, start, tag := []int32{}, []int{0}, []int32{}
	for _, n := range names {
		it := g.items[n]
		class = append(class, of(it.Label))
		var own []int32
		for _, t := range it.Tags {
			own = append(own, of(t))
		}
		slices.Sort(own)
		tag = append(tag, own...)
		start = append(start, len(tag))
	}
	if len(tag) > 0 {
		return affinity.ByTags(start, tag, 0)
	}
	return affinity.ByClass(class)
}

func (g gallery) open(query bool) (vectors.Source, error) {
	set, err := dataset.Open(dataset.Spec{Paths: []string{g.dir}, Size: side, SkipBad: g.skip})
	if err != nil {
		return nil, err
	}
	return chosen{set, g, query}, nil
}

// chosen is the pictures of one part, with classes or tags.
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
			out.Labels, out.Tags = nil, nil
			for i, id := range c.IDs {
				name := strings.TrimPrefix(id, filepath.ToSlash(s.dir)+"/")
				it, ok := s.items[name]
				if !ok || it.Query != s.query {
					continue
				}
				seen[name] = true
				out.X.Rows++
				out.X.Data = append(out.X.Data, c.X.Row(i)...)
				if it.Label != "" {
					out.Labels = append(out.Labels, it.Label)
				} else {
					out.Tags = append(out.Tags, it.Tags)
				}
			}
			if out.X.Rows > 0 && !yield(out, nil) {
				return
			}
		}
		for _, name := range s.part(s.query) {
			if !seen[name] && !s.skip {
				yield(vectors.Chunk{}, fmt.Errorf("%s was listed, but not read: is it a picture?",
					path.Join(s.dir, name)))
				return
			}
		}
	}
}
