package engine_test

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hashgrove/internal/engine"
	"hashgrove/internal/fault"
	"hashgrove/internal/index"
	"hashgrove/internal/testkit/searchtest"
)

// checkFaults lets a server fail in every way while items are pushed: in the end all are there, once, or the push says
// what is wrong and leaves a journal with which another one continues. isWrite tells which requests write.
func checkFaults(t *testing.T, start func(t *testing.T) (*fake, engine.Engine), isWrite func(q asked) bool) {
	t.Run("passing", func(t *testing.T) {
		f, e := start(t)
		var writes atomic.Int64
		faults := []trouble{busy, dropBefore, throttled, dropAfter, healthy, torn}
		f.failWith(func(q asked) trouble {
			if !isWrite(q) {
				return healthy
			}
			if n := int(writes.Add(1) - 1); n != 2 {
				return faults[n%len(faults)]
			}
			return silent
		})
		b := searchtest.Items(300, 64, 1)
		// Only a write that is not answered ends by the timeout, so a busy machine cannot make this fail.
		r, err := engine.Push(t.Context(), e, b, engine.PushOptions{
			Batch: 30, InFlight: 3, Retries: 100, Wait: time.Microsecond, Timeout: time.Second,
		})
		if err != nil || r.Written != 300 || r.Retries < 6 || r.Checked != 100 {
			t.Errorf("%+v, %v", r, err)
		}
		checkAllOnce(t, e, b)
	})
	t.Run("lasting", func(t *testing.T) {
		f, e := start(t)
		var writes atomic.Int64
		f.failWith(func(q asked) trouble {
			if isWrite(q) && writes.Add(1) > 4 {
				return []trouble{dropAfter, busy, dropBefore}[writes.Load()%3]
			}
			return healthy
		})
		b := searchtest.Items(300, 64, 1)
		o := engine.PushOptions{
			Batch: 30, InFlight: 1, Retries: 2, Wait: time.Microsecond, Journal: filepath.Join(t.TempDir(), "j"),
		}
		_, err := engine.Push(t.Context(), e, b, o)
		if !errors.Is(err, engine.ErrTemporary) || fault.Differs(err, "gave-up", " 3 ") != "" ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("a server that stays away: %v", err)
		}
		f.failWith(nil)
		r, err := engine.Push(t.Context(), e, b, o)
		if err != nil || r.Before != 120 || r.Written != 180 {
			t.Errorf("%+v, %v", r, err)
		}
		checkAllOnce(t, e, b)
	})
	t.Run("cancelled", func(t *testing.T) {
		f, e := start(t)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		f.failWith(func(q asked) trouble {
			if isWrite(q) {
				stop()
				return silent
			}
			return healthy
		})
		if _, err := engine.Push(ctx, e, searchtest.Items(30, 64, 1), engine.PushOptions{}); !errors.Is(err, context.Canceled) {
			t.Errorf("a push that was cancelled: %v", err)
		}
	})
	t.Run("secrets", func(t *testing.T) {
		f, e := start(t)
		f.handle = func(q asked) (int, any) { // a server that answers with what it was sent
			return http.StatusUnauthorized, q.header
		}
		_, err := e.Info(t.Context())
		status, ok := errors.AsType[*engine.StatusError](err)
		if !ok || status.Status != http.StatusUnauthorized || !strings.Contains(err.Error(), "password") ||
			strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "dW50ZXIy") {
			t.Errorf("a server that tells secrets: %v", err)
		}
		f.Close()
		if _, err := e.Info(t.Context()); !errors.Is(err, engine.ErrTemporary) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("a server that is away: %v", err)
		}
	})
}

// checkAllOnce reads all items and compares them with a batch.
func checkAllOnce(t *testing.T, e engine.Engine, b *index.Batch) {
	t.Helper()
	if n, err := e.Count(t.Context()); n != len(b.IDs) || err != nil {
		t.Errorf("%d items instead of %d: %v", n, len(b.IDs), err)
	}
	var got []index.ID
	if err := e.Read(t.Context(), index.Filter{}, func(some *index.Batch) error {
		got = append(got, some.IDs...)
		return nil
	}); err != nil {
		t.Error(err)
	}
	want := slices.SortedFunc(slices.Values(b.IDs), index.ID.Compare)
	if !slices.Equal(got, want) {
		t.Errorf("%d items were read, and not those that were written", len(got))
	}
}
