package store

import (
	"context"
	"os"
	"slices"
	"time"

	"hashgrove/internal/index"
	"hashgrove/internal/message"
)

// Merge makes a new index from the items of others, atomically. They must have codes of one model and no id in common.
// The new index keeps the model if one of them has it, and the note if all have the same. An existing file is left
// alone, or with replace gives way in one step, once nobody else uses it. Only those who can read all the others can
// read the new index. progress, which may be nil, gets the number of items read so far of each.
func Merge(
	ctx context.Context, paths []string, to string, replace bool, progress func(done, total int),
) (_ Report, err error) {
	if len(paths) == 0 {
		return Report{}, message.New("no-files", "no indexes: name their files")
	}
	place := moveInto
	if replace {
		place = func(tmp, path string) error { return Replace(ctx, tmp, path) }
		if real, err := realPath(to); err == nil {
			to = real // the file, not a link to it
		}
	} else if err := checkVacant(to); err != nil {
		return Report{}, err
	}
	m := merger{paths: paths, draft: draft{path: to}}
	for _, path := range paths {
		if err := m.read(ctx, path, progress); err != nil {
			return Report{}, withPath(path, err)
		}
	}
	if err := m.checkIDs(); err != nil {
		return Report{}, err
	}
	fill, err := m.fillWith(ctx, m.items)
	if err != nil {
		return Report{}, err
	}
	tmp, err := m.build(fill)
	if err != nil {
		return Report{}, err
	}
	defer os.Remove(tmp)
	r, err := checkFile(ctx, tmp)
	if err == nil {
		err = place(tmp, to)
	}
	return r, withPath(to, err)
}

// merger collects the items of several indexes.
type merger struct {
	draft
	paths []string
	items *index.Batch
	ends  []int // of the items of each index
}

// read adds the items of the next index, and compares that with the first.
func (m *merger) read(ctx context.Context, path string, progress func(done, total int)) error {
	f, c, err := inspect(ctx, path, deadline(0), func(c *contents) error {
		if m.items == nil {
			m.head = c.head
			m.head.created = time.Now().UTC().Truncate(time.Second)
			m.items = index.NewBatch(c.bits)
			m.items.Fingerprint = c.fingerprint
		}
		switch {
		case c.bits != m.head.bits:
			return message.New("bits-mismatch", "codes of %d bits, but those of %s have %d", c.bits, m.paths[0], m.head.bits)
		case c.fingerprint != m.head.fingerprint:
			return message.New("model-mismatch", "codes of model %v, but those of %s are of model %v: migrate one of them first",
				c.fingerprint, m.paths[0], m.head.fingerprint)
		}
		var texts records
		first := len(m.items.IDs)
		return c.check(ctx, func(b *block) error {
			m.items.Reserve(len(b.ids), first+int(c.items))
			if progress != nil {
				progress(len(m.items.IDs)-first, int(c.items))
			}
			return b.appendTo(m.items, &texts)
		}, nil)
	})
	if err != nil {
		return err
	}
	defer f.Close() // it was only read
	info, err := f.f.Stat()
	if err != nil {
		return err
	}
	m.of, m.ends = append(m.of, info), append(m.ends, len(m.items.IDs))
	if m.modelFile == nil {
		m.modelFile = c.modelFile
	}
	if c.note != m.head.note {
		m.head.note = ""
	}
	return nil
}

// checkIDs refuses an id that two indexes have.
func (m *merger) checkIDs() error {
	rows := make([]int, len(m.items.IDs))
	for i := range rows {
		rows[i] = i
	}
	slices.SortStableFunc(rows, func(a, b int) int { return m.items.IDs[a].Compare(m.items.IDs[b]) })
	pathOf := func(row int) string {
		i, _ := slices.BinarySearch(m.ends, row+1)
		return m.paths[i]
	}
	for i := 1; i < len(rows); i++ {
		if a, b := rows[i-1], rows[i]; m.items.IDs[a] == m.items.IDs[b] {
			return message.New("duplicate-id", "%s and %s: both have the id %q: delete it from one of them",
				pathOf(a), pathOf(b), shortened(m.items.IDs[a]))
		}
	}
	return nil
}
