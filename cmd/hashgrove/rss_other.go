//go:build !unix

package main

import "runtime"

// peakRSS is about the most memory the process has held: what the Go runtime asked the system for.
func peakRSS() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}
