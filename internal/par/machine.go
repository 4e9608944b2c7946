package par

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Description names the processor and its number of cores, as in "2 cores of AMD EPYC".
func Description() string {
	name := runtime.GOARCH
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
				name = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%d cores of %s", runtime.NumCPU(), name)
}
