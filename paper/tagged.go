package main

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"hashgrove/internal/dataset"
	"hashgrove/internal/message"
	"hashgrove/internal/picture"
	"hashgrove/internal/vectors"
)

// side is the size that tagged pictures are reduced to, in pixels; those of CIFAR-10 are already smaller.
const side = 64

// iaprTC12 has tags (Guillaumin et al., ICCV 2009). It lies in a folder of its name, the pictures in folders below it.
// Line i of ids.txt, labels.txt and split.txt is about one picture: its name without folders and extension; its numbers
// of tags, from 0; train or test. Line i of tags.txt is the name of tag i.
var iaprTC12 = collection{
	name: "iaprtc12", title: "IAPR TC-12", prefix: "iaprtc12-", gist: gist512(), tagged: true,
	parts: fmt.Sprintf("The database is the training part of 17,665 pictures; the queries are the 1,962 test pictures. "+
		"Pictures are reduced to %d x %d pixels and count as similar when they share at least two tags.", side, side),
	open: func(_ context.Context, runner *Runner) (base, queries split, err error) {
		dir := filepath.Join(runner.Data, "iaprtc12")
		parts, err := readTags(dir)
		if err != nil {
			return base, queries, err
		}
		part := func(name string) split {
			return split{
				name: "iaprtc12-" + name, digest: keyOf("tagged 1", side, parts[name]),
				open: func() (picture.Source, error) {
					set, err := dataset.Open(dataset.Spec{Paths: []string{dir}, Size: side})
					if err != nil {
						return nil, err
					}
					return picture.FromVectors(chosen{set, dir, parts[name]}, set.Preparation().Shape), nil
				},
			}
		}
		return part("train"), part("test"), nil
	},
}

// readTags reads the tags of the pictures of both parts, by the name of the picture.
func readTags(dir string) (parts map[string]map[string][]string, err error) {
	lines := func(name string) (path string, list []string) {
		path = filepath.Join(dir, name)
		text, failed := os.ReadFile(path)
		if failed != nil && err == nil {
			err = failed
		}
		return path, strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	}
	_, ids := lines("ids.txt")
	_, names := lines("tags.txt")
	labelsPath, labels := lines("labels.txt")
	partPath, part := lines("split.txt")
	switch {
	case err != nil:
		return nil, err
	case len(labels) != len(ids) || len(part) != len(ids):
		return nil, message.New("wrong-count",
			"%s: %d lines in labels.txt and %d in split.txt for the %d pictures of ids.txt",
			dir, len(labels), len(part), len(ids))
	}
	parts = map[string]map[string][]string{"train": {}, "test": {}}
	for i, id := range ids {
		to := parts[part[i]]
		if to == nil {
			return nil, message.New("bad-value", "%s: line %d: %q is neither train nor test", partPath, i+1, part[i])
		}
		tags := []string{}
		for _, word := range strings.Fields(labels[i]) {
			t, err := strconv.Atoi(word)
			if err != nil || t < 0 || t >= len(names) {
				return nil, message.New("no-such-tag", "%s: line %d: %q is not the number of one of the %d tags", labelsPath,
					i+1, word, len(names))
			}
			tags = append(tags, names[t])
		}
		to[id] = tags
	}
	return parts, nil
}

// chosen is the pictures of one part, with their tags.
type chosen struct {
	vectors.Source
	dir  string
	tags map[string][]string // by name
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
				name := strings.TrimSuffix(path.Base(id), path.Ext(id))
				tags, ok := s.tags[name]
				if !ok {
					continue
				}
				if seen[name] {
					yield(c, message.New("same-name", "%s: several pictures are called %s: keep one of them", s.dir, name))
					return
				}
				seen[name] = true
				out.X.Rows++
				out.X.Data = append(out.X.Data, c.X.Row(i)...)
				out.Tags = append(out.Tags, tags)
			}
			if out.X.Rows > 0 && !yield(out, nil) {
				return
			}
		}
		for name := range s.tags {
			if !seen[name] {
				yield(out, message.New("no-such-picture", "%s: there is no picture %s, which ids.txt names: unpack the "+
					"pictures into that folder", s.dir, name))
				return
			}
		}
	}
}
