//go:build !purego

package model

// byteTilings returns nothing: this architecture has only plain Go.
func byteTilings() []*byteTiling { return nil }
