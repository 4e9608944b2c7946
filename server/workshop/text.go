package workshop

import (
	"fmt"
	"net/http"
	"strings"
	"unicode"

	"hashgrove/server"
)

// bad returns an error for unusable data or an invalid request.
func bad(format string, args ...any) error {
	return server.Problem(http.StatusBadRequest, format, args...)
}

// busy returns an error for what can be done later.
func busy(format string, args ...any) error {
	return server.Problem(http.StatusTooManyRequests, format, args...)
}

// conflict returns an error for what the state of the job does not allow.
func conflict(format string, args ...any) error {
	return server.Problem(http.StatusConflict, format, args...)
}

// printable shortens a text from outside for a message and removes what does not print.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '\ufffd'
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
	if runes := []rune(s); len(runes) > 100 {
		s = string(runes[:100]) + "…"
	}
	return s
}

// sizeText writes a number of bytes for people.
func sizeText(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
