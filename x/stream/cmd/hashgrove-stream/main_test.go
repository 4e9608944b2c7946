package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"hashgrove"
)

// train writes a model of two values.
func train(t *testing.T) string {
	t.Helper()
	m, err := hashgrove.Train(t.Context(), hashgrove.Rows([][]float32{{0, 1}, {1, 0}, {0, 2}, {1, 1}}, []int{0, 1, 0, 1}),
		hashgrove.Options{Bits: 8, Rounds: 2})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tiny.hgm")
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestKafka(t *testing.T) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "in", "out", "dead"),
		kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-256", "anna", "secret"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	t.Setenv("HASHGROVE_KAFKA_USERNAME", "anna")
	t.Setenv("HASHGROVE_KAFKA_PASSWORD", "secret")
	opts, err := (&settings{mechanism: "scram-sha-256"}).security()
	if err != nil {
		t.Fatal(err)
	}
	client, err := kgo.NewClient(append(opts, kgo.SeedBrokers(c.ListenAddrs()...), kgo.ConsumeTopics("out"))...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	record := &kgo.Record{Topic: "in", Value: []byte(`{"id":"a","vector":[1,2]}`)}
	if err := client.ProduceSync(t.Context(), record).FirstErr(); err != nil {
		t.Fatal(err)
	}
	received := make(chan string, 1)
	go func() {
		for r := range client.PollFetches(t.Context()).RecordsAll() {
			received <- string(r.Key)
		}
	}()
	check(t, received, "--kafka", c.ListenAddrs()[0], "--sasl", "scram-sha-256", "--input", "in", "--output", "out",
		"--dead-letters", "dead", "--model", train(t))
}

func TestNATS(t *testing.T) {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer s.WaitForShutdown()
	defer s.Shutdown()
	conn, err := natsgo.Connect(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	for name, subject := range map[string]string{"IN": "in", "OUT": "out.*", "DEAD": "dead"} {
		if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{subject}}); err != nil {
			t.Fatal(err)
		}
	}
	received := make(chan string, 1)
	if _, err := conn.Subscribe("out.*", func(m *natsgo.Msg) { received <- m.Subject[len("out."):] }); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), "in", []byte(`{"id":"a","vector":[1,2]}`)); err != nil {
		t.Fatal(err)
	}
	check(t, received, "--nats", s.ClientURL(), "--input", "IN", "--output", "out.*", "--dead-letters", "dead",
		"--model", train(t))
}

// check runs the command until an id was received.
func check(t *testing.T, received <-chan string, args ...string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	var out bytes.Buffer
	status := make(chan int, 1)
	go func() { status <- run(ctx, &out, args) }()
	select {
	case id := <-received:
		if id != "a" {
			t.Errorf("the id is %q", id)
		}
	case <-ctx.Done():
		t.Error("no code came")
	}
	stop()
	if got := <-status; got != 0 || !strings.Contains(out.String(), "encoded=1") || strings.Contains(out.String(), "secret") {
		t.Errorf("status %d and\n%s", got, out.String())
	}
}

func TestCommandLine(t *testing.T) {
	full := "--model none.hgm --nats nats://127.0.0.1:1 --input a --output b --dead-letters c"
	for args, want := range map[string]string{
		"":                    "--model",
		full + " --kafka x":   "--nats",
		full + " more":        `"more"`,
		full + " --batch ten": "batch",
		full:                  "none.hgm",
	} {
		var out bytes.Buffer
		status := run(t.Context(), &out, strings.Fields(args))
		if wanted := map[bool]int{true: 1, false: 2}[args == full]; status != wanted || !strings.Contains(out.String(), want) {
			t.Errorf("%q: status %d and %s", args, status, out.String())
		}
	}
	var help bytes.Buffer
	if status := run(t.Context(), &help, []string{"--help"}); status != 0 || !strings.Contains(help.String(), "-dead-letters") {
		t.Errorf("status %d and %s", status, help.String())
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(help.String()) {
		if strings.HasPrefix(line, "  hashgrove-stream") && !strings.Contains(string(readme), strings.TrimSpace(line)) {
			t.Errorf("the README does not have %s", line)
		}
	}
}
