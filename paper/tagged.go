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
	name: "iaprtc12", title: "IAPR TC-12", gist: gist512(), tagged: true,
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
		for c, err := range s.Source.Chunks(ctx) {
			if err != nil {
				yield(c, err)
				return
			}
			keep, all := make([]bool, c.X.Rows), [][]string(nil)
			for i, id := range c.IDs {
				var tags []string
				tags, keep[i] = s.tags[strings.TrimSuffix(path.Base(id), path.Ext(id))]
				all = append(all, tags)
			}
			c.IDs, c.Labels, c.Tags = nil, nil, all
			out.First += out.X.Rows
			if c.Only(keep, &out); out.X.Rows > 0 && !yield(out, nil) {
				return
			}
		}
		if n := out.First + out.X.Rows; n != len(s.tags) {
			yield(out, message.New("wrong-count", "%s: %d pictures have the %d names of a part in ids.txt: unpack each of "+
				"them there once", s.dir, n, len(s.tags)))
		}
	}
}
