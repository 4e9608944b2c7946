package feature

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"testing"

	"hashgrove/internal/message"
	"hashgrove/internal/testkit/budgettest"
)

// golden are small extractors of all kinds, with the canonical bytes that models carry.
func golden(t testing.TB) map[string]Extractor {
	gist, err := NewGIST(GISTOptions{Size: 16, Orientations: []int{3, 2}, Blocks: 2})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]Extractor{"01040000000300000003000000": &Pixels{4, 3, 3}, "021000000002000000020000000300000002000000": gist}
}

func TestCanonicalBytes(t *testing.T) {
	for want, e := range golden(t) {
		if got := hex.EncodeToString(Append(nil, e)); got != want {
			t.Errorf("%s: %s, want %s", e.Kind(), got, want)
		}
	}
}

// TestClaims: extractors of a few bytes that claim the largest sizes, and kinds that are not known.
func TestClaims(t *testing.T) {
	for _, numbers := range [][]uint32{{1, 1 << 31, 1 << 31, 3}, {2, 1 << 30, 1 << 30, 1 << 30, 1 << 30}, {2, 512, 16, 1 << 30}} {
		b := []byte{byte(numbers[0])}
		for _, v := range numbers[1:] {
			b = binary.LittleEndian.AppendUint32(b, v)
		}
		budgettest.Within(t, 16*budgettest.MiB, func() {
			if _, err := Parse(b); err == nil {
				t.Errorf("%v was read", numbers)
			}
		})
	}
	for tag, code := range map[byte]message.Code{3: "codebook-features", 4: "codebook-features", 5: "unknown-type"} {
		if _, err := Parse([]byte{tag}); !message.Is(err, code) {
			t.Errorf("type %d: %v", tag, err)
		}
	}
}

// FuzzParse: any bytes give an error, or an extractor that passes Check and has these canonical bytes.
func FuzzParse(f *testing.F) {
	for _, e := range golden(f) {
		f.Add(Append(nil, e))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := Parse(b)
		if err != nil {
			return
		}
		if err := e.Check(); err != nil {
			t.Fatalf("read, but %v", err)
		}
		if !bytes.Equal(Append(nil, e), b) {
			t.Error("other canonical bytes than those it came from")
		}
	})
}
