// Package budgettest holds what tests run to a budget of memory and time. A reader of a hostile file that gives the
// right error after it took ten gigabytes, or an hour, has failed all the same.
package budgettest

import (
	"runtime"
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
