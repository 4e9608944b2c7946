//go:build (!amd64 && !arm64) || purego

package model

// byteTilings returns nothing: this architecture has only plain Go.
func byteTilings() []*byteTiling { return nil }
