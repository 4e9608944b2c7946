package metamorphic

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"hashgrove/internal/index"
	"hashgrove/internal/model"
)

// counts counts what was done.
type counts struct{ operations, questions int }

// builder makes empty layouts for codes of some bits. Files go into the folder.
type builder func(ctx context.Context, folder string, bits int) ([]layout, error)

// every makes all layouts.
func every(ctx context.Context, folder string, bits int) ([]layout, error) {
	inMemory, err := newFile(ctx, folder, bits, false)
	if err != nil {
		return nil, err
	}
	onDisk, err := newFile(ctx, folder, bits, true)
	if err != nil {
		return nil, errors.Join(err, inMemory.close())
	}
	return []layout{
		newMemory(bits, index.Config{Tables: -1}),
		newMemory(bits, index.Config{Tables: 1}),
		newMemory(bits, index.Config{Tables: 3, Threads: 1}),
		newMemory(bits, index.Config{}),
		complement{newMemory(bits, index.Config{Tables: 2})},
		scattered{newMemory(bits, index.Config{Tables: 1}), new(sync.Mutex)},
		inMemory,
		onDisk,
	}, nil
}

// runner applies the steps to all layouts and to the oracle.
type runner struct {
	layouts []layout
	oracle  *oracle
	model   *model.Model // after a migration
	kept    []keptAnswer
	counts
}

// run applies all steps and returns what was done and, with an error, the number of the failed step.
func run(ctx context.Context, s sequence, folder string, build builder) (done counts, failed int, err error) {
	r := &runner{oracle: &oracle{bits: s.Bits, items: map[index.ID]index.Item{}}}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		for _, x := range r.layouts {
			_ = x.close() // it may be closed already, after a failure
		}
		done = r.counts
	}()
	if r.layouts, err = build(ctx, folder, s.Bits); err != nil {
		return done, 0, err
	}
	for i := range s.Steps {
		failed = i
		if err := r.runStep(ctx, &s.Steps[i]); err != nil {
			return done, i, fmt.Errorf("step %d, %s: %w", i, s.Steps[i].Op, err)
		}
	}
	return done, 0, nil
}

// runStep applies one step.
func (r *runner) runStep(ctx context.Context, s *step) error {
	switch s.Op {
	case askOp:
		if s.Ask == nil {
			return errors.New("nothing is asked")
		}
		return r.ask(ctx, s.Ask)
	case surveyOp:
		return r.survey(ctx, s.Where)
	}
	r.operations++
	if err := r.change(ctx, s); err != nil {
		return err
	}
	return r.askAgain(ctx)
}

func (r *runner) change(ctx context.Context, s *step) error {
	bits := r.oracle.bits
	switch s.Op {
	case addOp:
		b := s.batch(bits, false)
		fine := r.oracle.add(b)
		return r.each(func(x layout) error {
			err := together(b, s.Apart && fine, func(b *index.Batch) error { return x.Add(ctx, b) })
			if err == nil && !fine {
				return errors.New("ids that are there, or there twice, were added")
			}
			return onlyIf(fine, err)
		})
	case upsertOp:
		b := s.batch(bits, s.Apart)
		r.oracle.upsert(b)
		return r.each(func(x layout) error {
			return together(b, s.Apart, func(b *index.Batch) error { return x.Upsert(ctx, b) })
		})
	case updateOp:
		b := s.batch(bits, true)
		want := r.oracle.update(b, s.Replace)
		return r.each(func(x layout) error { return wanted(want)(x.Update(ctx, b, s.Replace)) })
	case deleteOp:
		want := r.oracle.remove(s.IDs)
		return r.each(func(x layout) error { return wanted(want)(x.Delete(ctx, s.IDs...)) })
	case deleteWhereOp:
		return r.deleteWhere(ctx, s.Where)
	case compactOp:
		for i := min(s.From, len(r.layouts)); i < len(r.layouts); i++ {
			if err := r.layouts[i].Compact(ctx); err != nil {
				return named(r.layouts[i], i, err)
			}
		}
		return nil
	case migrateOp:
		return r.migrate(ctx, s)
	}
	return r.each(func(x layout) error { return changeFile(ctx, x, s) })
}

// changeFile applies a step that concerns files, and ignores other layouts.
func changeFile(ctx context.Context, x layout, s *step) error {
	f, ok := x.(*file)
	if !ok {
		return nil
	}
	switch s.Op {
	case reopenOp:
		return f.reopen(ctx, s.Tables)
	case backupOp:
		return f.backup(ctx)
	case mergeOp:
		return f.merge(ctx, max(1, s.Parts))
	case salvageOp:
		return f.salvage(ctx)
	}
	return fmt.Errorf("there is no step %q", s.Op)
}

func (r *runner) deleteWhere(ctx context.Context, where string) error {
	f, err := index.Parse(where)
	if err != nil {
		return err
	}
	list, fine := r.oracle.matching(f)
	var ids []index.ID
	for _, it := range list {
		ids = append(ids, it.ID)
	}
	r.oracle.remove(ids)
	return r.each(func(x layout) error {
		n, err := x.DeleteWhere(ctx, f)
		if refused(err) {
			return onlyIf(fine, err)
		}
		if !fine && err == nil {
			return fmt.Errorf("%d items were deleted by a filter that should be refused", n)
		}
		return wanted(len(ids))(n, err)
	})
}

// migrate encodes all items again.
func (r *runner) migrate(ctx context.Context, s *step) error {
	r.model = projection(s.Bits, s.Seed)
	b := index.NewBatch(s.Bits)
	for _, it := range r.oracle.all() {
		var err error
		if it.Code, err = r.model.EncodeRow(vectorOf(it.ID)); err != nil {
			return err
		}
		b.Append(it)
	}
	r.oracle = &oracle{bits: s.Bits, detail: r.model.DetailBits(), items: map[index.ID]index.Item{}}
	r.oracle.upsert(b)
	return r.each(func(x layout) error { return x.migrate(ctx, r.model, b) })
}

// each calls a function for all layouts and says for which it failed.
func (r *runner) each(do func(layout) error) error {
	for i, x := range r.layouts {
		if err := do(x); err != nil {
			return named(x, i, err)
		}
	}
	return nil
}

func named(x layout, i int, err error) error { return fmt.Errorf("layout %d (%T): %w", i, x, err) }

// together writes the rows of a batch by several concurrent writers, or by one.
func together(b *index.Batch, apart bool, write func(*index.Batch) error) error {
	if !apart || len(b.IDs) < 2 {
		return write(b)
	}
	const writers = 4
	var wait sync.WaitGroup
	errs := make([]error, writers)
	for w := range writers {
		part := index.NewBatch(b.Codes.Bits)
		for i := w; i < len(b.IDs); i += writers {
			part.Append(b.Item(i))
		}
		wait.Go(func() { errs[w] = write(part) })
	}
	wait.Wait()
	return errors.Join(errs...)
}

// wanted checks how many items were affected.
func wanted(want int) func(n int, err error) error {
	return func(n int, err error) error {
		if err == nil && n != want {
			err = fmt.Errorf("%d items were concerned, want %d", n, want)
		}
		return err
	}
}

// onlyIf returns the error if all should be fine, and nil otherwise.
func onlyIf(fine bool, err error) error {
	if fine {
		return err
	}
	return nil
}

// refused reports whether a filter was refused.
func refused(err error) bool {
	_, ok := errors.AsType[*index.FilterError](err)
	return ok
}

// marginsOf returns the margins of queries one after the other, or nil if there are none.
func marginsOf(list [][]float32, queries, bits int) []float32 {
	if len(list) == 0 {
		return nil
	}
	margins := make([]float32, queries*bits)
	for i := range queries {
		if i < len(list) {
			copy(margins[i*bits:(i+1)*bits], list[i])
		}
	}
	return margins
}
