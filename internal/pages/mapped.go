package pages

import (
	"errors"
	"fmt"
	"math"
	"os"
	"unsafe"

	"hashgrove/internal/fault"
)

// Mapped arrays lie in a temporary file that the system reads and writes as they are used, so that they may be greater
// than memory: their pages are a cache, which the system takes back when it needs room.
//
// The file has no name from the beginning, so nothing is left behind however the program ends, and its room on the disk
// is taken before the first use: a full disk is an error here, and not a crash later.

// ErrUnsupported is the error of systems whose files cannot be mapped here.
var ErrUnsupported = errors.New("files cannot be mapped into memory on this system")

// Number is the types that files hold as they are in memory.
type Number interface {
	~bool | ~int8 | ~uint8 | ~int32 | ~uint32 | ~int64 | ~uint64 | ~float32 | ~float64
}

// NewFile makes a temporary file without a name in a folder; "" is the system's own.
func NewFile(folder string) (*os.File, error) {
	if !canMap {
		return nil, ErrUnsupported
	}
	file, err := os.CreateTemp(folder, "hashgrove-*.rows")
	if err != nil {
		return nil, fmt.Errorf("make a file for rows: %w", err)
	}
	if err := os.Remove(file.Name()); err != nil {
		file.Close()
		return nil, fmt.Errorf("make a file for rows: %w", err)
	}
	return file, nil
}

// Map makes an array of n zeros in a temporary file of its own. Unmap gives it back.
func Map[T Number](folder string, n int) ([]T, error) {
	size, err := bytesOf[T](n)
	if err != nil || n == 0 {
		return nil, err
	}
	file, err := NewFile(folder)
	if err != nil {
		return nil, err
	}
	defer file.Close() // the mapping stays
	if err := reserve(file, size); err != nil {
		return nil, fault.New("no-room", "no room for %d MB of rows in %s: %w", size/1e6, folderOf(file), err)
	}
	return MapFile[T](file, n)
}

// MapFile maps the first n values of a file, which must be that long.
func MapFile[T Number](file *os.File, n int) ([]T, error) {
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

// Unmap gives back an array of Map or MapFile, which must not be used any more.
func Unmap[T Number](s []T) error {
	if len(s) == 0 {
		return nil
	}
	return unmapBytes(Bytes(s))
}

// Fetch begins to read a part of a mapped array that will be needed soon.
func Fetch[T Number](s []T) {
	if len(s) == 0 {
		return
	}
	b := Bytes(s)
	page := uintptr(os.Getpagesize())
	if before := uintptr(unsafe.Pointer(&b[0])) % page; before > 0 { // the part of the mapping begins earlier
		if uintptr(len(b)) <= page-before {
			return
		}
		b = b[page-before:]
	}
	fetchBytes(b)
}

// Bytes lends the memory of an array.
func Bytes[T Number](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(*new(T))))
}

// bytesOf is the size of an array of n values.
func bytesOf[T Number](n int) (int64, error) {
	each := int64(unsafe.Sizeof(*new(T)))
	if n < 0 || int64(n) > math.MaxInt/each {
		return 0, fmt.Errorf("%d values of %d bytes are more than a process of %d bits can address", n, each,
			8*unsafe.Sizeof(n))
	}
	return int64(n) * each, nil
}

// folderOf is the folder that a temporary file was made in.
func folderOf(file *os.File) string {
	name := file.Name()
	for i := len(name) - 1; i > 0; i-- {
		if os.IsPathSeparator(name[i]) {
			return name[:i]
		}
	}
	return "this folder"
}

// writeZeros takes the room of a file by writing it.
func writeZeros(file *os.File, size int64) error {
	zeros := make([]byte, min(size, 1<<20))
	for at := int64(0); at < size; at += int64(len(zeros)) {
		if _, err := file.WriteAt(zeros[:min(size-at, int64(len(zeros)))], at); err != nil {
			return err
		}
	}
	return nil
}
