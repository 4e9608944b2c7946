package server

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"hashgrove/internal/dataset"
	"hashgrove/internal/index"
	"hashgrove/internal/search"
)

// readVectors reads the vectors of the items, or pictures that the model turns into vectors.
func readVectors(ctx context.Context, options CollectionOptions, o *opened) (*search.Table, error) {
	m := o.model
	if m == nil {
		return nil, search.ErrNoModel
	}
	known := &dataset.Columns{Vector: m.Info.Features, Label: m.Info.Label, Tags: m.Info.Tags}
	if m.Info.Vector != "" {
		known.Vector, known.List = []string{m.Info.Vector}, true
	}
	set, err := dataset.Open(dataset.Spec{
		Paths: []string{options.Vectors}, ID: options.IDColumn, Known: known, Pictures: m.Pictures, Dim: m.Encoder.Dim(),
		Missing: m.TakesMissing(), SkipBad: true, // an item whose vector cannot be read has none
		IDsFile: slices.DeleteFunc([]string{options.IDs}, func(path string) bool { return path == "" }),
	})
	if err != nil {
		return nil, err
	}
	src, err := m.Source(set, 0)
	if err != nil {
		return nil, err
	}
	x := o.snapshot()
	t, err := search.ReadTable(ctx, m, src, x.Len(), func(id index.ID) (index.Item, bool) {
		known, ok := knownID(x, id, options.Vectors)
		if !ok {
			return index.Item{}, false
		}
		return x.Get(known)
	})
	if errors.Is(err, search.ErrNoVectors) {
		return nil, fmt.Errorf("%s: %w", options.Vectors, err)
	}
	return t, err
}

// knownID finds the item for a row. Pictures are known by path; an item may have only the part below the folder or
// archive, which may have been elsewhere when the index was made.
func knownID(x *index.Snapshot, id index.ID, paths ...string) (index.ID, bool) {
	candidates := []index.ID{id}
	for _, path := range paths {
		folder := strings.TrimSuffix(filepath.ToSlash(path), "/") + "/"
		if below, found := strings.CutPrefix(id.String(), folder); found && below != "" {
			candidates = append(candidates, index.Text(below))
		}
	}
	for _, c := range candidates {
		if _, known := x.Get(c); known {
			return c, true
		}
	}
	return id, false
}
