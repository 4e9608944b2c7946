//go:build (linux || darwin || windows) && (amd64 || arm64)

package opencl

import "golang.org/x/sys/windows"

// library is an open library.
type library windows.Handle

// open opens the machine's OpenCL, which a driver puts into the system's folder.
func open() (library, error) {
	h, err := windows.LoadLibraryEx("OpenCL.dll", 0, windows.LOAD_LIBRARY_SEARCH_SYSTEM32)
	return library(h), err
}

func (l library) symbol(name string) (uintptr, error) {
	return windows.GetProcAddress(windows.Handle(l), name)
}
