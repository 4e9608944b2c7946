package message

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
)

func TestCodesAreFoundThroughWrapping(t *testing.T) {
	inner := New("no-such-column", "%s: no column %q: %w", "a.csv", "x", io.EOF)
	for _, c := range []struct {
		err  error
		want []Code
	}{
		{nil, nil},
		{io.EOF, nil},
		{inner, []Code{"no-such-column"}},
		{fmt.Errorf("reading: %w", inner), []Code{"no-such-column"}},
		{With("bad-file", fmt.Errorf("reading: %w", inner)), []Code{"bad-file", "no-such-column"}},
		{errors.Join(io.EOF, inner, New("second", "2")), []Code{"no-such-column", "second"}},
		{With("none", nil), nil},
	} {
		if got := Codes(c.err); !slices.Equal(got, c.want) {
			t.Errorf("%v: codes %q, want %q", c.err, got, c.want)
		}
		for _, code := range c.want {
			if !Is(c.err, code) {
				t.Errorf("%v is not %s", c.err, code)
			}
		}
		if Is(c.err, "other") {
			t.Errorf("%v is other", c.err)
		}
	}
	if !errors.Is(inner, io.EOF) || inner.Error() != `a.csv: no column "x": EOF` {
		t.Errorf("%v hides what it wraps", inner)
	}
}

func TestDiffers(t *testing.T) {
	err := New("no-such-column", "a.csv: there is no column %q", "x")
	if d := Differs(err, "no-such-column", "a.csv", `"x"`); d != "" {
		t.Error(d)
	}
	twelve := New("count", "12 rows")
	for _, d := range []string{Differs(twelve, "count", "2"), Differs(twelve, "count", "1"), Differs(nil, "a"), Differs(err, "a"),
		Differs(err, "no-such-column", "b.csv"), Differs(io.EOF, "a")} {
		if d == "" {
			t.Error("a difference was not seen")
		}
	}
}

func TestNamesInOrder(t *testing.T) {
	for facts, want := range map[string]bool{"12; 7": true, "7": true, "7; 12": false, "12; 12": false} {
		if got := NamesInOrder("12 of 7 rows", facts); got != want {
			t.Errorf("%q: %v", facts, got)
		}
	}
}
