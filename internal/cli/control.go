package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// isControl reports whether a terminal may interpret r instead of showing it: ASCII controls except newline and tab,
// and U+0080 to U+009F, which start sequences in some terminals.
func isControl(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 }

// Message makes a text safe to print on a terminal and indents its further lines, so that a name with a newline
// cannot pass for a message of ours.
func Message(s string) string { return strings.ReplaceAll(visible(s), "\n", "\n    ") }

// visible escapes characters that a terminal would interpret, because names in files are untrusted.
func visible(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return isControl(r) || r == utf8.RuneError }) < 0 {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case isControl(r):
			fmt.Fprintf(&b, `\u%04x`, r) // also valid in JSON
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Text is a writer for plain lines or JSON that escapes terminal control characters. In JSON these can occur only in
// strings, where the escaped form means the same.
type Text struct {
	W    io.Writer
	rest []byte // start of an incomplete character
}

// Write implements io.Writer.
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
