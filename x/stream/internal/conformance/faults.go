package conformance

import (
	"bytes"
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

	"hashgrove/x/stream"
)

// witness watches a broker: no message may be done before it was published, and no more held than allowed.
type witness struct {
	stream.Broker
	mu        sync.Mutex
	published map[string]bool // sources of what the broker stored
	received  int
	done      int
	sources   map[string]bool // of what is done
	most      int             // received but not done
	largest   int             // of one Receive
	early     []string

	left  int              // calls before the crash; negative means never
	late  bool             // crash between Publish and Done
	flaky func(i int) bool // Publish reports message i as failed, though it may be stored
}

var errCrash = errors.New("crash")

func watch(b stream.Broker) *witness {
	return &witness{Broker: b, published: map[string]bool{}, sources: map[string]bool{}, left: -1}
}

// finished returns the number of different messages that are done.
func (w *witness) finished() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.sources)
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
	if err := w.Broker.Done(ctx, messages); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range messages {
		w.sources[m.Source] = true
	}
	return nil
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
	o := options()
	w := s.process(t, o, nil, len(messages))
	w.verify(t, o)
	if w.largest < 2 {
		t.Errorf("messages are received one by one")
	}
	s.check(t, codes)
}

// testOrder sends many versions of few ids through a broker that loses messages: the codes of an id must come in order.
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
	s.process(t, o, func(w *witness) { w.flaky = func(int) bool { return rng.IntN(10) == 0 } }, len(messages))
	stored := map[string]bool{}
	for _, m := range s.Read(t, Codes) {
		if source := m.Header(stream.HeaderSource); !stored[source] { // otherwise the message was delivered again
			stored[source] = true
			got[m.Key] = append(got[m.Key], string(m.Value))
		}
	}
	for id, codes := range want {
		if !slices.Equal(got[id], codes) {
			t.Errorf("the codes of %s are %x, want %x", id, got[id], codes)
		}
	}
}

// testInterrupted ends the context at random moments: received messages are finished, so none comes again.
func testInterrupted(t *testing.T, s *suite) {
	messages, codes := s.items(t, 400)
	s.Send(t, messages)
	rng, sources := rand.New(rand.NewPCG(9, 10)), map[string]bool{}
	for try := 0; len(sources) < len(messages); try++ {
		if try > 200 {
			t.Fatalf("%d of %d messages after %d runs", len(sources), len(messages), try)
		}
		ctx, stop := context.WithTimeout(t.Context(), Patience)
		b, end, err := s.dial(ctx, s.Address())
		if err != nil {
			t.Fatal(err)
		}
		w, o, until := watch(b), options(), min(rng.IntN(120), len(messages)-len(sources))
		w.sources = sources
		have := len(sources)
		o.Observe = func(stream.Event) {
			if w.finished() >= have+until {
				time.AfterFunc(time.Duration(rng.IntN(2000))*time.Microsecond, stop)
			}
		}
		err = stream.Run(ctx, w, s.model, o)
		late := errors.Is(ctx.Err(), context.DeadlineExceeded)
		stop()
		end()
		if err != nil || late {
			t.Fatalf("run %d, late: %t, %d of %d messages: %v", try, late, len(sources), len(messages), err)
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
	lost := 0                                               // published but not done
	for try := 0; try < 4 || lost == 0 && try < 40; try++ { // a slow one may give up before its crash
		b, end, err := s.dial(t.Context(), s.Address())
		if err != nil {
			t.Fatal(err)
		}
		w, o := watch(b), options()
		w.late = try%4 == 0
		w.left, o.Patience = 2+rng.IntN(12), 500*time.Millisecond
		ctx, stop := context.WithTimeout(t.Context(), Patience)
		err = stream.Run(ctx, w, s.model, o)
		stop()
		if err == nil {
			t.Fatalf("a processor whose broker is gone went on for %v", Patience)
		}
		lost += len(w.published) - w.finished()
		w.verify(t, o)
		end()
	}
	again := s.drain(t, codes)
	if _, drops := s.Server.(interface{ DropsRepeats() }); drops != (again == 0) || lost == 0 {
		t.Errorf("%d codes were stored again after %d had not been done", again, lost)
	}
}

// drain runs processors until all ids have arrived: after a crash nobody knows how many messages will come again.
func (s *suite) drain(t *testing.T, codes map[string]string) (again int) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), Patience)
	defer stop()
	b, end, err := s.dial(ctx, s.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	finished := make(chan error, 1)
	go func() { finished <- stream.Run(ctx, b, s.model, options()) }()
	s.until(t, ctx, finished, codes)
	stop()
	if err := await(t, "an end of the processor", finished); err != nil {
		t.Fatal(err)
	}
	return s.check(t, codes)
}

// until returns when all ids have codes, and fails when the processor or the time ends before.
func (s *suite) until(t *testing.T, ctx context.Context, finished <-chan error, codes map[string]string) {
	t.Helper()
	for ids := map[string]bool{}; ; {
		if s.Count(t, Codes) >= len(codes) {
			for _, m := range s.Read(t, Codes) {
				ids[m.Key] = true
			}
			if len(ids) >= len(codes) {
				return
			}
		}
		select {
		case err := <-finished:
			t.Fatalf("the processor has ended with %d of %d ids there, after %v at most: %v",
				len(ids), len(codes), Patience, err)
		case <-ctx.Done():
			t.Fatalf("%d of %d ids have codes after %v", len(ids), len(codes), Patience)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// testKilled kills processes, most often between Publish and Done: a child is slow there, and finally stays there, so
// that four of them leave something to do however late they are killed.
func testKilled(t *testing.T, s *suite) {
	messages, codes := s.items(t, 1500)
	s.Send(t, messages)
	file, rng := s.file(t), rand.New(rand.NewPCG(13, 14))
	for range 4 {
		c, said := exec.Command(os.Args[0], "-test.run=^$"), new(bytes.Buffer)
		c.Env = append(os.Environ(), "HASHGROVE_STREAM_CHILD="+s.Address(), "HASHGROVE_STREAM_MODEL="+file)
		c.Stderr = said
		from := s.Count(t, Codes)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		for s.Count(t, Codes) == from && time.Since(begun) < Patience {
			time.Sleep(5 * time.Millisecond)
		}
		time.Sleep(time.Duration(rng.IntN(60)) * time.Millisecond) // any moment will do
		err := c.Process.Kill()
		c.Wait()
		if err != nil || s.Count(t, Codes) == from {
			t.Fatalf("a child made no codes after the first %d, %v: %s", from, err, said)
		}
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

// childBatches is the number of batches that a child finishes before it waits to be killed.
const childBatches = 20

// slow waits before messages are done, and forever once no batches are left.
type slow struct {
	stream.Broker
	left int
}

func (s *slow) Done(ctx context.Context, messages []stream.Message) error {
	if s.left--; s.left < 0 {
		<-ctx.Done()
		return ctx.Err()
	}
	time.Sleep(10 * time.Millisecond)
	return s.Broker.Done(ctx, messages)
}
