package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"

	"hashgrove/api"
	"hashgrove/internal/hamming"
	"hashgrove/internal/search"
	"hashgrove/internal/store"
)

// failure is an error with an HTTP status.
type failure struct {
	status int
	text   string
	code   api.ErrorCode // of package api, or empty for that of the status
	log    string        // what the log says, if it is not for clients
}

func (f *failure) Error() string { return f.text }

// Problem returns an error of a Route with an HTTP status and a message for the client.
func Problem(status int, format string, args ...any) error { return problem(status, format, args...) }

// problem returns an error with an HTTP status.
func problem(status int, format string, args ...any) error {
	return &failure{status: status, text: fmt.Sprintf(format, args...)}
}

// bad returns an error with status 400.
func bad(format string, args ...any) error { return problem(http.StatusBadRequest, format, args...) }

// errorAnswer is the body of every error response.
type errorAnswer struct {
	Error errorText `json:"error"`
}

type errorText struct {
	Status    int           `json:"status"`
	Code      api.ErrorCode `json:"code"`
	Message   string        `json:"message"`
	RequestID string        `json:"request_id"`
}

// statusOf maps the error codes of package api to HTTP statuses.
var statusOf = map[api.ErrorCode]int{
	api.ErrInvalid: http.StatusBadRequest, api.ErrUnsupported: http.StatusBadRequest,
	api.ErrFilter: http.StatusBadRequest, api.ErrNoModel: http.StatusBadRequest,
	api.ErrDimension: http.StatusBadRequest, api.ErrNoVector: http.StatusBadRequest,
	api.ErrNotFound: http.StatusNotFound,
	api.ErrExists:   http.StatusConflict, api.ErrOtherModel: http.StatusConflict,
	api.ErrTooLarge: http.StatusRequestEntityTooLarge,
}

// longestMessage limits the length of messages in responses and logs, in bytes.
const longestMessage = 500

// writeError sends an error response.
func (s *Server) writeError(a *answer, r *http.Request, err error) {
	f := failureOf(r, err)
	switch f.status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		a.Header().Set("Retry-After", "1")
	case http.StatusRequestTimeout:
		a.Header().Set("Connection", "close")
	}
	text := f.text
	if len(text) > longestMessage { // it quotes long input
		text = strings.ToValidUTF8(text[:longestMessage], "") + "..."
	}
	a.err = cmp.Or(f.log, text)
	writeJSON(a, f.status, errorAnswer{errorText{f.status, cmp.Or(f.code, api.CodeOf(f.status)), text, a.id}})
}

// failureOf maps an error to an HTTP status.
func failureOf(r *http.Request, err error) *failure {
	f, large, refused := new(failure), new(http.MaxBytesError), new(api.Error)
	var timeout net.Error
	err = search.Coded(err)
	switch {
	case errors.As(err, &f):
		return &failure{status: f.status, text: err.Error()}
	case errors.As(err, &refused) && statusOf[refused.Code] != 0:
		return &failure{status: statusOf[refused.Code], text: err.Error(), code: refused.Code}
	case errors.As(err, &large):
		return &failure{status: http.StatusRequestEntityTooLarge,
			text: fmt.Sprintf("the request exceeds the limit of %d bytes", large.Limit)}
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return &failure{status: http.StatusRequestTimeout, text: "the request arrived too slowly"}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &failure{status: http.StatusBadRequest, text: "the request ended early"}
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return &failure{status: http.StatusInsufficientStorage,
			text: "the disk is full: nothing was written, searches still work; free some space and try again"}
	case errors.Is(err, store.ErrReadOnly), errors.Is(err, store.ErrClosed), errors.Is(err, hamming.ErrDamaged):
		return &failure{status: http.StatusServiceUnavailable, log: err.Error(),
			text: "the collection's file cannot be written or read at the moment, searches still work: see the service's log"}
	case errors.Is(err, context.Canceled) && r.Context().Err() == nil, errors.Is(err, context.DeadlineExceeded):
		return &failure{status: http.StatusServiceUnavailable, text: "the service is stopping"}
	case errors.Is(err, context.Canceled): // the client has hung up, which is no fault of the service
		return &failure{status: http.StatusBadRequest, text: err.Error()}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return &failure{status: http.StatusInternalServerError, log: err.Error(),
			text: "a file of the collection cannot be read: see the service's log"}
	}
	// The error of a file or a bug may name a path of this machine, which is nothing for clients.
	return &failure{status: http.StatusInternalServerError, text: "internal error: see the service's log",
		log: err.Error()}
}

// writeJSON sends v as JSON.
func writeJSON(a *answer, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil { // a NaN or infinity
		status = http.StatusInternalServerError
		b, _ = json.Marshal(errorAnswer{errorText{status, api.CodeOf(status), "the answer cannot be written: " + err.Error(),
			a.id}})
	}
	a.body(status, kindJSON, append(b, '\n'))
}
