package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"hashgrove/internal/dataset"
	"hashgrove/internal/message"
)

// refusal is a command line that must fail, and how.
type refusal struct {
	line   string
	status int
	cause  any    // a code, an error that is wrapped, or a setting; nil where the facts tell it from other refusals
	facts  string // that the message names, in whatever words; separated by spaces
}

// setting is the field of a dataset.SpecError: another setting would avoid the error.
type setting string

// try runs the command line, with more arguments at its end, and checks how it fails.
func (r refusal) try(t *testing.T, more ...string) outcome {
	t.Helper()
	o := try(t, append(shellWords(r.line), more...)...)
	if d := r.differs(o); d != "" {
		t.Errorf("hashgrove %s: %s", r.line, d)
	}
	return o
}

// differs says what is wrong with the end of the command line, or returns "".
func (r refusal) differs(o outcome) string {
	return o.differs(r.status, r.cause, strings.Fields(r.facts)...)
}

// differs says what is wrong with the end of a command line that must fail with a status, for a cause as a refusal has it
// and with a message that names facts, or returns "".
func (o outcome) differs(status int, cause any, facts ...string) string {
	caused := true
	switch want := cause.(type) {
	case string:
		caused = want == "" || message.Is(o.cause, message.Code(want))
	case error:
		caused = errors.Is(o.cause, want)
	case setting:
		e, ok := errors.AsType[*dataset.SpecError](o.cause)
		caused = ok && e.Field == string(want)
	case nil:
	default:
		panic(fmt.Sprintf("a cause of type %T", cause))
	}
	switch {
	case o.code != status:
		return fmt.Sprintf("exit %d instead of %d: %s", o.code, status, o.err)
	case !caused:
		return fmt.Sprintf("codes %q, and not %v: %s", message.Codes(o.cause), cause, o.err)
	case strings.Contains(o.err, "goroutine"):
		return "a stack trace: " + o.err
	}
	return lacks(o.err, facts...)
}

// lacks says which of the facts a text does not name, or returns "". A fact may be several, separated by spaces.
func lacks(text string, facts ...string) string {
	for fact := range strings.FieldsSeq(strings.Join(facts, " ")) {
		if !message.Names(text, fact) {
			return fmt.Sprintf("%q is not in: %s", fact, text)
		}
	}
	return ""
}

// unlike is differs with all that must be told in one text, between spaces: the exit status, the code, which is - for
// none, and the facts. Errors that are not nil must be among the causes.
func (o outcome) unlike(want string, is ...error) string {
	words := strings.Fields(want)
	status, err := strconv.Atoi(words[0])
	if err != nil {
		return err.Error()
	}
	for _, e := range is {
		if e != nil && !errors.Is(o.cause, e) {
			return fmt.Sprintf("it is not %q: %v", e, o.cause)
		}
	}
	return o.differs(status, strings.TrimPrefix(words[1], "-"), words[2:]...)
}

// badRow reports whether a command line failed because of a row, and says so. It is counted from 0; -1 is for a picture.
func (o outcome) badRow(file string, row int, column string) bool {
	e, ok := errors.AsType[*dataset.RowError](o.cause)
	return ok && o.differs(1, "", file, column) == "" && e.File == file && e.Row == row && e.Column == column &&
		(row < 0 || strings.Contains(o.err, fmt.Sprint(row+1)))
}
