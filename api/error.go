package api

import (
	"cmp"
	"fmt"
)

// ErrorCode says what is wrong. The constants are errors to compare with:
//
//	if errors.Is(err, api.ErrNotFound) { ... }
type ErrorCode string

func (c ErrorCode) Error() string { return string(c) }

// The errors to test for with errors.Is, in a program and across the network.
const (
	ErrInvalid     ErrorCode = "invalid"     // the request makes no sense
	ErrUnsupported ErrorCode = "unsupported" // this cannot be done here
	ErrNotFound    ErrorCode = "not_found"   // there is no such item
	ErrExists      ErrorCode = "exists"      // there is such an item already
	ErrFilter      ErrorCode = "filter"      // the filter cannot be read, or names what no item has
	ErrNoModel     ErrorCode = "no_model"    // there is no model to encode with
	ErrOtherModel  ErrorCode = "other_model" // the codes are of another model
	ErrDimension   ErrorCode = "dimension"   // the vector has another number of values than the model takes
	ErrNoVector    ErrorCode = "no_vector"   // a vector is needed, and a code has none
	ErrTooLarge    ErrorCode = "too_large"   // more was asked for than is allowed
	ErrLocked      ErrorCode = "locked"      // another program, or this one, has the file open
	ErrReadOnly    ErrorCode = "read_only"   // this can only be read
	ErrDamaged     ErrorCode = "damaged"     // the file is damaged
)

// Error is a request that was refused. It matches its code.
type Error struct {
	Code    ErrorCode // one of the above, or that of an HTTP status
	Message string    // what is wrong, where, and what to do
	Field   string    // JSON key of the field at fault; empty if it is not a single field
}

func (e *Error) Error() string { return e.Message }

// Is reports whether the target is the code of the error, or an Error with it.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return target == e.Code || ok && t.Code == e.Code
}

// byStatus has the codes of HTTP statuses.
var byStatus = map[int]ErrorCode{
	400: ErrInvalid, 401: "unauthorized", 403: "forbidden", 404: ErrNotFound, 405: "method", 406: "accept",
	408: "timeout", 409: "conflict", 413: ErrTooLarge, 415: "media_type", 429: "busy", 503: "unavailable",
	507: "disk_full",
}

// CodeOf returns the code of a service's errors with an HTTP status, where they have no other.
func CodeOf(status int) ErrorCode { return cmp.Or(byStatus[status], "internal") }

// Errorf returns an error with a code and its own message.
func Errorf(as ErrorCode, format string, args ...any) error {
	return &Error{Code: as, Message: fmt.Sprintf(format, args...)}
}

// invalid returns an error about a field with an invalid value.
func invalid(field, format string, args ...any) error {
	return &Error{Code: ErrInvalid, Message: fmt.Sprintf(format, args...), Field: field}
}
