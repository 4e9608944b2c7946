package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
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
	journal := filepath.Join(t.TempDir(), "j")
	r, err := engine.Push(t.Context(), m, b, engine.PushOptions{Batch: 10, InFlight: 3, Retries: 50, Wait: time.Microsecond, Journal: journal})
	if err != nil || r.Written != 500 || r.Retries == 0 || r.Checked != 100 {
		t.Errorf("%+v, %v", r, err)
	}
	if n, _ := m.Count(t.Context()); n != 500 || most != 3 {
		t.Errorf("%d items, %d batches in flight", n, most)
	}
	if _, err := os.Stat(journal); err == nil {
		t.Error("the journal of a complete push is there")
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

// TestPushContinues interrupts a push after every batch; each continues where the one before ended.
func TestPushContinues(t *testing.T) {
	m, b := enginetest.NewMemory(), searchtest.Items(100, 64, 1)
	o := engine.PushOptions{Batch: 10, InFlight: 1, Journal: filepath.Join(t.TempDir(), "j")}
	for n := range 10 {
		ctx, stop := context.WithCancel(t.Context())
		o.Progress = func(done int) {
			if done > n*10 {
				stop()
			}
		}
		r, err := engine.Push(ctx, m, b, o)
		if n < 9 && !errors.Is(err, context.Canceled) || r.Before != 10*n {
			t.Fatalf("push %d: %d items before, %v", n, r.Before, err)
		}
		stop()
	}
	if m.Writes != 10 {
		t.Errorf("%d batches were written", m.Writes)
	}
	o.Progress = nil
	if r, err := engine.Push(t.Context(), m, b, o); err != nil || r.Before != 100 {
		t.Error(r, err)
	}
}

// TestJournalsOfOthers are refused, and damaged lines do not count.
func TestJournalsOfOthers(t *testing.T) {
	b := searchtest.Items(50, 64, 1)
	path := filepath.Join(t.TempDir(), "j")
	interrupted := func(m *enginetest.Memory) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		_, err := engine.Push(ctx, m, b, engine.PushOptions{
			Batch: 10, InFlight: 1, Journal: path, Progress: func(int) { stop() },
		})
		if err == nil {
			t.Fatal("the push was not interrupted")
		}
	}
	m := enginetest.NewMemory()
	interrupted(m)
	_, err := engine.Push(t.Context(), m, searchtest.Items(50, 64, 2), engine.PushOptions{Batch: 10, Journal: path})
	if d := fault.Differs(err, "other-push", path); d != "" {
		t.Errorf("a journal of other items: %s", d)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(whole) + 1 { // wherever the journal was cut off, all items arrive
		if err := os.WriteFile(path, whole[:cut], 0o666); err != nil {
			t.Fatal(err)
		}
		r, err := engine.Push(t.Context(), m, b, engine.PushOptions{Batch: 10, Journal: path})
		if err == nil && r.Written+r.Before != 50 {
			t.Fatalf("cut at %d: %+v", cut, r)
		}
		if err != nil && (cut > 30 || !fault.Is(err, "not-a-journal")) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	}
	os.Remove(path)
	interrupted(m)
	fresh := enginetest.NewMemory() // another table: what the journal has is not there
	if r, err := engine.Push(t.Context(), fresh, b, engine.PushOptions{Batch: 10, Journal: path}); err != nil || r.Written != 50 {
		t.Errorf("a new table: %+v, %v", r, err)
	}
	if err := os.WriteFile(path, []byte("my diary\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err = engine.Push(t.Context(), m, b, engine.PushOptions{Journal: path})
	if d := fault.Differs(err, "not-a-journal", path); d != "" {
		t.Errorf("a file that is no journal: %s", d)
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

// checkInterrupted cancels pushes of so many items at random moments until one is complete.
func checkInterrupted(t *testing.T, e engine.Engine, items int) {
	rng := rand.New(rand.NewPCG(2, 2))
	b := searchtest.Items(items, 64, 1)
	o := engine.PushOptions{Batch: items / 60, InFlight: 3, Journal: filepath.Join(t.TempDir(), "j")}
	stops := 0
	for {
		// Longer and longer, because on a slow machine a push may need more than that to begin.
		ctx, stop := context.WithTimeout(t.Context(), time.Duration(5+rng.IntN(40)+4*stops)*time.Millisecond)
		r, err := engine.Push(ctx, e, b, o)
		stop()
		if err == nil {
			if r.Before == 0 || r.Before+r.Written != items {
				t.Errorf("%+v", r)
			}
			break
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		stops++
	}
	if n, err := e.Count(t.Context()); n != items || err != nil || stops == 0 {
		t.Errorf("%d items after %d interruptions, %v", n, stops, err)
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
	o := engine.PushOptions{Batch: items / 50, InFlight: 3, Wait: 50 * time.Millisecond, Journal: filepath.Join(t.TempDir(), "j")}
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
	if n, _ := e.Count(t.Context()); err != nil || n != items || r.Before < items/5 || r.Before+r.Written != items {
		t.Errorf("%d items, %+v, %v", n, r, err)
	}
}
