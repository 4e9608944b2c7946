package worker

import _ "embed"

// source is the program of the device. It is compiled by the device's driver.
//
//go:embed trees.cl
var source string
