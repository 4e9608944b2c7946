package hamming

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"hashgrove/internal/message"
)

func random(n, bits int, seed uint64) Codes {
	rng := rand.New(rand.NewPCG(seed, 0))
	c := NewCodes(n, bits)
	for i := range n {
		for b := range bits {
			c.SetBit(i, b, rng.IntN(2) == 1)
		}
	}
	return c
}

func TestBytesRoundTripMSBFirst(t *testing.T) {
	for _, bits := range []int{1, 7, 8, 9, 63, 64, 65, 128, 130, 4096} {
		c := random(5, bits, uint64(bits))
		d := NewCodes(5, bits)
		for i := range c.Len() {
			packed := c.AppendBytes(nil, i)
			for b := range bits {
				if c.Bit(i, b) != (packed[b/8]>>(7-b%8)&1 == 1) {
					t.Fatalf("%d bits: bit %d is not MSB first", bits, b)
				}
			}
			if !d.SetBytes(i, packed) || !bytes.Equal(packed, d.AppendBytes(nil, i)) {
				t.Errorf("%d bits: code %d did not come back", bits, i)
			}
			if d.SetBytes(i, append(packed, 0)) || d.SetBytes(i, packed[1:]) {
				t.Errorf("%d bits: a wrong length was taken", bits)
			}
			if more := NewCodes(0, bits); !more.Append(append(packed, packed...)) || more.Len() != 2 ||
				bits > 8 && more.Append(packed[1:]) {
				t.Errorf("%d bits: whole codes are not appended, or others are", bits)
			}
			if bits%8 != 0 {
				packed[len(packed)-1] |= 1
				if d.SetBytes(i, packed) {
					t.Errorf("%d bits: a bit beyond the code was taken", bits)
				}
			}
		}
	}
}

func TestDistancesCountDifferingBits(t *testing.T) {
	for _, bits := range []int{1, 8, 63, 64, 65, 100, 128, 1024} {
		c := random(33, bits, 7)
		dst, hits := make([]uint16, c.Len()), make([]uint32, c.Len()+slack)
		c.Distances(dst, c.Row(3))
		for _, prefix := range []int{1, (bits + 1) / 2, bits} {
			words, last := c.prefix(prefix)
			belowGo(hits, c.Row(3)[:words], c.Data, c.Words, last, MaxBits)
			for i := range dst {
				want := 0
				for b := range prefix {
					if c.Bit(i, b) != c.Bit(3, b) {
						want++
					}
				}
				if int(hits[i]>>16) != want || prefix == bits && int(dst[i]) != want {
					t.Fatalf("%d of %d bits: distances %d and %d, want %d", prefix, bits, hits[i]>>16, dst[i], want)
				}
			}
		}
	}
}

func TestPrefixKeepsTheFirstBits(t *testing.T) {
	c := random(9, 130, 3)
	for _, bits := range []int{1, 63, 64, 65, 128, 130} {
		p := c.Prefix(bits)
		for i := range c.Len() {
			for b := range bits {
				if p.Bit(i, b) != c.Bit(i, b) {
					t.Fatalf("bit %d of code %d changed", b, i)
				}
			}
			if d := NewCodes(1, bits); !d.SetBytes(0, p.AppendBytes(nil, i)) {
				t.Errorf("prefix of %d bits has bits beyond its length", bits)
			}
		}
	}
}

func TestFingerprintsAreReadBack(t *testing.T) {
	f := Fingerprint{1, 2, 31: 250}
	if g, err := ParseFingerprint(f.Full()); g != f || err != nil {
		t.Errorf("%v became %v, %v", f, g, err)
	}
	for _, bad := range []string{"", f.String(), f.Full() + "00", "x" + f.Full()[1:]} {
		if _, err := ParseFingerprint(bad); err == nil {
			t.Errorf("%q is a fingerprint", bad)
		}
	}
}

// TestCodesOfAnotherModelAreRefused: an index accepts codes of its own model and of an unknown one.
func TestCodesOfAnotherModelAreRefused(t *testing.T) {
	unknown, one, other := Fingerprint{}, Fingerprint{1}, Fingerprint{31: 1}
	for _, c := range [][2]Fingerprint{{unknown, unknown}, {unknown, one}, {one, unknown}, {one, one}, {other, other}} {
		if err := c[0].Accept(c[1]); err != nil {
			t.Errorf("an index of %v and codes of %v: %v", c[0], c[1], err)
		}
	}
	for _, c := range [][2]Fingerprint{{one, {2}}, {one, other}, {other, one}} {
		if d := message.Differs(c[0].Accept(c[1]), "other-model", c[0].String(), c[1].String()); d != "" {
			t.Errorf("an index of %v and codes of %v: %s", c[0], c[1], d)
		}
	}
}
