//go:build (linux || darwin || windows) && (amd64 || arm64)

package worker

import _ "embed"

// The kernels, in the order in which they are compiled as one program, by the device's driver.
var (
	//go:embed round.cl
	roundSource string
	//go:embed splits.cl
	splitsSource string
	//go:embed leaves.cl
	leavesSource string
	//go:embed rows.cl
	rowsSource string

	source = roundSource + splitsSource + leavesSource + rowsSource
)
