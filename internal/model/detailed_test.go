package model

import (
	"math/rand/v2"
	"testing"
)

// detailedModel has bits of both kinds, the detail behind a map.
func detailedModel(rng *rand.Rand, class, detail int) *Model {
	const dim = 6
	unit := &Affine{Weight: randomMatrix(rng, dim, dim), Unit: true}
	return &Model{Encoder: &Detailed{
		Class: randomTrees(rng, class, dim, 2, 3), Detail: Compose(randomProjection(rng, detail, dim, true), unit),
	}}
}

// A code is that of the class followed by that of the detail, and so are the margins, wherever words end.
func TestDetailFollowsTheClass(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 3))
	for _, size := range [][2]int{{3, 2}, {64, 64}, {60, 10}, {1, 70}, {100, 28}} {
		e := detailedModel(rng, size[0], size[1]).Encoder.(*Detailed)
		x := randomRows(rng, e.Class, 300)
		checkCodes(t, e, x)
		checkMargins(t, e, x)
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
