package gpu

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

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

// environment adds NVIDIA's library to what OpenCL's loader looks for: some drivers come without the entry that tells
// the loader of it. The loader passes over a library that is not there.
func environment() []string {
	const key = "OCL_ICD_FILENAMES"
	if os.Getenv(key) != "" || runtime.GOOS != "linux" {
		return nil
	}
	return []string{key + "=libnvidia-opencl.so.1"}
}
