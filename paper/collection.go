package main

import (
	"context"
	"path/filepath"

	"hashgrove/internal/dataset"
	"hashgrove/internal/dataset/fashion"
	"hashgrove/internal/picture"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// collection is a data set of the paper: where it is, how it is split, and which features the paper uses for it.
type collection struct {
	name, title string
	parts       string // describes the split to people
	gist        recipe
	tagged      bool // rows are similar if they share two tags; else if they share the class
	open        func(ctx context.Context, runner *Runner) (base, queries split, err error)
}

// split is one part of a data set of pictures, read as often as needed.
type split struct {
	name   string
	digest string
	open   func() (picture.Source, error)
}

// cifar10 has the official split.
var cifar10 = collection{
	name: "cifar10", title: "CIFAR-10", gist: gist320(),
	parts: "The database is the whole training set of 50,000 pictures; the queries are the 10,000 test pictures.",
	open: func(ctx context.Context, runner *Runner) (base, queries split, err error) {
		files := func(name string, paths ...string) (split, error) {
			s := split{name: name}
			for i := range paths {
				paths[i] = filepath.Join(runner.Data, "cifar10", paths[i])
			}
			s.open = func() (picture.Source, error) {
				return dataset.Open(dataset.Spec{Paths: paths, Format: "cifar10"})
			}
			src, err := s.open()
			if err != nil {
				return s, err
			}
			d, err := supervision.Scan(ctx, src, supervision.ScanOptions{Digest: true})
			if err == nil {
				s.digest = d.HexDigest()
			}
			return s, err
		}
		base, err = files("cifar10-base",
			"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin")
		if err != nil {
			return base, queries, err
		}
		queries, err = files("cifar10-queries", "test_batch.bin")
		return base, queries, err
	},
}

// open returns the parts of a collection. A short run uses the demo's pictures instead.
func (runner *Runner) open(ctx context.Context, c collection) (base, queries split, err error) {
	if parts, ok := runner.opened[c.name]; ok {
		return parts[0], parts[1], nil
	}
	if !runner.Short {
		base, queries, err = c.open(ctx, runner)
		if runner.opened == nil {
			runner.opened = map[string][2]split{}
		}
		if err == nil {
			runner.opened[c.name] = [2]split{base, queries}
		}
		return base, queries, err
	}
	part := func(name, digest string, p func() fashion.Part, n int) split {
		return split{
			name: c.name + "-" + name, digest: digest,
			open: func() (picture.Source, error) { return demoSource(p(), n, c.tagged), nil },
		}
	}
	kind := "fashion"
	if c.tagged {
		kind = "fashion tags"
	}
	return part("base", kind+" 400", fashion.Train, 400), part("queries", kind+" 100", fashion.Query, 100), nil
}

// kinds groups the demo's classes, so that pictures can have tags.
var kinds = []string{"top", "legs", "top", "long", "top", "shoe", "top", "shoe", "bag", "shoe"}

// demoSource returns the first pictures of a part of the demo with their classes, or with two tags each, which pictures
// of a class share.
func demoSource(p fashion.Part, n int, tagged bool) picture.Source {
	s := vectors.Table{X: p.X.Slice(0, n)}
	for _, class := range p.Class[:n] {
		if tagged {
			s.Tags = append(s.Tags, []string{fashion.Names[class], kinds[class]})
		} else {
			s.Labels = append(s.Labels, fashion.Names[class])
		}
	}
	return picture.FromVectors(s, picture.Shape{Width: 28, Height: 28, Channels: 1})
}
