package model

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"hashgrove/hamming"
)

// chain holds F_0 to F_bits of an encoder once they were asked for.
type chain struct {
	once sync.Once
	f    []hamming.Fingerprint
}

func (c *chain) at(e Encoder, bits int) hamming.Fingerprint {
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
