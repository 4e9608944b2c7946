package frame

import (
	"bufio"
	"bytes"
	"reflect"
	"testing"

	"hashgrove/internal/vectors"
)

// TestRoundTrip writes a frame and reads it.
func TestRoundTrip(t *testing.T) {
	want := &Rounds{
		Features: []uint32{1, 2, 3}, Bins: []uint8{4, 5}, Leaves: []uint32{6}, Results: []float64{7, -8},
		Digits: []uint8{1}, Units: []int32{-3},
	}
	var b bytes.Buffer
	parts := want.Parts()
	if err := Write(bufio.NewWriter(&b), Answer{From: 3, To: 5, Parts: Lengths(parts...)}, parts...); err != nil {
		t.Fatal(err)
	}
	var a Answer
	if err := ReadHead(&b, &a); err != nil || a.From != 3 || a.To != 5 {
		t.Fatalf("%+v, %v", a, err)
	}
	var read [][]byte
	for _, n := range a.Parts {
		p, err := ReadAligned(&b, n)
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, p)
	}
	if got, err := RoundsOf(read); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}

// FuzzFrame reads frames that nobody wrote.
func FuzzFrame(f *testing.F) {
	var b bytes.Buffer
	parts := (&Rounds{Bins: []uint8{1}}).Parts()
	if err := Write(bufio.NewWriter(&b), Answer{To: 1, Parts: Lengths(parts...)}, parts...); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte{255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		var a Answer
		if ReadHead(r, &a) != nil {
			return
		}
		var read [][]byte
		for _, n := range a.Parts {
			if n > 1<<20 {
				return // of a program of ours that has lost its mind
			}
			p, err := ReadAligned(r, n)
			if err != nil {
				return
			}
			read = append(read, p)
		}
		if rounds, err := RoundsOf(read); err == nil && len(vectors.Bytes(rounds.Features)) > len(data) {
			t.Errorf("%d features from %d bytes", len(rounds.Features), len(data))
		}
	})
}
