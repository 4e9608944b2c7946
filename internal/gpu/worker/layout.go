//go:build (linux || darwin || windows) && (amd64 || arm64)

package worker

import (
	_ "embed"

	"hashgrove/internal/gpu/frame"
	"hashgrove/internal/gpu/opencl"
)

// memory is the memory of the device, all of which the kernels' arguments name.
type memory struct {
	job, state, tree, z, u, score, leaf, said, mass, signedMass, chance, magnitudes, list, keys, histograms,
	gains, bests, sums, features, bins, leaves, digits, units, results opencl.Buffer
	node [2]opencl.Buffer // of the rows, in levels of even and of odd depth
}

// job has the layout of Job in round.cl.
type job struct {
	scale, room, swelled, trim                                         float64
	rowLimit                                                           uint64
	ridge, rate                                                        int64
	n, k, depth, splits, least, most, topMargin, topLeaf, rowBits      int32
	isLogistic, isLazy, isTrimmed, hasShare, isCoarse, isDrawn, stride int32
}

// state has the layout of State in round.cl.
type state struct {
	round, edge         int32
	limit, listed       uint32
	leastMass, leastRow int32
}

// The sizes of the kernels.
const (
	items      = 256  // in a group
	mostItems  = 1024 // in a group of answers
	histBins   = 256
	magnitudes = 2048
	width      = 16
	blockRows  = 4096
	treeWords  = 3 + 9*frame.Nodes // of Tree in round.cl
)

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
