package export

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"hashgrove/internal/hamming"
	"hashgrove/internal/testkit/budgettest"
)

// TestFAISSClaims: files of FAISS of a few bytes that claim two thousand million codes.
func TestFAISSClaims(t *testing.T) {
	var plain, mapped bytes.Buffer
	codes := hamming.NewCodes(2, 4096)
	if err := errors.Join(WriteFAISS(&plain, codes, nil), WriteFAISS(&mapped, codes, []int64{1, 2})); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"flat": plain.Bytes(), "mapped": mapped.Bytes()} {
		for at := 0; at+4 <= len(b); at++ { // the number of codes in every head, and the length of their list
			if string(b[at:at+3]) != "IBx" && string(b[at:at+3]) != "IBM" {
				continue
			}
			binary.LittleEndian.PutUint64(b[at+12:], math.MaxInt32)
			if string(b[at:at+3]) == "IBx" {
				binary.LittleEndian.PutUint64(b[at+25:], math.MaxInt32*512)
			}
		}
		budgettest.Within(t, 16*budgettest.MiB, func() {
			if _, _, err := hamming.ReadFAISS(bytes.NewReader(b)); !errors.Is(err, hamming.ErrFAISS) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// TestFAISSStaysWithinItsBudget reads codes of one byte, which take most memory for their bytes.
func TestFAISSStaysWithinItsBudget(t *testing.T) {
	const n = 1 << 20
	var b bytes.Buffer
	if err := WriteFAISS(&b, hamming.NewCodes(n, 8), make([]int64, n)); err != nil {
		t.Fatal(err)
	}
	budgettest.Within(t, 16*uint64(b.Len()), func() {
		if codes, ids, err := hamming.ReadFAISS(bytes.NewReader(b.Bytes())); err != nil || codes.Len() != n || len(ids) != n {
			t.Errorf("%d codes, %d ids, %v", codes.Len(), len(ids), err)
		}
	})
}
