package api

import (
	"cmp"
	"fmt"
)

// Error is a request that was refused. Two errors with the same code are the same to errors.Is:
//
//	if errors.Is(err, api.ErrNotFound) { ... }
type Error struct {
	Code    string // that of one of the errors below
	Message string // what is wrong, where, and what to do
	Field   string // JSON key of the field at fault; empty if it is not a single field
}

func (e *Error) Error() string { return e.Message }

// Is reports whether the target is an Error with the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// The errors that can be told apart, in a program and across the network.
var (
	ErrInvalid     = &Error{Code: "invalid", Message: "the request cannot be meant so"}
	ErrUnsupported = &Error{Code: "unsupported", Message: "this cannot be done here"}
	ErrNotFound    = &Error{Code: "not_found", Message: "there is no such item"}
	ErrExists      = &Error{Code: "exists", Message: "there is such an item already"}
	ErrFilter      = &Error{Code: "filter", Message: "the filter names what no item has"}
	ErrNoModel     = &Error{Code: "no_model", Message: "there is no model to encode with"}
	ErrOtherModel  = &Error{Code: "other_model", Message: "the codes are of another model"}
	ErrDimension   = &Error{Code: "dimension", Message: "the vector has another number of values than the model takes"}
	ErrNoVector    = &Error{Code: "no_vector", Message: "a vector is needed, and a code has none"}
	ErrTooLarge    = &Error{Code: "too_large", Message: "more was asked for than is allowed"}
	ErrLocked      = &Error{Code: "locked", Message: "another process has the file open"}
	ErrReadOnly    = &Error{Code: "read_only", Message: "this can only be read"}
	ErrDamaged     = &Error{Code: "damaged", Message: "the file is damaged"}
)

// byStatus has the codes of HTTP statuses.
var byStatus = map[int]string{
	400: ErrInvalid.Code, 401: "unauthorized", 403: "forbidden", 404: ErrNotFound.Code, 405: "method", 406: "accept",
	408: "timeout", 409: "conflict", 413: ErrTooLarge.Code, 415: "media_type", 429: "busy", 503: "unavailable",
	507: "disk_full",
}

// CodeOf returns the code of a service's errors with an HTTP status, where they have no other.
func CodeOf(status int) string { return cmp.Or(byStatus[status], "internal") }

// Errorf returns an error with the code of another error and its own message.
func Errorf(as *Error, format string, args ...any) error {
	return &Error{Code: as.Code, Message: fmt.Sprintf(format, args...)}
}

// invalid returns an error about a field with an invalid value.
func invalid(field, format string, args ...any) error {
	return &Error{Code: ErrInvalid.Code, Message: fmt.Sprintf(format, args...), Field: field}
}
