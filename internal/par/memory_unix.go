//go:build unix

package par

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// PeakMemory returns the most memory that the process has held, in bytes. Linux says it in /proc; what getrusage says
// there may be the peak of the program that started this one.
func PeakMemory() int64 {
	if b, err := os.ReadFile("/proc/self/status"); err == nil {
		_, rest, _ := strings.Cut(string(b), "VmHWM:")
		line, _, _ := strings.Cut(rest, "kB")
		if n, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64); err == nil {
			return n << 10
		}
	}
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(u.Maxrss)
	}
	return int64(u.Maxrss) * 1024
}
