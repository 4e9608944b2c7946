package vectors

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"
)

// Spill places arrays that grow with the number of rows in mapped temporary files, so that there can be more rows than
// memory holds. A nil *Spill means plain memory. Results never depend on it.
//
// Arrays that are constantly read and written from end to end stay in memory up to the size set by Allow, because files
// are several times slower for them; all others are in files. The files are unlinked at once, so nothing is left behind
// however the program ends.
type Spill struct {
	folder string

	mu     sync.Mutex
	near   int64 // bytes that arrays may still take in memory
	inside int64 // bytes they have taken
	mapped int64 // bytes in files
	most   int64 // the maximum of mapped
	unmap  map[unsafe.Pointer]func() error
}

// NewSpill returns a Spill with its files in a folder, or in the system's temporary folder if that is "".
func NewSpill(folder string) *Spill {
	return &Spill{folder: folder, unmap: map[unsafe.Pointer]func() error{}}
}

// Allow sets how many bytes arrays may take in memory from now on.
func (m *Spill) Allow(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.near = max(bytes, 0)
}

// Sizes returns the bytes in memory and the largest number of bytes that were in files at once.
func (m *Spill) Sizes() (inside, mapped int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.inside, m.most
}

// Close frees all arrays, which must not be used afterwards.
func (m *Spill) Close() error {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []error
	for at, unmap := range m.unmap {
		all = append(all, unmap())
		delete(m.unmap, at)
	}
	m.mapped = 0
	return errors.Join(all...)
}

// leastMapped is the smallest array, in bytes, that gets a file.
const leastMapped = 1 << 12

// Alloc returns n zeros: in a file, unless m is nil or n is small.
func Alloc[T Number](m *Spill, n int) ([]T, error) {
	size := int64(n) * int64(unsafe.Sizeof(*new(T)))
	if m == nil || size < leastMapped {
		return make([]T, n), nil
	}
	s, err := mapArray[T](m.folder, n)
	if err == nil {
		m.keep(unsafe.Pointer(&s[0]), size, func() error { return unmapArray(s) })
	}
	return s, err
}

// AllocHot is Alloc for an array that is used all the time: it stays in memory while Allow permits.
func AllocHot[T Number](m *Spill, n int) ([]T, error) {
	size := int64(n) * int64(unsafe.Sizeof(*new(T)))
	if m != nil && !m.grant(size) {
		return Alloc[T](m, n)
	}
	return make([]T, n), nil
}

func (m *Spill) grant(size int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if size > m.near {
		return false
	}
	m.near -= size
	m.inside += size
	return true
}

func (m *Spill) keep(at unsafe.Pointer, size int64, unmap func() error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unmap[at] = unmap
	m.mapped += size
	m.most = max(m.most, m.mapped)
}

// Release frees one array returned by Alloc, which must not be used afterwards. It ignores other arrays.
func Release[T Number](m *Spill, s []T) error {
	if m == nil || len(s) == 0 {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at := unsafe.Pointer(&s[0])
	unmap, ok := m.unmap[at]
	if !ok {
		return nil
	}
	delete(m.unmap, at)
	m.mapped -= int64(len(s)) * int64(unsafe.Sizeof(s[0]))
	return unmap()
}

// List collects an unknown number of values: in memory, or in a file if there are many and it has a Spill. The zero
// value is an empty list in memory.
type List[T Number] struct {
	Spill *Spill

	tail []T // not yet in the file
	n    int // values in the file
	file *os.File
}

// listTail is the number of values that a list with a Spill keeps in memory.
const listTail = 1 << 16

// Append adds values.
func (l *List[T]) Append(values ...T) error {
	l.tail = append(l.tail, values...)
	if l.Spill == nil || len(l.tail) < listTail {
		return nil
	}
	return l.flush()
}

// flush moves the tail to the file.
func (l *List[T]) flush() (err error) {
	if l.file == nil {
		if l.file, err = newFile(l.Spill.folder); err != nil {
			return err
		}
	}
	if _, err = l.file.Write(Bytes(l.tail)); err != nil {
		l.Close()
		return fmt.Errorf("spill row data: %w", err)
	}
	l.n += len(l.tail)
	l.tail = l.tail[:0]
	return nil
}

// Close frees the file of a list that is no longer needed.
func (l *List[T]) Close() {
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
}

// Slice returns all values, or nil if there are none. The list cannot be used afterwards.
func (l *List[T]) Slice() ([]T, error) {
	if l.file == nil {
		return l.tail, nil
	}
	defer l.Close()
	if err := l.flush(); err != nil {
		return nil, err
	}
	s, err := mapFile[T](l.file, l.n)
	if err != nil {
		return nil, err
	}
	l.Spill.keep(unsafe.Pointer(&s[0]), int64(len(s))*int64(unsafe.Sizeof(s[0])), func() error { return unmapArray(s) })
	return s, nil
}
