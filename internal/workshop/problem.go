package workshop

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"unicode"

	"hashgrove/internal/fault"
)

// failure is an error with the HTTP status of its answer.
type failure struct {
	status int
	err    error
	wait   string // seconds until it makes sense to try again, or ""
	text   string // for people, if it differs from the error's
}

func (f *failure) Error() string { return cmp.Or(f.text, f.err.Error()) }
func (f *failure) Unwrap() error { return f.err }

func problem(status int, code fault.Code, format string, args ...any) error {
	return &failure{status: status, err: fault.New(code, format, args...)}
}

// bad returns an error for unusable data or an invalid request.
func bad(code fault.Code, format string, args ...any) error {
	return problem(http.StatusBadRequest, code, format, args...)
}

// failureOf returns the HTTP status of an error.
func failureOf(err error) *failure {
	f, large := new(failure), new(http.MaxBytesError)
	var slow net.Error
	switch {
	case errors.As(err, &large):
		return &failure{status: http.StatusRequestEntityTooLarge,
			err: fault.New("too-large", "the upload is larger than the %s that are allowed", sizeText(large.Limit))}
	case errors.As(err, &f):
		return f
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &slow) && slow.Timeout():
		return &failure{status: http.StatusRequestTimeout, err: errors.New("the upload came too slowly")}
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, context.Canceled):
		return &failure{status: http.StatusBadRequest, err: errors.New("the upload ended early: send it again")}
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return &failure{status: http.StatusInsufficientStorage,
			err: errors.New("the disk is full: remove earlier uploads, or free some space, and try again")}
	}
	return &failure{status: http.StatusInternalServerError, err: err}
}

// noteFailure passes an error to the running test, if any.
func (w *Workshop) noteFailure(err error) {
	if w.failed != nil {
		w.failed(err)
	}
}

func (w *Workshop) writeProblem(rw http.ResponseWriter, err error) {
	f := failureOf(err)
	w.noteFailure(f)
	if f.wait != "" {
		rw.Header().Set("Retry-After", f.wait)
	}
	writeJSON(rw, f.status, map[string]any{"error": map[string]any{
		"status": f.status, "message": f.Error(), "request_id": rw.Header().Get("X-Request-Id"),
	}})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil { // a number that JSON has no digits for
		status, b = http.StatusInternalServerError, []byte(`{"error":{"message":"the answer cannot be written"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // if the client has gone, there is nobody to tell
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
