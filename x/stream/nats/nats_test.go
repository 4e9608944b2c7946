package nats_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"hashgrove/internal/fault"
	"hashgrove/x/stream"
	"hashgrove/x/stream/internal/conformance"
	"hashgrove/x/stream/nats"
)

func TestMain(m *testing.M) {
	conformance.Child(dial)
	os.Exit(m.Run())
}

func TestConformance(t *testing.T) { conformance.Run(t, start, dial) }

func dial(ctx context.Context, address string) (stream.Broker, func(), error) {
	conn, err := connect(address)
	if err != nil {
		return nil, nil, err
	}
	b, err := nats.Open(ctx, conn, nats.Options{Stream: "VECTORS", AckWait: time.Second})
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	return b, conn.Close, nil
}

func connect(address string) (*natsgo.Conn, error) {
	return natsgo.Connect(address, natsgo.MaxReconnects(-1), natsgo.ReconnectWait(20*time.Millisecond),
		natsgo.ReconnectJitter(0, 0))
}

// local is a server in this process with its files in a folder.
type local struct {
	server *server.Server
	o      server.Options
	conn   *natsgo.Conn
	js     jetstream.JetStream
}

func start(t *testing.T) conformance.Server {
	l := &local{o: server.Options{
		Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
	}}
	l.run(t)
	t.Cleanup(func() { l.stop(t) })
	l.o.Port = l.server.Addr().(*net.TCPAddr).Port
	var err error
	if l.conn, err = connect(l.Address()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.conn.Close)
	if l.js, err = jetstream.New(l.conn, jetstream.WithDefaultTimeout(conformance.Patience)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []jetstream.StreamConfig{
		{Name: "VECTORS", Subjects: []string{conformance.Vectors}},
		{Name: "CODES", Subjects: []string{conformance.Codes}, MaxMsgSize: conformance.MaxBytes},
		{Name: "DEAD", Subjects: []string{conformance.Dead}, MaxMsgSize: conformance.MaxBytes},
	} {
		if _, err := l.js.CreateStream(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func (l *local) run(t *testing.T) {
	t.Helper()
	o, err := l.o, error(nil)
	if l.server, err = server.NewServer(&o); err != nil {
		t.Fatal(err)
	}
	l.server.Start()
	if !l.server.ReadyForConnections(conformance.Patience) {
		t.Fatal("the server does not start")
	}
}

func (l *local) stop(t *testing.T) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.server.Shutdown()
		l.server.WaitForShutdown()
	}()
	select {
	case <-ended:
	case <-time.After(conformance.Patience):
		t.Fatal("the server does not stop")
	}
}

// DropsRepeats says that no code is stored twice within the duplicate window.
func (l *local) DropsRepeats() {}

func (l *local) Address() string { return l.server.ClientURL() }

func (l *local) Restart(t *testing.T, away func()) {
	t.Helper()
	l.stop(t)
	away()
	l.run(t)
	for begun := time.Now(); !l.conn.IsConnected(); time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > conformance.Patience {
			t.Fatal("no connection after the restart")
		}
	}
}

func (l *local) Send(t *testing.T, messages []stream.Message) {
	t.Helper()
	var stored []jetstream.PubAckFuture
	for _, m := range messages {
		out := &natsgo.Msg{Subject: conformance.Vectors, Data: m.Value, Header: natsgo.Header{}}
		for _, h := range m.Headers {
			out.Header.Add(h.Name, h.Value)
		}
		if m.Key != "" {
			out.Header.Set(nats.HeaderID, url.PathEscape(m.Key))
		}
		future, err := l.js.PublishMsgAsync(out)
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, future)
	}
	late := time.After(conformance.Patience)
	for i, future := range stored {
		select {
		case <-future.Ok():
		case err := <-future.Err():
			t.Fatalf("message %d of %d: %v", i, len(stored), err)
		case <-late:
			t.Fatalf("message %d of %d is not stored", i, len(stored))
		}
	}
}

func (l *local) stream(t *testing.T, name string) jetstream.Stream {
	t.Helper()
	s, err := l.js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (l *local) Count(t *testing.T, topic string) int {
	t.Helper()
	return int(l.stream(t, strings.ToUpper(topic)).CachedInfo().State.Msgs)
}

func (l *local) Read(t *testing.T, topic string) []stream.Message {
	t.Helper()
	s := l.stream(t, strings.ToUpper(topic))
	state := s.CachedInfo().State
	var messages []stream.Message
	for seq := state.FirstSeq; seq <= state.LastSeq && state.Msgs > 0; seq++ {
		raw, err := s.GetMsg(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		m := stream.Message{Topic: topic, Value: raw.Data}
		for name, values := range raw.Header {
			m.Headers = append(m.Headers, stream.Header{Name: name, Value: values[0]})
		}
		if m.Key, err = url.PathUnescape(m.Header(nats.HeaderID)); err != nil {
			t.Fatal(err)
		}
		messages = append(messages, m)
	}
	return messages
}

// TestSubjects: with a star each id has a subject of its own, and a stream can keep the newest code of each.
func TestSubjects(t *testing.T) {
	l := start(t).(*local)
	_, err := l.js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: "NEWEST", Subjects: []string{"newest.>"}, MaxMsgsPerSubject: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	b, end, err := dial(t.Context(), l.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	long := strings.Repeat("x", 5000)
	for i, id := range []string{"a.b", "a b", "a.b", "*", "", ">", long} {
		m := stream.Message{Topic: "newest.*", Key: id, Value: []byte{byte(i)}, Unique: fmt.Sprint(i)}
		if err := b.Publish(t.Context(), []stream.Message{m})[0]; errors.Is(err, stream.ErrRefused) != (id == long) {
			t.Errorf("%.9q: %v", id, err)
		}
	}
	for id, want := range map[string]byte{"a.b": 2, "a b": 1, "*": 3, "": 4, ">": 5} {
		m, err := l.stream(t, "NEWEST").GetLastMsgForSubject(t.Context(), "newest."+nats.Token(id))
		if err != nil || m.Data[0] != want {
			t.Errorf("%q: %v, %v", id, m, err)
		}
	}
}

// TestConsumer: a consumer that would lose messages is refused.
func TestConsumer(t *testing.T) {
	l := start(t).(*local)
	for want, c := range map[fault.Code]jetstream.ConsumerConfig{
		"no-acknowledgement": {Durable: "none", AckPolicy: jetstream.AckNonePolicy},
		"limited-delivery":   {Durable: "thrice", AckPolicy: jetstream.AckExplicitPolicy, MaxDeliver: 3},
		"other-subject":      {Durable: "other", AckPolicy: jetstream.AckExplicitPolicy, FilterSubject: conformance.Vectors},
	} {
		if _, err := l.js.CreateConsumer(t.Context(), "VECTORS", c); err != nil {
			t.Fatal(err)
		}
		_, err := nats.Open(t.Context(), l.conn, nats.Options{Stream: "VECTORS", Consumer: c.Durable, Subject: "vectors.new"})
		if d := fault.Differs(err, want, c.Durable); d != "" {
			t.Error(d)
		}
	}
	if _, err := nats.Open(t.Context(), l.conn, nats.Options{Stream: "NONE"}); err == nil {
		t.Error("a stream that is not there was opened")
	}
}
