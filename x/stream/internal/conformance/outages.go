package conformance

import (
	"context"
	"math"
	"sync"
	"testing"
	"time"

	"hashgrove/internal/fault"
	"hashgrove/x/stream"
)

// testRestarted restarts the server while the processor runs.
func testRestarted(t *testing.T, s *suite) {
	messages, codes := s.items(t, 600)
	s.Send(t, messages[:300])
	ctx, stop := context.WithTimeout(t.Context(), Patience)
	defer stop()
	b, end, err := s.dial(ctx, s.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	halfway := make(chan struct{})
	var once sync.Once
	o, w, seen := options(), watch(b), 0
	o.Observe = func(e stream.Event) {
		if seen += e.Encoded; seen >= 100 {
			once.Do(func() { close(halfway) })
		}
	}
	finished := make(chan error, 1)
	go func() { finished <- stream.Run(ctx, w, s.model, o) }()
	await(t, "a hundred codes", halfway)
	s.Restart(t, func() { time.Sleep(300 * time.Millisecond) })
	s.Send(t, messages[300:])
	s.until(t, ctx, finished, codes)
	stop()
	if err := await(t, "an end of the processor", finished); err != nil {
		t.Fatal(err)
	}
	w.verify(t, o)
	s.check(t, codes)
}

// testGivesUp uses a broker that takes nothing: the processor returns an error, and the messages remain for the next
// run.
func testGivesUp(t *testing.T, s *suite) {
	messages, codes := s.items(t, 50)
	s.Send(t, messages)
	b, end, err := s.dial(t.Context(), s.Address())
	if err != nil {
		t.Fatal(err)
	}
	w, o, trouble := watch(b), options(), 0
	w.flaky = func(int) bool { return true }
	o.Patience, o.Observe = 2*time.Second, func(e stream.Event) {
		if e.Err != nil {
			trouble++
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), Patience)
	defer stop()
	err = stream.Run(ctx, w, s.model, o)
	end()
	if err == nil || trouble < 1 || w.done > 0 {
		t.Fatalf("%v after %d tries, %d messages done", err, trouble, w.done)
	}
	s.drain(t, codes)
}

// testShared adds a second processor, which continues when the first one stops.
func testShared(t *testing.T, s *suite) {
	messages, codes := s.items(t, 600)
	s.Send(t, messages[:300])
	ctx, stop := context.WithTimeout(t.Context(), Patience)
	defer stop()
	b, end, err := s.dial(ctx, s.Address())
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	o, w, begun, left := options(), watch(b), make(chan struct{}), make(chan error, 1)
	o.Observe = func(stream.Event) { once.Do(func() { close(begun) }) }
	go func() {
		err := stream.Run(ctx, w, s.model, o)
		end()
		left <- err
	}()
	await(t, "a first batch", begun)
	time.AfterFunc(400*time.Millisecond, stop) // any moment will do
	s.Send(t, messages[300:])
	s.drain(t, codes)
	if err := await(t, "an end of the first processor", left); err != nil {
		t.Error(err)
	}
	w.verify(t, o)
}

// testAway stops the server until the processor has given up, most often with messages on their way to it.
func testAway(t *testing.T, s *suite) {
	messages, codes := s.items(t, 600)
	s.Send(t, messages)
	b, end, err := s.dial(t.Context(), s.Address())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), Patience)
	defer stop()
	var once sync.Once
	o, begun, finished := options(), make(chan struct{}), make(chan error, 1)
	o.Patience, o.Observe = 500*time.Millisecond, func(stream.Event) { once.Do(func() { close(begun) }) }
	go func() { finished <- stream.Run(ctx, &slow{Broker: b, left: math.MaxInt}, s.model, o) }()
	await(t, "a first batch", begun)
	s.Restart(t, func() {
		if err := await(t, "an end of the processor", finished); ctx.Err() != nil {
			t.Errorf("the processor did not give up while the server was away: %v", err)
		} else if d := fault.Differs(err, "gave-up", "500ms"); d != "" {
			t.Error(d)
		}
		end()
	})
	s.drain(t, codes)
}
