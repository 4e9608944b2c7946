package server

import (
	"context"
	"crypto/tls"
	"errors"
	"log"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Serve answers requests on a listener until the context ends. Then readiness goes first, requests that run are
// answered, and connections are closed. With a TLS configuration the listener speaks HTTPS, and HTTP/2.
func (s *Server) Serve(ctx context.Context, l net.Listener, config *tls.Config) error {
	h := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: min(10*time.Second, s.limits.ReadTime),
		ReadTimeout:       s.limits.ReadTime,
		WriteTimeout:      s.limits.WriteTime + s.limits.ReadTime, // it starts with the request
		IdleTimeout:       s.limits.IdleTime,
		MaxHeaderBytes:    s.limits.Header,
		TLSConfig:         config,
		ErrorLog:          log.New(connectionLog{s.log}, "", 0),
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: 100},
	}
	l = &bounded{Listener: l, slots: make(chan struct{}, s.limits.Connections)}
	ended := make(chan error, 1)
	go func() {
		if config != nil {
			ended <- h.ServeTLS(l, "", "")
			return
		}
		ended <- h.Serve(l)
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	s.ready.Store(false)
	s.log.Info("stopping", "running", s.metrics.running.Load())
	// Whoever spreads requests over services sees that this one is not ready before it closes the door.
	time.Sleep(min(drainTime, s.limits.StopTime/10))
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.limits.StopTime)
	defer cancel()
	if err := h.Shutdown(stopping); err != nil {
		s.log.Warn("requests were cut off", "error", err)
		return errors.Join(err, h.Close())
	}
	return nil
}

// drainTime is how long a service that stops answers on while it says that it is not ready.
const drainTime = 500 * time.Millisecond

// readiness says whether requests should be sent here.
func (s *Server) readiness(w http.ResponseWriter, _ *http.Request) {
	if !s.ready.Load() {
		w.Header().Set("Retry-After", "1")
		writeJSON(w, http.StatusServiceUnavailable, map[string]bool{"ready": false})
		return
	}
	writeJSON(w, http.StatusOK, map[string]bool{"ready": true})
}

// connectionLog takes what net/http says about connections, such as handshakes that failed: anyone can cause it, so it
// is worth no more than a line for those who look for it.
type connectionLog struct{ log *slog.Logger }

func (c connectionLog) Write(b []byte) (int, error) {
	c.log.Debug("connection", "note", string(b))
	return len(b), nil
}

// bounded is a listener that leaves connections above a number waiting in the system's queue.
type bounded struct {
	net.Listener
	slots chan struct{}
}

func (b *bounded) Accept() (net.Conn, error) {
	b.slots <- struct{}{}
	c, err := b.Listener.Accept()
	if err != nil {
		<-b.slots
		return nil, err
	}
	return &countedConn{Conn: c, release: sync.OnceFunc(func() { <-b.slots })}, nil
}

// countedConn gives its place back when it is closed.
type countedConn struct {
	net.Conn
	release func()
}

func (c *countedConn) Close() error {
	c.release()
	return c.Conn.Close()
}
