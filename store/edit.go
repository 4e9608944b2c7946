package store

import (
	"bytes"
	"context"
	"fmt"
	"sort"

	bolt "go.etcd.io/bbolt"

	"hashgrove/index"
)

// edits are items of a batch to put, or ids to remove, in ascending order of ids, no id twice.
type edits struct {
	ids []index.ID

	batch   *index.Batch // nil to remove
	rows    []int        // of the batch, one per id
	replace bool         // items that are there

	code, record []byte
}

// item lends the code and the record of an item to put, given whether one of its id is there. When put is false that
// one is removed.
func (e *edits) item(i int, there bool) (code, record []byte, put bool, err error) {
	if e.batch == nil {
		return nil, nil, false, nil
	}
	r := e.rows[i]
	if there && !e.replace {
		return nil, nil, false, fmt.Errorf("item %d: the id %q is in the index already: upsert to replace it",
			r, shortened(e.ids[i]))
	}
	e.code = e.batch.Codes.AppendBytes(e.code[:0], r)
	e.record = appendRecord(e.record[:0], e.batch.Item(r))
	return e.code, e.record, true, nil
}

// newEdits puts the items of a batch.
func newEdits(b *index.Batch, replace bool) (*edits, error) {
	rows, err := b.Order(replace)
	if err != nil {
		return nil, err
	}
	e := &edits{batch: b, rows: rows, replace: replace, ids: make([]index.ID, len(rows))}
	for i, r := range rows {
		e.ids[i] = b.IDs[r]
		if n := len(e.ids[i].String()); n > maxID { // integers are short
			return nil, fmt.Errorf("item %d: an id of %d bytes, and at most %d are allowed", r, n, maxID)
		}
	}
	return e, nil
}

// change is a write in progress: the blocks of a transaction, and the state they are in.
type change struct {
	state
	items   *bolt.Bucket
	size    int // bytes of a code
	added   int // items that were put
	removed int // items that are gone, or were replaced
}

// group is edits that belong to one block.
type group struct {
	key, value []byte // of the block, nil when there is none yet
	lo, hi     int    // of the edits
	last       bool   // nothing comes behind the block
}

// apply makes the edits, block by block. Which edits belong to which block is settled before the first is changed, for
// bbolt's cursors do not follow changes.
func (c *change) apply(ctx context.Context, e *edits) error {
	groups, err := c.groups(e)
	if err != nil {
		return err
	}
	for i, g := range groups {
		if i%256 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if g.hi-g.lo > 1<<10 {
			c.items.FillPercent = 1 // many new blocks in a row, so pages need no room for more
		}
		if err := c.merge(ctx, e, g); err != nil {
			return err
		}
	}
	if c.state.items > index.MaxItems {
		return fmt.Errorf("%d items, and at most %d are allowed", c.state.items, index.MaxItems)
	}
	c.writes++
	return nil
}

// groups assigns edits to blocks: to the last one that begins at or before the id, or to the first.
func (c *change) groups(e *edits) ([]group, error) {
	var groups []group
	var key []byte
	cursor := c.items.Cursor()
	for i := 0; i < len(e.ids); {
		key = appendKey(key[:0], e.ids[i])
		if len(key) > maxKey {
			key = key[:maxKey] // too long to be there; newEdits says so
		}
		k, v := cursor.Seek(key)
		if k == nil {
			k, v = cursor.Last()
		} else if !bytes.Equal(k, key) {
			if k, v = cursor.Prev(); k == nil {
				k, v = cursor.First()
			}
		}
		g := group{key: k, value: v, lo: i, hi: len(e.ids)}
		var next []byte
		if k != nil {
			next, _ = cursor.Next()
		}
		if next == nil {
			g.last = true
		} else {
			id, err := parseKey(next)
			if err != nil {
				return nil, err
			}
			g.hi = i + sort.Search(len(e.ids)-i, func(j int) bool { return e.ids[i+j].Compare(id) >= 0 })
		}
		groups = append(groups, g)
		i = g.hi
	}
	return groups, nil
}

// merge puts what a block holds and its edits into new blocks.
func (c *change) merge(ctx context.Context, e *edits, g group) error {
	old := block{size: c.size}
	if g.key != nil {
		sum, err := old.unseal(g.key, g.value)
		if err != nil {
			return err
		}
		c.blocks--
		c.sum -= uint64(sum)
	}
	kept := false // the key of the old block has a new value
	p := packer{limit: c.limit(e, g, old.ids, len(g.value)), put: func(key, value []byte, sum uint32) error {
		kept = kept || bytes.Equal(key, g.key)
		c.blocks++
		c.sum += uint64(sum)
		return c.items.Put(key, value)
	}}
	had, i := len(old.ids), 0
	for j := g.lo; j < g.hi; j++ {
		if (j-g.lo)%(1<<16) == 1<<16-1 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		id := e.ids[j]
		for i < had && old.ids[i].Compare(id) < 0 {
			if err := p.add(old.ids[i], old.code(i), old.record(i)); err != nil {
				return err
			}
			i++
		}
		there := i < had && old.ids[i] == id
		if there {
			i++
			c.removed++
			c.state.items--
		}
		code, record, put, err := e.item(j, there)
		if err != nil {
			return err
		}
		if put {
			c.added++
			c.state.items++
			if err := p.add(id, code, record); err != nil {
				return err
			}
		}
	}
	for ; i < had; i++ {
		if err := p.add(old.ids[i], old.code(i), old.record(i)); err != nil {
			return err
		}
	}
	if err := p.flush(); err != nil {
		return err
	}
	if g.key != nil && !kept {
		return c.items.Delete(g.key)
	}
	return nil
}

// limit is the size of the new blocks. A block that a few items make too large is cut into halves, so that each has
// room; but where items come behind all others, as they often do, the blocks they leave stay full.
func (c *change) limit(e *edits, g group, old []index.ID, size int) int {
	appends := g.last && len(old) > 0 && e.ids[g.lo].Compare(old[len(old)-1]) > 0
	if len(old) == 0 || appends || g.hi-g.lo > blockLimit/c.size {
		return blockLimit
	}
	for i := g.lo; i < g.hi; i++ {
		code, record, _, err := e.item(i, false)
		if err != nil {
			return blockLimit // it comes up again
		}
		size += len(code) + len(record) + 2
	}
	if size <= blockLimit || size > 2*blockLimit {
		return blockLimit
	}
	return size/2 + c.size
}
