package search

import (
	"testing"

	"hashgrove/internal/index"
)

// TestTableKeepsVectorsOfCodes: an item has the vector from which its code was made, before, during and after a write,
// and after one that failed.
func TestTableKeepsVectorsOfCodes(t *testing.T) {
	id := index.Text("a")
	item := func(code uint64) index.Item { return index.Item{ID: id, Code: []uint64{code}} }
	table := NewTable()
	write := func(code uint64, vector ...float32) (undo func()) {
		b := index.NewBatch(64)
		b.Append(item(code))
		return table.Set(b, [][]float32{vector})
	}
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
	undo := write(2, 25)
	expect("the same code", map[uint64]float32{2: 25})
	undo()
	expect("undone", map[uint64]float32{2: 20})
	write(2)
	expect("by its code", nil)
	write(3, 30)
	expect("a vector again", map[uint64]float32{3: 30})
	undo = write(4, 40)
	write(4, 45)
	undo()
	expect("undone after another write", map[uint64]float32{4: 45})
	(*Table)(nil).Set(index.NewBatch(64), nil)()
	if (*Table)(nil).Vector(item(1)) != nil {
		t.Error("no table has a vector")
	}
}
