// Package conformance tests brokers of package stream against a real server.
package conformance

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"hashgrove"
	"hashgrove/internal/model"
	"hashgrove/x/stream"
)

// Topics of the tests. The server must reject messages larger than MaxBytes in Codes and Dead.
const (
	Vectors  = "vectors"
	Codes    = "codes"
	Dead     = "dead"
	MaxBytes = 64 << 10
)

// Server is a real broker with empty topics. One with a method DropsRepeats stores no code twice after a crash.
type Server interface {
	// Address returns the address for Dial.
	Address() string
	// Send stores messages in Vectors.
	Send(t *testing.T, messages []stream.Message)
	// Read returns all messages of a topic, those of one id in order.
	Read(t *testing.T, topic string) []stream.Message
	// Count returns the number of messages in a topic.
	Count(t *testing.T, topic string) int
	// Restart stops the server, calls away, and starts the server again with its data.
	Restart(t *testing.T, away func())
}

// Patience is how long a test waits for anything, so that a test that waits in vain says what for. A busy machine may
// need a hundred times as long as an idle one.
const Patience = 3 * time.Minute

// await returns a value from a channel, or fails the test when the patience runs out.
func await[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(Patience):
		t.Fatalf("%v have passed without %s", Patience, what)
		panic("not reached")
	}
}

// Dial connects a processor. Messages that were not done must come again within seconds after it is closed.
type Dial func(ctx context.Context, address string) (b stream.Broker, end func(), err error)

// Run runs the suite; each test starts a server of its own.
func Run(t *testing.T, start func(t *testing.T) Server, dial Dial) {
	for name, test := range map[string]func(t *testing.T, s *suite){
		"Codes": testCodes, "Raw": testRaw, "DeadLetters": testDeadLetters, "Order": testOrder, "Bounds": testBounds,
		"Interrupted": testInterrupted, "Crashed": testCrashed, "Killed": testKilled, "Restarted": testRestarted,
		"GivesUp": testGivesUp, "Shared": testShared, "Away": testAway,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, &suite{Server: start(t), dial: dial, model: smallModel(t)})
		})
	}
}

type suite struct {
	Server
	dial  Dial
	model *model.Model
}

const dim = 6

// smallModel returns a model whose code length is not a multiple of 8.
func smallModel(t *testing.T) *model.Model {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	x, labels := make([][]float32, 60), make([]int, 60)
	for i := range x {
		x[i], labels[i] = vector(rng), i%3
		x[i][i%3] += 3
	}
	m, err := hashgrove.Train(t.Context(), hashgrove.Rows(x, labels), hashgrove.Options{Bits: 12, Rounds: 4})
	if err != nil {
		t.Fatal(err)
	}
	return m.Expert()
}

func vector(rng *rand.Rand) []float32 {
	x := make([]float32, dim)
	for j := range x {
		x[j] = float32(rng.NormFloat64())
	}
	return x
}

// options returns options with small batches, so that there are many.
func options() stream.Options {
	return stream.Options{Output: Codes, DeadLetters: Dead, Batch: 16, InFlight: 3, Patience: Patience, Grace: Patience}
}

// items returns n messages in JSON, and the model's code for each id.
func (s *suite) items(t *testing.T, n int) (messages []stream.Message, codes map[string]string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	codes = map[string]string{}
	for i := range n {
		id, x := fmt.Sprintf("item %d.%%", i), vector(rng)
		codes[id] = hex.EncodeToString(s.code(t, x))
		messages = append(messages, stream.Message{Value: object(t, id, x)})
	}
	return messages, codes
}

func (s *suite) code(t *testing.T, x []float32) []byte {
	t.Helper()
	words, err := s.model.EncodeRow(x)
	if err != nil {
		t.Fatal(err)
	}
	packed := make([]byte, 0, 8*len(words))
	for _, w := range words {
		packed = binary.BigEndian.AppendUint64(packed, w)
	}
	return packed[:(s.model.Encoder.Bits()+7)/8]
}

func object(t *testing.T, id string, x []float32) []byte {
	t.Helper()
	b, err := json.Marshal(map[string]any{"id": id, "vector": x, "shop": map[string]any{"price": 1.5, "name": "<Zoë>"}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// process runs a processor with its own broker until enough messages are done; prepare may be nil. A message that a
// slow machine delivered again counts once.
func (s *suite) process(t *testing.T, o stream.Options, prepare func(*witness), enough int) *witness {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), Patience)
	defer stop()
	b, end, err := s.dial(ctx, s.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	w := watch(b)
	if prepare != nil {
		prepare(w)
	}
	o.Observe = func(stream.Event) {
		if w.finished() >= enough {
			stop()
		}
	}
	if err := stream.Run(ctx, w, s.model, o); err != nil {
		t.Fatal(err)
	}
	if n := w.finished(); n < enough {
		t.Fatalf("%d of %d messages are done after %v", n, enough, Patience)
	}
	return w
}

// check checks that each id arrived at least once, always with its code, and returns how often ids were repeated.
func (s *suite) check(t *testing.T, codes map[string]string) (again int) {
	t.Helper()
	seen := map[string]int{}
	for _, m := range s.Read(t, Codes) {
		var got struct{ ID, Code, Fingerprint string }
		if err := json.Unmarshal(m.Value, &got); err != nil {
			t.Fatal(err)
		}
		if got.ID != m.Key || got.Code != codes[got.ID] || got.Fingerprint != s.model.Fingerprint().Full() {
			t.Fatalf("key %q has %s, want the code %s", m.Key, m.Value, codes[m.Key])
		}
		if m.Header(stream.HeaderFingerprint) != got.Fingerprint || m.Header(stream.HeaderSource) == "" {
			t.Fatalf("headers %v", m.Headers)
		}
		seen[got.ID]++
		again += min(seen[got.ID]-1, 1)
	}
	if len(seen) != len(codes) {
		t.Fatalf("%d of %d ids have codes", len(seen), len(codes))
	}
	if dead := s.Read(t, Dead); len(dead) > 0 {
		t.Fatalf("%d dead letters, the first because %s", len(dead), dead[0].Header(stream.HeaderReason))
	}
	return again
}

func testCodes(t *testing.T, s *suite) {
	messages, codes := s.items(t, 300)
	messages[7].Headers = []stream.Header{{Name: "trace", Value: "a b"}, {Name: "hashgrove-fingerprint", Value: "old"}}
	s.Send(t, messages)
	w := s.process(t, options(), nil, len(messages))
	if again := s.check(t, codes); again > w.received-w.finished() {
		t.Errorf("%d codes came twice, and %d messages", again, w.received-w.finished())
	}
	for _, m := range s.Read(t, Codes) {
		if !bytes.Contains(m.Value, []byte(`"shop":{"name":"\u003cZoë\u003e","price":1.5}`)) {
			t.Fatalf("other fields were not passed on: %s", m.Value)
		}
		if want := map[bool]string{true: "a b"}[m.Key == "item 7.%"]; m.Header("trace") != want {
			t.Errorf("%s has the header %q", m.Key, m.Header("trace"))
		}
	}
}

func testRaw(t *testing.T, s *suite) {
	rng, want := rand.New(rand.NewPCG(5, 6)), map[string][]byte{}
	var messages []stream.Message
	for _, id := range []string{"7", "a b", "*", ">", "x.y", "100%", "a%20b", "line\nline", " ", "é", "/?#", "_", `"`} {
		x, value := vector(rng), []byte(nil)
		for _, v := range x {
			value, _ = binary.Append(value, binary.LittleEndian, v)
		}
		want[id] = s.code(t, x)
		messages = append(messages, stream.Message{Key: id, Value: value})
	}
	s.Send(t, messages)
	o := options()
	o.From, o.To = stream.Raw, stream.Packed
	s.process(t, o, nil, len(messages))
	got := s.Read(t, Codes)
	if len(got) != len(want) {
		t.Errorf("%d codes of %d", len(got), len(want))
	}
	for _, m := range got {
		if !bytes.Equal(m.Value, want[m.Key]) {
			t.Errorf("%q has the code %x, want %x", m.Key, m.Value, want[m.Key])
		}
		if m.Header(stream.HeaderBits) != "12" || m.Header(stream.HeaderFingerprint) != s.model.Fingerprint().Full() {
			t.Errorf("%q has the headers %v", m.Key, m.Headers)
		}
	}
}

// testDeadLetters starts with bad messages: the first ones must not decide anything.
func testDeadLetters(t *testing.T, s *suite) {
	messages, codes := s.items(t, 60)
	bad := map[string]string{ // message and what the reason names
		`{"id":"short","vector":[1,2]}`:                                " 2 ",
		`{"id":"text","vector":[1,2,3,4,5,"6"]}`:                       " 5 ",
		`{"id":"far","vector":[1,2,3,4,5,1e39]}`:                       "1e39",
		`{"id":"gap","vector":[1,2,3,null,5,6]}`:                       "NaN",
		`{"id":"none"}`:                                                `"vector"`,
		`{"vector":[1,2,3,4,5,6]}`:                                     "id",
		`{"id":{},"vector":[1,2,3,4,5,6]}`:                             "{}",
		`{"id":"twice","vector":[1,2,3,4,5,6],"vector":[1,2,3,4,5,6]}`: `"vector"`,
		`{"id":"open","vector":[1,2,3,4,5,6]`:                          "JSON",
		`{"id":"more","vector":[1,2,3,4,5,6]} {}`:                      "JSON",
		"\xff\xfe":      "UTF-8",
		``:              "JSON",
		`[1,2,3,4,5,6]`: "JSON",
		`{"id":"` + string(bytes.Repeat([]byte("x"), MaxBytes)) + `"}`: `"vector"`,
		`{"id":"large","vector":[1,2,3,4,5,6],"picture":"` +
			string(bytes.Repeat([]byte("x"), MaxBytes)) + `"}`: stream.ErrRefused.Error(),
		`{"id":"huge","vector":[1,2,3,4,5,6],"picture":"` +
			string(bytes.Repeat([]byte("x"), 2*MaxBytes)) + `"}`: fmt.Sprint(2 * MaxBytes),
	}
	var all []stream.Message
	for value := range bad {
		all = append(all, stream.Message{Value: []byte(value)})
	}
	all = append(all, messages...)
	all[len(all)-1], all[3] = all[3], all[len(all)-1]
	s.Send(t, all)
	o := options()
	o.MaxMessage = 2 * MaxBytes
	s.process(t, o, nil, len(all))

	dead := s.Read(t, Dead)
	if len(dead) != len(bad) {
		t.Errorf("%d dead letters of %d", len(dead), len(bad))
	}
	for _, m := range dead {
		reason, size := m.Header(stream.HeaderReason), m.Header(stream.HeaderLeftOut)
		if size != "" { // too large for the dead letters too
			n, _ := strconv.Atoi(size)
			if n <= MaxBytes || len(m.Value) > 0 || reason == "" || m.Header(stream.HeaderSource) == "" {
				t.Errorf("%s bytes left out, %d there, headers %v", size, len(m.Value), m.Headers)
			}
		} else if want := bad[string(m.Value)]; want == "" || !bytes.Contains([]byte(reason), []byte(want)) {
			t.Errorf("%.80q is dead because %q, want %q", m.Value, reason, want)
		}
	}
	n := 0
	for _, m := range s.Read(t, Codes) {
		if codes[m.Key] == "" {
			t.Errorf("%.80q has a code", m.Key)
		}
		n++
	}
	if n != len(codes) {
		t.Errorf("%d codes of %d", n, len(codes))
	}
}

// Child runs a processor in a child process, to be killed. TestMain calls it first; it returns only in the parent.
func Child(dial Dial) {
	address := os.Getenv("HASHGROVE_STREAM_CHILD")
	if address == "" {
		return
	}
	m, err := model.ReadFile(os.Getenv("HASHGROVE_STREAM_MODEL"))
	if err == nil {
		var b stream.Broker
		if b, _, err = dial(context.Background(), address); err == nil {
			err = stream.Run(context.Background(), &slow{Broker: b, left: childBatches}, m, options())
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// file writes the model for a child and returns its path.
func (s *suite) file(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "small.hgm")
	if err := model.WriteFile(path, s.model); err != nil {
		t.Fatal(err)
	}
	return path
}
