//go:build (linux || darwin || windows) && (amd64 || arm64)

package opencl

import (
	"fmt"
	"runtime"
	"strings"
	"unsafe"
)

// Queue runs kernels of one program on a device, in sequence.
type Queue struct {
	Device  Device
	context uintptr
	queue   uintptr
	program uintptr
}

// NewQueue compiles a program for a device.
func NewQueue(d Device, source, options string) (*Queue, error) {
	q := &Queue{Device: d}
	ids := []uintptr{d.id}
	var err error
	if q.context, err = create("clCreateContext", 0, 1, address(&ids[0]), 0, 0); err != nil {
		return nil, err
	}
	if q.queue, err = create("clCreateCommandQueue", q.context, d.id, 0); err != nil {
		return nil, err
	}
	text := append([]byte(source), 0)
	at := []*byte{&text[0]}
	defer runtime.KeepAlive(&ids)
	q.program, err = create("clCreateProgramWithSource", q.context, 1, address(&at[0]), 0)
	if err != nil {
		return nil, err
	}
	how := append([]byte(options), 0)
	err = call("clBuildProgram", q.program, 1, address(&ids[0]), address(&how[0]), 0, 0)
	runtime.KeepAlive(at)
	runtime.KeepAlive(how)
	if err != nil {
		log := make([]byte, 64<<10)
		var n uintptr
		call("clGetProgramBuildInfo", q.program, d.id, programBuildLog, uintptr(len(log)),
			address(&log[0]), address(&n))
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(strings.TrimRight(string(log[:n]), "\x00")))
	}
	return q, nil
}

// Buffer is memory of a device.
type Buffer struct {
	id    uintptr
	Bytes int64
}

// Alloc allocates memory, at least one byte.
func (q *Queue) Alloc(bytes int64) (Buffer, error) {
	bytes = max(bytes, 16)
	id, err := create("clCreateBuffer", q.context, memReadWrite, uintptr(bytes), 0)
	return Buffer{id, bytes}, err
}

// Free releases memory; no error stops it.
func (b Buffer) Free() {
	if b.id != 0 {
		call("clReleaseMemObject", b.id)
	}
}

// Write copies values to memory, from a byte on, and returns when they may be changed.
func Write[T any](q *Queue, b Buffer, at int64, values []T) error {
	return move("clEnqueueWriteBuffer", q, b, at, values)
}

// Read copies memory to values, from a byte on, and returns when they are there.
func Read[T any](q *Queue, b Buffer, at int64, values []T) error {
	return move("clEnqueueReadBuffer", q, b, at, values)
}

// move copies values to or from memory with a function for that.
func move[T any](name string, q *Queue, b Buffer, at int64, values []T) error {
	if len(values) == 0 {
		return nil
	}
	bytes := int64(len(values)) * int64(unsafe.Sizeof(values[0]))
	if at+bytes > b.Bytes {
		panic("opencl: " + name + " past the end of a buffer")
	}
	err := call(name, q.queue, b.id, 1, uintptr(at), uintptr(bytes), address(&values[0]), 0, 0, 0)
	runtime.KeepAlive(values)
	return err
}

// Fill sets all bytes of memory to a value.
func (q *Queue) Fill(b Buffer, value byte) error {
	pattern := []byte{value}
	err := call("clEnqueueFillBuffer", q.queue, b.id, address(&pattern[0]), 1, 0,
		uintptr(b.Bytes), 0, 0, 0)
	runtime.KeepAlive(pattern)
	return err
}

// Copy copies the first bytes of memory to other memory.
func (q *Queue) Copy(to, from Buffer, bytes int64) error {
	return call("clEnqueueCopyBuffer", q.queue, from.id, to.id, 0, 0, uintptr(bytes), 0, 0, 0)
}

// Flush starts what is queued.
func (q *Queue) Flush() error { return call("clFlush", q.queue) }

// Kernel is a kernel with its arguments and the size of its grid.
type Kernel struct {
	id    uintptr
	name  string
	sizes *[2]uintptr // work-items in all and in a group
	queue uintptr
}

// Kernel returns a kernel of the program that runs as a number of groups. An argument is a Buffer, an int32 or an
// int64; a Buffer without memory is a null pointer.
func (q *Queue) Kernel(name string, groups, items int, args ...any) (*Kernel, error) {
	text := append([]byte(name), 0)
	id, err := create("clCreateKernel", q.program, address(&text[0]))
	runtime.KeepAlive(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	k := &Kernel{id: id, name: name, queue: q.queue, sizes: &[2]uintptr{uintptr(groups * items), uintptr(items)}}
	for i, a := range args {
		if err := k.set(i, a); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// set sets an argument.
func (k *Kernel) set(i int, value any) error {
	var size uintptr
	word := new(uint64) // this machine keeps the lowest byte first, as all that have OpenCL do
	switch v := value.(type) {
	case Buffer:
		size, *word = unsafe.Sizeof(v.id), uint64(v.id)
	case int32:
		size, *word = 4, uint64(uint32(v))
	case int64:
		size, *word = 8, uint64(v)
	default:
		panic(fmt.Sprintf("opencl: an argument of type %T", value))
	}
	err := call("clSetKernelArg", k.id, uintptr(i), size, address(word))
	runtime.KeepAlive(word)
	if err != nil {
		return fmt.Errorf("argument %d of %s: %w", i, k.name, err)
	}
	return nil
}

// Run queues the kernel.
func (k *Kernel) Run() error {
	err := call("clEnqueueNDRangeKernel", k.queue, k.id, 1, 0, address(&k.sizes[0]),
		address(&k.sizes[1]), 0, 0, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", k.name, err)
	}
	return nil
}
