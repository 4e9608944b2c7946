package hamming_test

import (
	"bytes"
	"fmt"
	"log"

	"hashgrove/internal/hamming"
)

// Codes go to a file in pieces, and come back with their ids.
func ExampleNewWriter() {
	var file bytes.Buffer
	w, err := hamming.NewWriter(&file, hamming.HGC, hamming.Header{Bits: 16, Rows: 2})
	if err != nil {
		log.Fatal(err)
	}
	codes := hamming.NewCodes(2, 16)
	codes.SetBit(1, 15, true)
	if err := w.Write(codes, []string{"boots-1", "boots-2"}); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	r, err := hamming.NewReader(&file)
	if err != nil {
		log.Fatal(err)
	}
	table, err := r.All()
	if err != nil {
		log.Fatal(err)
	}
	for i, id := range table.IDs {
		fmt.Printf("%s %x\n", id, table.Codes.AppendBytes(nil, i))
	}
	// Output:
	// boots-1 0000
	// boots-2 0001
}
