package index

import (
	"context"
	"slices"
)

// Matching returns the rows of the batch that match a filter, ascending, for callers that read items from elsewhere and
// filter them like an index. It does not apply CheckFilter. The ids of the batch must be distinct.
func (b *Batch) Matching(f Filter) ([]int, error) {
	rows := make([]int, 0, len(b.IDs))
	if f.node == nil || len(b.IDs) == 0 {
		for i := range b.IDs {
			rows = append(rows, i)
		}
		return rows, nil
	}
	x := New(b.Codes.Bits, b.Fingerprint, Config{})
	if err := x.Add(context.Background(), b); err != nil {
		return nil, err
	}
	row := make(map[ID]int, len(b.IDs))
	for i, id := range b.IDs {
		row[id] = i
	}
	for _, v := range x.Snapshot().views {
		f.allowed(v).Iterate(func(pos uint32) bool {
			rows = append(rows, row[v.ids.get(pos)])
			return true
		})
	}
	slices.Sort(rows)
	return rows, nil
}
