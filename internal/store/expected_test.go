package store

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// expected is an index as a plain map: what a store should hold.
type expected map[index.ID]index.Item

func (w expected) put(b *index.Batch) {
	before := maps.Clone(w)
	for i, id := range b.IDs {
		it := changed(before[id], b, i, false)
		it.ID, it.Code = id, slices.Clone(b.Codes.Row(i))
		w[id] = it
	}
}

// update is put for existing items, without codes; it returns how many exist.
func (w expected) update(b *index.Batch, replace bool) int {
	n := 0
	for i, id := range b.IDs {
		if it, there := w[id]; there {
			w[id] = changed(it, b, i, replace)
			n++
		}
	}
	return n
}

// changed returns an item with the changes in row i of a batch.
func changed(it index.Item, b *index.Batch, i int, replace bool) index.Item {
	if b.Labels != nil && b.Labels[i] != "" {
		it.Label = b.Labels[i]
	}
	if b.Tags != nil && len(b.Tags[i]) > 0 {
		it.Tags = slices.Compact(slices.Sorted(slices.Values(b.Tags[i])))
	}
	all := map[string]index.Value{}
	if !replace {
		maps.Copy(all, it.Attributes)
	}
	if b.Attributes != nil {
		maps.Copy(all, b.Attributes[i])
	}
	if it.Attributes = all; len(all) == 0 {
		it.Attributes = nil
	}
	return it
}

// has checks that the store holds exactly the items expected.
func (w expected) has(t *testing.T, s *Store) {
	t.Helper()
	x := s.Snapshot()
	if x.Len() != len(w) || s.Info().Items != len(w) || int(s.state.items) != len(w) {
		t.Fatalf("%d items in memory, %d on disk, want %d", x.Len(), s.state.items, len(w))
	}
	for id, want := range w {
		if have, ok := x.Get(id); !ok || !reflect.DeepEqual(have, want) {
			t.Fatalf("id %v: have %+v, want %+v", id, have, want)
		}
	}
}

// maker makes random items.
type maker struct {
	*rand.Rand
	bits int
}

func (m maker) id() index.ID {
	switch m.IntN(4) {
	case 0:
		return index.Text(fmt.Sprintf("photo/%d.jpg", m.IntN(500)))
	case 1:
		return index.Text(strings.Repeat("long ", 1+m.IntN(400)) + string(rune('a'+m.IntN(3))))
	case 2:
		return index.Int(m.Int64() - 1<<62 - m.Int64N(3)*int64(m.IntN(3)))
	}
	return index.Int(m.Int64N(3000) - 500)
}

func (m maker) item(id index.ID) index.Item {
	code := hamming.NewCodes(1, m.bits)
	for b := range m.bits {
		code.SetBit(0, b, m.IntN(2) == 0)
	}
	it := index.Item{ID: id, Code: code.Data}
	if m.IntN(2) == 0 {
		it.Label = fmt.Sprint("label ", m.IntN(5))
	}
	for range m.IntN(3) {
		it.Tags = append(it.Tags, fmt.Sprint("tag ", m.IntN(5)))
	}
	if m.IntN(3) == 0 {
		it.Attributes = map[string]index.Value{"price": index.Number(m.Float64()), "place": index.String(strings.Repeat("x", m.IntN(40)))}
	}
	return it
}

func (m maker) batch(n int) *index.Batch {
	b := index.NewBatch(m.bits)
	for range n {
		b.Append(m.item(m.id()))
	}
	return b
}
