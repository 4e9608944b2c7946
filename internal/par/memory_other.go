//go:build !unix

package par

import "runtime"

// PeakMemory approximates the peak memory of the process by what the Go runtime obtained from the system.
func PeakMemory() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}
