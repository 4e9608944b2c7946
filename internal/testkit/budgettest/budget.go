// Package budgettest holds code to a budget of memory and time. A reader that rejects a hostile file only after it took
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

// Patience is the time that work of a second may take on a machine that is busy with other things. What the tests
// guard against takes far longer: minutes, or more.
const Patience = 30 * time.Second

// Within runs f and reports when it took more memory, all in all, or far more time than its input can be worth. All
// that was ever taken is counted, whether it was given back or not: never less than the peak, and the same in every
// run.
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

// Peak is Within for work that takes memory again and again and may do so: it counts what is in use at the same time,
// which it looks at every millisecond. What is not in use is collected from half of the budget on.
func Peak(t testing.TB, memory uint64, f func()) {
	t.Helper()
	runtime.GC() // or its garbage would count as room
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

// inUse is the memory of objects that were not found to be garbage.
func inUse() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
