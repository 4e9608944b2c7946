package store

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"hashgrove/internal/index"
)

// TestSelectionEqualsTheIndex reads items from disk, which must equal the snapshot and refuse the same filters.
func TestSelectionEqualsTheIndex(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(3, 9)), 100}
	s, path := create(t, Options{Bits: 100})
	for range 12 {
		b := m.batch(1000)
		ok(t, s.Upsert(ctx, b))
		_, err := s.Delete(ctx, b.IDs[m.IntN(len(b.IDs))], b.IDs[m.IntN(len(b.IDs))])
		ok(t, err)
	}
	ok(t, s.Close())
	memory, disk := open(t, path, OpenOptions{ReadOnly: true}), open(t, path, OpenOptions{ReadOnly: true, OnDisk: true})
	x := memory.Snapshot()
	for _, text := range []string{
		"", `label != "label 2"`, `tag in ("tag 1", "tag 3")`, `price < 0.5`, `id > "photo/2"`, // and refused ones:
		`label = "label 1" and price >= 0.2 or place = ""`, `nothing = 3`, `price = "3"`, `place < 3`,
	} {
		f, err := index.Parse(text)
		ok(t, err)
		hits, failed := x.Matches(f)
		var have, want []string
		for _, h := range hits {
			want = append(want, fmt.Sprint(x.Item(h)))
		}
		y, err := disk.Select(ctx, f, nil)
		if err == nil {
			hits, err = y.Matches(f)
		}
		if err == nil {
			var items []index.Item
			items, err = y.Items(ctx, hits)
			for _, it := range items {
				have = append(have, fmt.Sprint(it))
			}
		}
		if fmt.Sprint(err) != fmt.Sprint(failed) {
			t.Fatalf("%s: %v, want %v", text, err, failed)
		}
		if failed == nil && !reflect.DeepEqual(have, want) {
			t.Fatalf("%s: %d items, want %d", text, len(have), len(want))
		}
	}
}
