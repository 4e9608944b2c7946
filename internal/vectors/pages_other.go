//go:build !linux

package vectors

func ask([]byte, bool) {}
