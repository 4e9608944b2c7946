package server_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"hashgrove/server"
)

// hook is a log that does something before a message is written. What writes it waits for that.
type hook struct {
	slog.Handler
	at func(message string)
}

func (h hook) Enabled(context.Context, slog.Level) bool { return true }

func (h hook) Handle(_ context.Context, r slog.Record) error {
	h.at(r.Message)
	return nil
}

// TestNotReadyBeforeTheDoorCloses stops a service: it says that it is not ready while it still takes requests, for the
// half second that those need who look, and takes no more then.
func TestNotReadyBeforeTheDoorCloses(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	s := &service{address: l.Addr().String(), url: "http://" + l.Addr().String(), files: makeFiles(t, t.TempDir())}
	s.client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	var ready, health, search *reply
	var asked time.Time
	log := hook{slog.DiscardHandler, func(message string) {
		if message != "stopping" {
			return
		}
		ready, _ = s.call("GET", "/readyz", "")
		health, _ = s.call("GET", "/healthz", "")
		search, _ = s.call("POST", shop+"/search", `{"id":1}`)
		asked = time.Now()
	}}
	s.Server, err = server.New(ctx, server.Options{
		Collections: []server.CollectionOptions{{Name: "shop", Path: s.files.shop}},
		Hosts:       server.Loopback(), Log: slog.New(log),
	})
	ok(t, err)
	*server.DrainTime = 500 * time.Millisecond
	defer func() { *server.DrainTime = 0 }()
	serving, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(serving, l, nil) }()
	s.must(t, 200, "GET", "/readyz", "")
	stop()
	until(t, "a closed door", s.closed)
	closed := time.Now()
	ok(t, <-ended)
	ok(t, s.Close())
	for name, c := range map[string]struct {
		answer *reply
		status int
	}{"readyz": {ready, 503}, "healthz": {health, 200}, "a search": {search, 200}} {
		if c.answer == nil || c.answer.StatusCode != c.status {
			t.Errorf("%s of a service that stops: %+v, want %d", name, c.answer, c.status)
		}
	}
	if open := closed.Sub(asked); open < 400*time.Millisecond { // longer on a busy machine
		t.Errorf("the door was closed after %v", open)
	}
}
