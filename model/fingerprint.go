package model

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"sync"
)

// Fingerprint tells which hash functions made a code. It is a chain over the bits,
//
//	F_0 = SHA-256(kind, dimension, what all bits share),   F_k = SHA-256(F_{k-1}, bit k),
//
// so the first N bits of a longer model have the fingerprint of the shorter one: prefixes of codes and models that
// were grown stay compatible. Nothing but the functions enters it: not the seed, nor statistics, nor names.
type Fingerprint [sha256.Size]byte

// String is the short form people see: 16 hex digits.
func (f Fingerprint) String() string { return hex.EncodeToString(f[:8]) }

// Full is all of it: 64 hex digits.
func (f Fingerprint) Full() string { return hex.EncodeToString(f[:]) }

// chain holds F_0 to F_bits of an encoder once they were asked for.
type chain struct {
	once sync.Once
	f    []Fingerprint
}

func (c *chain) at(e Encoder, bits int) Fingerprint {
	c.once.Do(func() {
		b := append([]byte("hashgrove encoder 1\n"), e.Kind()...)
		b = append(b, 0)
		b = binary.LittleEndian.AppendUint32(b, uint32(e.Dim()))
		c.f = append(c.f, sha256.Sum256(e.appendBase(b)))
		for k := range e.Bits() {
			b = e.appendBit(append(b[:0], c.f[k][:]...), k)
			c.f = append(c.f, sha256.Sum256(b))
		}
	})
	if bits < 0 || bits >= len(c.f) {
		panic("model: fingerprint of more bits than the model has")
	}
	return c.f[bits]
}
