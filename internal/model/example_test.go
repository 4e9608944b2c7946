package model_test

import (
	"bytes"
	"fmt"
	"log"

	"hashgrove/internal/model"
)

// A model of a method of one's own: hyperplanes, one per bit. It is written, read back and used.
func Example() {
	m := &model.Model{
		Encoder: &model.Projection{
			Weight:    []float32{1, 0, 0, 1, 1, 1}, // x, y, x + y
			Threshold: []float32{0, 0, 1},
		},
		Info: model.Info{Method: "mine"},
	}
	var file bytes.Buffer
	if err := model.Write(&file, m); err != nil {
		log.Fatal(err)
	}
	back, err := model.Read(&file)
	if err != nil {
		log.Fatal(err)
	}
	for _, x := range [][]float32{{2, 3}, {-1, 0.5}, {0.5, -3}} {
		code, err := back.EncodeRow(x)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%v has the code %03b\n", x, code[0]>>61)
	}
	// Output:
	// [2 3] has the code 111
	// [-1 0.5] has the code 010
	// [0.5 -3] has the code 100
}
