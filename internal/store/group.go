package store

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"hashgrove/internal/message"
)

// Writes are acknowledged when they are on disk, and a sync takes far longer than the write itself. So writes that
// arrive while another is being synced wait together, and one transaction with one sync takes all of them (group
// commit, as in databases since DeWitt et al.: Implementation Techniques for Main Memory Database Systems, SIGMOD
// 1984):
//
//	join      put the write into the queue; lock out other writers;
//	          unless someone has done it meanwhile, take the queue, and commit all of it
//
// A single write pays for one sync, and n at once pay for two: the one before them, and their own.

// maxGroup is the number of edits after which a transaction takes no further writes, so that none waits for long.
const maxGroup = 1 << 14

// pending is a write waiting for its transaction.
type pending struct {
	ctx     context.Context
	edits   *edits
	publish func(context.Context) error // to the index in memory

	done    bool // the fields below are set
	changed int  // items removed or replaced
	err     error
}

// queue holds the waiting writes in order of arrival.
type queue struct {
	mu      sync.Mutex
	waiting []*pending
}

func (q *queue) add(w *pending) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, w)
}

// take removes and returns the writes of the next transaction.
func (q *queue) take() []*pending {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, edits := 0, 0
	for n < len(q.waiting) && (n == 0 || edits+len(q.waiting[n].edits.ids) <= maxGroup) {
		edits += len(q.waiting[n].edits.ids)
		n++
	}
	group := slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	return group
}

// join commits edits in one transaction with others that wait for the disk. It returns the number of items removed or
// replaced.
func (s *Store) join(ctx context.Context, e *edits, publish func(context.Context) error) (int, error) {
	w := &pending{ctx: ctx, edits: e, publish: publish}
	s.queue.add(w)
	s.write.Lock()
	defer s.write.Unlock()
	for !w.done {
		s.commitGroup(s.queue.take())
	}
	return w.changed, w.err
}

// commitGroup commits the writes in one transaction. If one of them fails, it commits each on its own, so that none
// fails because of another. The caller holds the write lock.
func (s *Store) commitGroup(group []*pending) {
	able := group[:0:0]
	for _, w := range group {
		if w.done = true; w.ctx.Err() != nil {
			w.err = context.Cause(w.ctx)
		} else {
			able = append(able, w)
		}
	}
	switch len(able) {
	case 0:
		return
	case 1:
		s.update(able[0].ctx, able[0])
		return
	}
	if s.update(context.Background(), able...) {
		return
	}
	for _, w := range able {
		s.update(w.ctx, w)
	}
}

// update commits writes to disk in one transaction, then publishes them to the index in memory, if there is one, and
// sets their results. The caller holds the write lock. With several writes, false means that one failed and nothing
// happened.
//
// A failed write changes nothing, and the next one may succeed. In three cases the index becomes read-only until it is
// reopened: if bbolt wrote the header of a transaction but could not sync it, the disk may hold either state; if bbolt
// panicked, its state is unknown; and writes to a file that lost its name would be lost with it.
func (s *Store) update(ctx context.Context, group ...*pending) bool {
	changed := make([]int, len(group))
	refused, committed := false, false
	err := s.writable()
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err == nil && (len(group) > 1 || len(group[0].edits.ids) > 0) {
		committed, err = s.transact(func(c *change) error {
			for i, w := range group {
				before := c.removed
				if err := c.apply(ctx, w.edits); err != nil {
					refused = len(group) > 1
					return err
				}
				changed[i] = c.removed - before
			}
			return nil
		})
	}
	if p := new(panicError); refused && !errors.As(err, &p) {
		return false
	}
	for i, w := range group {
		if w.err = err; err == nil {
			w.changed = changed[i]
		}
	}
	if committed && s.index != nil {
		s.publish(context.WithoutCancel(ctx), group)
	}
	return true
}

// transact changes the items on disk. It reports whether anything was committed.
func (s *Store) transact(edit func(*change) error) (committed bool, err error) {
	c := change{state: s.state, size: (s.opened.bits + 7) / 8}
	before := uint64(0)
	s.file.allocate()
	var tx *bolt.Tx
	var took time.Duration
	err = guard(func() (err error) {
		if tx, err = s.file.Begin(true); err != nil {
			return err
		}
		before = uint64(tx.ID()) - 1
		c.items = tx.Bucket(itemBucket)
		err = edit(&c)
		if err == nil && c.added+c.removed > 0 {
			err = tx.Bucket(infoBucket).Put(stateKey, c.state.value())
		}
		if err != nil || c.added+c.removed == 0 {
			return errors.Join(err, tx.Rollback())
		}
		committed = true
		began := time.Now()
		err = s.commit(tx)
		took = time.Since(began)
		return err
	})
	if err != nil {
		return false, s.afterFailure(err, tx, committed, before)
	}
	if committed {
		s.mu.Lock()
		s.state, s.dirty = c.state, true
		s.syncs++
		s.syncTime += took
		s.mu.Unlock()
	}
	return committed, nil
}

// publish applies writes to memory, which must match the disk even if the callers no longer wait.
func (s *Store) publish(ctx context.Context, group []*pending) {
	for _, w := range group {
		if len(w.edits.ids) == 0 {
			continue
		}
		if err := w.publish(ctx); err != nil {
			s.degrade("a write is on disk but not in memory: "+err.Error(), false)
			w.err = message.New("memory-behind", "the write is on disk, but the index in memory did not take it: %w: "+
				"open the index again", err)
		}
	}
}
