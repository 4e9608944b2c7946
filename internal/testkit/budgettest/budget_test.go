package budgettest

import (
	"testing"
	"time"
)

// recorder notes that a test failed, and lets this one go on.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }

var sink []byte

func TestBudgets(t *testing.T) {
	hold := func(n int) func() {
		return func() {
			sink = make([]byte, n)
			time.Sleep(400 * time.Millisecond)
			sink = nil
		}
	}
	churn := func() {
		for range 1024 {
			sink = make([]byte, MiB/4)
		}
		sink = nil
	}
	for _, c := range []struct {
		name   string
		budget func(testing.TB, uint64, func())
		work   func()
		fails  bool
	}{
		{"more in all", Within, hold(128 * MiB), true},
		{"less in all", Within, hold(4 * MiB), false},
		{"little, but often", Within, churn, true},
		{"more at once", Peak, hold(128 * MiB), true},
		{"less at once", Peak, hold(4 * MiB), false},
		{"little at once, but often", Peak, churn, false},
	} {
		r := &recorder{TB: t}
		c.budget(r, 64*MiB, c.work)
		if r.failed != c.fails {
			t.Errorf("%s: it failed: %t", c.name, r.failed)
		}
	}
}
