//go:build !(amd64 || arm64) || purego

package boost

func extremes(h *histogram) (low, high int32) { return extremesGo(h) }

func addBins(out, a, b *histogram) { addBinsGo(out, a, b) }

func subtractBins(out, a, b *histogram) { subtractBinsGo(out, a, b) }
