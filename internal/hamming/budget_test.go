package hamming

import (
	"bytes"
	"io"
	"testing"

	"hashgrove/internal/testkit/budgettest"
)

// TestCodesStayWithinTheirBudget: code files are read in sections, one in memory at a time.
func TestCodesStayWithinTheirBudget(t *testing.T) {
	const n = 4 << 20 // of one byte
	codes := NewCodes(n, 8)
	for _, f := range []Format{HGC} {
		var b bytes.Buffer
		w, err := NewWriter(&b, f, Header{Bits: 8, Rows: n})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(codes, nil); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		budgettest.Peak(t, 32*budgettest.MiB, func() {
			r, err := NewReader(bytes.NewReader(b.Bytes()))
			for err == nil {
				_, _, err = r.Next()
			}
			if err != io.EOF {
				t.Errorf("%s: %v", f, err)
			}
		})
	}
}
