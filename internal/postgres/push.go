package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"sync"
	"time"

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
// the order of the source. In memory it holds the batches in flight, two more, and 64 bits of each id that may occur
// twice. A batch that fails because the database cannot be reached is sent again, which is harmless since items are
// replaced by id. If an item is refused, the others are written and the error names it.
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
	err    error
}

// run writes all batches.
func (p *push) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	batches := make(chan *index.Batch)
	var workers sync.WaitGroup
	for range p.o.InFlight {
		workers.Go(func() {
			for b := range batches {
				if err := p.batch(ctx, b); err != nil {
					p.fail(err)
					stop()
				}
			}
		})
	}
	err := p.read(ctx, func(b *index.Batch) error {
		select {
		case batches <- b:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	close(batches)
	workers.Wait()
	if p.err == nil { // otherwise reading was merely cancelled
		p.err = cmp.Or(err, ctx.Err())
	}
	slices.SortFunc(p.report.Refused, func(a, b hashgrove.Refusal) int {
		return index.Text(string(a.ID)).Compare(index.Text(string(b.ID)))
	})
	if n := len(p.report.Refused); n > 0 && p.err == nil {
		first := p.report.Refused[0]
		p.err = fmt.Errorf("%w: %d of %d, the first is %q: %s",
			ErrRefused, n, p.report.Items, first.ID, first.Reason)
	}
	return p.err
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

// fail keeps the first error: later ones are often cancellations.
func (p *push) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = err
	}
}

// advance counts finished items.
func (p *push) advance(count func(), items int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	count()
	p.done += items
	if p.o.Progress != nil {
		p.o.Progress(p.done)
	}
}

// batch writes a batch.
func (p *push) batch(ctx context.Context, b *index.Batch) error {
	refused, err := p.halve(ctx, b)
	if err != nil {
		return err
	}
	p.advance(func() { p.report.Written += len(b.IDs) - refused }, len(b.IDs))
	return nil
}

// halve writes items. If one is refused it writes each half separately, so that in the end only refused items are
// left out.
func (p *push) halve(ctx context.Context, b *index.Batch) (refused int, err error) {
	if err = p.retry(ctx, b); !errors.Is(err, ErrRefused) {
		return 0, err
	}
	if len(b.IDs) == 1 {
		p.mu.Lock()
		p.report.Refused = append(p.report.Refused, hashgrove.Refusal{ID: api.ID(b.IDs[0].String()), Reason: err.Error()})
		many := len(p.report.Refused) > maxRefusals
		p.mu.Unlock()
		if many {
			return 1, fmt.Errorf("more than %d items were refused, the last one %q: %w", maxRefusals, b.IDs[0].String(), err)
		}
		return 1, nil
	}
	half := len(b.IDs) / 2
	first, err := p.halve(ctx, p.part(b, 0, half))
	if err != nil {
		return first, err
	}
	second, err := p.halve(ctx, p.part(b, half, len(b.IDs)))
	return first + second, err
}

// part returns some items of a batch as a batch of their own.
func (p *push) part(b *index.Batch, from, to int) *index.Batch {
	some := p.newBatch()
	for i := from; i < to; i++ {
		some.Append(b.Item(i))
	}
	return some
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

// identities detects duplicate ids. It keeps a hash of every id, but nothing for ids that count up, as row numbers
// do. Among n ids, two collide by chance once in 2^65/n^2 pushes; the hash has a random seed, so nobody can provoke
// it, and repeating the push helps.
type identities struct {
	seed        maphash.Seed
	seen        map[uint64]struct{}
	first, next int64 // ids first to next-1 came in sequence
}

// add adds an id and reports whether it is new.
func (s *identities) add(id index.ID) bool {
	if s.seen == nil {
		s.seed, s.seen = maphash.MakeSeed(), map[uint64]struct{}{}
	}
	n, integer := id.Integer()
	if integer && n >= s.first && n < s.next {
		return false
	}
	if begins := s.first == s.next; integer && n < math.MaxInt64 && len(s.seen) == 0 && (begins || n == s.next) {
		if begins {
			s.first = n
		}
		s.next = n + 1
		return true
	}
	key := maphash.String(s.seed, id.String())
	if _, there := s.seen[key]; there {
		return false
	}
	s.seen[key] = struct{}{}
	return true
}
