package store

import (
	"encoding/binary"
	"errors"
	"path/filepath"
	"testing"

	"hashgrove/internal/fault"
)

// TestOtherOrderOfBytes: on machines with the other byte order, neither new nor old indexes work, and the error says
// so. Elsewhere both work.
func TestOtherOrderOfBytes(t *testing.T) {
	other := binary.NativeEndian.Uint16([]byte{1, 0}) != 1
	s, err := Create(ctx, filepath.Join(t.TempDir(), "x.hgi"), Options{Model: projection(4, 100, 1)})
	if err == nil {
		err = s.Close()
	}
	g, openErr := Open(ctx, "testdata/backcompat/v1.hgi", OpenOptions{ReadOnly: true})
	if openErr == nil {
		openErr = g.Close()
	}
	for _, err := range []error{err, openErr} {
		switch {
		case !other && err != nil:
			t.Error(err)
		case other && (!errors.Is(err, errors.ErrUnsupported) || !fault.Is(err, "byte-order")):
			t.Errorf("the error is %v", err)
		}
	}
}
