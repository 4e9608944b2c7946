// Package enginetest supports tests of engines: a suite that every engine must pass, and an engine in memory that
// fails on demand.
package enginetest

import (
	"context"
	"fmt"
	"sync"

	"hashgrove/internal/engine"
	"hashgrove/internal/index"
)

// Memory is an engine in memory, based on an exact index.
type Memory struct {
	// Fail, if set, is called before and after a batch is written; Write returns its error. After means that the
	// items were written and only the reply is lost.
	Fail func(b *index.Batch, after bool) error

	// Answer, if set, may change the hits of a search.
	Answer func(hits []index.Hit) []index.Hit

	mu     sync.Mutex
	items  *index.Index
	space  engine.Space
	Writes int // batches that were written
}

// NewMemory returns an engine without a table.
func NewMemory() *Memory { return &Memory{} }

// Plan implements engine.Engine.
func (m *Memory) Plan(s engine.Space) []engine.Statement {
	return []engine.Statement{{Purpose: "make the table", Text: fmt.Sprintf("index of %d bits", s.Bits), Sent: true}}
}

// Info implements engine.Engine.
func (m *Memory) Info(context.Context) (engine.Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.items == nil {
		return engine.Info{}, engine.ErrNoTable
	}
	return engine.Info{
		Space: m.space, Engine: "memory", Table: "items", Identity: fmt.Sprintf("%p", m.items), Exact: true,
	}, nil
}

// Prepare implements engine.Engine.
func (m *Memory) Prepare(ctx context.Context, s engine.Space) (engine.Info, error) {
	m.mu.Lock()
	if m.items == nil {
		m.items, m.space = index.New(s.Bits, s.Fingerprint, index.Config{}), s
	}
	m.mu.Unlock()
	if err := m.space.Accept(s); err != nil {
		return engine.Info{}, err
	}
	return m.Info(ctx)
}

// Write implements engine.Engine.
func (m *Memory) Write(ctx context.Context, b *index.Batch) error {
	if m.Fail != nil {
		if err := m.Fail(b, false); err != nil {
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := m.items.Delete(ctx, b.IDs...); err != nil { // items are replaced as a whole
		return err
	}
	if err := m.items.Upsert(ctx, b); err != nil {
		return err
	}
	m.Writes++
	if m.Fail != nil {
		return m.Fail(b, true)
	}
	return nil
}

// Search implements engine.Engine.
func (m *Memory) Search(ctx context.Context, q engine.Query) ([][]index.Hit, error) {
	results, err := Exact(ctx, m.items.Snapshot(), q)
	if m.Answer != nil {
		for i := range results {
			results[i] = m.Answer(results[i])
		}
	}
	return results, err
}

// Exact answers a query from an exact index, for comparison.
func Exact(ctx context.Context, s *index.Snapshot, q engine.Query) ([][]index.Hit, error) {
	var results []index.Result
	var err error
	if o := (index.Options{Filter: q.Filter, Limit: q.K}); q.Radius >= 0 {
		results, err = s.WithinBatch(ctx, q.Codes, q.Radius, o)
	} else {
		results, err = s.SearchBatch(ctx, q.Codes, q.K, o)
	}
	hits := make([][]index.Hit, len(results))
	for i, r := range results {
		for _, h := range r.Hits {
			hits[i] = append(hits[i], index.Hit{
				ID: h.ID, Distance: h.Distance, DetailDistance: h.DetailDistance, MarginDistance: h.MarginDistance,
			})
		}
	}
	return hits, err
}

// Read implements engine.Engine.
func (m *Memory) Read(_ context.Context, f index.Filter, take func(*index.Batch) error) error {
	s := m.items.Snapshot()
	hits, err := s.Matches(f)
	if err != nil || len(hits) == 0 {
		return err
	}
	b := index.NewBatch(s.Bits())
	for _, h := range hits {
		b.Append(s.Item(h))
	}
	return take(b)
}

// Count implements engine.Engine.
func (m *Memory) Count(context.Context) (int, error) { return m.items.Snapshot().Len(), nil }

// Close implements engine.Engine.
func (m *Memory) Close() error { return nil }
