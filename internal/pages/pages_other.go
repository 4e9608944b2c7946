//go:build !linux

package pages

func ask([]byte, bool) {}
