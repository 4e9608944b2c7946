package gpu

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"
)

// shared is the child of this process. Starting one takes a second or two, mostly for the driver, so trainings that
// follow each other share it, and it ends when none has needed it for a while.
var shared struct {
	sync.Mutex
	child *child
	users int
	end   *time.Timer
}

// idle is how long a child without a training lives on.
const idle = 10 * time.Second

// silence is how long the device may take for one answer, which is a tree or a copy of the columns.
const silence = time.Minute

// borrow returns the child of this process.
func borrow(ctx context.Context) (*child, error) {
	shared.Lock()
	defer shared.Unlock()
	if shared.child == nil || shared.child.isGone() {
		program, err := find()
		if err != nil {
			return nil, err
		}
		c, err := start(ctx, program, environment(), silence)
		if err != nil {
			return nil, err
		}
		shared.child, shared.users = c, 0
	}
	if shared.end != nil {
		shared.end.Stop()
	}
	shared.users++
	return shared.child, nil
}

// giveBack returns a child.
func giveBack(c *child) {
	shared.Lock()
	defer shared.Unlock()
	if c != shared.child {
		c.close()
		return
	}
	if shared.users--; shared.users > 0 {
		return
	}
	shared.end = time.AfterFunc(idle, func() {
		shared.Lock()
		defer shared.Unlock()
		if c == shared.child && shared.users == 0 {
			c.close()
			shared.child = nil
		}
	})
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

// environment adds NVIDIA's library to what OpenCL's loader looks for: some drivers come without the entry that tells
// the loader of it. The loader passes over a library that is not there.
func environment() []string {
	const key = "OCL_ICD_FILENAMES"
	if os.Getenv(key) != "" || runtime.GOOS != "linux" {
		return nil
	}
	return []string{key + "=libnvidia-opencl.so.1"}
}
