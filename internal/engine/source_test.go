package engine_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"

	"hashgrove/internal/engine"
	"hashgrove/internal/engine/enginetest"
	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/testkit/searchtest"
)

// made returns item i of an endless source. Its id is a text if named, so that ids do not count up.
func made(i int, named bool) index.Item {
	it := index.Item{
		ID: index.Int(int64(i)), Code: []uint64{uint64(i) * 0x9e3779b97f4a7c15}, Label: fmt.Sprint("label ", i%100),
		Tags: []string{"a tag of some length", fmt.Sprint(i)}, Attributes: map[string]index.Value{"n": index.Number(float64(i))},
	}
	if named {
		it.ID = index.Text(fmt.Sprintf("item-%09d", i))
	}
	return it
}

// generated returns a source of n items that are generated on the fly.
func generated(n, known int, named bool) engine.Source {
	return engine.Source{
		Space: engine.Space{Bits: 64, Fingerprint: searchtest.Fingerprint}, Items: known,
		Each: func(ctx context.Context, take func(*index.Batch) error) error {
			for first := 0; first < n; first += 700 {
				b := index.NewBatch(64)
				for i := first; i < min(first+700, n); i++ {
					b.Append(made(i, named))
				}
				if err := take(b); err != nil {
					return err
				}
			}
			return ctx.Err()
		},
	}
}

// forgetful is an engine that keeps nothing but a number, and measures the memory.
type forgetful struct {
	*enginetest.Memory
	named bool

	mu    sync.Mutex
	items int
	calls int
	most  uint64 // bytes in use
}

func (f *forgetful) Write(_ context.Context, b *index.Batch) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.items += len(b.IDs)
	if f.calls++; f.calls%50 == 0 {
		f.most = max(f.most, inUse())
	}
	return nil
}

// Read answers from the same source.
func (f *forgetful) Read(_ context.Context, filter index.Filter, take func(*index.Batch) error) error {
	c, _ := filter.Condition()
	b := index.NewBatch(64)
	for _, v := range c.Values {
		text, _ := v.Text()
		i := 0
		if _, err := fmt.Sscanf(strings.TrimLeft(strings.TrimPrefix(text, "item-"), "0"), "%d", &i); err != nil && i != 0 {
			return err
		}
		b.Append(made(i, f.named))
	}
	return take(b)
}

// inUse returns the size of the live heap.
func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestPushInBoundedMemory pushes 200,000 items, which together are many times the limit, and looks at the heap on the
// way: rows that go by their numbers leave nothing behind, ids of their own a hash each.
func TestPushInBoundedMemory(t *testing.T) {
	const n = 200_000
	for _, named := range []bool{false, true} {
		e := &forgetful{Memory: enginetest.NewMemory(), named: named}
		before := inUse()
		r, err := engine.PushFrom(t.Context(), e, generated(n, -1, named), engine.PushOptions{Batch: 500})
		if err != nil || r.Items != n || r.Written != n || e.items != n || r.Checked != 100 {
			t.Fatalf("%+v, %d items, %v", r, e.items, err)
		}
		grown, limit := int64(e.most)-int64(before), int64(8<<20)
		if named {
			limit += 40 * n
		}
		if grown > limit || e.most == 0 {
			t.Errorf("named %v: the heap grew by %d bytes, and %d are allowed", named, grown, limit)
		}
		t.Logf("named %v: %d bytes more on the heap", named, grown)
	}
}

// TestPushFindsRepeatedIDs looks for them in every order of integers and texts.
func TestPushFindsRepeatedIDs(t *testing.T) {
	const top = int64(math.MaxInt64)
	for text, twice := range map[string]bool{
		"0 1 2 3 4": false, "0 1 2 3 1": true, "5 6 7 4": false, "5 6 7 5": true, "a b c": false, "a b a": true,
		"0 1 a 1": true, "0 1 a 2 3 2": true, "0 1 a 2 3 4": false, "-3 -2 -1 0 -2": true, "7 7": true, "7 3 7": true,
		fmt.Sprint(top-1, " ", top): false, fmt.Sprint(top-1, " ", top, " ", top): true, fmt.Sprint(top, " ", -top): false,
	} {
		b := index.NewBatch(8)
		for _, id := range strings.Fields(text) {
			b.Append(index.Item{ID: index.Text(id), Code: hamming.NewCodes(1, 8).Row(0)})
		}
		s := engine.Source{Space: engine.Space{Bits: 8}, Items: -1, Each: func(_ context.Context, take func(*index.Batch) error) error { return take(b) }}
		_, err := engine.PushFrom(t.Context(), enginetest.NewMemory(), s, engine.PushOptions{})
		if got := fault.Is(err, "duplicate-id"); got != twice || !twice && err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
