package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// isControl tells whether a terminal may take a character for a command instead of showing it: those of ASCII but the
// end of a line and the tabulator, and those from 128 to 159, which begin sequences in some terminals too.
func isControl(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 }

// Message is a text for people with nothing in it that a terminal would obey, and with its further lines moved in: a
// name in a file that ends a line must not pass for a message of ours.
func Message(s string) string { return strings.ReplaceAll(visible(s), "\n", "\n    ") }

// visible escapes what a terminal would obey instead of showing it: names in files come from strangers.
func visible(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return isControl(r) || r == utf8.RuneError }) < 0 {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case isControl(r):
			fmt.Fprintf(&b, `\u%04x`, r) // as JSON has it, too
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Text is a writer for lines that people read, or for JSON, in which nothing is a command for a terminal. JSON may hold
// such characters only in strings, where they mean the same when they are escaped.
type Text struct {
	W    io.Writer
	rest []byte // of a character that is not complete yet
}

// Write makes Text an io.Writer.
func (t *Text) Write(p []byte) (int, error) {
	b := append(t.rest, p...)
	whole := len(b)
	for back := 1; back < utf8.UTFMax && back <= len(b); back++ {
		if utf8.RuneStart(b[len(b)-back]) {
			if !utf8.FullRune(b[len(b)-back:]) {
				whole = len(b) - back
			}
			break
		}
	}
	if _, err := io.WriteString(t.W, visible(string(b[:whole]))); err != nil {
		return 0, err
	}
	t.rest = append([]byte(nil), b[whole:]...)
	return len(p), nil
}
