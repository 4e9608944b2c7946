package server

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"hashgrove/internal/dataset"
	"hashgrove/internal/index"
	"hashgrove/internal/items"
	"hashgrove/internal/vectors"
)

// vectorTable is the vectors of the items, in memory, as the model sees them.
type vectorTable struct {
	rows vectors.Matrix
	at   map[index.ID]int
}

// vector is that of an item, or nil where it is not known.
func (t *vectorTable) vector(id index.ID) []float32 {
	if t == nil {
		return nil
	}
	row, ok := t.at[id]
	if !ok {
		return nil
	}
	return t.rows.Row(row)
}

// readVectors reads vectors, or pictures whose vectors the model makes, and keeps those of the items.
func readVectors(ctx context.Context, options CollectionOptions, o *opened) (*vectorTable, error) {
	m := o.model
	if m == nil {
		return nil, errNoModel
	}
	known := &dataset.Columns{Vector: m.Info.Features, Label: m.Info.Label, Tags: m.Info.Tags}
	if m.Info.Vector != "" {
		known.Vector, known.List = []string{m.Info.Vector}, true
	}
	set, err := dataset.Open(dataset.Spec{
		Paths: []string{options.Vectors}, ID: options.IDColumn, Known: known, Pictures: m.Pictures, Dim: m.Encoder.Dim(),
		Missing: m.TakesMissing(),
	})
	if err != nil {
		return nil, err
	}
	src, err := m.Source(set, 0)
	if err != nil {
		return nil, err
	}
	x := o.snapshot()
	t := &vectorTable{rows: vectors.Matrix{Cols: src.Dim()}, at: map[index.ID]int{}}
	for chunk, err := range src.Chunks(ctx) {
		if err != nil {
			return nil, err
		}
		for i := range chunk.X.Rows {
			it, err := items.FromRow(chunk, i, chunk.First+i)
			if err != nil {
				return nil, err
			}
			id, known := knownID(x, it.ID, options.Vectors)
			if !known {
				continue
			}
			t.at[id] = t.rows.Rows
			t.rows.Data = append(t.rows.Data, chunk.X.Row(i)...)
			t.rows.Rows++
		}
	}
	if t.rows.Rows == 0 {
		return nil, fmt.Errorf("%s has no vector of any item: rows are matched by their ids, or by number where no column "+
			"with ids is known", options.Vectors)
	}
	return t, nil
}

// knownID is the id of a row among the items. Pictures go by their paths, and the items may have only the part below
// the folder or archive: it may have been elsewhere when the index was made.
func knownID(x *index.Snapshot, id index.ID, path string) (index.ID, bool) {
	if _, known := x.Get(id); known {
		return id, true
	}
	below, found := strings.CutPrefix(id.String(), strings.TrimSuffix(filepath.ToSlash(path), "/")+"/")
	if !found {
		return id, false
	}
	id = index.Text(below)
	_, known := x.Get(id)
	return id, known
}
