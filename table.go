package hashgrove

import (
	"cmp"
	"context"
	"slices"
	"time"

	"hashgrove/api"
	"hashgrove/internal/index"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/model/inside"
	"hashgrove/internal/search"
)

// TableOptions name a table of codes in PostgreSQL 14 or later.
type TableOptions struct {
	URL         string // postgres://user@host:port/database, without a password
	Password    string // "" means PGPASSWORD or ~/.pgpass
	Table       string // or schema.table; "" means DefaultTable
	Connections int    // at a time; 0 means 2
	Vector      bool   // search with an index of the extension pgvector, which is faster but misses some items
}

// DefaultTable is the name of a table for which TableOptions have none.
const DefaultTable = "items"

// Table is a table of codes in a database.
type Table struct{ in database }

// database is a table as package format/postgres brings it.
type database interface {
	Info(ctx context.Context) (TableInfo, error)
	Push(ctx context.Context, s index.Source, o PushOptions) (Pushed, error)
	Verify(ctx context.Context, s index.Source) (Verification, error)
	Read(ctx context.Context, f index.Filter, progress func(done, total int)) (*index.Batch, error)
	Searcher(ctx context.Context, m *model.Model) (api.Searcher, error)
	Close()
}

// OpenTable opens a table, which connects on first use. The program imports hashgrove/format/postgres.
func OpenTable(ctx context.Context, o TableOptions) (*Table, error) {
	if inside.OpenTable == nil {
		return nil, message.NotImported("tables of PostgreSQL", "postgres")
	}
	t, err := inside.OpenTable(ctx, o)
	if err != nil {
		return nil, err
	}
	return &Table{t.(database)}, nil
}

// Close closes all connections.
func (t *Table) Close() { t.in.Close() }

// TableInfo describes a table.
type TableInfo struct {
	Server string // with its version
	Table  string // with its schema
	Exact  bool   // whether searches are exact
}

// Info connects and describes the table.
func (t *Table) Info(ctx context.Context) (TableInfo, error) { return t.in.Info(ctx) }

// Searcher returns what searches the table by code, by id and, with a model, by vector and picture. The database ranks
// by Hamming distance alone; what it cannot do is refused with ErrUnsupported.
func (t *Table) Searcher(ctx context.Context, m *Model) (api.Searcher, error) {
	return t.in.Searcher(ctx, m.inner())
}

// Items are items with codes on their way into a table, read a part at a time.
type Items struct {
	Bits        int    // of every code
	Fingerprint string // the beginning of that of the model, which made the codes; zeros if unknown
	Count       int    // of the items; negative if it is not known before reading

	source index.Source
	report func(rows int) // says what reading met
}

// ItemsOf returns the items of an index that match a filter, or all items for "".
func ItemsOf(ctx context.Context, ix *Index, where string) (*Items, error) {
	if ix == nil {
		return nil, api.Errorf(api.ErrInvalid, "there is no index to take items from: nil")
	}
	x, found, err := ix.matches(ctx, where)
	if err != nil {
		return nil, search.Coded(err)
	}
	s := index.Source{Bits: x.Bits(), Fingerprint: x.Fingerprint(), Items: len(found), Unique: true}
	s.Each = func(ctx context.Context, take func(*index.Batch) error) error {
		for part := range slices.Chunk(found, 1<<12) {
			items, err := x.Items(ctx, part)
			if err != nil {
				return search.Coded(err)
			}
			b := index.NewBatch(s.Bits)
			b.Fingerprint = s.Fingerprint
			for _, it := range items {
				b.Append(it)
			}
			if err := take(b); err != nil {
				return err
			}
		}
		return nil
	}
	return &Items{s.Bits, s.Fingerprint.String(), s.Items, s, func(int) {}}, nil
}

// NewItems returns the rows of data as items, encoded by a model, which may be nil for codes.
func NewItems(ctx context.Context, m *Model, d *Data, o EncodeOptions) (*Items, error) {
	if err := d.Err(); err != nil {
		return nil, err
	}
	r := IndexOptions{Threads: o.Threads, Progress: o.Progress}.reader(m)
	if d.codes != nil || d.attributes != nil {
		b, err := r.newItems(ctx, d)
		if err != nil {
			return nil, err
		}
		s := index.Source{Bits: b.Codes.Bits, Fingerprint: b.Fingerprint, Items: len(b.IDs)}
		s.Each = func(_ context.Context, take func(*index.Batch) error) error { return take(b) }
		return &Items{s.Bits, s.Fingerprint.String(), s.Items, s, func(int) {}}, nil
	}
	in, err := r.open(d.readOnce())
	if err != nil {
		return nil, err
	}
	s := index.Source{Bits: in.Bits, Fingerprint: in.Fingerprint, Items: -1}
	switch in.Live = d.Once(); {
	case in.Live:
	case d.codeFiles:
		s.Items, err = in.CountCodes(ctx)
	case in.set != nil:
		s.Items = in.set.Rows()
	default:
		s.Items = d.table.X.Rows
	}
	s.Each = func(ctx context.Context, take func(*index.Batch) error) error { return in.Each(ctx, o.Threads, take) }
	return &Items{s.Bits, s.Fingerprint.String(), s.Items, s, func(rows int) { r.report(in, rows) }}, err
}

// PushOptions control a push. The zero value means the defaults.
type PushOptions struct {
	Batch    int            // items in a batch; 0 means 2,000
	InFlight int            // batches in flight; 0 means 2
	Retries  int            // of a batch, if the database cannot be reached; 0 means 6, negative none
	Wait     time.Duration  // before the first retry; it doubles each time, up to 100 times. 0 means 200 ms
	Timeout  time.Duration  // after which a batch is sent again; 0 means two minutes
	Progress func(done int) // called by one goroutine at a time; may be nil
}

// WithDefaults fills in the defaults.
func (o PushOptions) WithDefaults() PushOptions {
	o.Batch, o.InFlight = cmp.Or(max(o.Batch, 0), 2000), cmp.Or(max(o.InFlight, 0), 2)
	o.Timeout = cmp.Or(o.Timeout, 2*time.Minute)
	o.Retries, o.Wait = max(cmp.Or(o.Retries, 6), 0), cmp.Or(o.Wait, 200*time.Millisecond)
	return o
}

// Pushed is the outcome of a push.
type Pushed struct {
	Server  string    // with its version
	Items   int       // to push, or those read if their number was not known
	Written int       // by this push
	Retries int       // batches sent again
	Refused []Refusal // by the database, in order of their ids
}

// Refusal is an item that the database refused.
type Refusal struct {
	ID     api.ID `json:"id"`     // of the item
	Reason string `json:"reason"` // in a sentence
}

// Push writes items in batches, in their order: it creates the table, or checks that the codes belong in it, and
// replaces items by id. A batch that fails because the database cannot be reached is sent again. If items are refused,
// the others are written and the error names the first. The report counts what was written before an error, too.
func (t *Table) Push(ctx context.Context, items *Items, o PushOptions) (Pushed, error) {
	p, err := t.in.Push(ctx, items.source, o)
	if err == nil {
		items.report(p.Items)
	}
	return p, err
}

// Verification is the outcome of Verify.
type Verification struct {
	Items   int     `json:"items"`   // found in the table as they were pushed
	Answers int     `json:"answers"` // compared with those of an exact index
	Same    int     `json:"same"`    // of these
	Recall  float64 `json:"recall"`  // of the nearest items; one at the same distance counts
}

// Verify compares a table with the items that were pushed, bit by bit, and its answers to a few hundred searches with
// those of an exact index of all that it holds. The error names the first difference; pgvector may miss items.
func (t *Table) Verify(ctx context.Context, items *Items) (Verification, error) {
	return t.in.Verify(ctx, items.source)
}

// CreateIndex reads the items of the table that match a filter, or all for "", into a new index file. The model may be
// nil; one that did not make the codes is refused.
func (t *Table) CreateIndex(ctx context.Context, path, where string, m *Model, o IndexOptions) (*Index, error) {
	f, err := search.ParseFilter(where)
	if err != nil {
		return nil, err
	}
	b, err := t.in.Read(ctx, f, steps(o.Progress).of("reading"))
	if err != nil {
		return nil, search.Coded(err)
	}
	r := o.reader(m)
	if r.model != nil {
		if err := fitModel(b, r.model, "the table"); err != nil {
			return nil, err
		}
	}
	return o.create(ctx, path, r, b)
}
