package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"hashgrove"
	"hashgrove/internal/fault"
	"hashgrove/internal/model"
)

// memory is a broker without a server, for what does not depend on one.
type memory struct {
	in     []Message
	out    []Message
	done   int
	refuse func(Message) bool
}

func (b *memory) Receive(ctx context.Context, n int) ([]Message, error) {
	n = min(n, len(b.in))
	if n == 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	got := b.in[:n]
	b.in = b.in[n:]
	return got, nil
}

func (b *memory) Publish(_ context.Context, messages []Message) []error {
	errs := make([]error, len(messages))
	for i, m := range messages {
		if b.refuse != nil && b.refuse(m) {
			errs[i] = fmt.Errorf("%w: too large", ErrRefused)
			continue
		}
		b.out = append(b.out, m)
	}
	return errs
}

func (b *memory) Done(_ context.Context, messages []Message) error {
	b.done += len(messages)
	return nil
}

// tiny learns a model of two values; with missing it takes NaN.
func tiny(t testing.TB, missing bool) *model.Model {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	x, labels := make([][]float32, 40), make([]int, 40)
	for i := range x {
		labels[i] = i % 2
		x[i] = []float32{float32(labels[i]) + float32(rng.NormFloat64())/4, float32(rng.NormFloat64())}
	}
	d := hashgrove.Rows(x, labels)
	if missing {
		x[0][1] = float32(math.NaN())
		d = d.WithMissing()
	}
	m, err := hashgrove.Train(t.Context(), d, hashgrove.Options{Bits: 4, Rounds: 3})
	if err != nil {
		t.Fatal(err)
	}
	return m.Expert()
}

// finish runs the processor over all messages of the broker.
func finish(t *testing.T, b *memory, m *model.Model, o Options) error {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	n, seen := len(b.in), 0
	o.Observe = func(e Event) {
		if seen += e.Encoded + e.Dead; seen == n {
			stop()
		}
	}
	return Run(ctx, b, m, o)
}

func TestFieldsArePassedOn(t *testing.T) {
	m := tiny(t, false)
	for in, want := range map[string]string{
		`{"id":"a","vector":[1,2]}`:                                   `{"id":"a",CODE}`,
		` { "z" : 1.50 , "id" : 7e2, "vector" : [ 1 , 2 ] } `:         `{"id":7e2,CODE,"z":1.50}`,
		`{"vector":[1,2],"b":{"id":[]},"a":null}`:                     `{"id":"key",CODE,"b":{"id":[]},"a":null}`,
		`{"id":"a","vector":[1,2],"code":"00","fingerprint":""}`:      `{"id":"a",CODE}`,
		`{"id":"\u00e9\"","vector":[1,2],"big":12345678901234567890}`: `{"id":"\u00e9\"",CODE,"big":12345678901234567890}`,
	} {
		b := &memory{in: []Message{{Key: "key", Value: []byte(in)}}}
		if err := finish(t, b, m, Options{Output: "codes", DeadLetters: "dead"}); err != nil {
			t.Fatal(err)
		}
		words, err := m.EncodeRow([]float32{1, 2})
		if err != nil {
			t.Fatal(err)
		}
		code := fmt.Sprintf(`"code":"%02x","fingerprint":"%s"`, words[0]>>56, m.Fingerprint().Full())
		if got := string(b.out[0].Value); got != strings.Replace(want, "CODE", code, 1) {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
}

// TestMissingValues: null is a missing value where the model takes those, and an error otherwise.
func TestMissingValues(t *testing.T) {
	for _, missing := range []bool{false, true} {
		m := tiny(t, missing)
		b := &memory{in: []Message{{Value: []byte(`{"id":1,"vector":[1,null]}`)}, {Value: []byte(`{"id":2,"vector":[0,1]}`)}}}
		if err := finish(t, b, m, Options{Output: "codes", DeadLetters: "dead"}); err != nil {
			t.Fatal(err)
		}
		if want := map[bool]string{false: "dead", true: "codes"}[missing]; b.out[0].Topic != want || b.out[1].Topic != "codes" {
			t.Errorf("missing values %v: %v", missing, b.out)
		}
	}
}

// TestRefusedMessages: a code that the broker refuses becomes a dead letter, at last one without the message.
func TestRefusedMessages(t *testing.T) {
	m := tiny(t, false)
	in := Message{
		Key: "k", Value: []byte(`{"id":"a","vector":[1,2]}`), Source: "internal/vectors/0/5", Headers: []Header{{"long", "header"}},
	}
	for want, refuse := range map[string]func(Message) bool{
		"k":  func(m Message) bool { return m.Topic == "codes" },
		"":   func(m Message) bool { return len(m.Value) > 0 || m.Header("long") != "" },
		"no": func(Message) bool { return true },
	} {
		b := &memory{in: []Message{in}, refuse: refuse}
		err := finish(t, b, m, Options{Output: "codes", DeadLetters: "dead"})
		if want == "no" {
			if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), in.Source) || b.done > 0 {
				t.Errorf("%v, %d done", err, b.done)
			}
			continue
		}
		if err != nil || len(b.out) != 1 || b.done != 1 {
			t.Fatalf("%v, %v", err, b.out)
		}
		got := b.out[0]
		if got.Topic != "dead" || got.Key != want || got.Header(HeaderSource) != in.Source ||
			!strings.Contains(got.Header(HeaderReason), "too large") || (got.Header(HeaderLeftOut) == "25") != (want == "") {
			t.Errorf("the dead letter is %v", got)
		}
	}
}

// TestBadMessages: each has its code, and the conformance suite looks at what the reason of its dead letter names.
func TestBadMessages(t *testing.T) {
	p, err := newProcessor(&memory{}, tiny(t, false), Options{Output: "codes", DeadLetters: "dead", MaxMessage: 100})
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]fault.Code{
		`{"id":"short","vector":[1]}`:                  "wrong-dimension",
		`{"id":"text","vector":[1,"2"]}`:               "not-a-number",
		`{"id":"far","vector":[1,1e39]}`:               "out-of-range",
		`{"id":"none"}`:                                "no-vector",
		`{"vector":[1,2]}`:                             "no-id",
		`{"id":{},"vector":[1,2]}`:                     "bad-id",
		`{"id":"twice","vector":[1,2],"vector":[1,2]}`: "duplicate-field",
		`{"id":"open","vector":[1,2]`:                  "bad-json",
		`{"id":"open","vector":[1,2`:                   "bad-json",
		`{"id":"more","vector":[1,2]} {}`:              "more-than-one",
		"\xff\xfe":                                     "not-utf8",
		``:                                             "not-an-object",
		`[1,2]`:                                        "not-an-object",
		`{"id":"` + strings.Repeat("x", 100) + `"}`:    "too-large",
	} {
		_, _, err := p.parse(Message{Value: []byte(value)}, nil)
		if d := fault.Differs(err, want); d != "" {
			t.Errorf("%s: %s", value, d)
		}
	}
	p.o.From = Raw
	_, _, err = p.parse(Message{Key: "k", Value: []byte("12345")}, nil)
	if d := fault.Differs(err, "wrong-length", "5", "8"); d != "" {
		t.Error(d)
	}
}

func TestOptions(t *testing.T) {
	m := tiny(t, false)
	good := Options{Output: "codes", DeadLetters: "dead"}
	for want, change := range map[fault.Code]func(*Options){
		"no-topic":     func(o *Options) { o.DeadLetters = "" },
		"same-topic":   func(o *Options) { o.DeadLetters = "codes" },
		"cannot-read":  func(o *Options) { o.From = Packed },
		"cannot-write": func(o *Options) { o.To = Raw },
		"below-zero":   func(o *Options) { o.InFlight = -1 },
	} {
		o := good
		change(&o)
		if d := fault.Differs(Run(t.Context(), &memory{}, m, o), want); d != "" {
			t.Errorf("%+v: %s", o, d)
		}
	}
}

// TestGraceEnds: a broker that hangs does not keep Run from returning.
func TestGraceEnds(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	b := &hanging{memory{in: []Message{{Value: []byte(`{"id":"a","vector":[1,2]}`)}}}, stop}
	err := Run(ctx, b, tiny(t, false), Options{Output: "codes", DeadLetters: "dead", Grace: time.Millisecond})
	if !errors.Is(err, errGrace) || b.done > 0 {
		t.Errorf("%v, %d done", err, b.done)
	}
}

type hanging struct {
	memory
	stop func()
}

func (b *hanging) Publish(ctx context.Context, messages []Message) []error {
	b.stop()
	<-ctx.Done()
	return slices.Repeat([]error{ctx.Err()}, len(messages))
}

// FuzzParse: whatever comes is a vector of the right length with an id, and a code in whole JSON, or an error.
func FuzzParse(f *testing.F) {
	p, err := newProcessor(nil, tiny(f, false), Options{Output: "codes", DeadLetters: "dead"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"id":"a","vector":[1,-2.5e3],"x":{"y":[1,"<"]}}`), "")
	f.Add([]byte(`{"vector":[ 1 ,null]}`), "k")
	f.Add([]byte(`{"id":1,"vector":[[1],2]}`), "\xff")
	f.Add([]byte(`{"id":1,"vector":[1,2],"x":1e999}`), "")
	f.Add([]byte(`{"id":1,"vector":["1,2"]}`), "")
	f.Fuzz(func(t *testing.T, value []byte, key string) {
		before := []float32{42}
		it, row, err := p.parse(Message{Key: key, Value: value}, before)
		if err != nil {
			if len(row) != 1 || oneLine(err.Error()) == "" || strings.ContainsAny(oneLine(err.Error()), "\r\n") {
				t.Fatalf("%v: %q", row, err)
			}
			return
		}
		if len(row) != 3 || it.id == "" {
			t.Fatalf("%q has %v, id %q", value, row, it.id)
		}
		out := p.write(Message{Key: key, Value: value}, it, []byte{0xab})
		var got map[string]json.RawMessage // fields are passed on as they came, also numbers that no float64 holds
		if err := json.Unmarshal(out.Value, &got); err != nil || string(got["code"]) != `"ab"` || out.Key != it.id {
			t.Fatalf("%q became %q: %v", value, out.Value, err)
		}
	})
}
