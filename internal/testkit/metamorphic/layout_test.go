package metamorphic

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/model"
	"hashgrove/internal/store"
)

// layout is an index under test.
type layout interface {
	Add(ctx context.Context, b *index.Batch) error
	Upsert(ctx context.Context, b *index.Batch) error
	Update(ctx context.Context, b *index.Batch, replace bool) (int, error)
	Delete(ctx context.Context, ids ...index.ID) (int, error)
	DeleteWhere(ctx context.Context, f index.Filter) (int, error)
	Compact(ctx context.Context) error

	// read returns the current items, to be searched with one filter.
	read(ctx context.Context, f index.Filter) (reader, error)

	// migrate switches to the codes of a model; the items already have them.
	migrate(ctx context.Context, m *model.Model, items *index.Batch) error

	close() error
}

// reader holds the items of a layout at one moment.
type reader interface {
	// find answers every query; items are those of the first answer, if wanted.
	find(ctx context.Context, s search) (answers []answer, items []index.Item, err error)

	matches(f index.Filter) ([]index.ID, error)
}

// search is a question with the way to answer it.
type search struct {
	queries   hamming.Codes
	k, radius int // a radius of math.MaxInt: none
	options   index.Options
	score     bool // rerank
	items     bool // return items
}

// part is the search for some of the queries.
func (s search) part(lo, hi int) search {
	bits := s.queries.Bits
	s.queries.Data = s.queries.Data[lo*s.queries.Words : hi*s.queries.Words]
	if s.options.Margins != nil {
		s.options.Margins = s.options.Margins[lo*bits : hi*bits]
	}
	return s
}

// selection is a reader of an index in memory or on disk.
type selection struct{ *store.Selection }

func (x selection) find(ctx context.Context, s search) (answers []answer, items []index.Item, err error) {
	var results []index.Result
	switch {
	case s.score:
		for i := range s.queries.Len() {
			one := s.part(i, i+1)
			r, err := x.Rerank(ctx, one.queries.Row(0), s.k, s.radius, one.options, func(h index.Hit) (float64, error) {
				return scoreOf(h.ID), nil
			})
			if err != nil {
				return nil, nil, err
			}
			results = append(results, r)
		}
	case s.radius == math.MaxInt:
		results, err = x.SearchBatch(ctx, s.queries, s.k, s.options)
	default:
		s.options.Limit = s.k
		if s.k == math.MaxInt {
			s.options.Limit = 0
		}
		results, err = x.WithinBatch(ctx, s.queries, s.radius, s.options)
	}
	if err != nil {
		return nil, nil, err
	}
	for _, r := range results {
		a := answer{tied: r.Tied}
		if !s.options.Ties || s.score {
			a.tied = -1
		}
		for _, h := range r.Hits {
			a.hits = append(a.hits, hit{h.ID, h.Distance, h.DetailDistance, h.MarginDistance, h.Score})
		}
		answers = append(answers, a)
	}
	if s.items && len(results) > 0 {
		items, err = x.Items(ctx, results[0].Hits)
	}
	return answers, items, err
}

func (x selection) matches(f index.Filter) ([]index.ID, error) {
	hits, err := x.Matches(f)
	ids := make([]index.ID, len(hits))
	for i, h := range hits {
		ids[i] = h.ID
	}
	if err == nil && x.Count(f) != len(ids) {
		err = errors.New("Count differs from Matches")
	}
	return ids, err
}

// memory is an index in memory.
type memory struct {
	*index.Index
	config index.Config
}

func newMemory(bits int, c index.Config) *memory {
	return &memory{index.New(bits, hamming.Fingerprint{}, c), c}
}

func (x *memory) read(context.Context, index.Filter) (reader, error) {
	return selection{&store.Selection{Snapshot: x.Snapshot()}}, nil
}

// migrate rebuilds the index in two parts that begin with the last item: the order of writing does not matter.
func (x *memory) migrate(ctx context.Context, m *model.Model, items *index.Batch) error {
	x.Index = index.New(m.Encoder.Bits(), m.Fingerprint(), x.config)
	parts := []*index.Batch{index.NewBatch(m.Encoder.Bits()), index.NewBatch(m.Encoder.Bits())}
	for i := len(items.IDs) - 1; i >= 0; i-- {
		parts[i%2].Append(items.Item(i))
	}
	return errors.Join(x.Add(ctx, parts[0]), x.Add(ctx, parts[1]))
}

func (x *memory) close() error { return nil }

// complement inverts every code, and those of queries too, whose margins change their signs, which preserves all
// distances.
type complement struct{ layout }

func turned(c hamming.Codes) hamming.Codes {
	t := hamming.NewCodes(c.Len(), c.Bits)
	for i := range c.Len() {
		for w, word := range c.Row(i) {
			t.Row(i)[w] = ^word
		}
		copy(t.Row(i), code(t.Row(i)).fit(c.Bits))
	}
	return t
}

func turnedBatch(b *index.Batch) *index.Batch {
	t := *b
	t.Codes = turned(b.Codes)
	return &t
}

func (x complement) Add(ctx context.Context, b *index.Batch) error {
	return x.layout.Add(ctx, turnedBatch(b))
}
func (x complement) Upsert(ctx context.Context, b *index.Batch) error {
	return x.layout.Upsert(ctx, turnedBatch(b))
}
func (x complement) migrate(ctx context.Context, m *model.Model, items *index.Batch) error {
	return x.layout.migrate(ctx, m, turnedBatch(items))
}
func (x complement) read(ctx context.Context, f index.Filter) (reader, error) {
	r, err := x.layout.read(ctx, f)
	return complementReader{r}, err
}

type complementReader struct{ reader }

func (x complementReader) find(ctx context.Context, s search) ([]answer, []index.Item, error) {
	bits := s.queries.Bits
	s.queries = turned(s.queries)
	if s.options.Margins != nil {
		s.options.Margins = slices.Clone(s.options.Margins)
		for i, m := range s.options.Margins {
			s.options.Margins[i] = math.Float32frombits(math.Float32bits(m) ^ 1<<31)
		}
	}
	answers, items, err := x.reader.find(ctx, s)
	for i, it := range items {
		items[i].Code = turned(hamming.Codes{Bits: bits, Words: len(it.Code), Data: it.Code}).Data
	}
	return answers, items, err
}

// scattered writes the items of a batch one by one, last first, and adds and removes another item around every write,
// which changes nothing.
type scattered struct {
	*memory
	mu *sync.Mutex // of writers: the other item is there once
}

func (x scattered) each(b *index.Batch, write func(*index.Batch) error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	rows, err := b.Order(true)
	if err != nil || len(rows) > 64 {
		return errors.Join(err, write(b))
	}
	for _, r := range slices.Backward(rows) {
		one := index.NewBatch(x.Snapshot().Bits())
		one.Append(b.Item(r))
		if err := write(one); err != nil {
			return err
		}
	}
	return x.pass()
}

// pass adds an item and removes it.
func (x scattered) pass() error {
	ctx, bits := context.Background(), x.Snapshot().Bits()
	b := index.NewBatch(bits)
	b.Append(index.Item{
		ID: index.Text("a guest"), Code: make([]uint64, (bits+63)/64), Label: "a", Tags: []string{"t1", "guest"},
		Attributes: map[string]index.Value{"price": index.String("none"), "nothing": index.Number(3)},
	})
	if err := x.memory.Add(ctx, b); err != nil {
		return err
	}
	_, err := x.memory.Delete(ctx, index.Text("a guest"))
	return err
}

func (x scattered) Add(ctx context.Context, b *index.Batch) error {
	for _, id := range b.IDs {
		if _, there := x.Snapshot().Get(id); there {
			return x.memory.Add(ctx, b) // which fails
		}
	}
	if _, err := b.Order(false); err != nil {
		return err
	}
	return x.each(b, func(b *index.Batch) error { return x.memory.Add(ctx, b) })
}

func (x scattered) Upsert(ctx context.Context, b *index.Batch) error {
	return x.each(b, func(b *index.Batch) error { return x.memory.Upsert(ctx, b) })
}

func (x scattered) Delete(ctx context.Context, ids ...index.ID) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	sum := 0
	for _, id := range slices.Backward(ids) {
		n, err := x.memory.Delete(ctx, id)
		if sum += n; err != nil {
			return sum, err
		}
	}
	return sum, x.pass()
}
