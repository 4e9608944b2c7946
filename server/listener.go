package server

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Serve answers requests on a listener until the context ends. It then reports not ready, finishes running requests
// and closes the connections. With a TLS configuration it speaks HTTPS and HTTP/2.
func (s *Server) Serve(ctx context.Context, l net.Listener, config *tls.Config) error {
	h := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: min(10*time.Second, s.limits.ReadTime),
		ReadTimeout:       s.limits.ReadTime,
		WriteTimeout:      s.limits.WriteTime + s.limits.ReadTime, // the timer starts with the request
		IdleTimeout:       s.limits.IdleTime,
		MaxHeaderBytes:    s.limits.Header,
		TLSConfig:         config,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug), // anyone can cause failed handshakes
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
	// Give load balancers time to notice before the listener closes.
	time.Sleep(min(drainTime, s.limits.StopTime/10))
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.limits.StopTime)
	defer cancel()
	if err := h.Shutdown(stopping); err != nil {
		s.log.Warn("requests were cut off", "error", err)
		return errors.Join(err, h.Close())
	}
	return nil
}

// drainTime is how long a stopping service keeps answering while it reports not ready; tests change it.
var drainTime = 500 * time.Millisecond

// health says that the process answers.
func health(a *answer, _ *http.Request) (any, error) {
	a.body(http.StatusOK, "text/plain; charset=utf-8", []byte("ok\n"))
	return nil, nil
}

// readiness reports whether the service wants requests.
func (s *Server) readiness(a *answer, _ *http.Request) (any, error) {
	ready := s.ready.Load()
	if !ready {
		a.status = http.StatusServiceUnavailable
		a.Header().Set("Retry-After", "1")
	}
	return map[string]bool{"ready": ready}, nil
}

// bounded is a listener that leaves excess connections in the system's queue.
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

// countedConn frees its slot when closed.
type countedConn struct {
	net.Conn
	release func()
}

func (c *countedConn) Close() error {
	c.release()
	return c.Conn.Close()
}
