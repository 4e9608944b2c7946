package par

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestTeamVisitsEveryTurnOnce runs many loops in a row with teams of fewer and more workers than cores, with breaks
// longer than workers wait.
func TestTeamVisitsEveryTurnOnce(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(6))
	for _, threads := range []int{0, 1, 2, 5, 6, 64} {
		team := NewTeam(threads)
		for loop := range 300 {
			n := []int{0, 1, 2, 63, 1000}[loop%5]
			seen := make([]atomic.Int32, n)
			team.For(n, func(i int) { seen[i].Add(1) })
			for i := range seen {
				if seen[i].Load() != 1 {
					t.Fatalf("threads %d, loop %d: turn %d of %d ran %d times", threads, loop, i, n, seen[i].Load())
				}
			}
			if loop%100 == 99 {
				time.Sleep(2 * teamPatience)
			}
		}
	}
}

func TestTeamBlocksCoverTheRange(t *testing.T) {
	var sum atomic.Int64
	NewTeam(3).Blocks(1001, 64, func(b, lo, hi int) {
		if lo != b*64 || hi-lo > 64 || hi <= lo {
			t.Errorf("block %d is [%d, %d)", b, lo, hi)
		}
		for i := lo; i < hi; i++ {
			sum.Add(int64(i))
		}
	})
	if sum.Load() != 1001*1000/2 {
		t.Errorf("sum %d", sum.Load())
	}
}

// TestTeamEnds: workers that find no other loop exit soon, and there are never more than requested.
func TestTeamEnds(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	before := runtime.NumGoroutine()
	team := NewTeam(8)
	for range 500 {
		team.For(40, func(int) {})
		if n := team.present.Load(); n > 8 { // one may be counted that is about to leave
			t.Fatalf("%d workers beside the caller in a team of 8", n)
		}
	}
	for end := time.Now().Add(10 * time.Second); team.present.Load() > 0 || runtime.NumGoroutine() > before; {
		if time.Now().After(end) {
			t.Fatalf("%d workers and %d goroutines are left", team.present.Load(), runtime.NumGoroutine()-before)
		}
		time.Sleep(time.Millisecond)
	}
	team.For(40, func(int) {}) // it starts anew
}

func TestTeamRaisesPanics(t *testing.T) {
	for _, threads := range []int{2, 4} {
		team := NewTeam(threads)
		func() {
			defer func() {
				if p := recover(); p == nil || !strings.Contains(p.(string), "slip") {
					t.Errorf("recovered %v", p)
				}
			}()
			team.For(100, func(i int) {
				if i == 50 {
					panic("slip")
				}
			})
		}()
		ran := atomic.Int32{}
		if team.For(100, func(int) { ran.Add(1) }); ran.Load() != 100 {
			t.Errorf("%d of 100 turns after a panic", ran.Load())
		}
	}
}
