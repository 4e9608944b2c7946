package cli

import (
	"bytes"
	"encoding/json"
	"testing"
)

// TestText: whatever is written, in pieces of any size, a terminal gets nothing to obey, and JSON keeps its meaning.
func TestText(t *testing.T) {
	for _, c := range [][2]string{
		{"plain — ünï ✓ 日本\n\tnext", "plain — ünï ✓ 日本\n\tnext"},
		{"\x1b]0;owned\x07\x1b[2J\r", `\u001b]0;owned\u0007\u001b[2J\u000d`},
		{"\u009b2J\x7f", `\u009b2J\u007f`},
		{"bad \xff\x9b \ufffd", `bad \xff\x9b ` + "\ufffd"},
	} {
		for size := 1; size <= len(c[0]); size++ {
			var b bytes.Buffer
			w := &Text{W: &b}
			for rest := []byte(c[0]); len(rest) > 0; rest = rest[min(size, len(rest)):] {
				if n, err := w.Write(rest[:min(size, len(rest))]); err != nil || n != min(size, len(rest)) {
					t.Fatal(n, err)
				}
			}
			if b.String() != c[1] {
				t.Errorf("%q in pieces of %d: %q, want %q", c[0], size, b.String(), c[1])
			}
		}
	}
	name := "a\u009bb\x7f\x1b\"\\ü"
	var b bytes.Buffer
	if err := json.NewEncoder(&Text{W: &b}).Encode(name); err != nil {
		t.Fatal(err)
	}
	var back string
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || back != name || bytes.ContainsFunc(b.Bytes(), isControl) {
		t.Errorf("%q became %q, %v", name, b.String(), err)
	}
}
