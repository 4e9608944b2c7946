package hamming

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
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

// Accept refuses codes of another model, naming both. Zeros mean that a model is not known, and are accepted.
func (f Fingerprint) Accept(codes Fingerprint) error {
	if unknown := (Fingerprint{}); codes == unknown || f == unknown || codes == f {
		return nil
	}
	return fmt.Errorf("codes of model %v do not belong into the index of model %v: "+
		"encode with that model, or build another index", codes, f)
}
