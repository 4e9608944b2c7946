package search

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// Table holds vectors in memory. It is safe for concurrent use.
//
// A vector belongs to the code that the model made of it, and an item that has another code has no vector here. So a
// search, which sees the items as they were when it began, meets only the vectors of that moment.
type Table struct {
	mu    sync.RWMutex
	known map[index.ID][]*known // the latest, and what a search that began before it was written needs
	swept int                   // items that were known when those of deleted items went
}

// known is the vector of an item with a certain code.
type known struct {
	code   []uint64
	vector []float32 // nil if unknown
	coming bool      // until the item is written
}

// NewTable returns a table that knows no vector.
func NewTable() *Table { return &Table{known: map[index.ID][]*known{}} }

// ReadTable reads the vectors of some items. find returns the item of a row, and whether there is one. Rows from which
// the model makes another code than the item's are older or newer than the item, and left out. If there are items, at
// least one must have a vector.
func ReadTable(
	ctx context.Context, m *model.Model, src vectors.Source, items int, find func(index.ID) (index.Item, bool),
) (*Table, error) {
	t := NewTable()
	err := m.EncodeSource(ctx, src, 0, func(_ int, codes hamming.Codes, chunk vectors.Chunk) error {
		for i := range chunk.X.Rows {
			id, err := index.RowID(chunk.IDs, i, chunk.First+i)
			if err != nil {
				return err
			}
			if it, ok := find(id); ok && slices.Equal(it.Code, codes.Row(i)) {
				t.known[it.ID] = []*known{{code: slices.Clone(it.Code), vector: slices.Clone(chunk.X.Row(i))}}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(t.known) == 0 && items > 0 {
		return nil, fmt.Errorf("%w: rows are matched by their ids, or by number if no id column is known, and a row "+
			"must have the code of its item", ErrNoVectors)
	}
	return t, nil
}

// Set remembers the vectors of items that are about to be written, row by row of the batch, and forgets those of items
// that come with a code alone: their rows are nil. done says whether the items were written; if not, it brings back
// what was known. now returns the items of the moment: vectors of others go when they are as many.
func (t *Table) Set(b *index.Batch, rows [][]float32, now func() *index.Snapshot) (done func(written bool)) {
	if t == nil {
		return func(bool) {}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.known) > 2*t.swept+1000 {
		t.sweep(now())
	}
	coming := make([]*known, len(b.IDs))
	for i, id := range b.IDs {
		coming[i] = &known{code: slices.Clone(b.Codes.Row(i)), vector: rows[i], coming: true}
		last := t.known[id]
		t.known[id] = append([]*known{coming[i]}, last[:min(len(last), 1)]...) // searches from before that are over
	}
	return func(written bool) {
		t.mu.Lock()
		defer t.mu.Unlock()
		for i, id := range b.IDs {
			if coming[i].coming = false; written {
				continue
			}
			t.known[id] = slices.DeleteFunc(t.known[id], func(k *known) bool { return k == coming[i] })
			if len(t.known[id]) == 0 {
				delete(t.known, id)
			}
		}
	}
}

// sweep forgets items that are gone.
func (t *Table) sweep(x *index.Snapshot) {
	for id, list := range t.known {
		if _, there := x.Get(id); !there && !list[0].coming {
			delete(t.known, id)
		}
	}
	t.swept = len(t.known)
}

// Vector returns the vector of an item, or nil if unknown.
func (t *Table) Vector(it index.Item) []float32 {
	if t == nil {
		return nil
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, k := range t.known[it.ID] {
		if slices.Equal(k.code, it.Code) {
			return k.vector
		}
	}
	return nil
}

// Of implements Vectors.
func (t *Table) Of(
	_ context.Context, s *index.Snapshot, ids map[index.ID]bool, _ int,
) (map[index.ID][]float32, error) {
	found := make(map[index.ID][]float32, len(ids))
	for id := range ids {
		if it, ok := s.Get(id); ok {
			if v := t.Vector(it); v != nil {
				found[id] = v
			}
		}
	}
	return found, nil
}
