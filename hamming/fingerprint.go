package hamming

import (
	"crypto/sha256"
	"encoding/hex"
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
