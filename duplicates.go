package hashgrove

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"iter"
	"slices"
	"strconv"

	"hashgrove/api"
	"hashgrove/internal/dataset/columnfile"
	"hashgrove/internal/fileio"
	"hashgrove/internal/index"
	"hashgrove/internal/message"
	"hashgrove/internal/search"
	"hashgrove/internal/store"
)

// DuplicateOptions say which items of an index are near-duplicates.
type DuplicateOptions struct {
	Radius   int                   // two items are near-duplicates if their codes differ in at most so many bits
	Groups   bool                  // find the groups that near-duplicates connect, not the pairs
	Most     int                   // pairs that are allowed; 0 means 100 million
	Threads  int                   // 0 means all cores
	Progress func(done, total int) // may be nil
}

// MostPairs is the number of pairs that DuplicateOptions allow without Most.
const MostPairs = 100_000_000

// Duplicates are the near-duplicates of an index at one moment.
type Duplicates struct {
	Radius int `json:"radius"`           // as asked for
	Pairs  int `json:"pairs,omitempty"`  // their number
	Groups int `json:"groups,omitempty"` // their number
	Items  int `json:"items,omitempty"`  // in groups

	pairs  *index.NearPairs
	groups *index.NearGroups
}

// Duplicate is two items whose codes differ in a few bits.
type Duplicate struct {
	A        api.ID `json:"a"`        // the lesser id
	B        api.ID `json:"b"`        // the other one
	Distance int    `json:"distance"` // in bits
}

// Duplicates finds all pairs of items within a radius, exactly, or the groups that such pairs connect. It counts the
// pairs before it makes them, and refuses (ErrTooLarge) more than are allowed. For codes with detail, bits of detail do
// not count.
func (ix *Index) Duplicates(ctx context.Context, o DuplicateOptions) (*Duplicates, error) {
	x, err := ix.selection(ctx, "", index.Filter{}, 0)
	if err != nil {
		return nil, search.Coded(err)
	}
	return findDuplicates(ctx, x.Snapshot, o)
}

// FindDuplicates is Duplicates for an index in a file, which it only reads.
func FindDuplicates(ctx context.Context, path string, o DuplicateOptions) (*Duplicates, error) {
	s, err := store.Open(ctx, path, store.OpenOptions{
		ReadOnly: true, Index: index.Config{Tables: -1, Threads: o.Threads}, Progress: o.Progress,
	})
	if err != nil {
		return nil, search.Coded(err)
	}
	snapshot := s.Snapshot()
	if err := s.Close(); err != nil {
		return nil, search.Coded(err)
	}
	return findDuplicates(ctx, snapshot, o)
}

func findDuplicates(ctx context.Context, s *index.Snapshot, o DuplicateOptions) (d *Duplicates, err error) {
	if o.Radius < 0 || o.Most < 0 {
		return nil, api.Errorf(api.ErrInvalid, "near-duplicates within %d bits, at most %d: give numbers from 0 on",
			o.Radius, o.Most)
	}
	if o.Most == 0 {
		o.Most = MostPairs
	}
	d = &Duplicates{Radius: o.Radius}
	given := index.PairOptions{Radius: o.Radius, Most: o.Most, Threads: o.Threads, Progress: o.Progress}
	if o.Groups {
		if d.groups, err = s.PairGroups(ctx, given); err == nil {
			d.Groups, d.Items = d.groups.Count, d.groups.Items
		}
		return d, search.Coded(err)
	}
	if d.pairs, err = s.Pairs(ctx, given); err != nil {
		return nil, search.Coded(err)
	}
	if d.Pairs = d.pairs.Count; d.Pairs > o.Most {
		return nil, api.Errorf(api.ErrTooLarge, "%d pairs of items are within %d bits, and %d are allowed: "+
			"take a smaller radius, ask for groups, or allow more", d.Pairs, o.Radius, o.Most)
	}
	return d, nil
}

// AllPairs returns the pairs in order of their ids: A is the lesser one.
func (d *Duplicates) AllPairs(ctx context.Context) iter.Seq2[Duplicate, error] {
	return func(yield func(Duplicate, error) bool) {
		if d.pairs == nil {
			return
		}
		for p, err := range d.pairs.All(ctx) {
			if !yield(Duplicate{api.ID(p.A.String()), api.ID(p.B.String()), p.Distance}, search.Coded(err)) {
				return
			}
		}
	}
}

// AllGroups returns the groups, each in order of its ids, in order of their first ids.
func (d *Duplicates) AllGroups() iter.Seq[[]api.ID] {
	return func(yield func([]api.ID) bool) {
		if d.groups == nil {
			return
		}
		for ids := range d.groups.All() {
			group := make([]api.ID, len(ids))
			for i, id := range ids {
				group[i] = api.ID(id.String())
			}
			if !yield(group) {
				return
			}
		}
	}
}

// Write writes the pairs (a, b, distance) or the groups (group, counted from 0, and id) as a table: csv, jsonl or
// parquet.
func (d *Duplicates) Write(ctx context.Context, w io.Writer, form string) error {
	names, numbers := []string{"a", "b", "distance"}, d.pairs != nil && d.pairs.IntegerIDs()
	if d.groups != nil {
		names, numbers = []string{"group", "id"}, d.groups.IntegerIDs()
	}
	var put func(row ...any) error
	end := func() error { return nil }
	switch form {
	case "csv":
		put, end = csvRows(w, names)
	case "jsonl":
		put = jsonRows(w, names)
	case "parquet":
		samples := make([]any, len(names))
		for i, name := range names {
			samples[i] = int64(0)
			if !numbers && name != "distance" && name != "group" {
				samples[i] = ""
			}
		}
		p, err := columnfile.Create(w, names, samples)
		if err != nil {
			return err
		}
		put, end = func(row ...any) error { return p.Write(row) }, p.Close
	default:
		return api.Errorf(api.ErrInvalid, "duplicates as %s: choose csv, jsonl or parquet", form)
	}
	id := func(id index.ID) any {
		if n, ok := id.Integer(); ok && numbers {
			return n
		}
		return id.String()
	}
	if err := d.rows(ctx, id, put); err != nil {
		return search.Coded(err)
	}
	return end()
}

// WriteFile is Write to a file, all or nothing.
func (d *Duplicates) WriteFile(ctx context.Context, path, form string) error {
	return fileio.WriteFile(path, func(w io.Writer) error { return d.Write(ctx, w, form) })
}

// rows passes on the rows of the table.
func (d *Duplicates) rows(ctx context.Context, id func(index.ID) any, put func(row ...any) error) error {
	if d.groups == nil {
		for p, err := range d.pairs.All(ctx) {
			if err == nil {
				err = put(id(p.A), id(p.B), int64(p.Distance))
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	number := int64(0)
	for ids := range d.groups.All() {
		for _, one := range ids {
			if err := put(number, id(one)); err != nil {
				return err
			}
		}
		if number++; ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// csvRows returns functions that write a row of numbers and texts, and the end.
func csvRows(to io.Writer, names []string) (put func(row ...any) error, end func() error) {
	w, cells := csv.NewWriter(to), slices.Clone(names)
	err := w.Write(names)
	put = func(row ...any) error {
		for i, v := range row {
			if n, ok := v.(int64); ok {
				cells[i] = strconv.FormatInt(n, 10)
			} else {
				cells[i] = message.Cell(v.(string))
			}
		}
		return cmp.Or(err, w.Write(cells))
	}
	return put, func() error {
		w.Flush()
		return cmp.Or(err, w.Error())
	}
}

// jsonRows returns a function that writes a row as an object.
func jsonRows(to io.Writer, names []string) func(row ...any) error {
	var line []byte
	return func(row ...any) error {
		for i, v := range row {
			line = append(strconv.AppendQuote(append(line, "{,"[min(i, 1)]), names[i]), ':')
			text, err := json.Marshal(v)
			if err != nil {
				return err
			}
			line = append(line, text...)
		}
		_, err := to.Write(append(line, '}', '\n'))
		line = line[:0]
		return err
	}
}
