package vectors

import (
	"errors"
	"fmt"
	"math"
	"os"
	"unsafe"

	"hashgrove/internal/message"
)

// Mapped arrays live in a temporary file that the system pages in and out, so they can be larger than memory.
//
// The file is unlinked at once, so nothing is left behind however the program ends. Its disk space is reserved before
// the first use, so a full disk is an error here instead of a crash later.

// ErrUnsupported is returned on systems where this package cannot map files.
var ErrUnsupported = errors.New("files cannot be mapped into memory on this system")

// Number lists the types that a file can hold exactly as memory does.
type Number interface {
	~bool | ~int8 | ~uint8 | ~int32 | ~uint32 | ~int64 | ~uint64 | ~float32 | ~float64
}

// newFile creates an unlinked temporary file in the folder, or in the system's default if that is "".
func newFile(folder string) (*os.File, error) {
	if !canMap {
		return nil, ErrUnsupported
	}
	file, err := os.CreateTemp(folder, "hashgrove-*.rows")
	if err != nil {
		return nil, fmt.Errorf("create a file for rows: %w", err)
	}
	if err := os.Remove(file.Name()); err != nil {
		file.Close()
		return nil, fmt.Errorf("create a file for rows: %w", err)
	}
	return file, nil
}

// mapArray returns an array of n zeros in a temporary file of its own. Free it with unmapArray.
func mapArray[T Number](folder string, n int) ([]T, error) {
	size, err := bytesOf[T](n)
	if err != nil || n == 0 {
		return nil, err
	}
	file, err := newFile(folder)
	if err != nil {
		return nil, err
	}
	defer file.Close() // the mapping stays valid
	if err := reserve(file, size); err != nil {
		return nil, message.New("no-room", "not enough space for %d MB of rows in %s: %w", size/1e6, folderOf(file), err)
	}
	return mapFile[T](file, n)
}

// mapFile maps the first n values of a file, which must be long enough.
func mapFile[T Number](file *os.File, n int) ([]T, error) {
	size, err := bytesOf[T](n)
	if err != nil || n == 0 {
		return nil, err
	}
	b, err := mapBytes(file, int(size))
	if err != nil {
		return nil, fmt.Errorf("map %d MB of rows into memory: %w", size/1e6, err)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n), nil
}

// unmapArray frees an array returned by mapArray or mapFile, which must not be used afterwards.
func unmapArray[T Number](s []T) error {
	if len(s) == 0 {
		return nil
	}
	return unmapBytes(Bytes(s))
}

// Bytes returns the memory of an array without copying it.
func Bytes[T Number](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(*new(T))))
}

// bytesOf returns the size of an array of n values.
func bytesOf[T Number](n int) (int64, error) {
	each := int64(unsafe.Sizeof(*new(T)))
	if n < 0 || int64(n) > math.MaxInt/each {
		return 0, fmt.Errorf("%d values of %d bytes are more than a process of %d bits can address", n, each,
			8*unsafe.Sizeof(n))
	}
	return int64(n) * each, nil
}

// folderOf returns the folder that a temporary file was created in.
func folderOf(file *os.File) string {
	name := file.Name()
	for i := len(name) - 1; i > 0; i-- {
		if os.IsPathSeparator(name[i]) {
			return name[:i]
		}
	}
	return "this folder"
}

// writeZeros reserves disk space by writing the whole file.
func writeZeros(file *os.File, size int64) error {
	zeros := make([]byte, min(size, 1<<20))
	for at := int64(0); at < size; at += int64(len(zeros)) {
		if _, err := file.WriteAt(zeros[:min(size-at, int64(len(zeros)))], at); err != nil {
			return err
		}
	}
	return nil
}
