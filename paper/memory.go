package paper

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// The most memory that a stage held is the peak of the whole process since the stage began, which Linux reports
// and resets. Elsewhere it is not known, and 0.

// resetPeak starts a stage: what earlier stages held goes back first.
func resetPeak() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // an old kernel keeps the peak of the process
}

// peakMemory is the most memory held since resetPeak, in bytes.
func peakMemory() int64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	line, _, _ := strings.Cut(rest, "\n")
	kilobytes, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line), "kB")), 10, 64)
	if err != nil {
		return 0
	}
	return kilobytes << 10
}
