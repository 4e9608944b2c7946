package gpu

import (
	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/par"
)

// work is what a bit takes, by the number of steps that take nearly all of the time.
type work struct {
	updates float64 // rows added to histograms
	rows    float64 // rows that are weighed, moved and put into leaves
	steps   float64 // one after the other: kernels of a device, or loops shared by the cores
}

// workOf estimates the work of a bit.
func workOf(rows, dim int, o boost.Options) work {
	columns, isLazy := o.Candidates(dim)
	trees, levels := float64(o.Rounds), float64(o.Depth)
	passes := (1 + levels) / 2 // only the smaller of two siblings is counted
	if isLazy {
		passes = levels
	}
	return work{
		updates: trees * passes * float64(rows) * float64(columns),
		rows:    trees * (levels + 4) * float64(rows),
		steps:   trees * (float64(4*levels) + 6),
	}
}

// What a step takes, in seconds. Those of the device were measured on an H200 of 132 units, those of the cores on cores
// of a Xeon with AVX-512; they need not be right, since both engines give the same model.
const (
	coreUpdate   = 0.6e-9
	coreRow      = 2e-9
	coreStep     = 4e-6
	unitUpdate   = 0.18e-9
	unitRow      = 1e-9
	deviceStep   = 6e-6
	guessedUnits = 32 // of a device that is not known yet

	// worthStarting is how long a bit takes on the cores for a device to be started, which takes a second or two.
	worthStarting = 0.05

	// sooner is how much longer the cores must take for the device to be used.
	sooner = 1.3
)

// cores estimates the seconds of a bit on the cores.
func (w work) cores(threads int) float64 {
	shared := float64(w.updates*coreUpdate) + float64(w.rows*coreRow)
	return shared/float64(par.Threads(threads)) + float64(w.steps*coreStep)
}

// device estimates the seconds of a bit on a device.
func (w work) device(units int) float64 {
	shared := float64(w.updates*unitUpdate) + float64(w.rows*unitRow)
	return shared/float64(units) + float64(w.steps*deviceStep)
}

// isSooner reports whether a device is sooner than the cores.
func (w work) isSooner(units, threads int) bool { return w.cores(threads) > sooner*w.device(units) }
