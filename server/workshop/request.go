package workshop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"github.com/go-json-experiment/json"

	"hashgrove/api"
)

// handler answers a request with a value, or an error.
type handler func(http.ResponseWriter, *http.Request) (any, error)

// plain refuses parameters in the address rather than leave them unread.
func plain(h handler) handler {
	return func(rw http.ResponseWriter, r *http.Request) (any, error) {
		if _, err := parameters(r); err != nil {
			return nil, err
		}
		return h(rw, r)
	}
}

// bare refuses parameters and a body.
func bare(h handler) handler {
	return plain(func(rw http.ResponseWriter, r *http.Request) (any, error) {
		if r.ContentLength != 0 {
			return nil, bad("a %s request here has no body: it would have no effect", r.Method)
		}
		return h(rw, r)
	})
}

func noPath(_ http.ResponseWriter, r *http.Request) (any, error) {
	return nil, problem(http.StatusNotFound, "there is nothing at %s %.100q: see /openapi.json", r.Method, r.URL.Path)
}

// parameters returns the parameters of an address, which must be some of those named. The server has refused what it
// cannot parse, and names that occur twice.
func parameters(r *http.Request, names ...string) (url.Values, error) {
	values := r.URL.Query()
	for name := range values {
		if !slices.Contains(names, name) {
			return nil, bad("unknown parameter %.40q: known here are %s", name, cmp.Or(strings.Join(names, ", "), "none"))
		}
	}
	return values, nil
}

// readJSON reads a small JSON body wholly, or refuses it. No body means all defaults.
func readJSON(rw http.ResponseWriter, r *http.Request, v any) error {
	b, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, 1<<20))
	if err == nil && len(b) > 0 {
		err = json.Unmarshal(b, v, json.RejectUnknownMembers(true))
	}
	if err != nil {
		return bad("the request is not what is expected here (%w): see /openapi.json", err)
	}
	return nil
}

// failure is an error with the HTTP status of its answer.
type failure struct {
	status int
	err    error
	wait   string // seconds until it makes sense to try again, or ""
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func problem(status int, format string, args ...any) error {
	return &failure{status: status, err: fmt.Errorf(format, args...)}
}

// bad returns an error for unusable data or an invalid request.
func bad(format string, args ...any) error { return problem(http.StatusBadRequest, format, args...) }

// failureOf returns the HTTP status of an error.
func failureOf(err error) *failure {
	f, large := new(failure), new(http.MaxBytesError)
	var slow net.Error
	as := func(status int, text string) *failure { return &failure{status: status, err: errors.New(text)} }
	switch {
	case errors.As(err, &large):
		return as(http.StatusRequestEntityTooLarge,
			fmt.Sprintf("the upload is larger than the %s that are allowed", sizeText(large.Limit)))
	case errors.As(err, &f):
		return f
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &slow) && slow.Timeout():
		return as(http.StatusRequestTimeout, "the upload came too slowly")
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, context.Canceled):
		return as(http.StatusBadRequest, "the upload ended early: send it again")
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return as(http.StatusInsufficientStorage,
			"the disk is full: remove earlier uploads, or free some space, and try again")
	}
	return &failure{status: http.StatusInternalServerError, err: err}
}

func writeProblem(rw http.ResponseWriter, err error) {
	f := failureOf(err)
	if f.wait != "" {
		rw.Header().Set("Retry-After", f.wait)
	}
	writeJSON(rw, f.status, map[string]any{"error": map[string]any{
		"status": f.status, "code": api.CodeOf(f.status), "message": f.Error(), "request_id": rw.Header().Get("X-Request-Id"),
	}})
}

// printable shortens a text from outside for a message and removes what does not print.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '\ufffd'
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
	if runes := []rune(s); len(runes) > 100 {
		s = string(runes[:100]) + "…"
	}
	return s
}

// sizeText writes a number of bytes for people.
func sizeText(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
