package main

import (
	"encoding/xml"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"hashgrove/api"

	"hashgrove"
)

// TestDraw draws made-up pictures of two classes: the figure is XML, with a picture, a class and a code for each item.
func TestDraw(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var pictures [][]float32
	var labels []int
	for i := range 60 {
		picture := make([]float32, side*side)
		for j := range picture {
			picture[j] = float32(rng.IntN(100) + i%2*150)
		}
		pictures, labels = append(pictures, picture), append(labels, i%2)
	}
	m, err := hashgrove.Train(t.Context(), hashgrove.Rows(pictures, labels), hashgrove.Options{Bits: 64, Rounds: 5})
	if err != nil {
		t.Fatal(err)
	}
	ix, err := hashgrove.NewIndex(t.Context(), m.Model, hashgrove.Rows(pictures, labels))
	if err != nil {
		t.Fatal(err)
	}
	hits, err := api.Nearest(t.Context(), ix, pictures[0], 10)
	if err != nil {
		t.Fatal(err)
	}
	figure := draw(m.Model, pictures[0], 0, hits, pictures)
	in := xml.NewDecoder(strings.NewReader(figure))
	for err == nil {
		_, err = in.Token()
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("the figure is not XML: %v", err)
	}
	if n := strings.Count(figure, ">T-shirt<"); n != 11 {
		t.Errorf("%d of 11 items are named", n)
	}
	if n := strings.Count(figure, `<rect width="8" height="8"`); n != 11 {
		t.Errorf("%d of 11 items have a code", n)
	}
}
