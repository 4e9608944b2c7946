package export

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"hashgrove/hamming"
	"hashgrove/internal/budgettest"
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
			if _, _, err := ReadFAISS(bytes.NewReader(b)); !errors.Is(err, ErrFAISS) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}
