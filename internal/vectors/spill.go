package vectors

import (
	"errors"
	"fmt"
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
	near   int64                     // bytes that arrays may still take in memory
	inside int64                     // bytes they have taken
	mapped int64                     // bytes in files
	most   int64                     // the maximum of mapped
	files  map[unsafe.Pointer][]byte // by the first value
}

// NewSpill returns a Spill with its files in a folder, or in the system's temporary folder if that is "".
func NewSpill(folder string) *Spill {
	return &Spill{folder: folder, files: map[unsafe.Pointer][]byte{}}
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
	for at, file := range m.files {
		all = append(all, unmapBytes(file))
		delete(m.files, at)
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
	if int64(int(size)) != size {
		return nil, fmt.Errorf("%d values are more than a process of %d bits can address", n, 8*unsafe.Sizeof(n))
	}
	file, err := newFile(m.folder, int(size))
	if err != nil {
		return nil, err
	}
	at := unsafe.Pointer(unsafe.SliceData(file))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[at] = file
	m.mapped += size
	m.most = max(m.most, m.mapped)
	return unsafe.Slice((*T)(at), n), nil
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

// Release frees one array returned by Alloc, which must not be used afterwards. It ignores other arrays.
func Release[T Number](m *Spill, s []T) error {
	if m == nil || len(s) == 0 {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at := unsafe.Pointer(&s[0])
	file, ok := m.files[at]
	if !ok {
		return nil
	}
	delete(m.files, at)
	m.mapped -= int64(len(file))
	return unmapBytes(file)
}

// Append is append for a list that grows row by row. With a Spill, it lies in files once it is large.
func Append[T Number](m *Spill, list []T, values ...T) ([]T, error) {
	if m != nil && len(list)+len(values) > cap(list) {
		room, err := Alloc[T](m, max(2*cap(list), len(list)+len(values), 1<<10))
		if err != nil {
			return nil, err
		}
		old := list
		list = room[:copy(room, old)]
		if err := Release(m, old); err != nil {
			return nil, err
		}
	}
	return append(list, values...), nil
}
