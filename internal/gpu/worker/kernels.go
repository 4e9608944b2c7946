//go:build (linux || darwin || windows) && (amd64 || arm64)

package worker

import _ "embed"

// source is the program of the device. It is compiled by the device's driver.
//
//go:embed trees.cl
var source string
