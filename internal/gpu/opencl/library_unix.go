//go:build (linux || darwin) && (amd64 || arm64)

package opencl

import (
	"errors"

	"github.com/ebitengine/purego"
)

// library is an open library.
type library uintptr

// open opens the machine's OpenCL, under the names it has on Linux and macOS.
func open() (library, error) {
	var all error
	for _, name := range []string{"libOpenCL.so.1", "libOpenCL.so", "/System/Library/Frameworks/OpenCL.framework/OpenCL"} {
		h, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err == nil {
			return library(h), nil
		}
		all = errors.Join(all, err)
	}
	return 0, all
}

func (l library) symbol(name string) (uintptr, error) { return purego.Dlsym(uintptr(l), name) }
