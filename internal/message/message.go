// Package message writes what people read when something is wrong.
//
// An error has a code beside its text: the text may be improved at any time, the code is for programs and tests, and
// stays.
//
//	return message.New("duplicate-id", "%s: lines %d and %d have the same id %q", path, first, line, id)
//	...
//	if message.Is(err, "duplicate-id") { ... }
//
// Codes are short hyphenated words that say what is wrong, not where: "empty-file", "no-such-column". Two errors may
// share one if a program would treat them alike. Errors that callers outside the module should recognise are exported
// values or types instead, most of them in package api.
//
// Errors of the standard library are rephrased in plain words: "items.csv: no such file" instead of "open items.csv: no
// such file or directory".
package message

import (
	"errors"
	"fmt"
	"strings"
)

// Code says what is wrong, for programs.
type Code string

// coded is an error with its code.
type coded struct {
	error
	code Code
}

func (e *coded) Unwrap() error { return e.error }

// New is fmt.Errorf with a code.
func New(code Code, format string, args ...any) error {
	return &coded{fmt.Errorf(format, args...), code}
}

// With gives an error a code; nil stays nil.
func With(code Code, err error) error {
	if err == nil {
		return nil
	}
	return &coded{err, code}
}

// NotImported is the error of files in a format that the program does not import.
func NotImported(files, format string) error {
	return New("format-not-imported", "a program that reads or writes %s imports _ \"hashgrove/format/%s\"", files, format)
}

// Is reports whether err or an error it wraps has the code.
func Is(err error, code Code) bool {
	for _, c := range Codes(err) {
		if c == code {
			return true
		}
	}
	return false
}

// Codes lists the codes of an error and those it wraps, outermost first.
func Codes(err error) (codes []Code) {
	switch e := err.(type) {
	case nil:
		return nil
	case *coded:
		return append([]Code{e.code}, Codes(e.error)...)
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			codes = append(codes, Codes(part)...)
		}
		return codes
	}
	return Codes(errors.Unwrap(err))
}

// Differs checks an error in a test: its code, and that the message names facts such as a file, a row, a flag or a
// value. It returns "" if both hold, otherwise what is missing. Facts are names and numbers; the words around them
// are free to change.
func Differs(err error, code Code, facts ...string) string {
	if err == nil {
		return fmt.Sprintf("no error, want %s", code)
	}
	if !Is(err, code) {
		return fmt.Sprintf("codes %q instead of %q: %v", Codes(err), code, err)
	}
	for _, fact := range facts {
		if !Names(err.Error(), fact) {
			return fmt.Sprintf("%s: the message does not name %q: %v", code, fact, err)
		}
	}
	return ""
}

// Names reports whether text contains fact as a whole word: 2 is not in 12.
func Names(text, fact string) bool {
	digit := func(s string, at int) bool { return at >= 0 && at < len(s) && s[at] >= '0' && s[at] <= '9' }
	for at := 0; at+len(fact) <= len(text); at++ {
		end := at + len(fact)
		if text[at:end] == fact && !(digit(fact, 0) && digit(text, at-1)) && !(digit(fact, len(fact)-1) && digit(text, end)) {
			return true
		}
	}
	return false
}

// NamesInOrder reports whether text contains all facts, separated by "; ", in order: swapped numbers are wrong.
func NamesInOrder(text, facts string) bool {
	found := true
	for fact := range strings.SplitSeq(facts, "; ") {
		if _, text, found = strings.Cut(text, fact); !found {
			return false
		}
	}
	return true
}
