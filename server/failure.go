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
	"slices"
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
	Error struct {
		Status    int           `json:"status"`
		Code      api.ErrorCode `json:"code"`
		Message   string        `json:"message"`
		RequestID string        `json:"request_id"`
	} `json:"error"`
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
	var e errorAnswer
	e.Error.Status, e.Error.Code = f.status, cmp.Or(f.code, api.CodeOf(f.status))
	e.Error.Message, e.Error.RequestID = text, a.id
	b, _ := json.Marshal(e) // which never fails
	a.body(f.status, kindJSON, append(b, '\n'))
}

// failureOf maps an error to an HTTP status.
func failureOf(r *http.Request, err error) *failure {
	f, large, refused := new(failure), new(http.MaxBytesError), new(api.Error)
	var timeout net.Error
	err = search.Coded(err)
	is := func(errs ...error) bool {
		return slices.ContainsFunc(errs, func(target error) bool { return errors.Is(err, target) })
	}
	switch {
	case errors.As(err, &f):
		return &failure{status: f.status, text: err.Error()}
	case errors.As(err, &refused) && statusOf[refused.Code] != 0:
		return &failure{status: statusOf[refused.Code], text: err.Error(), code: refused.Code}
	case errors.As(err, &large):
		return &failure{status: http.StatusRequestEntityTooLarge,
			text: fmt.Sprintf("the request exceeds the limit of %d bytes", large.Limit)}
	case is(os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return &failure{status: http.StatusRequestTimeout, text: "the request arrived too slowly"}
	case is(io.ErrUnexpectedEOF):
		return &failure{status: http.StatusBadRequest, text: "the request ended early"}
	case is(context.Canceled) && r.Context().Err() != nil: // the client has hung up, which is no fault of the service
		return &failure{status: http.StatusBadRequest, text: err.Error()}
	}
	// The error of a file or a bug may name a path of this machine, which is nothing for clients.
	f = &failure{status: http.StatusInternalServerError, text: "internal error: see the service's log", log: err.Error()}
	switch {
	case is(syscall.ENOSPC, syscall.EDQUOT):
		f.status = http.StatusInsufficientStorage
		f.text = "the disk is full: nothing was written, searches still work; free some space and try again"
	case is(store.ErrReadOnly, store.ErrClosed, hamming.ErrDamaged):
		f.status = http.StatusServiceUnavailable
		f.text = "the collection's file cannot be written or read at the moment, searches still work: see the service's log"
	case is(context.Canceled, context.DeadlineExceeded):
		f.status, f.text = http.StatusServiceUnavailable, "the service is stopping"
	case is(fs.ErrNotExist, fs.ErrPermission):
		f.text = "a file of the collection cannot be read: see the service's log"
	}
	return f
}
