package server

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
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
	spec := dataset.Spec{
		Paths: []string{options.Vectors}, ID: options.IDColumn, Pictures: m.Pictures, Dim: m.Encoder.Dim(),
		SkipBad: true, // an item whose vector cannot be read has none
	}
	if options.IDs != "" {
		spec.IDsFile = []string{options.IDs}
	}
	spec.Follow(m.Schema(), true)
	set, err := dataset.Open(spec)
	if err != nil {
		return nil, err
	}
	src, err := m.Source(set, 0)
	if err != nil {
		return nil, err
	}
	x := o.snapshot()
	t, err := search.ReadTable(ctx, m, src, x.Len(), func(id index.ID) (index.Item, bool) {
		return itemOf(x, id, options.Vectors)
	})
	if errors.Is(err, search.ErrNoVectors) {
		return nil, fmt.Errorf("%s: %w", options.Vectors, err)
	}
	return t, err
}

// itemOf finds the item of a row. Pictures are known by path; an item may have only the part below the folder or
// archive, which may have been elsewhere when the index was made.
func itemOf(x *index.Snapshot, id index.ID, paths ...string) (index.Item, bool) {
	it, known := x.Get(id)
	for _, path := range paths {
		folder := strings.TrimSuffix(filepath.ToSlash(path), "/") + "/"
		if below, found := strings.CutPrefix(id.String(), folder); !known && found && below != "" {
			it, known = x.Get(index.Text(below))
		}
	}
	return it, known
}
