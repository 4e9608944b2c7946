package hamming_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"hashgrove/hamming"
)

// The nearest of four codes, by the number of bits that differ.
func ExampleCodes_Nearest() {
	codes := hamming.NewCodes(4, 8)
	codes.Unpack(0, []byte{0b0000_0000, 0b1111_0000, 0b1111_1111, 0b1100_0000})
	queries := hamming.NewCodes(1, 8)
	queries.Unpack(0, []byte{0b1110_0000})

	near, err := codes.Nearest(context.Background(), queries, 2, 0)
	if err != nil {
		log.Fatal(err)
	}
	for _, n := range near[0] {
		fmt.Printf("code %d differs in %d bits\n", n.Pos, n.Distance)
	}
	// Output:
	// code 1 differs in 1 bits
	// code 3 differs in 1 bits
}

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
