package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"hashgrove/internal/engine"
	"hashgrove/internal/engine/enginetest"
	"hashgrove/internal/fault"
	"hashgrove/internal/index"
	"hashgrove/internal/testkit/searchtest"
)

func TestMemoryPassesTheSuite(t *testing.T) {
	enginetest.Run(t, func(*testing.T) engine.Engine { return enginetest.NewMemory() }, searchtest.Abilities{Names: true})
}

// TestPushRetries: batches fail before they are written, or after that, and every item is there once in the end.
func TestPushRetries(t *testing.T) {
	m := enginetest.NewMemory()
	rng := rand.New(rand.NewPCG(1, 1))
	var mu sync.Mutex
	flying, most := 0, 0
	m.Fail = func(_ *index.Batch, after bool) error {
		mu.Lock()
		failing := rng.IntN(3) == 0
		if !after {
			flying++
			most = max(most, flying)
		}
		if after || failing {
			flying--
		}
		mu.Unlock()
		time.Sleep(100 * time.Microsecond)
		if failing {
			return fmt.Errorf("%w: unplugged", engine.ErrTemporary)
		}
		return nil
	}
	b := searchtest.Items(500, 64, 1)
	r, err := engine.Push(t.Context(), m, b, engine.PushOptions{Batch: 10, InFlight: 3, Retries: 50, Wait: time.Microsecond})
	if err != nil || r.Written != 500 || r.Retries == 0 || r.Checked != 100 {
		t.Errorf("%+v, %v", r, err)
	}
	if n, _ := m.Count(t.Context()); n != 500 || most != 3 {
		t.Errorf("%d items, %d batches in flight", n, most)
	}
	m.Fail = func(*index.Batch, bool) error { return fmt.Errorf("%w: unplugged", engine.ErrTemporary) }
	_, err = engine.Push(t.Context(), m, b, engine.PushOptions{Retries: 2, Wait: time.Microsecond})
	if !errors.Is(err, engine.ErrTemporary) || fault.Differs(err, "gave-up", " 3 ") != "" {
		t.Errorf("an engine that stays away: %v", err)
	}
}

// stuck is an engine that does not answer the first few times.
type stuck struct {
	*enginetest.Memory
	times int
}

func (s *stuck) Write(ctx context.Context, b *index.Batch) error {
	if s.times--; s.times >= 0 {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.Memory.Write(ctx, b)
}

// TestPushDoesNotWaitForEver sends a batch again that is not answered, and gives up after a while.
func TestPushDoesNotWaitForEver(t *testing.T) {
	o := engine.PushOptions{InFlight: 1, Retries: 3, Wait: time.Microsecond, Timeout: 50 * time.Millisecond}
	for times, fails := range map[int]bool{3: false, 4: true} {
		r, err := engine.Push(t.Context(), &stuck{enginetest.NewMemory(), times}, searchtest.Items(20, 64, 1), o)
		if r.Retries != 3 || errors.Is(err, engine.ErrTemporary) != fails || !fails && err != nil {
			t.Errorf("%d times no answer: %+v, %v", times, r, err)
		}
	}
}

// TestPushNoticesLostItems reads some items back.
func TestPushNoticesLostItems(t *testing.T) {
	m, b := enginetest.NewMemory(), searchtest.Items(50, 64, 1)
	m.Fail = func(b *index.Batch, _ bool) error {
		b.Codes.Data[3] ^= 1 << 63 // on the way
		return nil
	}
	_, err := engine.Push(t.Context(), m, b, engine.PushOptions{Batch: 10})
	if d := fault.Differs(err, "changed-item", "code"); d != "" {
		t.Errorf("a code that changed on the way: %s", d)
	}
	b.IDs[3] = b.IDs[4]
	_, err = engine.Push(t.Context(), m, b, engine.PushOptions{})
	if err == nil || fault.Is(err, "changed-item") || !strings.Contains(err.Error(), `"`+b.IDs[4].String()+`"`) {
		t.Errorf("an id that is there twice: %v", err)
	}
}

// server is one that can be stopped.
type server interface {
	Stop(t testing.TB)
	Restart(t testing.TB)
}

// checkServerGone stops the server in the middle of a push, twice: once it comes back in time, once it does not, and a
// second push continues.
func checkServerGone(t *testing.T, s server, items int, open func(table string) engine.Engine) {
	b := searchtest.Items(items, 64, 1)
	o := engine.PushOptions{Batch: items / 50, InFlight: 3, Wait: 50 * time.Millisecond}
	stopped := false
	o.Progress = func(done int) {
		if done >= items*3/10 && !stopped {
			stopped = true
			s.Stop(t)
			go func() { time.Sleep(100 * time.Millisecond); s.Restart(t) }()
		}
	}
	e := open("comes_back")
	r, err := engine.Push(t.Context(), e, b, o)
	if n, _ := e.Count(t.Context()); err != nil || n != items || r.Retries == 0 {
		t.Errorf("%d items, %+v, %v", n, r, err)
	}

	stopped, o.Retries = false, 1
	o.Progress = func(done int) {
		if done >= items*3/10 && !stopped {
			stopped = true
			s.Stop(t)
		}
	}
	e = open("goes_away")
	_, err = engine.Push(t.Context(), e, b, o)
	if !errors.Is(err, engine.ErrTemporary) {
		t.Errorf("a server that is gone: %v", err)
	}
	s.Restart(t)
	o.Progress = nil
	r, err = engine.Push(t.Context(), e, b, o)
	if n, _ := e.Count(t.Context()); err != nil || n != items || r.Written != items {
		t.Errorf("%d items, %+v, %v", n, r, err)
	}
}
