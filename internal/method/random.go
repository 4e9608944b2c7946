package method

import (
	"math/rand/v2"

	"hashgrove/internal/hamming"
)

// RandomCodes returns n codes of independent fair bits, which depend on the row number and not on any vector: the floor
// that every method must beat. It is not a Method, since it cannot encode another vector. Fewer rows with the same bits
// and seed are a prefix of more; give queries and base different seeds.
func RandomCodes(n, bits int, seed uint64) hamming.Codes {
	c := hamming.NewCodes(n, bits)
	rng := rand.New(rand.NewPCG(seed, 0))
	for i := range c.Data {
		c.Data[i] = rng.Uint64()
		if over := bits & 63; over != 0 && i%c.Words == c.Words-1 {
			c.Data[i] &= ^uint64(0) << (64 - over)
		}
	}
	return c
}
