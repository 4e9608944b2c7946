package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// failure is an error with the status of the answer.
type failure struct {
	status int
	text   string
	header http.Header
	code   string // of package api; empty where it has none
}

func (f *failure) Error() string { return f.text }

// problem is the error of a request with a status of its own.
func problem(status int, format string, args ...any) error {
	return &failure{status: status, text: fmt.Sprintf(format, args...)}
}

// bad is the error of a request that cannot be understood.
func bad(format string, args ...any) error { return problem(http.StatusBadRequest, format, args...) }

// errorAnswer is the body of every answer that is an error.
type errorAnswer struct {
	Error errorText `json:"error"`
}

type errorText struct {
	Status    int    `json:"status"`
	Code      string `json:"code,omitempty"` // of package api
	Message   string `json:"message"`
	RequestID string `json:"request_id"`
}

// statusOf is the status of answers by the code of an error of package api.
var statusOf = map[string]int{
	api.ErrInvalid.Code: http.StatusBadRequest, api.ErrUnsupported.Code: http.StatusBadRequest,
	api.ErrFilter.Code: http.StatusBadRequest, api.ErrNoModel.Code: http.StatusBadRequest,
	api.ErrDimension.Code: http.StatusBadRequest, api.ErrNoVector.Code: http.StatusBadRequest,
	api.ErrNotFound.Code: http.StatusNotFound,
	api.ErrExists.Code:   http.StatusConflict, api.ErrOtherModel.Code: http.StatusConflict,
	api.ErrTooLarge.Code: http.StatusRequestEntityTooLarge,
}

// longestMessage is the most bytes of a message in answers and in the log.
const longestMessage = 500

// writeError answers with an error.
func (s *Server) writeError(w http.ResponseWriter, r *http.Request, err error) {
	a := s.failureOf(r, err)
	for name, values := range a.header {
		w.Header()[name] = values
	}
	text := a.text
	if len(text) > longestMessage { // it quotes something that is too long
		text = strings.ToValidUTF8(text[:longestMessage], "") + "..."
	}
	noteError(w, text)
	writeJSON(w, a.status, errorAnswer{errorText{a.status, a.code, text, requestID(w)}})
}

// failureOf finds the status of an error.
func (s *Server) failureOf(r *http.Request, err error) *failure {
	f, large, refused := new(failure), new(http.MaxBytesError), new(api.Error)
	var timeout net.Error
	err = search.Coded(err)
	status := http.StatusInternalServerError
	later := http.Header{"Retry-After": {"1"}}
	switch {
	case errors.As(err, &f):
		return &failure{status: f.status, text: err.Error(), header: f.header}
	case errors.As(err, &refused) && statusOf[refused.Code] != 0:
		return &failure{status: statusOf[refused.Code], text: err.Error(), code: refused.Code}
	case errors.As(err, &large):
		return &failure{status: http.StatusRequestEntityTooLarge,
			text: fmt.Sprintf("the request is larger than the %d bytes that are allowed", large.Limit)}
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return &failure{status: http.StatusRequestTimeout, text: "the request came too slowly",
			header: http.Header{"Connection": {"close"}}}
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return &failure{status: http.StatusInsufficientStorage,
			text: "the disk is full: nothing was written, and searches go on; free some space and try again"}
	case errors.Is(err, store.ErrReadOnly), errors.Is(err, store.ErrClosed), errors.Is(err, hamming.ErrDamaged):
		return &failure{status: http.StatusServiceUnavailable, text: err.Error(), header: later}
	case errors.Is(err, context.Canceled) && r.Context().Err() == nil, errors.Is(err, context.DeadlineExceeded):
		return &failure{status: http.StatusServiceUnavailable, text: "the service is stopping", header: later}
	case errors.Is(err, context.Canceled): // the client has hung up, which is no fault of the service
		status = http.StatusBadRequest
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		// Names of files are none of the client's business.
		return &failure{status: status, text: "a file of the collection cannot be read: see the log of the service"}
	}
	return &failure{status: status, text: err.Error()}
}

// writeJSON answers with a value.
func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil { // a number that JSON has no digits for
		status = http.StatusInternalServerError
		b, _ = json.Marshal(errorAnswer{errorText{status, "", "the answer cannot be written: " + err.Error(), requestID(w)}})
	}
	writeBody(w, status, "application/json", append(b, '\n'))
}

// writeBody answers with bytes, when the handler has returned.
func writeBody(w http.ResponseWriter, status int, kind string, b []byte) {
	w.Header().Set("Content-Type", kind)
	if a, ok := w.(*answer); ok {
		a.waiting, a.status = b, status
		return
	}
	w.WriteHeader(status)
	_, _ = w.Write(b) // the client has gone, or not: either way there is nobody to tell
}
