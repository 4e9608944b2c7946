package metamorphic

import (
	"cmp"
	"context"
	"strings"
	"testing"

	"hashgrove/internal/index"
)

// faults are layouts with one fault each; searchtest has the faults of searches. TestFaultsAreFound shows that
// sequences find them, and that the shrinker leaves little of such a sequence.
var faults = map[string]struct {
	layout func(*memory) layout
	steps  int // that are enough to show the fault
}{
	"a deleted item comes back when the index is compacted": {
		func(x *memory) layout { return &forgetful{memory: x} }, 4,
	},
	"seven threads lose the last of many hits": {
		func(x *memory) layout { return &wrongReader{x, lostByThreads} }, 3,
	},
	"updating an item forgets its tags": {
		func(x *memory) layout { return untagged{x} }, 3,
	},
}

// TestFaultsAreFound plants each fault beside a sound layout.
func TestFaultsAreFound(t *testing.T) {
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			build := func(_ context.Context, _ string, bits int) ([]layout, error) {
				return []layout{
					newMemory(bits, index.Config{}), fault.layout(newMemory(bits, index.Config{Tables: 1})),
				}, nil
			}
			for seed := uint64(1); seed < 200; seed++ {
				s := generate(seed, small)
				_, failed, err := run(t.Context(), s, "", build)
				if err == nil {
					continue
				}
				if !strings.Contains(err.Error(), "layout 1") {
					t.Fatalf("the sound layout failed: %v", err)
				}
				s.Steps = s.Steps[:failed+1]
				least := smallest(t.Context(), t, s, small, build)
				if len(least.Steps) > fault.steps {
					t.Errorf("seed %d was shrunk to %d steps, and %d are enough:\n%s", seed, len(least.Steps), fault.steps, least)
				}
				again, err := parse([]byte(least.String()))
				if err != nil {
					t.Fatal(err)
				}
				if _, _, err = run(t.Context(), again, "", build); err == nil {
					t.Errorf("what was printed does not fail again:\n%s", least)
				}
				t.Logf("found by seed %d: %v\n%s", seed, err, least)
				return
			}
			t.Error("no sequence found it")
		})
	}
}

// forgetful forgets deletions when it is compacted.
type forgetful struct {
	*memory
	deleted []index.Item
}

func (x *forgetful) Delete(ctx context.Context, ids ...index.ID) (int, error) {
	for _, id := range ids {
		if it, there := x.Snapshot().Get(id); there {
			x.deleted = append(x.deleted, it)
		}
	}
	return x.memory.Delete(ctx, ids...)
}

func (x *forgetful) Compact(ctx context.Context) error {
	b := index.NewBatch(x.Snapshot().Bits())
	for _, it := range x.deleted {
		if len(it.Code) == b.Codes.Words {
			b.Append(it)
		}
	}
	x.deleted = nil
	return cmp.Or(x.memory.Upsert(ctx, b), x.memory.Compact(ctx))
}

// untagged loses tags when something else of an item changes.
type untagged struct{ *memory }

func (x untagged) Update(ctx context.Context, b *index.Batch, replace bool) (int, error) {
	gone := index.NewBatch(x.Snapshot().Bits())
	for i, id := range b.IDs {
		if it, there := x.Snapshot().Get(id); there && len(b.Item(i).Tags) == 0 {
			it.Tags = nil
			gone.Append(it)
		}
	}
	for _, id := range gone.IDs {
		if _, err := x.Delete(ctx, id); err != nil {
			return 0, err
		}
	}
	if err := x.Add(ctx, gone); err != nil {
		return 0, err
	}
	return x.memory.Update(ctx, b, replace)
}

// wrongReader answers wrongly.
type wrongReader struct {
	*memory
	find func(context.Context, reader, search) ([]answer, []index.Item, error)
}

func (x *wrongReader) read(ctx context.Context, f index.Filter) (reader, error) {
	r, err := x.memory.read(ctx, f)
	return wrongFinder{r, x.find}, err
}

type wrongFinder struct {
	reader
	wrong func(context.Context, reader, search) ([]answer, []index.Item, error)
}

func (x wrongFinder) find(ctx context.Context, s search) ([]answer, []index.Item, error) {
	return x.wrong(ctx, x.reader, s)
}

// lostByThreads loses a hit.
func lostByThreads(ctx context.Context, r reader, s search) ([]answer, []index.Item, error) {
	answers, items, err := r.find(ctx, s)
	for i, a := range answers {
		if n := len(a.hits); n >= 8 && s.options.Threads == 7 {
			answers[i].hits = a.hits[:n-1]
		}
	}
	return answers, items, err
}
