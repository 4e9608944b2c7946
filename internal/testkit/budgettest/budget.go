// Package budgettest holds code to a budget of memory and time. A reader that rejects a hostile file only after taking
// ten gigabytes, or an hour, has failed all the same.
package budgettest

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

// MiB is a mebibyte.
const MiB = 1 << 20

// Patience is how long a second's work may take on a busy machine. The failures that tests guard against take far
// longer: minutes or more.
const Patience = 30 * time.Second

// Within runs f and fails the test if it takes more memory in total, or far more time, than its input warrants. It
// counts all allocations, whether freed or not: never less than the peak, and the same in every run.
func Within(t testing.TB, memory uint64, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	f()
	took := time.Since(began)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > memory {
		t.Errorf("it took %d MiB of memory, and may take %d", n/MiB, memory/MiB)
	}
	if took > Patience {
		t.Errorf("it took %v", took.Round(time.Second))
	}
}

// Peak is Within for work that may allocate and free repeatedly: it counts the memory in use at the same time, sampled
// every millisecond. Garbage is collected from half of the budget on.
func Peak(t testing.TB, memory uint64, f func()) {
	t.Helper()
	runtime.GC() // or its garbage would count
	before := inUse()
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(int64(before + memory/2)))
	peak, done, ended := before, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for tick := time.Tick(time.Millisecond); ; {
			select {
			case <-done:
				return
			case <-tick:
				peak = max(peak, inUse())
			}
		}
	}()
	began := time.Now()
	f()
	took := time.Since(began)
	close(done)
	<-ended
	if n := peak - before; n > memory {
		t.Errorf("it held %d MiB of memory at the same time, and may hold %d", n/MiB, memory/MiB)
	}
	if took > Patience {
		t.Errorf("it took %v", took.Round(time.Second))
	}
}

// inUse returns the memory of objects not yet found to be garbage.
func inUse() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
