package cli

import "hashgrove/internal/par"

// CPUFeatures lists the processor features this program makes use of.
func CPUFeatures() []string { return par.CPUFeatures() }

// PeakMemory returns the most memory that the process has had, in bytes.
func PeakMemory() int64 { return par.PeakMemory() }
