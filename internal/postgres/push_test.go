package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"hashgrove"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/message"
	"hashgrove/internal/testkit/budgettest"
	"hashgrove/internal/testkit/pgtest"
	"hashgrove/internal/testkit/searchtest"
)

// sourceOf returns items in memory as a source.
func sourceOf(b *index.Batch) index.Source {
	return index.Source{
		Bits: b.Codes.Bits, Fingerprint: b.Fingerprint, Items: len(b.IDs),
		Each: func(_ context.Context, take func(*index.Batch) error) error { return take(b) },
	}
}

// pushTo pushes a source to a function.
func pushTo(t *testing.T, s index.Source, o PushOptions, write func(context.Context, *index.Batch) error) (hashgrove.Pushed, error) {
	p := &push{write: write, source: s, o: o.WithDefaults(), report: hashgrove.Pushed{Items: max(s.Items, 0)}}
	err := p.run(t.Context())
	return p.report, err
}

// TestPushRetries: batches fail before they are written, or after that, and every item arrives in the end.
func TestPushRetries(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var mu sync.Mutex
	flying, most, arrived := 0, 0, map[index.ID]bool{}
	write := func(_ context.Context, b *index.Batch) error {
		mu.Lock()
		before, after := rng.IntN(3) == 0, rng.IntN(3) == 0
		flying++
		most = max(most, flying)
		for _, id := range b.IDs {
			arrived[id] = arrived[id] || !before
		}
		mu.Unlock()
		time.Sleep(100 * time.Microsecond)
		mu.Lock()
		flying--
		mu.Unlock()
		if before || after {
			return fmt.Errorf("%w: unplugged", ErrTemporary)
		}
		return nil
	}
	s := sourceOf(searchtest.Items(500, 64, 1))
	o := PushOptions{Batch: 10, InFlight: 3, Retries: 100, Wait: time.Microsecond}
	r, err := pushTo(t, s, o, write)
	if err != nil || r.Written != 500 || r.Retries == 0 || most != 3 {
		t.Errorf("%+v, %d batches in flight, %v", r, most, err)
	}
	for id, there := range arrived {
		if !there || len(arrived) != 500 {
			t.Errorf("%v of %d items: %v", id, len(arrived), there)
		}
	}
	o = PushOptions{Retries: 2, Wait: time.Microsecond}
	_, err = pushTo(t, s, o, func(context.Context, *index.Batch) error {
		return fmt.Errorf("%w: unplugged", ErrTemporary)
	})
	if !errors.Is(err, ErrTemporary) || message.Differs(err, "gave-up", " 3 ") != "" {
		t.Errorf("a database that stays away: %v", err)
	}
}

// TestPushDoesNotWaitForEver sends a batch again that is not answered, and gives up after a while.
func TestPushDoesNotWaitForEver(t *testing.T) {
	o := PushOptions{InFlight: 1, Retries: 3, Wait: time.Microsecond, Timeout: 50 * time.Millisecond}
	for times, fails := range map[int]bool{3: false, 4: true} {
		s := sourceOf(searchtest.Items(20, 64, 1))
		r, err := pushTo(t, s, o, func(ctx context.Context, _ *index.Batch) error {
			if times--; times < 0 {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		})
		if r.Retries != 3 || errors.Is(err, ErrTemporary) != fails || !fails && err != nil {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

// TestPushInBoundedMemory pushes 200,000 items, which together are many times the limit, and looks at the heap on the
// way: ids leave a hash each.
func TestPushInBoundedMemory(t *testing.T) {
	const n = 200_000
	s := index.Source{
		Bits: 64, Fingerprint: searchtest.Fingerprint, Items: -1,
		Each: func(ctx context.Context, take func(*index.Batch) error) error {
			for first := 0; first < n; first += 1000 {
				b := index.NewBatch(64)
				for i := first; i < first+1000; i++ {
					id := index.Text(fmt.Sprintf("item-%09d", i))
					b.Append(index.Item{ID: id, Code: []uint64{uint64(i)}, Label: fmt.Sprint("label ", i%100)})
				}
				if err := take(b); err != nil {
					return err
				}
			}
			return ctx.Err()
		},
	}
	budgettest.Peak(t, 8*budgettest.MiB+40*n, func() {
		r, err := pushTo(t, s, PushOptions{Batch: 500}, func(context.Context, *index.Batch) error { return nil })
		if err != nil || r.Items != n || r.Written != n {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// TestPushFindsRepeatedIDs looks for them in every order of integers and texts.
func TestPushFindsRepeatedIDs(t *testing.T) {
	for text, twice := range map[string]bool{"0 1 2 3 4": false, "0 1 2 3 1": true, "a b c": false, "0 a b a": true} {
		b := index.NewBatch(8)
		for _, id := range strings.Fields(text) {
			b.Append(index.Item{ID: index.Text(id), Code: hamming.NewCodes(1, 8).Row(0)})
		}
		_, err := pushTo(t, sourceOf(b), PushOptions{}, func(context.Context, *index.Batch) error { return nil })
		if got := message.Is(err, "duplicate-id"); got != twice || !twice && err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// checkServerGone stops the server in the middle of a push, twice: once it comes back in time, once it does not, and a
// second push continues.
func checkServerGone(t *testing.T, s *pgtest.Server, items int) {
	b := searchtest.Items(items, 64, 1)
	o := PushOptions{Batch: items / 50, InFlight: 3, Wait: 50 * time.Millisecond}
	stopped := false
	o.Progress = func(done int) {
		if done >= items*3/10 && !stopped {
			stopped = true
			s.Stop(t)
			go func() { time.Sleep(100 * time.Millisecond); s.Restart(t) }()
		}
	}
	e := open(t, s, "comes_back")
	r, err := fill(t, e, b, o)
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
	e = open(t, s, "goes_away")
	_, err = fill(t, e, b, o)
	if !errors.Is(err, ErrTemporary) {
		t.Errorf("a server that is gone: %v", err)
	}
	s.Restart(t)
	o.Progress = nil
	r, err = fill(t, e, b, o)
	if n, _ := e.Count(t.Context()); err != nil || n != items || r.Written != items {
		t.Errorf("%d items, %+v, %v", n, r, err)
	}
}
