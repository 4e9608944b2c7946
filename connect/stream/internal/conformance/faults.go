package conformance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"hashgrove/connect/stream"
)

// witness watches a broker: nothing is done before it was published, and no more is held than allowed.
type witness struct {
	stream.Broker
	mu        sync.Mutex
	published map[string]bool // sources of what the broker stored
	received  int
	done      int
	most      int // received and not done
	largest   int // of one Receive
	early     []string

	left  int              // calls before the crash; below zero never
	late  bool             // crash between Publish and Done
	flaky func(i int) bool // Publish reports message i as failed, though it may be stored
}

var errCrash = errors.New("crash")

func watch(b stream.Broker) *witness {
	return &witness{Broker: b, published: map[string]bool{}, left: -1}
}

// alive counts down to the crash.
func (w *witness) alive() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left > 0 {
		w.left--
	}
	return w.left != 0
}

func (w *witness) Receive(ctx context.Context, n int) ([]stream.Message, error) {
	if !w.alive() {
		return nil, errCrash
	}
	messages, err := w.Broker.Receive(ctx, n)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.received += len(messages)
	w.most, w.largest = max(w.most, w.received-w.done), max(w.largest, len(messages))
	return messages, err
}

func (w *witness) Publish(ctx context.Context, messages []stream.Message) []error {
	errs := make([]error, len(messages))
	if !w.alive() {
		for i := range errs {
			errs[i] = errCrash
		}
		return errs
	}
	var sent []stream.Message
	var places []int
	for i, m := range messages {
		if w.flaky != nil && w.flaky(i) {
			errs[i] = errors.New("lost on the way")
			continue
		}
		sent, places = append(sent, m), append(places, i)
	}
	answers := w.Broker.Publish(ctx, sent)
	w.mu.Lock()
	defer w.mu.Unlock()
	for k, i := range places {
		if answers != nil {
			errs[i] = answers[k]
		}
		if errs[i] == nil {
			w.published[messages[i].Header(stream.HeaderSource)] = true
		}
	}
	return errs
}

func (w *witness) Done(ctx context.Context, messages []stream.Message) error {
	if w.late {
		w.mu.Lock()
		w.left = 0
		w.mu.Unlock()
	}
	if !w.alive() {
		return errCrash
	}
	w.mu.Lock()
	for _, m := range messages {
		if !w.published[m.Source] {
			w.early = append(w.early, m.Source)
		}
	}
	w.done += len(messages)
	w.mu.Unlock()
	return w.Broker.Done(ctx, messages)
}

func (w *witness) verify(t *testing.T, o stream.Options) {
	t.Helper()
	if len(w.early) > 0 {
		t.Fatalf("%d were done before they were published, the first is %s", len(w.early), w.early[0])
	}
	if w.largest > o.Batch || w.most > o.Batch*o.InFlight {
		t.Fatalf("%d messages at once and %d in flight of %d and %d", w.largest, w.most, o.Batch, o.Batch*o.InFlight)
	}
}

func testBounds(t *testing.T, s *suite) {
	messages, codes := s.items(t, 400)
	s.Send(t, messages)
	var w *witness
	o := options()
	s.process(t, o, func(b stream.Broker) stream.Broker { w = watch(b); return w }, len(messages))
	w.verify(t, o)
	if w.largest < 2 {
		t.Errorf("messages are received one by one")
	}
	s.check(t, codes)
}

// testOrder has many versions of few ids, and a broker that loses messages: the codes of an id come in order.
func testOrder(t *testing.T, s *suite) {
	rng := rand.New(rand.NewPCG(7, 8))
	var messages []stream.Message
	want, got := map[string][]string{}, map[string][]string{}
	for range 200 {
		id, x := fmt.Sprint(rng.IntN(20)), vector(rng)
		messages = append(messages, stream.Message{Key: id, Value: object(t, id, x)})
		want[id] = append(want[id], string(s.code(t, x)))
	}
	s.Send(t, messages)
	o := options()
	o.To = stream.Packed
	s.process(t, o, func(b stream.Broker) stream.Broker {
		w := watch(b)
		w.flaky = func(int) bool { return rng.IntN(10) == 0 }
		return w
	}, len(messages))
	for _, m := range s.Read(t, Codes) {
		got[m.Key] = append(got[m.Key], string(m.Value))
	}
	for id, codes := range want {
		if !slices.Equal(got[id], codes) {
			t.Errorf("the codes of %s are %x, want %x", id, got[id], codes)
		}
	}
}

// testInterrupted ends the context at random moments: what was received is finished, so nothing comes again.
func testInterrupted(t *testing.T, s *suite) {
	messages, codes := s.items(t, 400)
	s.Send(t, messages)
	rng := rand.New(rand.NewPCG(9, 10))
	seen := 0
	for try := 0; seen < len(messages); try++ {
		if try > 100 {
			t.Fatalf("%d of %d messages after %d runs", seen, len(messages), try)
		}
		ctx, stop := context.WithCancel(t.Context())
		b, end, err := s.dial(ctx, s.Address())
		if err != nil {
			t.Fatal(err)
		}
		w, o, until := watch(b), options(), seen+rng.IntN(120)
		o.Observe = func(e stream.Event) {
			if seen += e.Encoded; seen >= min(until, len(messages)) {
				time.AfterFunc(time.Duration(rng.IntN(2000))*time.Microsecond, stop)
			}
		}
		err = stream.Run(ctx, w, s.model, o)
		stop()
		end()
		if err != nil {
			t.Fatal(err)
		}
		if w.verify(t, o); w.done != w.received {
			t.Fatalf("stopped with %d of %d messages done", w.done, w.received)
		}
	}
	s.check(t, codes)
}

// testCrashed stops everything between two calls of the broker, as if the process had ended there.
func testCrashed(t *testing.T, s *suite) {
	messages, codes := s.items(t, 300)
	s.Send(t, messages)
	rng := rand.New(rand.NewPCG(11, 12))
	for try := range 4 {
		b, end, err := s.dial(t.Context(), s.Address())
		if err != nil {
			t.Fatal(err)
		}
		w, o := watch(b), options()
		w.late = try == 0
		w.left, o.Patience = 2+rng.IntN(12), 500*time.Millisecond
		if err := stream.Run(t.Context(), w, s.model, o); err == nil {
			t.Fatal(err)
		}
		w.verify(t, o)
		end()
	}
	again := s.drain(t, codes)
	if _, drops := s.Server.(interface{ DropsRepeats() }); drops != (again == 0) {
		t.Errorf("%d codes were stored again", again)
	}
}

// drain runs processors until all ids are there: after a crash nobody knows how many messages will come again.
func (s *suite) drain(t *testing.T, codes map[string]string) (again int) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	b, end, err := s.dial(ctx, s.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	finished := make(chan error, 1)
	go func() { finished <- stream.Run(ctx, b, s.model, options()) }()
	for ctx.Err() == nil {
		ids := map[string]bool{}
		for _, m := range s.Read(t, Codes) {
			ids[m.Key] = true
		}
		if len(ids) >= len(codes) {
			stop()
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
	if err := <-finished; err != nil {
		t.Fatal(err)
	}
	return s.check(t, codes)
}

// testKilled kills processes, most often between Publish and Done: a child is slow there.
func testKilled(t *testing.T, s *suite) {
	messages, codes := s.items(t, 1500)
	s.Send(t, messages)
	file, rng := s.file(t), rand.New(rand.NewPCG(13, 14))
	for range 4 {
		c := exec.Command(os.Args[0], "-test.run=^$")
		c.Env = append(os.Environ(), "HASHGROVE_STREAM_CHILD="+s.Address(), "HASHGROVE_STREAM_MODEL="+file)
		c.Stderr = os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		from := s.Count(t, Codes)
		for begun := time.Now(); s.Count(t, Codes) == from; time.Sleep(5 * time.Millisecond) {
			if time.Since(begun) > 15*time.Second {
				t.Fatalf("no codes after %d", from)
			}
		}
		time.Sleep(time.Duration(rng.IntN(60)) * time.Millisecond)
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		c.Wait()
	}
	if left := len(codes) - s.Count(t, Codes); left <= 0 {
		t.Errorf("there was nothing left to do after the kills")
	}
	again := s.drain(t, codes)
	t.Logf("%d codes were stored again", again)
	if _, drops := s.Server.(interface{ DropsRepeats() }); drops && again > 0 {
		t.Errorf("%d codes were stored again", again)
	}
}

// slow waits before messages are done.
type slow struct{ stream.Broker }

func (s slow) Done(ctx context.Context, messages []stream.Message) error {
	time.Sleep(10 * time.Millisecond)
	return s.Broker.Done(ctx, messages)
}
