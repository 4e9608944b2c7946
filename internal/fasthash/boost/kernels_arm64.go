//go:build !purego

package boost

// Every arm64 has NEON, so there is nothing to choose. Filling a histogram means additions in scattered places, for
// which neither NEON nor AVX2 has instructions: countFour is Go on all machines.

func extremes(h *histogram) (low, high int32) { return extremesNEON(h) }

func addBins(out, a, b *histogram) { addBinsNEON(out, a, b) }

func subtractBins(out, a, b *histogram) { subtractBinsNEON(out, a, b) }

// extremesNEON is extremesGo with NEON.
//
//go:noescape
func extremesNEON(h *[256]int32) (low, high int32)

// addBinsNEON is addBinsGo with NEON.
//
//go:noescape
func addBinsNEON(out, a, b *[256]int32)

// subtractBinsNEON is subtractBinsGo with NEON.
//
//go:noescape
func subtractBinsNEON(out, a, b *[256]int32)
