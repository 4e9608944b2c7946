package conformance

import (
	"context"
	"sync"
	"testing"
	"time"

	"hashgrove/connect/stream"
	"hashgrove/internal/fault"
)

// testRestarted restarts the server while the processor runs.
func testRestarted(t *testing.T, s *suite) {
	messages, codes := s.items(t, 600)
	s.Send(t, messages[:300])
	ctx, stop := context.WithTimeout(t.Context(), 40*time.Second)
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
	<-halfway
	s.Restart(t, 300*time.Millisecond)
	s.Send(t, messages[300:])
	for ctx.Err() == nil {
		ids := map[string]bool{}
		for _, m := range s.Read(t, Codes) {
			ids[m.Key] = true
		}
		if len(ids) >= len(codes) {
			stop()
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err := <-finished; err != nil {
		t.Fatal(err)
	}
	w.verify(t, o)
	s.check(t, codes)
}

// testGivesUp has a broker that takes nothing: an error says so, and the messages are there for the next run.
func testGivesUp(t *testing.T, s *suite) {
	messages, codes := s.items(t, 50)
	s.Send(t, messages)
	b, end, err := s.dial(t.Context(), s.Address())
	if err != nil {
		t.Fatal(err)
	}
	w, o, trouble := watch(b), options(), 0
	w.flaky = func(int) bool { return true }
	o.Patience, o.Observe = 200*time.Millisecond, func(e stream.Event) {
		if e.Err != nil {
			trouble++
		}
	}
	err = stream.Run(t.Context(), w, s.model, o)
	end()
	if err == nil || trouble < 2 || w.done > 0 {
		t.Fatalf("%v after %d tries, %d messages done", err, trouble, w.done)
	}
	s.drain(t, codes)
}

// testShared has a processor that is joined by another, which goes on when the first one stops.
func testShared(t *testing.T, s *suite) {
	messages, codes := s.items(t, 600)
	s.Send(t, messages[:300])
	ctx, stop := context.WithCancel(t.Context())
	b, end, err := s.dial(ctx, s.Address())
	if err != nil {
		t.Fatal(err)
	}
	o, w, begun := options(), watch(b), make(chan struct{}, 300)
	o.Observe = func(stream.Event) { begun <- struct{}{} }
	finished, leaving := make(chan error, 1), make(chan struct{})
	go func() { finished <- stream.Run(ctx, w, s.model, o) }()
	<-begun
	go func() {
		defer close(leaving)
		time.Sleep(400 * time.Millisecond)
		stop()
		err := <-finished
		end()
		finished <- err
	}()
	s.Send(t, messages[300:])
	s.drain(t, codes)
	<-leaving
	if err := <-finished; err != nil {
		t.Error(err)
	}
	w.verify(t, o)
}

// testAway has a server that stays away for longer than the patience, with messages on their way to it.
func testAway(t *testing.T, s *suite) {
	messages, codes := s.items(t, 600)
	s.Send(t, messages)
	b, end, err := s.dial(t.Context(), s.Address())
	if err != nil {
		t.Fatal(err)
	}
	back := make(chan struct{})
	var once sync.Once
	o := options()
	o.Patience, o.Observe = 500*time.Millisecond, func(e stream.Event) {
		once.Do(func() {
			go func() {
				defer close(back)
				s.Restart(t, 2500*time.Millisecond)
			}()
		})
	}
	err = stream.Run(t.Context(), slow{b}, s.model, o)
	select {
	case <-back:
		t.Errorf("the error came after the server was back: %v", err)
	default:
	}
	end()
	<-back
	if d := fault.Differs(err, "gave-up", "500ms"); d != "" {
		t.Error(d)
	}
	s.drain(t, codes)
}
