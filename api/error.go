package api

import "fmt"

// Error is a request that was refused. Two errors with the same code are the same to errors.Is:
//
//	if errors.Is(err, api.ErrNotFound) { ... }
type Error struct {
	Code    string // one of those below
	Message string // what, where, and what to do
}

func (e *Error) Error() string { return e.Message }

// Is tells whether the target is an Error with the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// The errors that can be told apart, here and across the network.
var (
	ErrInvalid     = &Error{"invalid", "the request cannot be meant so"}
	ErrUnsupported = &Error{"unsupported", "this cannot be done here"}
	ErrNotFound    = &Error{"not_found", "there is no such item"}
	ErrExists      = &Error{"exists", "there is such an item already"}
	ErrFilter      = &Error{"filter", "the filter names what no item has"}
	ErrNoModel     = &Error{"no_model", "there is no model to encode with"}
	ErrOtherModel  = &Error{"other_model", "the codes are of another model"}
	ErrDimension   = &Error{"dimension", "the vector has another number of values than the model takes"}
	ErrTooLarge    = &Error{"too_large", "more was asked for than is allowed"}
	ErrLocked      = &Error{"locked", "another process has the file open"}
	ErrReadOnly    = &Error{"read_only", "this can only be read"}
	ErrDamaged     = &Error{"damaged", "the file is damaged"}
)

// Errorf returns an error with the code of another and a message of its own.
func Errorf(as *Error, format string, args ...any) error {
	return &Error{as.Code, fmt.Sprintf(format, args...)}
}
