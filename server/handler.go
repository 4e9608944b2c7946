package server

import (
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	"hashgrove/internal/model"
)

// version is the program's version as a header value.
var version = []string{model.Version}

// slow is the duration above which a request is logged.
const slow = time.Second

// Handler answers all requests. In order: request id and common headers, access control (access.go), routing
// (server.go), the body within its limits (body.go), then metrics and log.
func (s *Server) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		a := &answer{ResponseWriter: w, id: s.ids.next(r), budget: s.budget}
		h := w.Header()
		h["X-Request-Id"], h["Hashgrove-Version"] = []string{a.id}, version
		secure(h)
		s.metrics.running.Add(1)
		defer func() {
			if p := recover(); p != nil && p != http.ErrAbortHandler {
				// A panic is a bug, but one request must not take down the others; the log has the stack.
				s.log.Error("panic", "request", a.id, "panic", p, "stack", string(debug.Stack()))
				if a.status == 0 {
					s.writeError(a, r, problem(http.StatusInternalServerError, "internal error: see the service's log"))
				}
			}
			s.budget.give(a.taken)
			a.taken = 0
			s.send(a, r)
			s.budget.give(a.taken)
			s.metrics.running.Add(-1)
			s.finish(a, r, time.Since(began))
		}()
		err := s.admit(a, r)
		if err == nil {
			err = checkAddress(r)
		}
		if err != nil {
			s.writeError(a, r, err)
			return
		}
		if r.Method == http.MethodOptions {
			s.preflight(a, r)
			return
		}
		s.mux.ServeHTTP(a, r)
	})
}

// noRoute answers requests that match no route.
func (s *Server) noRoute(_ *answer, r *http.Request) (any, error) {
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := s.mux.Handler(other); pattern != "/" && method != r.Method {
			return nil, problem(http.StatusMethodNotAllowed, "%.20s is not supported here: see /openapi.json", r.Method)
		}
	}
	return nil, problem(http.StatusNotFound, "there is nothing at %.100q: see /openapi.json", r.URL.Path)
}

// finish records metrics and logs the request.
func (s *Server) finish(a *answer, r *http.Request, took time.Duration) {
	route := r.Pattern
	if route == "" || route == "/" {
		route = "none"
	}
	if a.status == 0 {
		a.status = http.StatusOK
	}
	s.metrics.request(route, a.status, took)
	level := slog.LevelInfo
	switch {
	case a.status >= 500:
		level = slog.LevelError
	case a.status == http.StatusNotFound && !s.options.LogAll:
		return // somebody asked for what is not there, which needs nobody's attention
	case a.status >= 400 && a.status != http.StatusNotFound:
		level = slog.LevelWarn
	case !s.options.LogAll && took < slow && !changes(r):
		return
	}
	attributes := []slog.Attr{
		slog.String("request", a.id), slog.String("method", r.Method), slog.String("route", route),
		slog.Int("status", a.status), slog.Int64("bytes", a.bytes), slog.Duration("took", took),
		slog.String("from", r.RemoteAddr),
	}
	if c := r.PathValue("collection"); c != "" {
		attributes = append(attributes, slog.String("collection", c))
	}
	if a.err != "" {
		attributes = append(attributes, slog.String("error", a.err))
	}
	s.log.LogAttrs(r.Context(), level, "request", attributes...)
}

// send sends the response after the handler has returned, so slow clients do not hold a search slot. Large responses
// waiting for slow clients count against the shared memory budget.
func (s *Server) send(a *answer, r *http.Request) {
	if n := int64(len(a.waiting)); n > small && !a.take(n) {
		s.writeError(a, r, busy("many large answers are being sent"))
	}
	if b := a.waiting; b != nil {
		a.waiting = nil
		a.Header().Set("Content-Length", strconv.Itoa(len(b))) // avoids chunked encoding
		a.ResponseWriter.WriteHeader(a.status)
		_, _ = a.Write(b) // if the client is gone there is nobody to tell
	}
}

// answer is a ResponseWriter that records status and size, and the memory that the request has taken.
type answer struct {
	http.ResponseWriter
	id      string
	status  int
	bytes   int64
	err     string
	waiting []byte // the body, until the handler has returned
	budget  *budget
	taken   int64 // bytes of the budget; they are given back when the handler has returned
}

// take reserves memory for the request and reports whether there is as much.
func (a *answer) take(n int64) bool {
	if !a.budget.take(n) {
		return false
	}
	a.taken += n
	return true
}

// body queues a body that is sent after the handler returns.
func (a *answer) body(status int, kind string, b []byte) {
	a.Header().Set("Content-Type", kind)
	a.waiting, a.status = b, status
}

func (a *answer) text(text string) error {
	a.body(http.StatusOK, "text/plain; charset=utf-8", []byte(text))
	return nil
}

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	n, err := a.ResponseWriter.Write(b)
	a.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController set deadlines.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// requestIDs generates request ids: a random prefix and a counter.
type requestIDs struct {
	start string
	count *atomic.Uint64
}

func newRequestIDs() requestIDs {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return requestIDs{hex.EncodeToString(b[:]) + "-", new(atomic.Uint64)}
}

// next returns the client's request id if it is safe to log, else a new one.
func (n requestIDs) next(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); id != "" && validName.MatchString(id) {
		return id
	}
	return n.start + strconv.FormatUint(n.count.Add(1), 10)
}
