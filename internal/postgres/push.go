package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"hashgrove"
	"hashgrove/api"
	"hashgrove/internal/index"
	"hashgrove/internal/message"
)

// PushOptions control a push.
type PushOptions = hashgrove.PushOptions

// maxRefusals is the number of refused items after which a push gives up.
const maxRefusals = 100

// Push writes the items of a source: it creates the table or checks that the codes belong in it, and writes batches in
// the order of the source. In memory it holds the batches in flight, one more, and 64 bits of each id that may occur
// twice. A batch that fails because the database cannot be reached is sent again, which is harmless since items are
// replaced by id. Items that PostgreSQL cannot store are left out, and the error names the first.
func (t *Table) Push(ctx context.Context, s index.Source, o PushOptions) (hashgrove.Pushed, error) {
	p := &push{write: t.Write, source: s, o: o.WithDefaults(), report: hashgrove.Pushed{Items: max(s.Items, 0)}}
	info, err := t.Prepare(ctx, Space{s.Bits, s.Fingerprint})
	if p.report.Server = info.Server; err == nil {
		err = p.run(ctx)
	}
	if err != nil && ctx.Err() != nil {
		err = ctx.Err() // cancelling may look like a failed connection
	}
	return p.report, err
}

// push is a push in progress.
type push struct {
	write  func(context.Context, *index.Batch) error
	source index.Source
	o      PushOptions
	ids    identities

	mu     sync.Mutex
	report hashgrove.Pushed
	done   int
}

// run writes all batches.
func (p *push) run(ctx context.Context) error {
	writing, inTime := errgroup.WithContext(ctx)
	writing.SetLimit(p.o.InFlight)
	read := p.read(inTime, func(b *index.Batch) error {
		writing.Go(func() error { return p.batch(inTime, b) })
		return inTime.Err()
	})
	err := cmp.Or(writing.Wait(), read, ctx.Err()) // where writing failed, reading was merely cancelled
	slices.SortFunc(p.report.Refused, func(a, b hashgrove.Refusal) int {
		return index.Text(string(a.ID)).Compare(index.Text(string(b.ID)))
	})
	if n := len(p.report.Refused); n > 0 && err == nil {
		first := p.report.Refused[0]
		err = fmt.Errorf("%w: %d of %d, the first is %q: %s",
			ErrRefused, n, p.report.Items, first.ID, first.Reason)
	}
	return err
}

// read splits the items of the source into batches.
func (p *push) read(ctx context.Context, send func(*index.Batch) error) error {
	b, n := p.newBatch(), 0
	err := p.source.Each(ctx, func(part *index.Batch) error {
		if err := part.Check(p.source.Bits); err != nil {
			return err
		}
		for i, id := range part.IDs {
			if !p.source.Unique && !p.ids.add(id) {
				return message.New("duplicate-id", "item %d: duplicate id %q", n, id.Short())
			}
			it := part.Item(i)
			n++
			if b.Append(it); len(b.IDs) == p.o.Batch {
				if err := send(b); err != nil {
					return err
				}
				b = p.newBatch()
			}
		}
		return nil
	})
	if err == nil && len(b.IDs) > 0 {
		err = send(b)
	}
	if err == nil || n > p.report.Items {
		p.report.Items = n
	}
	return err
}

// newBatch returns an empty batch.
func (p *push) newBatch() *index.Batch {
	b := index.NewBatch(p.source.Bits)
	b.Fingerprint = p.source.Fingerprint
	return b
}

// batch writes a batch but for the items that PostgreSQL cannot store.
func (p *push) batch(ctx context.Context, b *index.Batch) error {
	some, refused := p.newBatch(), []hashgrove.Refusal(nil)
	for i, id := range b.IDs {
		if err := checkTexts(b.Item(i)); err != nil {
			refused = append(refused, hashgrove.Refusal{ID: api.ID(id.String()), Reason: err.Error()})
			continue
		}
		some.Append(b.Item(i))
	}
	if err := p.retry(ctx, some); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report.Refused = append(p.report.Refused, refused...)
	p.report.Written += len(some.IDs)
	p.done += len(b.IDs)
	if p.o.Progress != nil {
		p.o.Progress(p.done)
	}
	if n := len(p.report.Refused); n > maxRefusals {
		return fmt.Errorf("more than %d items were refused, the last one %q: %s", maxRefusals, p.report.Refused[n-1].ID,
			p.report.Refused[n-1].Reason)
	}
	return nil
}

// retry writes a batch, retrying for a while if the database cannot be reached.
func (p *push) retry(ctx context.Context, b *index.Batch) error {
	wait := p.o.Wait
	for try := 0; ; try++ {
		err := p.try(ctx, b)
		if err == nil || ctx.Err() != nil || !errors.Is(err, ErrTemporary) {
			return err
		}
		if try == p.o.Retries {
			return message.New("gave-up", "%w (after %d tries)", err, try+1)
		}
		p.mu.Lock()
		p.report.Retries++
		p.mu.Unlock()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
		wait = min(2*wait, 100*p.o.Wait)
	}
}

// try writes a batch once, with a timeout.
func (p *push) try(ctx context.Context, b *index.Batch) error {
	limited, stop := context.WithTimeout(ctx, p.o.Timeout)
	defer stop()
	err := p.write(limited, b)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: no answer within %v", ErrTemporary, p.o.Timeout)
	}
	return err
}

// identities detects duplicate ids by a hash of each. Among n ids, two collide by chance once in 2^65/n^2 pushes; the
// hash has a random seed, so nobody can provoke it, and repeating the push helps.
type identities struct {
	seed maphash.Seed
	seen map[uint64]struct{}
}

// add adds an id and reports whether it is new.
func (s *identities) add(id index.ID) bool {
	if s.seen == nil {
		s.seed, s.seen = maphash.MakeSeed(), map[uint64]struct{}{}
	}
	before := len(s.seen)
	s.seen[maphash.String(s.seed, id.String())] = struct{}{}
	return len(s.seen) > before
}
