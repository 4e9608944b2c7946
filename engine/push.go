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

	"hashgrove/index"
)

// Defaults of PushOptions.
const (
	DefaultBatch    = 2000
	DefaultInFlight = 2
	DefaultRetries  = 6
	DefaultTimeout  = 2 * time.Minute
)

// PushOptions say how items are pushed. The zero value means the defaults, and no journal.
type PushOptions struct {
	Batch    int           // items of a batch
	InFlight int           // batches under way at the same time
	Retries  int           // of a batch, when the engine cannot be reached; below 0 means none
	Wait     time.Duration // before the first retry; it doubles each time, up to 100 times. 0 means 200 ms
	Timeout  time.Duration // of a batch, after which it counts as lost and is sent again; 0 means two minutes
	Journal  string        // file by which a push that was interrupted continues; "" means none
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

// maxRefusals is how many items may be refused before a push gives up.
const maxRefusals = 100

// PushReport is what a push did.
type PushReport struct {
	Info    Info
	Items   int       // to push
	Written int       // now
	Before  int       // by an earlier push that the journal knows
	Retries int       // batches that were sent once more
	Checked int       // items that were read back and are right
	Refused []Refusal // in the order of their ids
}

// Push writes items to an engine: it makes the table or checks that the codes belong into it, writes batches of items
// in the order of their ids, and reads some of them back. A batch that fails because the engine cannot be reached is
// sent again, which is harmless since items are replaced by id. When an item is refused the others are written, and the
// error names it. After an error, or when the context ends, the same call continues with what the journal lacks.
func Push(ctx context.Context, e Engine, b *index.Batch, o PushOptions) (PushReport, error) {
	r, err := start(ctx, e, b, o)
	if err != nil && ctx.Err() != nil {
		err = ctx.Err() // a connection that is cut off because of that may look like any failure
	}
	return r, err
}

func start(ctx context.Context, e Engine, b *index.Batch, o PushOptions) (PushReport, error) {
	r := PushReport{Items: len(b.IDs)}
	if err := b.Check(b.Codes.Bits); err != nil {
		return r, err
	}
	rows, err := b.Order(false)
	if err != nil {
		return r, err
	}
	if r.Info, err = e.Prepare(ctx, Space{b.Codes.Bits, b.Fingerprint}); err != nil {
		return r, err
	}
	p := &push{engine: e, items: b, rows: rows, o: o.withDefaults(), report: &r}
	sum, err := digest(b, rows)
	if err != nil {
		return r, err
	}
	p.journal, err = openJournal(o.Journal, journalHead{
		journalFormat, r.Info.Table, r.Info.Identity, len(rows), p.o.Batch, sum,
	})
	if err != nil {
		return r, err
	}
	err = p.run(ctx)
	if err == nil {
		err = p.readBack(ctx)
	}
	return r, cmp.Or(err, p.journal.end(err == nil))
}

// push is a push under way.
type push struct {
	engine  Engine
	items   *index.Batch
	rows    []int
	o       PushOptions
	journal *journal

	mu     sync.Mutex
	report *PushReport
	done   int
	err    error
}

// run writes all batches that are not done.
func (p *push) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	batches := make(chan int)
	var workers sync.WaitGroup
	for range p.o.InFlight {
		workers.Go(func() {
			for n := range batches {
				if err := p.batch(ctx, n); err != nil {
					p.fail(err)
					stop()
				}
			}
		})
	}
	for n := range (len(p.rows) + p.o.Batch - 1) / p.o.Batch {
		if p.journal.has(n) {
			size := min(p.o.Batch, len(p.rows)-n*p.o.Batch)
			p.advance(func() { p.report.Before += size }, size)
			continue
		}
		select {
		case batches <- n:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(batches)
	workers.Wait()
	if p.err == nil {
		p.err = ctx.Err()
	}
	slices.SortFunc(p.report.Refused, func(a, b Refusal) int { return a.ID.Compare(b.ID) })
	if n := len(p.report.Refused); n > 0 && p.err == nil {
		first := p.report.Refused[0]
		p.err = fmt.Errorf("%w: %d of %d, the first is %q: %s",
			ErrRefused, n, len(p.rows), first.ID.String(), first.Reason)
	}
	return p.err
}

// fail keeps the error that came first: those after it are often cancellations.
func (p *push) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = err
	}
}

// advance counts items that are done.
func (p *push) advance(count func(), items int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	count()
	p.done += items
	if p.o.Progress != nil {
		p.o.Progress(p.done)
	}
}

// batch writes batch n.
func (p *push) batch(ctx context.Context, n int) error {
	rows := p.rows[n*p.o.Batch : min((n+1)*p.o.Batch, len(p.rows))]
	refused, err := p.write(ctx, rows)
	if err != nil {
		return err
	}
	if refused == 0 {
		err = p.journal.add(n)
	}
	p.advance(func() { p.report.Written += len(rows) - refused }, len(rows))
	return err
}

// write writes rows; where one is refused it writes each half alone, so that in the end only those are left out.
func (p *push) write(ctx context.Context, rows []int) (refused int, err error) {
	b := p.part(rows)
	if err = p.retry(ctx, b); !errors.Is(err, ErrRefused) {
		return 0, err
	}
	if len(rows) == 1 {
		p.mu.Lock()
		p.report.Refused = append(p.report.Refused, Refusal{b.IDs[0], err.Error()})
		many := len(p.report.Refused) > maxRefusals
		p.mu.Unlock()
		if many {
			return 1, fmt.Errorf("more than %d items were refused, the last is %q: %w", maxRefusals, b.IDs[0].String(), err)
		}
		return 1, nil
	}
	half := len(rows) / 2
	first, err := p.write(ctx, rows[:half])
	if err != nil {
		return first, err
	}
	second, err := p.write(ctx, rows[half:])
	return first + second, err
}

// part is some rows as a batch of their own.
func (p *push) part(rows []int) *index.Batch {
	b := index.NewBatch(p.items.Codes.Bits)
	b.Fingerprint = p.items.Fingerprint
	for _, r := range rows {
		b.Append(p.items.Item(r))
	}
	return b
}

// retry writes a batch, and tries again for a while when the engine cannot be reached.
func (p *push) retry(ctx context.Context, b *index.Batch) error {
	wait := p.o.Wait
	for try := 0; ; try++ {
		err := p.try(ctx, b)
		if err == nil || ctx.Err() != nil || !errors.Is(err, ErrTemporary) {
			return err
		}
		if try == p.o.Retries {
			return fmt.Errorf("%w (after %d tries)", err, try+1)
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

// try writes a batch once, and does not wait for an answer for ever.
func (p *push) try(ctx context.Context, b *index.Batch) error {
	limited, stop := context.WithTimeout(ctx, p.o.Timeout)
	defer stop()
	err := p.engine.Write(limited, b)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: no answer within %v", ErrTemporary, p.o.Timeout)
	}
	return err
}

// readBack compares some items, evenly spread, with what the engine holds now.
func (p *push) readBack(ctx context.Context) error {
	const sample = 100
	var ids []index.ID
	want := map[index.ID]index.Item{}
	for i := range min(sample, len(p.rows)) {
		it := p.items.Item(p.rows[i*len(p.rows)/min(sample, len(p.rows))])
		ids, want[it.ID] = append(ids, it.ID), it
	}
	err := p.engine.Read(ctx, index.IDs(ids...), func(b *index.Batch) error {
		for i, id := range b.IDs {
			it, asked := want[id]
			if !asked {
				return fmt.Errorf("the engine answers with the item %q, which nobody asked for", id.String())
			}
			if what := difference(it, b.Item(i)); what != "" {
				return fmt.Errorf("item %q came back with another %s than was written", id.String(), what)
			}
			delete(want, id)
			p.report.Checked++
		}
		return nil
	})
	for _, id := range ids {
		if _, missing := want[id]; missing && err == nil {
			err = fmt.Errorf("item %q was written and is not in the engine: did someone remove it? "+
				"push again without the journal", id.String())
		}
	}
	return err
}

// difference names what two items differ in, or "". The order of tags does not count, nor how often there is one.
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
