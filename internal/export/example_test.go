package export_test

import (
	"bytes"
	"fmt"

	"hashgrove/internal/export"
	"hashgrove/internal/hamming"
)

// Codes in a file of FAISS, and back.
func Example() {
	codes := hamming.NewCodes(2, 8)
	codes.SetBytes(0, []byte{0xf0})
	codes.SetBytes(1, []byte{0x0f})
	var file bytes.Buffer
	if err := export.WriteFAISS(&file, codes, []int64{17, 18}); err != nil {
		panic(err)
	}
	back, ids, err := hamming.ReadFAISS(&file)
	if err != nil {
		panic(err)
	}
	fmt.Println(back.Len(), back.Bits, ids)
	// Output: 2 8 [17 18]
}
