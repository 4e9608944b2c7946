package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"hashgrove/dataset"
	"hashgrove/internal/fault"
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
	caused := true
	switch want := r.cause.(type) {
	case string:
		caused = fault.Is(o.cause, fault.Code(want))
	case error:
		caused = errors.Is(o.cause, want)
	case setting:
		e, ok := errors.AsType[*dataset.SpecError](o.cause)
		caused = ok && e.Field == string(want)
	}
	switch {
	case o.code != r.status:
		return fmt.Sprintf("exit %d instead of %d: %s", o.code, r.status, o.err)
	case !caused:
		return fmt.Sprintf("codes %q, and not %v: %s", fault.Codes(o.cause), r.cause, o.err)
	case strings.Contains(o.err, "goroutine"):
		return "a stack trace: " + o.err
	}
	return lacks(o.err, r.facts)
}

// lacks says which of the facts, separated by spaces, a text does not name, or returns "".
func lacks(text, facts string) string {
	for fact := range strings.FieldsSeq(facts) {
		if !strings.Contains(text, fact) {
			return fmt.Sprintf("%q is not in: %s", fact, text)
		}
	}
	return ""
}
