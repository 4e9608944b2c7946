package par

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

func TestForVisitsEveryTurnOnce(t *testing.T) {
	for _, threads := range []int{0, 1, 2, 7, 64} {
		for _, n := range []int{0, 1, 2, 63, 1000} {
			seen := make([]atomic.Int32, n)
			if err := For(context.Background(), threads, n, func(i int) { seen[i].Add(1) }); err != nil {
				t.Fatal(err)
			}
			for i := range seen {
				if seen[i].Load() != 1 {
					t.Errorf("threads %d, n %d: turn %d ran %d times", threads, n, i, seen[i].Load())
				}
			}
		}
	}
}

func TestBlocksCoverTheRange(t *testing.T) {
	var sum atomic.Int64
	err := Blocks(context.Background(), 2, 1001, 64, func(b, lo, hi int) {
		if lo != b*64 || hi-lo > 64 || hi <= lo {
			t.Errorf("block %d is [%d, %d)", b, lo, hi)
		}
		for i := lo; i < hi; i++ {
			sum.Add(int64(i))
		}
	})
	if err != nil || sum.Load() != 1001*1000/2 {
		t.Errorf("sum %d, error %v", sum.Load(), err)
	}
}

// TestForStopsWhenCancelled: of the iterations after the one that cancels, only those that a worker had already taken
// run. Iterations from the tenth on wait for the end of the context, so it does not matter how long a worker is kept
// from cancelling.
func TestForStopsWhenCancelled(t *testing.T) {
	for _, threads := range []int{1, 2, 5} {
		stop := errors.New("enough")
		ctx, cancel := context.WithCancelCause(context.Background())
		var ran atomic.Int32
		err := For(ctx, threads, 1_000_000, func(int) {
			turn := ran.Add(1)
			if turn == 10 {
				cancel(stop)
			}
			if turn >= 10 {
				<-ctx.Done()
			}
		})
		if most := 10 + threads - 1; !errors.Is(err, stop) || int(ran.Load()) > most {
			t.Errorf("threads %d: error %v after %d turns, want at most %d", threads, err, ran.Load(), most)
		}
	}
}

// TestLoopsInALoop starts and ends loops while others run, on more workers than cores.
func TestLoopsInALoop(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(6))
	var sum atomic.Int64
	for range 50 {
		_ = For(context.Background(), 5, 7, func(i int) {
			_ = For(context.Background(), 6, 11, func(j int) { sum.Add(int64(i * j)) })
		})
	}
	if want := int64(50 * 21 * 55); sum.Load() != want {
		t.Errorf("sum %d, want %d", sum.Load(), want)
	}
}

func TestForRaisesPanics(t *testing.T) {
	defer func() {
		if p := recover(); p == nil || !strings.Contains(p.(string), "slip") {
			t.Errorf("recovered %v", p)
		}
	}()
	_ = For(context.Background(), 2, 100, func(i int) {
		if i == 50 {
			panic("slip")
		}
	})
}
