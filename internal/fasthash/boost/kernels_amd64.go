//go:build !purego

package boost

import "golang.org/x/sys/cpu"

var hasAVX2 = cpu.X86.HasAVX2

// Each kernel does what its name with Go does.

//go:noescape
func extremesAVX2(h *[256]int32) (low, high int32)

//go:noescape
func addBinsAVX2(out, a, b *[256]int32)

//go:noescape
func subtractBinsAVX2(out, a, b *[256]int32)

func extremes(h *histogram) (low, high int32) {
	if hasAVX2 {
		return extremesAVX2(h)
	}
	return extremesGo(h)
}

func addBins(out, a, b *histogram) {
	if hasAVX2 {
		addBinsAVX2(out, a, b)
		return
	}
	addBinsGo(out, a, b)
}

func subtractBins(out, a, b *histogram) {
	if hasAVX2 {
		subtractBinsAVX2(out, a, b)
		return
	}
	subtractBinsGo(out, a, b)
}
