package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"hashgrove/internal/fault"
)

// letter is a message to publish and the message it was made from.
type letter struct {
	Message
	in    *Message
	stage stage
}

// stage is the form in which a letter is tried.
type stage int

const (
	code   stage = iota
	dead         // the message itself, with the reason
	reason       // only the reason and where the message is: the broker took nothing larger
)

// finish publishes a batch, then marks its messages as done.
func (p *processor) finish(ctx context.Context, b batch) error {
	start := time.Now()
	for rest := b.out; len(rest) > 0; {
		n := round(rest)
		if err := p.publish(ctx, rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	err := p.persist(ctx, "acknowledging messages", func() error {
		ctx, cancel := context.WithTimeout(ctx, p.o.Patience)
		defer cancel()
		return p.b.Done(ctx, b.in)
	})
	if err != nil {
		return err
	}
	e := Event{Encoding: b.encoding, Publishing: time.Since(start)}
	for _, l := range b.out {
		if l.stage == code {
			e.Encoded++
		} else {
			e.Dead++
		}
	}
	p.observe(e)
	return nil
}

// round returns the number of letters before an id repeats: a letter published again after an error comes late, and
// must not come after a newer code of the same id.
func round(letters []letter) int {
	type place struct{ topic, key string }
	seen := make(map[place]bool, len(letters))
	for i, l := range letters {
		at := place{l.Topic, l.Key}
		if seen[at] && l.Key != "" {
			return i
		}
		seen[at] = true
	}
	return len(letters)
}

// publish publishes letters until the broker has all of them. One that it refuses becomes a dead letter.
func (p *processor) publish(ctx context.Context, letters []letter) error {
	var pending []*letter
	for i := range letters {
		pending = append(pending, &letters[i])
	}
	var hopeless error
	err := p.persist(ctx, "publishing messages", func() error {
		for len(pending) > 0 {
			var failed error
			if pending, failed, hopeless = p.attempt(ctx, pending); hopeless != nil || failed != nil {
				return failed
			}
		}
		return nil
	})
	return cmp.Or(hopeless, err)
}

// attempt publishes letters once and returns the remaining ones: those with an error, or ready to go as dead letters.
func (p *processor) attempt(ctx context.Context, letters []*letter) (left []*letter, failed, hopeless error) {
	ctx, cancel := context.WithTimeout(ctx, p.o.Patience)
	defer cancel()
	messages := make([]Message, len(letters))
	for i, l := range letters {
		messages[i] = l.Message
	}
	for i, err := range p.b.Publish(ctx, messages) {
		if err == nil {
			continue
		}
		l := letters[i]
		left = append(left, l)
		if !errors.Is(err, ErrRefused) {
			failed = err
		} else if err := p.lower(l, err); err != nil {
			return left, nil, err
		}
	}
	return left, failed, nil
}

// lower turns a letter that the broker refused into a dead letter.
func (p *processor) lower(l *letter, err error) error {
	switch l.stage {
	case code:
		l.Message = p.bury(*l.in, err)
	case dead:
		l.Headers = append(p.headers(*l.in),
			Header{HeaderReason, l.Header(HeaderReason)}, Header{HeaderLeftOut, strconv.Itoa(len(l.Value))})
		l.Key, l.Value = "", nil
	default:
		return fmt.Errorf("publishing the dead letter of %s: %w", l.in.Source, err)
	}
	l.stage++
	return nil
}

// persist calls f until it succeeds, the context ends or the patience runs out.
func (p *processor) persist(ctx context.Context, doing string, f func() error) error {
	start, pause := time.Now(), 20*time.Millisecond
	for {
		err := f()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", doing, context.Cause(ctx))
		}
		err = fmt.Errorf("%s: %w", doing, err)
		if time.Since(start) >= p.o.Patience {
			return fault.New("gave-up", "gave up after %v: %w", p.o.Patience, err)
		}
		p.observe(Event{Err: err})
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		pause = min(2*pause, 2*time.Second)
	}
}
