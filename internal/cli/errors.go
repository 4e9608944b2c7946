// Package cli provides what a command line needs besides its verbs: flag groups, usage, suggestions for typos,
// readable messages, signals and progress.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"hashgrove/internal/message"
)

// usageError is a mistake in the command line, as opposed to a failure of the work.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// UsageError marks an error as a mistake in the command line.
func UsageError(err error) error { return usageError{err} }

// Usagef formats an error about the command line.
func Usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// Usage formats an error about the command line and gives it a code.
func Usage(code, format string, args ...any) error { return usageError{Errorf(code, format, args...)} }

// Errorf formats an error and gives it a code.
func Errorf(code, format string, args ...any) error {
	return message.New(message.Code(code), format, args...)
}

// Plain rephrases an error in plain words.
func Plain(err error) error { return message.Error(err) }

// adviceError carries a sentence on how to continue.
type adviceError struct {
	error
	advice string
}

func (e adviceError) Unwrap() error { return e.error }

// WithAdvice adds a sentence on how to continue after an interruption.
func WithAdvice(err error, advice string) error { return adviceError{err, advice} }

// Exit statuses. After a signal it is 128 plus the number of the signal, as in a shell.
const (
	exitFailed = 1
	exitUsage  = 2
	exitSignal = 128
)

// Report prints err, if any, as formatted by message, and returns the exit status.
func Report(ctx context.Context, w io.Writer, name string, err error, message func(error) string) int {
	if err == nil {
		return 0
	}
	if !errors.Is(err, context.Canceled) {
		fmt.Fprintf(w, "%s: %s\n", name, Message(message(err)))
		if _, ok := errors.AsType[usageError](err); ok {
			return exitUsage
		}
		return exitFailed
	}
	fmt.Fprintf(w, "%s: interrupted\n", name)
	if e, ok := errors.AsType[adviceError](err); ok {
		fmt.Fprintf(w, "%s: %s\n", name, e.advice)
	}
	if e, ok := errors.AsType[signalError](context.Cause(ctx)); ok {
		return exitSignal + int(e.Signal)
	}
	return exitFailed
}
