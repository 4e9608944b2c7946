package store

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sort"

	bolt "go.etcd.io/bbolt"

	"hashgrove/index"
)

// edits are items to put and ids to remove, in ascending order of ids, no id twice.
type edits interface {
	len() int
	id(i int) index.ID
	// item lends the code and the record of an item to put, given whether one of its id is there. When put is false
	// that one is removed.
	item(i int, there bool) (code, record []byte, put bool, err error)
}

// removal is ids to remove.
type removal []index.ID

func (r removal) len() int                                           { return len(r) }
func (r removal) id(i int) index.ID                                  { return r[i] }
func (r removal) item(int, bool) (code, rec []byte, _ bool, _ error) { return nil, nil, false, nil }

// insertion is rows of a batch to put.
type insertion struct {
	batch        *index.Batch
	rows         []int
	replace      bool // items that are there
	code, record []byte
}

func (x *insertion) len() int          { return len(x.rows) }
func (x *insertion) id(i int) index.ID { return x.batch.IDs[x.rows[i]] }

func (x *insertion) item(i int, there bool) (code, record []byte, put bool, err error) {
	r := x.rows[i]
	id := x.batch.IDs[r]
	if there && !x.replace {
		return nil, nil, false, fmt.Errorf("item %d: the id %q is in the index already: upsert to replace it",
			r, shortened(id))
	}
	x.code = x.batch.Codes.AppendBytes(x.code[:0], r)
	x.record = appendRecord(x.record[:0], x.batch, r)
	return x.code, x.record, true, nil
}

// newInsertion orders the rows of a batch by id. Of an id that is there twice the last row counts, unless that is an
// error.
func newInsertion(b *index.Batch, replace bool) (*insertion, error) {
	rows := make([]int, len(b.IDs))
	for i, id := range b.IDs {
		rows[i] = i
		if n := len(id.String()); n > maxID { // integers are short
			return nil, fmt.Errorf("item %d: an id of %d bytes, and at most %d are allowed", i, n, maxID)
		}
	}
	byID := func(i, j int) int { return b.IDs[i].Compare(b.IDs[j]) }
	if !slices.IsSortedFunc(rows, byID) {
		slices.SortStableFunc(rows, byID)
	}
	kept := rows[:0]
	for i, r := range rows {
		if i == 0 || b.IDs[r] != b.IDs[rows[i-1]] {
			kept = append(kept, r)
			continue
		}
		if !replace {
			return nil, fmt.Errorf("item %d: the id %q is in the batch twice", r, shortened(b.IDs[r]))
		}
		kept[len(kept)-1] = r
	}
	return &insertion{batch: b, rows: kept, replace: replace}, nil
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
func (c *change) apply(ctx context.Context, e edits) error {
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
func (c *change) groups(e edits) ([]group, error) {
	var groups []group
	var key []byte
	cursor := c.items.Cursor()
	for i := 0; i < e.len(); {
		key = appendKey(key[:0], e.id(i))
		if len(key) > maxKey {
			key = key[:maxKey] // too long to be there; insertion says so
		}
		k, v := cursor.Seek(key)
		if k == nil {
			k, v = cursor.Last()
		} else if !bytes.Equal(k, key) {
			if k, v = cursor.Prev(); k == nil {
				k, v = cursor.First()
			}
		}
		g := group{key: k, value: v, lo: i, hi: e.len()}
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
			g.hi = i + sort.Search(e.len()-i, func(j int) bool { return e.id(i+j).Compare(id) >= 0 })
		}
		groups = append(groups, g)
		i = g.hi
	}
	return groups, nil
}

// merge puts what a block holds and its edits into new blocks.
func (c *change) merge(ctx context.Context, e edits, g group) error {
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
		id := e.id(j)
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
func (c *change) limit(e edits, g group, old []index.ID, size int) int {
	appends := g.last && len(old) > 0 && e.id(g.lo).Compare(old[len(old)-1]) > 0
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
