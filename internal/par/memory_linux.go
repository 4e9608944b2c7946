package par

import (
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Memory returns the bytes of memory that this process may use at most: those of the machine, or of the control group
// that it runs in, as in a container. 0 means unknown.
func Memory() int64 {
	var s syscall.Sysinfo_t
	if syscall.Sysinfo(&s) != nil {
		return 0
	}
	most := int64(min(uint64(s.Totalram)*uint64(s.Unit), math.MaxInt64))
	for _, name := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		most = min(most, limitIn(name))
	}
	return most
}

// limitIn returns the number in a file, or the greatest number if there is none.
func limitIn(name string) int64 {
	b, err := os.ReadFile(name)
	if err != nil {
		return math.MaxInt64
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil || n <= 0 {
		return math.MaxInt64 // "max"
	}
	return n
}
