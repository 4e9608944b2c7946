// Package gpu trains on a GPU: it gives package boost an engine whose trees are those of the cores, to the last bit.
//
//	device.go    the device of a training: found, chosen, lost
//	engine.go    the engine, on the training's side
//	child.go     the process that holds the device, with a watchdog
//	frame/       what both sides say to each other
//	worker/      the other side, which answers, and the kernels
//	opencl/      the machine's OpenCL library, without cgo
package gpu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/gpu/frame"
	"hashgrove/internal/vectors"
)

// AnyDevice is a variable of the environment: if it is set, a processor that has OpenCL will do for a GPU. It is slower
// than the cores themselves, and meant for tests.
const AnyDevice = "HASHGROVE_ANY_OPENCL"

// Program is the name of the program that holds the device.
const Program = "hashgrove-gpu"

// Device is a device for one training or several. It is safe for concurrent use.
type Device struct {
	mu    sync.Mutex
	child *child
	notes []string
	note  func(string)
}

// silence is how long the device may take for one answer, which is a tree or a copy of the columns.
var silence = time.Minute

// Open starts the program that holds the device. The function is told what goes wrong later; it may be nil.
func Open(ctx context.Context, note func(string)) (*Device, error) {
	program, err := find()
	if err != nil {
		return nil, err
	}
	c, err := start(ctx, program, environment(), silence)
	if err != nil {
		return nil, err
	}
	return &Device{child: c, note: note}, nil
}

// find returns the path of the program: beside this one, or on the PATH.
func find() (string, error) {
	name := Program
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if self, err := os.Executable(); err == nil {
		if self, err = filepath.EvalSymlinks(self); err == nil {
			beside := filepath.Join(filepath.Dir(self), name)
			if f, err := os.Stat(beside); err == nil && !f.IsDir() {
				return beside, nil
			}
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s is neither beside this program nor on the PATH", name)
	}
	return path, nil
}

// environment adds NVIDIA's library to what OpenCL's loader looks for: some drivers come without the entry that tells the
// loader of it. The loader passes over a library that is not there.
func environment() []string {
	const key = "OCL_ICD_FILENAMES"
	if os.Getenv(key) != "" || runtime.GOOS != "linux" {
		return nil
	}
	return []string{key + "=libnvidia-opencl.so.1"}
}

// frame.About describes the device.
func (d *Device) About() frame.About { return d.child.hello }

// Notes returns what went wrong, in words.
func (d *Device) Notes() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.notes...)
}

// Engine implements boost.Device.
func (d *Device) Engine(ctx context.Context, x *vectors.Columns, o boost.Options) (boost.Engine, error) {
	if why := o.Unsuited(x.Rows); why != "" {
		return nil, errors.New(why)
	}
	e, err := newEngine(ctx, d.child, x, o)
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Lost implements boost.Device.
func (d *Device) Lost(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	text := fmt.Sprintf("the processor goes on in place of %s: %v", d.child.hello.Name, err)
	d.notes = append(d.notes, text)
	if d.note != nil {
		d.note(text)
	}
}

// Close releases the device.
func (d *Device) Close() { d.child.close() }
