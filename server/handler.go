package server

import (
	"log/slog"
	"maps"
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

// Handler answers all requests. In order: request id and common headers, who may send it (access.go), routing, the
// token and what the route takes (server.go), the body within its limits (body.go), then metrics and log.
func (s *Server) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		a := &answer{ResponseWriter: w, id: s.requestID(r), budget: &s.budget}
		h := w.Header()
		h["X-Request-Id"], h["Hashgrove-Version"] = []string{a.id}, version
		maps.Copy(h, secureHeaders)
		s.metrics.running.Add(1)
		defer func() {
			if p := recover(); p != nil && p != http.ErrAbortHandler {
				// A panic is a bug, but one request must not take down the others; the log has the stack.
				s.log.Error("panic", "request", a.id, "panic", p, "stack", string(debug.Stack()))
				if a.status == 0 {
					s.writeError(a, r, problem(http.StatusInternalServerError, "internal error: see the service's log"))
				}
			}
			a.give()
			s.send(a, r)
			a.give()
			s.metrics.running.Add(-1)
			s.finish(a, r, time.Since(began))
		}()
		if err := s.checkSender(a, r); err != nil {
			s.writeError(a, r, err)
		} else if r.Method == http.MethodOptions {
			preflight(a, r)
		} else {
			s.mux.ServeHTTP(a, r)
		}
	})
}

// noRoute answers requests that match no route.
func (s *Server) noRoute(a *answer, r *http.Request) (any, error) {
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := s.mux.Handler(other); pattern != "/" && method != r.Method {
			return nil, problem(http.StatusMethodNotAllowed, "%.20s is not supported here: see /openapi.json", r.Method)
		}
	}
	if s.options.ReadOnly && r.Method != http.MethodGet && r.Method != http.MethodHead {
		return nil, s.admit(a, r, writing) // uploads, for instance, which such a service does not take
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
	case !s.options.LogAll && took < slow && a.access != writing:
		return
	}
	attributes := []any{
		"request", a.id, "method", r.Method, "route", route, "status", a.status, "bytes", a.bytes, "took", took,
		"from", r.RemoteAddr,
	}
	if c := r.PathValue("collection"); c != "" {
		attributes = append(attributes, "collection", c)
	}
	if a.err != "" {
		attributes = append(attributes, "error", a.err)
	}
	s.log.Log(r.Context(), level, "request", attributes...)
}

// send sends the response after the handler has returned, so slow clients do not hold a search slot. Large responses
// waiting for slow clients count against the shared memory budget.
func (s *Server) send(a *answer, r *http.Request) {
	if n := int64(len(a.waiting)); n > small {
		if err := a.take(n); err != nil {
			s.writeError(a, r, err)
		}
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
	access  access // that the request needs
	budget  *atomic.Int64
	taken   int64 // bytes of the budget; they are given back when the handler has returned
}

// take reserves memory for the request, if there is as much.
func (a *answer) take(n int64) error {
	if a.budget.Add(-n) < 0 {
		a.budget.Add(n)
		return busy("many large requests are being read or answered")
	}
	a.taken += n
	return nil
}

// give gives back what was taken.
func (a *answer) give() {
	a.budget.Add(a.taken)
	a.taken = 0
}

// body queues a body that is sent after the handler returns.
func (a *answer) body(status int, kind string, b []byte) {
	a.Header().Set("Content-Type", kind)
	a.waiting, a.status = b, status
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

// requestID returns the client's request id if it is safe to log, else a new one.
func (s *Server) requestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); id != "" && validName.MatchString(id) {
		return id
	}
	return s.idStart + strconv.FormatUint(s.count.Add(1), 10)
}
