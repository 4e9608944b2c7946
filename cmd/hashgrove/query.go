package main

import (
	"context"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hashgrove/dataset"
	"hashgrove/hamming"
	"hashgrove/index"
	"hashgrove/internal/section"
	"hashgrove/model"
	"hashgrove/picture"
	"hashgrove/store"
	"hashgrove/vectors"
)

// queries is what to search for. Vectors and labels are there when the data have them and they are wanted.
type queries struct {
	names       []string
	labels      []string
	codes       hamming.Codes
	vectors     vectors.Matrix
	fingerprint hamming.Fingerprint // of the codes; zeros when they are the index's own
}

// add appends a query.
func (q *queries) add(name, label string, code []uint64, vector []float32) {
	q.names = append(q.names, name)
	q.labels = append(q.labels, label)
	q.codes.Data = append(q.codes.Data, code...)
	if vector != nil {
		q.vectors.Data = append(q.vectors.Data, vector...)
		q.vectors.Cols = len(vector)
		q.vectors.Rows++
	}
}

// queries reads what the command line asks for: items of the index, codes in hexadecimal digits, a code file, or data.
func (c *searchCommand) queries(ctx context.Context, s *store.Store, args []string) (*queries, error) {
	info := s.Info()
	q := &queries{codes: hamming.NewCodes(0, info.Bits)}
	switch {
	case len(c.ids) > 0:
		return q, c.readItems(ctx, s, q)
	case len(c.codes) > 0:
		one := hamming.NewCodes(1, info.Bits)
		for _, text := range c.codes {
			b, err := hex.DecodeString(text)
			if err != nil || !one.SetBytes(0, b) {
				return nil, usagef("--code %s: a code of %d bits is %d hexadecimal digits, unused bits 0",
					text, info.Bits, 2*one.Bytes())
			}
			q.add(text, "", one.Row(0), nil)
		}
		return q, nil
	}
	coded, err := codeFiles(args)
	if err != nil {
		return nil, err
	}
	if coded {
		return q, c.readCodes(q, args)
	}
	m, err := s.Model()
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, fmt.Errorf("%s holds no model to encode %s with: it was built from codes; "+
			"search with a code file, --id or --code, or build it with --model", info.Path, args[0])
	}
	return q, c.readVectors(ctx, q, m, args)
}

// readItems reads the items that --id names. A text with commas is one id where the index has it, else a list of ids.
func (c *searchCommand) readItems(ctx context.Context, s *store.Store, q *queries) error {
	var ids []string
	for _, text := range c.ids {
		list := []string{text}
		id, err := index.ParseID(text)
		if err != nil {
			return usagef("--id: %w", err)
		}
		if _, ok, err := s.Get(ctx, id); err != nil {
			return err
		} else if !ok && strings.Contains(text, ",") {
			if list, err = csv.NewReader(strings.NewReader(text)).Read(); err != nil {
				return usagef("--id: %q is not a list of texts separated by commas", text)
			}
		}
		ids = append(ids, list...)
	}
	c.ids = ids
	for _, text := range ids {
		id, err := index.ParseID(text)
		if err != nil {
			return usagef("--id: %w", err)
		}
		item, err := getItem(ctx, s, id)
		if err != nil {
			return err
		}
		q.add(text, item.Label, item.Code, nil)
	}
	return nil
}

// codeFiles tells whether the arguments are code files; all of them must be, or none.
func codeFiles(paths []string) (bool, error) {
	coded := 0
	for _, path := range paths {
		// An error is left to whoever reads the file: the path may be a pattern.
		if kind, ok, _ := section.FileKind(path); ok && kind == section.Codes {
			coded++
		}
	}
	if coded != 0 && coded != len(paths) {
		return false, usagef("code files and vectors cannot be mixed: give one or the other")
	}
	return coded > 0, nil
}

// readCodes reads code files.
func (c *searchCommand) readCodes(q *queries, paths []string) error {
	first := 0
	for i, path := range paths {
		t, err := hamming.ReadFile(path)
		if err != nil {
			return err
		}
		if i > 0 && t.Fingerprint != q.fingerprint {
			return fmt.Errorf("%s has codes of model %v, %s of model %v: search for one after the other",
				path, t.Fingerprint, paths[0], q.fingerprint)
		}
		q.fingerprint = t.Fingerprint
		if t.Codes.Bits != q.codes.Bits {
			return fmt.Errorf("%s: codes of %d bits for an index of %d: encode with the model of the index",
				path, t.Codes.Bits, q.codes.Bits)
		}
		for r := range t.Codes.Len() {
			if name := strconv.Itoa(first + r); c.wanted(first + r) {
				if t.IDs != nil {
					name = t.IDs[r]
				}
				q.add(name, "", t.Codes.Row(r), nil)
			}
		}
		first += t.Codes.Len()
	}
	return c.allRows(q, paths, first)
}

// readVectors encodes vectors or pictures with the model of the index.
func (c *searchCommand) readVectors(ctx context.Context, q *queries, m *model.Model, paths []string) error {
	set, src, err := openFor(m, c.data, paths, c.threads)
	if err != nil {
		return err
	}
	q.fingerprint = m.Fingerprint()
	rows := 0
	keep := c.margins || len(c.rerank) > 0
	p := c.start("encoding", max(set.Rows(), 0), 0)
	defer p.end()
	err = m.EncodeSource(ctx, src, c.threads, func(first int, codes hamming.Codes, chunk vectors.Chunk) error {
		rows = first + codes.Len()
		p.tick(rows)
		for i := range codes.Len() {
			if !c.wanted(first + i) {
				continue
			}
			name, label, vector := strconv.Itoa(first+i), "", []float32(nil)
			if chunk.IDs != nil {
				name = chunk.IDs[i]
			}
			if chunk.Labels != nil {
				label = chunk.Labels[i]
			}
			if keep {
				vector = chunk.X.Row(i)
			}
			q.add(name, label, codes.Row(i), vector)
		}
		if len(c.rows) > 0 && rows > slices.Max(c.rows) {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	if bad, first := set.Bad(); bad > 0 {
		c.note("dropped %d bad rows, the first: %v", bad, first[0])
	}
	return c.allRows(q, paths, rows)
}

// errEnough ends a reading when all that is wanted was read.
var errEnough = errors.New("enough")

// wanted tells whether a row is to be searched for.
func (c *searchCommand) wanted(row int) bool { return len(c.rows) == 0 || slices.Contains(c.rows, row) }

// allRows checks that every row that was asked for was there, and that there is anything to search for.
func (c *searchCommand) allRows(q *queries, paths []string, rows int) error {
	if len(c.rows) > 0 && slices.Max(c.rows) >= rows {
		return fmt.Errorf("%s: there is no row %d: the rows are 0 to %d",
			strings.Join(paths, " "), slices.Max(c.rows), rows-1)
	}
	if len(q.names) == 0 {
		return fmt.Errorf("%s: there are no rows to search for", strings.Join(paths, " "))
	}
	return nil
}

// openFor opens data that the model shall encode: the set of rows and the source of the model's vectors.
func openFor(m *model.Model, d dataFlags, paths []string, threads int) (*dataset.Set, vectors.Source, error) {
	set, err := d.open(paths, m.Pictures)
	if err != nil {
		return nil, nil, err
	}
	src, err := m.Source(set, threads)
	if err != nil {
		return nil, nil, err
	}
	if src.Dim() != m.Encoder.Dim() {
		return nil, nil, fmt.Errorf("%s: vectors of %d dimensions, but the model takes %d",
			paths[0], src.Dim(), m.Encoder.Dim())
	}
	return set, src, nil
}

// itemVectors reads the vectors of some items, by id, or by the number of the row where the data have no ids, in one
// pass and no more memory than they need.
func (c *searchCommand) itemVectors(
	ctx context.Context, m *model.Model, ids map[index.ID]bool,
) (map[index.ID][]float32, error) {
	d := c.items
	d.skipBad, d.size, d.fit, d.grey = c.data.skipBad, c.data.size, c.data.fit, c.data.grey
	var as *picture.Preparation
	if m != nil {
		as = m.Pictures
	}
	set, err := d.open(c.rerank, as)
	if err != nil {
		return nil, fmt.Errorf("--rerank: %w", err)
	}
	src := vectors.Source(set)
	if m != nil {
		if src, err = m.Source(set, c.threads); err != nil {
			return nil, fmt.Errorf("--rerank: %w", err)
		}
	}
	p := c.start("reading vectors", max(set.Rows(), 0), 0)
	defer p.end()
	found := make(map[index.ID][]float32, len(ids))
	for chunk, err := range src.Chunks(ctx) {
		if err != nil {
			return nil, fmt.Errorf("--rerank: %w", err)
		}
		for i := range chunk.X.Rows {
			id := index.Int(int64(chunk.First + i))
			if chunk.IDs != nil {
				if id, err = index.ParseID(chunk.IDs[i]); err != nil {
					return nil, fmt.Errorf("--rerank: row %d: %w", chunk.First+i, err)
				}
			}
			if ids[id] {
				found[id] = slices.Clone(chunk.X.Row(i))
			}
		}
		p.tick(chunk.First + chunk.X.Rows)
		if len(found) == len(ids) {
			break
		}
	}
	return found, nil
}
