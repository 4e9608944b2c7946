package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"hashgrove/internal/fault"
	"hashgrove/internal/index"
)

// Defaults of PushOptions.
const (
	DefaultBatch    = 2000
	DefaultInFlight = 2
	DefaultRetries  = 6
	DefaultTimeout  = 2 * time.Minute
)

// PushOptions control a push. The zero value means the defaults.
type PushOptions struct {
	Batch    int           // items per batch
	InFlight int           // batches in flight
	Retries  int           // per batch, if the engine cannot be reached; negative means none
	Wait     time.Duration // before the first retry; it doubles each time, up to 100 times. 0 means 200 ms
	Timeout  time.Duration // after which a batch is sent again; 0 means two minutes
	Progress func(done int)
}

// withDefaults fills in the defaults.
func (o PushOptions) withDefaults() PushOptions {
	o.Batch, o.InFlight = cmp.Or(max(o.Batch, 0), DefaultBatch), cmp.Or(max(o.InFlight, 0), DefaultInFlight)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.Retries, o.Wait = max(cmp.Or(o.Retries, DefaultRetries), 0), cmp.Or(o.Wait, 200*time.Millisecond)
	return o
}

// Refusal is an item that the engine refused.
type Refusal struct {
	ID     index.ID `json:"id"`
	Reason string   `json:"reason"`
}

// maxRefusals is the number of refused items after which a push gives up.
const maxRefusals = 100

// PushReport is the outcome of a push.
type PushReport struct {
	Info    Info
	Items   int       // to push, or the number read if the source does not know
	Written int       // by this push
	Retries int       // batches sent again
	Checked int       // items read back and found correct
	Refused []Refusal // in the order of their ids
}

// Push writes items in memory to an engine, ordered by id; see PushFrom.
func Push(ctx context.Context, e Engine, b *index.Batch, o PushOptions) (PushReport, error) {
	s, err := FromBatch(b)
	if err != nil {
		return PushReport{Items: len(b.IDs)}, err
	}
	return PushFrom(ctx, e, s, o)
}

// PushFrom writes the items of a source to an engine: it creates the table or checks that the codes belong in it,
// writes batches in the order of the source, and reads some items back. In memory it holds the batches in flight,
// two more, and 64 bits of each id that may occur twice. A batch that fails because the engine cannot be reached is
// sent again, which is harmless since items are replaced by id. If an item is refused, the others are written and
// the error names it.
func PushFrom(ctx context.Context, e Engine, s Source, o PushOptions) (PushReport, error) {
	r := PushReport{Items: max(s.Items, 0)}
	err := start(ctx, e, s, o.withDefaults(), &r)
	if err != nil && ctx.Err() != nil {
		err = ctx.Err() // cancelling may look like a failed connection
	}
	return r, err
}

func start(ctx context.Context, e Engine, s Source, o PushOptions, r *PushReport) (err error) {
	if r.Info, err = e.Prepare(ctx, s.Space); err != nil {
		return err
	}
	p := &push{engine: e, source: s, o: o, report: r, sample: newSample()}
	err = p.run(ctx)
	if err == nil {
		err = p.readBack(ctx)
	}
	return err
}

// push is a push in progress.
type push struct {
	engine Engine
	source Source
	o      PushOptions
	ids    identities
	sample *sample

	mu     sync.Mutex
	report *PushReport
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
	slices.SortFunc(p.report.Refused, func(a, b Refusal) int { return a.ID.Compare(b.ID) })
	if n := len(p.report.Refused); n > 0 && p.err == nil {
		first := p.report.Refused[0]
		p.err = fmt.Errorf("%w: %d of %d, the first is %q: %s",
			ErrRefused, n, p.report.Items, first.ID.String(), first.Reason)
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
				return fault.New("duplicate-id", "item %d: duplicate id %q", n, shortened(id))
			}
			it := part.Item(i)
			p.sample.add(it)
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
	refused, err := p.write(ctx, b)
	if err != nil {
		return err
	}
	p.advance(func() { p.report.Written += len(b.IDs) - refused }, len(b.IDs))
	return nil
}

// write writes items. If one is refused it writes each half separately, so that in the end only refused items are
// left out.
func (p *push) write(ctx context.Context, b *index.Batch) (refused int, err error) {
	if err = p.retry(ctx, b); !errors.Is(err, ErrRefused) {
		return 0, err
	}
	if len(b.IDs) == 1 {
		p.mu.Lock()
		p.report.Refused = append(p.report.Refused, Refusal{b.IDs[0], err.Error()})
		many := len(p.report.Refused) > maxRefusals
		p.mu.Unlock()
		if many {
			return 1, fmt.Errorf("more than %d items were refused, the last one %q: %w", maxRefusals, b.IDs[0].String(), err)
		}
		return 1, nil
	}
	half := len(b.IDs) / 2
	first, err := p.write(ctx, p.part(b, 0, half))
	if err != nil {
		return first, err
	}
	second, err := p.write(ctx, p.part(b, half, len(b.IDs)))
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

// retry writes a batch, retrying for a while if the engine cannot be reached.
func (p *push) retry(ctx context.Context, b *index.Batch) error {
	wait := p.o.Wait
	for try := 0; ; try++ {
		err := p.try(ctx, b)
		if err == nil || ctx.Err() != nil || !errors.Is(err, ErrTemporary) {
			return err
		}
		if try == p.o.Retries {
			return fault.New("gave-up", "%w (after %d tries)", err, try+1)
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
	err := p.engine.Write(limited, b)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: no answer within %v", ErrTemporary, p.o.Timeout)
	}
	return err
}

// readBack compares some items with what the engine now holds.
func (p *push) readBack(ctx context.Context) error {
	if len(p.sample.items) == 0 {
		return nil
	}
	var ids []index.ID
	want := map[index.ID]index.Item{}
	for _, it := range p.sample.items {
		ids, want[it.ID] = append(ids, it.ID), it
	}
	err := p.engine.Read(ctx, index.IDs(ids...), func(b *index.Batch) error {
		for i, id := range b.IDs {
			it, asked := want[id]
			if !asked {
				return fmt.Errorf("the engine returned the item %q, which was not requested", id.String())
			}
			if what := difference(it, b.Item(i)); what != "" {
				return fault.New("changed-item", "item %q came back with a different %s than was written", id.String(), what)
			}
			delete(want, id)
			p.report.Checked++
		}
		return nil
	})
	for _, id := range ids {
		if _, missing := want[id]; missing && err == nil {
			err = fmt.Errorf("item %q was written but is not in the engine: did someone remove it? "+
				"push again", id.String())
		}
	}
	return err
}

// difference names what two items differ in, or returns "". The order and repetition of tags do not matter.
func difference(a, b index.Item) string {
	tags := func(it index.Item) []string { return slices.Compact(slices.Sorted(slices.Values(it.Tags))) }
	switch {
	case !slices.Equal(a.Code, b.Code):
		return "code"
	case a.Label != b.Label:
		return "label"
	case !slices.Equal(tags(a), tags(b)):
		return "list of tags"
	case !maps.Equal(a.Attributes, b.Attributes):
		return "set of attributes"
	}
	return ""
}
