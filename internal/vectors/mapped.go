package vectors

import (
	"errors"
	"unsafe"
)

// ErrUnsupported is returned on systems where this package cannot map files.
var ErrUnsupported = errors.New("files cannot be mapped into memory on this system")

// Number lists the types that a file can hold exactly as memory does.
type Number interface {
	~bool | ~int8 | ~uint8 | ~int32 | ~uint32 | ~int64 | ~uint64 | ~float32 | ~float64
}

// Bytes returns the memory of an array without copying it.
func Bytes[T Number](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(*new(T))))
}
