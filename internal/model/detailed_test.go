package model

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/internal/hamming"
)

// detailedModel has bits of both kinds, the detail behind a map.
func detailedModel(rng *rand.Rand, class, detail int) *Model {
	const dim = 6
	unit := &Affine{Weight: randomMatrix(rng, dim, dim), Unit: true}
	return &Model{Encoder: &Detailed{
		Class: randomTrees(rng, class, dim, 2, 3), Detail: Compose(randomProjection(rng, detail, dim, true), unit),
	}}
}

// A code is that of the class followed by that of the detail, and so are the margins.
func TestDetailFollowsTheClass(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 3))
	for _, size := range [][2]int{{3, 2}, {64, 64}, {60, 10}, {1, 70}, {100, 28}} {
		m := detailedModel(rng, size[0], size[1])
		if err := m.Check(); err != nil {
			t.Fatal(err)
		}
		e := m.Encoder.(*Detailed)
		x := randomRows(rng, e.Class, 300)
		codes, err := m.Encode(context.Background(), x, 2)
		if err != nil {
			t.Fatal(err)
		}
		margins, err := m.Margins(context.Background(), x, 2)
		if err != nil {
			t.Fatal(err)
		}
		var parts [2]hamming.Codes
		for i, part := range []Encoder{e.Class, e.Detail} {
			if parts[i], err = (&Model{Encoder: part}).Encode(context.Background(), x, 1); err != nil {
				t.Fatal(err)
			}
		}
		for r := range x.Rows {
			for b := range m.Encoder.Bits() {
				want := b < size[0] && parts[0].Bit(r, b) || b >= size[0] && parts[1].Bit(r, b-size[0])
				if codes.Bit(r, b) != want {
					t.Fatalf("%v: bit %d of row %d is %v", size, b, r, !want)
				}
				if margins.Row(r)[b] < 0 && want {
					t.Fatalf("%v: bit %d of row %d is 1 with margin %v", size, b, r, margins.Row(r)[b])
				}
			}
			row, err := m.EncodeRow(x.Row(r))
			if err != nil || !slices.Equal(row, codes.Row(r)) {
				t.Fatalf("%v: row %d alone is %x, %v", size, r, row, err)
			}
		}
	}
}

// The first bits have the fingerprint of the class alone, and that of detail says how many bits there are.
func TestFingerprintOfDetail(t *testing.T) {
	m := detailedModel(rand.New(rand.NewPCG(27, 4)), 9, 5)
	e := m.Encoder.(*Detailed)
	class := &Model{Encoder: e.Class}
	for bits := 1; bits <= 14; bits++ {
		f := m.Prefix(bits).Fingerprint()
		if bits <= 9 && f != class.Prefix(bits).Fingerprint() {
			t.Errorf("%d bits: another fingerprint than without detail", bits)
		}
		if got, want := f.Detail(bits), max(0, bits-9); got != want {
			t.Errorf("%d bits: the fingerprint says %d bits of detail, want %d", bits, got, want)
		}
		if got := e.Fingerprint(bits); got != f {
			t.Errorf("%d bits: the prefix has another fingerprint", bits)
		}
	}
	if f := class.Fingerprint(); f.Detail(9) != 0 || m.Fingerprint().Detail(5) != 0 {
		t.Error("detail where there cannot be any")
	}
}
