//go:build !purego

package boost

import "golang.org/x/sys/cpu"

//go:generate go -C ../../../x/kernels run ./boost -out ../../internal/fasthash/boost/kernels_amd64.s -stubs ../../internal/fasthash/boost/stubs_amd64.go -pkg boost

var hasAVX2 = cpu.X86.HasAVX2

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
