//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package vectors

func newFile(string, int) ([]byte, error) { return nil, ErrUnsupported }

func unmapBytes([]byte) error { return ErrUnsupported }
