//go:build !unix

package machine

import "runtime"

// PeakMemory is about the most memory the process has held: what the Go runtime asked the system for.
func PeakMemory() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}
