//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package vectors

import "os"

const canMap = false

func mapBytes(*os.File, int) ([]byte, error) { return nil, ErrUnsupported }

func unmapBytes([]byte) error { return ErrUnsupported }
