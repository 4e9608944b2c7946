//go:build (linux || darwin || windows) && (amd64 || arm64)

// Package opencl calls the OpenCL library of the machine without cgo: what package gpu needs of it, and no more. Only
// hashgrove-gpu imports it, since it makes a program need the machine's dynamic linker.
package opencl

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Numbers of the OpenCL headers.
const (
	deviceTypeCPU = 1 << 1
	deviceTypeGPU = 1 << 2

	deviceMaxComputeUnits  = 0x1002
	deviceMaxWorkGroupSize = 0x1004
	deviceMaxAllocSize     = 0x1010
	deviceGlobalMemSize    = 0x101F
	deviceLocalMemSize     = 0x1023
	deviceName             = 0x102B
	deviceExtensions       = 0x1030

	programBuildLog = 0x1183
	memReadWrite    = 1
)

// functions are the entry points that are used, by name.
var functions = map[string]uintptr{
	"clGetPlatformIDs": 0, "clGetDeviceIDs": 0, "clGetDeviceInfo": 0, "clCreateContext": 0, "clCreateCommandQueue": 0,
	"clCreateProgramWithSource": 0, "clBuildProgram": 0, "clGetProgramBuildInfo": 0, "clCreateKernel": 0,
	"clCreateBuffer": 0, "clSetKernelArg": 0, "clEnqueueNDRangeKernel": 0, "clEnqueueWriteBuffer": 0,
	"clEnqueueReadBuffer": 0, "clEnqueueFillBuffer": 0, "clEnqueueCopyBuffer": 0, "clFlush": 0, "clReleaseMemObject": 0,
}

// Load opens the library of the machine.
func Load() error {
	library, err := open()
	if err != nil {
		return fmt.Errorf("no OpenCL on this machine: %w", err)
	}
	for name := range functions {
		if functions[name], err = library.symbol(name); err != nil {
			return fmt.Errorf("this machine's OpenCL is too old: %w", err)
		}
	}
	return nil
}

// Error is an error number of OpenCL.
type Error struct {
	Call string
	Code int32
}

// names of error numbers that users meet.
var names = map[int32]string{
	-1: "no device was found", -2: "the device is not available", -4: "the device has not enough memory",
	-5: "the device has run out of resources", -6: "the host has not enough memory", -11: "the kernels do not compile",
	-36: "the device was lost", -54: "the device cannot run groups of this size",
	-61:   "the device has no buffers this large",
	-9999: "a kernel read or wrote where it must not",
}

func (e *Error) Error() string {
	if name, ok := names[e.Code]; ok {
		return fmt.Sprintf("%s (OpenCL: %s %d)", name, e.Call, e.Code)
	}
	return fmt.Sprintf("OpenCL: %s failed with %d", e.Call, e.Code)
}

// call calls a function that returns an error number.
func call(name string, args ...uintptr) error {
	r, _, _ := purego.SyscallN(functions[name], args...)
	if code := int32(r); code != 0 {
		return &Error{name, code}
	}
	return nil
}

// create calls a function that returns a handle and writes an error number to its last argument, which is added here.
func create(name string, args ...uintptr) (uintptr, error) {
	code := new(int32)
	h, _, _ := purego.SyscallN(functions[name], append(args, address(code))...)
	if *code != 0 {
		return 0, &Error{name, *code}
	}
	return h, nil
}

// Device is a device of the machine.
type Device struct {
	id     uintptr
	Name   string
	IsGPU  bool
	Units  int   // multiprocessors or cores
	Group  int   // most work-items in a group
	Memory int64 // bytes
	Buffer int64 // most bytes in a buffer
	Local  int64 // bytes of local memory
	Double bool  // computes in double precision
}

// Devices lists the devices of all platforms, GPUs first, the largest of them first.
func Devices() ([]Device, error) {
	var count uint32
	if err := call("clGetPlatformIDs", 0, 0, address(&count)); err != nil {
		return nil, err
	}
	platforms := make([]uintptr, max(count, 1))
	if err := call("clGetPlatformIDs", uintptr(count), address(&platforms[0]), 0); err != nil {
		return nil, err
	}
	var all []Device
	for _, kind := range []uintptr{deviceTypeGPU, deviceTypeCPU} {
		for _, p := range platforms[:count] {
			ids := make([]uintptr, 16)
			var n uint32
			err := call("clGetDeviceIDs", p, kind, uintptr(len(ids)), address(&ids[0]), address(&n))
			if e := (*Error)(nil); errors.As(err, &e) && e.Code == -1 {
				continue
			} else if err != nil {
				return nil, err
			}
			for _, id := range ids[:min(int(n), len(ids))] {
				all = append(all, describe(id, kind == deviceTypeGPU))
			}
		}
	}
	return all, nil
}

func describe(id uintptr, isGPU bool) Device {
	return Device{
		id: id, IsGPU: isGPU, Name: text(id, deviceName),
		Units: int(number(id, deviceMaxComputeUnits)), Group: int(number(id, deviceMaxWorkGroupSize)),
		Memory: number(id, deviceGlobalMemSize), Buffer: number(id, deviceMaxAllocSize),
		Local:  number(id, deviceLocalMemSize),
		Double: strings.Contains(text(id, deviceExtensions), "cl_khr_fp64"),
	}
}

// text returns a text about a device, or "".
func text(id uintptr, what uintptr) string {
	buf := make([]byte, 16<<10)
	var n uintptr
	if call("clGetDeviceInfo", id, what, uintptr(len(buf)), address(&buf[0]), address(&n)) != nil {
		return ""
	}
	return strings.TrimSpace(strings.TrimRight(string(buf[:n]), "\x00"))
}

// number returns a number about a device, or 0.
func number(id uintptr, what uintptr) int64 {
	var v int64 // large enough for all of them; the shorter ones fill its lower half
	if call("clGetDeviceInfo", id, what, 8, address(&v), 0) != nil {
		return 0
	}
	return v
}

// address returns where a value lies. It moves the value to the heap, as a stack may be moved before it is used; the
// caller must use the value, or keep it alive, after the call.
func address[T any](v *T) uintptr {
	if never {
		sink = unsafe.Pointer(v)
	}
	return uintptr(unsafe.Pointer(v))
}

var (
	never bool
	sink  unsafe.Pointer
)
