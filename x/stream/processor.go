// Package stream encodes vectors that arrive as messages of a broker, and publishes their codes as messages.
//
//	Receive -> parse, encode in batches -> Publish, wait until the broker has all of it -> Done
//
// Delivery is at least once: a message is acknowledged only after the broker has stored its code or its dead letter. A
// message published again after a crash has the same topic, key, value and source. Packages kafka and nats have
// brokers.
package stream

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// Options configure Run. Output and DeadLetters must be set; elsewhere zero means the default.
type Options struct {
	Output      string // topic or subject of the codes
	DeadLetters string // topic or subject of messages that cannot be encoded
	From        Format // JSON (the default) or Raw
	To          Format // JSON (the default) or Packed

	Batch      int // maximum number of messages encoded together; 256
	InFlight   int // maximum number of batches between Receive and Done; 4
	MaxMessage int // maximum bytes of a message, larger ones become dead letters; 1 MiB
	Threads    int // encoding threads; all cores

	Patience time.Duration // how long to retry a failing broker before Run gives up; 2 minutes
	Grace    time.Duration // how long Run may take to finish received messages after its context ended; 10 seconds

	// Observe is called for every batch that is done and every error that is retried, one at a time.
	Observe func(Event)
}

// Event is a batch that is done, or an error after which the processor tries again.
type Event struct {
	Encoded, Dead        int // messages of the batch
	Encoding, Publishing time.Duration
	Err                  error
}

// errGrace is returned when work is abandoned.
var errGrace = errors.New("not everything was published in the time given for that; the rest will be delivered again")

// processor is the state of Run.
type processor struct {
	b           Broker
	m           *model.Model
	o           Options
	dim         int
	fingerprint string
	observing   sync.Mutex
}

// Run encodes messages until the context ends, then finishes the received ones and returns nil. A message that cannot
// be encoded goes to the dead letters with the reason. Run returns an error if the broker fails for longer than the
// patience, or if the grace period was not enough; messages received by then will be delivered again.
//
// The model must have passed Check, as models read from files have.
func Run(ctx context.Context, b Broker, m *model.Model, o Options) error {
	p, err := newProcessor(b, m, o)
	if err != nil {
		return err
	}
	work, abandon := context.WithCancelCause(context.WithoutCancel(ctx))
	defer abandon(nil)
	go func() {
		select {
		case <-ctx.Done():
		case <-work.Done():
			return
		}
		select {
		case <-time.After(p.o.Grace):
			abandon(errGrace)
		case <-work.Done():
		}
	}()

	reading, stop := context.WithCancel(ctx)
	defer stop()
	batches, slots := make(chan batch, p.o.InFlight), make(chan struct{}, p.o.InFlight)
	var readErr error
	go func() {
		defer close(batches)
		readErr = p.read(reading, work, slots, batches)
	}()
	for b := range batches {
		if err == nil {
			if err = p.finish(work, b); err != nil {
				stop()
			}
		}
		<-slots
	}
	return cmp.Or(err, readErr)
}

func newProcessor(b Broker, m *model.Model, o Options) (*processor, error) {
	o.From, o.To = cmp.Or(o.From, JSON), cmp.Or(o.To, JSON)
	o.Batch, o.InFlight, o.MaxMessage = cmp.Or(o.Batch, 256), cmp.Or(o.InFlight, 4), cmp.Or(o.MaxMessage, 1<<20)
	o.Patience, o.Grace = cmp.Or(o.Patience, 2*time.Minute), cmp.Or(o.Grace, 10*time.Second)
	switch {
	case o.Output == "" || o.DeadLetters == "":
		return nil, fault.New("no-topic", "the codes and the dead letters need a topic each")
	case o.Output == o.DeadLetters:
		return nil, fault.New("same-topic", "codes and dead letters both go to %s; name another topic for dead letters",
			o.Output)
	case o.From != JSON && o.From != Raw:
		return nil, fault.New("cannot-read", "messages in the format %q cannot be read: choose %s or %s", o.From, JSON, Raw)
	case o.To != JSON && o.To != Packed:
		return nil, fault.New("cannot-write", "messages in the format %q cannot be written: choose %s or %s",
			o.To, JSON, Packed)
	case min(o.Batch, o.InFlight, o.MaxMessage) < 1 || min(o.Patience, o.Grace) < 0:
		return nil, fault.New("below-zero", "a limit is below zero")
	}
	return &processor{b: b, m: m, o: o, dim: m.Dim(), fingerprint: m.Fingerprint().Full()}, nil
}

// batch is messages and what to publish for them.
type batch struct {
	in       []Message
	out      []letter
	encoding time.Duration
}

// read receives and encodes until the context ends. Finishing a batch frees a slot.
func (p *processor) read(reading, work context.Context, slots chan<- struct{}, batches chan<- batch) error {
	for {
		select {
		case slots <- struct{}{}:
		case <-reading.Done():
			return nil
		}
		var in []Message
		for len(in) == 0 {
			err := p.persist(reading, "receiving messages", func() error {
				var err error
				if in, err = p.b.Receive(reading, p.o.Batch); err != nil && len(in) > 0 {
					p.observe(Event{Err: err})
					err = nil
				}
				return err
			})
			if reading.Err() != nil && len(in) == 0 {
				return nil
			}
			if err != nil {
				return err
			}
		}
		b, err := p.encode(work, in)
		if err != nil {
			return err
		}
		batches <- b
	}
}

// encode computes the codes of a batch.
func (p *processor) encode(ctx context.Context, in []Message) (batch, error) {
	start := time.Now()
	b := batch{in: in, out: make([]letter, len(in))}
	items, places := make([]item, 0, len(in)), make([]int, 0, len(in))
	x := vectors.Matrix{Cols: p.dim}
	for i, m := range in {
		it, data, err := p.parse(m, x.Data)
		x.Data = data
		if err != nil {
			b.out[i] = letter{Message: p.bury(m, err), in: &in[i], stage: dead}
			continue
		}
		items, places = append(items, it), append(places, i)
	}
	x.Rows = len(items)
	codes, errs, err := p.codes(ctx, x)
	if err != nil {
		return b, err
	}
	for k, i := range places {
		if errs != nil && errs[k] != nil {
			b.out[i] = letter{Message: p.bury(in[i], errs[k]), in: &in[i], stage: dead}
			continue
		}
		b.out[i] = letter{Message: p.write(in[i], items[k], codes.AppendBytes(nil, k)), in: &in[i]}
	}
	b.encoding = time.Since(start)
	return b, nil
}

// codes encodes all rows together, or each alone if one of them cannot be encoded.
func (p *processor) codes(ctx context.Context, x vectors.Matrix) (codes hamming.Codes, errs []error, err error) {
	if x.Rows == 0 {
		return codes, nil, nil
	}
	if codes, err = p.m.Encode(ctx, x, p.o.Threads); err == nil {
		return codes, nil, nil
	}
	if ctx.Err() != nil {
		return codes, nil, context.Cause(ctx)
	}
	codes, errs = hamming.NewCodes(x.Rows, p.m.Encoder.Bits()), make([]error, x.Rows)
	for i := range x.Rows {
		words, err := p.m.EncodeRow(x.Row(i))
		if errs[i] = err; err == nil {
			copy(codes.Row(i), words)
		}
	}
	return codes, errs, nil
}

func (p *processor) observe(e Event) {
	if p.o.Observe != nil {
		p.observing.Lock()
		defer p.observing.Unlock()
		p.o.Observe(e)
	}
}
