package fasthash

import (
	"context"
	"math"
	"testing"
	"time"

	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// TestEstimates: a cost is positive, and twice the rows cost more memory.
func TestEstimates(t *testing.T) {
	x := vectors.Matrix{Rows: 100, Cols: 3, Data: make([]float32, 300)}
	for i := range x.Data {
		x.Data[i] = float32(i * 7 % 31)
	}
	d, err := supervision.Scan(context.Background(), x, supervision.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	seconds, err := EstimateSeconds(context.Background(), x, d, 1)
	if err != nil || seconds <= 0 {
		t.Errorf("%v seconds, %v", seconds, err)
	}
	few := EstimateBytes(d)
	d.Rows *= 2
	if many := EstimateBytes(d); few <= 0 || many <= few {
		t.Errorf("%d bytes, and %d for twice the rows", few, many)
	}
}

// swift is a device that is many times as fast as the cores.
type swift struct{ boost.Device }

func (swift) Speed(context.Context, int, int, boost.Options) float64 { return 1e6 }

// TestEstimateKnowsTheDevice: what takes long on the cores may be soon done on a device.
func TestEstimateKnowsTheDevice(t *testing.T) {
	x, labels := slanted(200, 400, 1)
	d := scanned(t, vectors.WithLabels(x, labels))
	o := Options{Bits: 1024, Effort: Paper, Threads: 1, Trees: boost.Options{Rounds: 1000}}
	cores, err := o.EstimateSeconds(t.Context(), x, d)
	if err != nil {
		t.Fatal(err)
	}
	o.Device = swift{}
	if device, err := o.EstimateSeconds(t.Context(), x, d); err != nil || device > cores/100 {
		t.Errorf("%v s on the device, %v s on the cores, %v", device, cores, err)
	}
}

// TestEstimateKnowsCandidatesAndColumns: what the default effort adds to the trees takes time, too. Here there is one bit
// of one tree, so that nearly all of it is the fits of columns, tens of systems of equations.
func TestEstimateKnowsCandidatesAndColumns(t *testing.T) {
	x, labels := slanted(200, 400, 1)
	d := scanned(t, vectors.WithLabels(x, labels))
	estimate := func(change func(o *Options)) float64 {
		t.Helper()
		o := Options{Bits: 1, Effort: Paper, Threads: 1, Trees: boost.Options{Rounds: 1, Depth: 1}}
		change(&o)
		seconds, err := o.EstimateSeconds(t.Context(), x, d)
		if err != nil {
			t.Fatal(err)
		}
		return seconds
	}
	off := math.Inf(1)
	for range 5 { // the least: others may use the machine
		off = min(off, estimate(func(o *Options) { o.LinearColumns = LinearOff }))
	}
	for _, kind := range []string{LinearScores, LinearAuto, KernelScores, KernelAuto} {
		if with := estimate(func(o *Options) { o.LinearColumns = kind }); with < 3*off {
			t.Errorf("%s: %v s, without columns %v s", kind, with, off)
		}
	}
	took, said := math.Inf(1), math.Inf(1)
	for try := 0; try < 10 && (said < took/10 || said > 10*took || try == 0); try++ {
		began := time.Now()
		m := Method{Options{Bits: 1, Threads: 1, LinearColumns: KernelScores, Trees: boost.Options{Rounds: 1}}, Run{}}
		mustTrain(t, m, d)
		took = min(took, time.Since(began).Seconds())
		said = min(said, estimate(func(o *Options) { o.LinearColumns = KernelScores }))
	}
	if said < took/10 || said > 10*took {
		t.Errorf("kernel columns take %v s, estimated %v s", took, said)
	}
}

// TestEstimateByCoarseClock: the clock of Windows stands still for milliseconds, and yet nothing takes no time.
func TestEstimateByCoarseClock(t *testing.T) {
	looks := 0
	now = func() time.Time { // it ticks at every 20th look
		looks++
		return time.Time{}.Add(time.Duration(looks/20) * 5 * time.Millisecond)
	}
	defer func() { now = time.Now }()
	for range 5 {
		if took, err := timed(func() error { return nil }); err != nil || took <= 0 || took > 0.005 {
			t.Errorf("%v, %v", took, err)
		}
	}
}
