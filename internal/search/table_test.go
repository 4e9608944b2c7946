package search

import (
	"testing"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// TestTableKeepsVectorsOfCodes: an item has the vector from which its code was made, before, during and after a write,
// and after one that failed.
func TestTableKeepsVectorsOfCodes(t *testing.T) {
	id := index.Text("a")
	item := func(code uint64) index.Item { return index.Item{ID: id, Code: []uint64{code}} }
	table := NewTable()
	begin := func(code uint64, vector ...float32) (done func(bool)) {
		b := index.NewBatch(64)
		b.Append(item(code))
		return table.Set(b, [][]float32{vector}, nil)
	}
	write := func(code uint64, vector ...float32) { begin(code, vector...)(true) }
	expect := func(when string, want map[uint64]float32) {
		t.Helper()
		for code := range uint64(5) {
			got, vector := float32(0), table.Vector(item(code))
			if vector != nil {
				got = vector[0]
			}
			if got != want[code] {
				t.Errorf("%s, code %d: vector %v, want %v", when, code, got, want[code])
			}
		}
	}
	expect("nothing written", nil)
	write(1, 10)
	expect("one write", map[uint64]float32{1: 10})
	write(2, 20)
	expect("two writes", map[uint64]float32{1: 10, 2: 20})
	done := begin(2, 25)
	expect("the same code", map[uint64]float32{2: 25})
	done(false)
	expect("undone", map[uint64]float32{2: 20})
	write(2)
	expect("by its code", nil)
	write(3, 30)
	expect("a vector again", map[uint64]float32{3: 30})
	done = begin(4, 40)
	write(4, 45)
	done(false)
	expect("undone after another write", map[uint64]float32{4: 45})
	(*Table)(nil).Set(index.NewBatch(64), nil, nil)(true)
	if (*Table)(nil).Vector(item(1)) != nil {
		t.Error("no table has a vector")
	}
}

// TestVectorsOfDeletedItemsGo, but not those of items that are just being written.
func TestVectorsOfDeletedItemsGo(t *testing.T) {
	table, x := NewTable(), index.New(64, hamming.Fingerprint{}, index.Config{})
	put := func(id int) func(bool) {
		b := index.NewBatch(64)
		b.Append(index.Item{ID: index.Int(int64(id)), Code: []uint64{1}})
		done := table.Set(b, [][]float32{{float32(id)}}, x.Snapshot)
		if err := x.Upsert(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		return done
	}
	b := index.NewBatch(64)
	b.Append(index.Item{ID: index.Text("slow"), Code: []uint64{1}})
	slow := table.Set(b, [][]float32{{7}}, x.Snapshot)
	for id := range 5000 {
		put(id)(true)
		if _, err := x.Delete(t.Context(), index.Int(int64(id-10))); err != nil {
			t.Fatal(err)
		}
		if len(table.known) > 1100 {
			t.Fatalf("%d vectors are known, of 11 items", len(table.known))
		}
	}
	slow(true)
	for _, id := range []index.ID{index.Text("slow"), index.Int(4999)} {
		if table.Vector(index.Item{ID: id, Code: []uint64{1}}) == nil {
			t.Errorf("the vector of %v is gone", id)
		}
	}
}
