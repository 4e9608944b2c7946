package items

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// Queries is what to search for.
type Queries struct {
	Names       []string // id or row
	Named       bool     // rows of data have ids
	Labels      []string // "" where unknown
	Codes       hamming.Codes
	Vectors     vectors.Matrix      // where they are known and kept
	Margins     []float32           // the same: one per bit, query after query
	Fingerprint hamming.Fingerprint // of the codes; zeros when they are the index's own
}

// Add appends a query; vector may be nil.
func (q *Queries) Add(name, label string, code []uint64, vector []float32) {
	q.Names = append(q.Names, name)
	q.Labels = append(q.Labels, label)
	q.Codes.Data = append(q.Codes.Data, code...)
	if vector != nil {
		q.AddVector(vector)
	}
}

// AddVector appends the vector of the next query that has none.
func (q *Queries) AddVector(vector []float32) {
	q.Vectors.Data = append(q.Vectors.Data, vector...)
	q.Vectors.Cols = len(vector)
	q.Vectors.Rows++
}

// ReadCodes appends the given rows of code files, or all of them when rows is empty.
func (q *Queries) ReadCodes(paths []string, rows []int) error {
	first := 0
	for i, path := range paths {
		t, err := hamming.ReadFile(path)
		if err != nil {
			return err
		}
		if i > 0 && t.Fingerprint != q.Fingerprint {
			return fmt.Errorf("%s has codes of model %v, %s of model %v: search for one after the other",
				path, t.Fingerprint, paths[0], q.Fingerprint)
		}
		q.Fingerprint = t.Fingerprint
		if t.Codes.Bits != q.Codes.Bits {
			return fault.New("bits-mismatch", "%s: codes of %d bits for an index of %d: encode with the model of the index",
				path, t.Codes.Bits, q.Codes.Bits)
		}
		for r := range t.Codes.Len() {
			if isWanted(rows, first+r) {
				q.Add(rowName(t.IDs, r, first+r), "", t.Codes.Row(r), nil)
			}
		}
		first += t.Codes.Len()
	}
	return q.check(strings.Join(paths, " "), rows, first)
}

// ReadItems appends items of an index by their ids. A text with commas is one id where the index has it, else a list of
// ids.
func (q *Queries) ReadItems(get func(index.ID) (index.Item, bool, error), texts []string) error {
	for _, text := range texts {
		id, err := index.ParseID(text)
		if err != nil {
			return err
		}
		item, ok, err := get(id)
		switch list, notList := csv.NewReader(strings.NewReader(text)).Read(); {
		case err != nil:
			return err
		case ok:
			q.Add(text, item.Label, item.Code, nil)
		case notList == nil && len(list) > 1:
			if err := q.ReadItems(get, list); err != nil {
				return err
			}
		default:
			return fmt.Errorf("no item has the id %q", text)
		}
	}
	return nil
}

// errEnough ends a reading when all that is wanted was read.
var errEnough = errors.New("enough")

// Reading says how rows are read.
type Reading struct {
	Name        string // of the rows, for errors
	Rows        []int  // only these; empty means all
	KeepVectors bool
	KeepMargins bool // the scores before the sign, which say how certain the bits are
	Threads     int
	Progress    func(done int)
}

// ReadRows encodes rows of a source of the model's vectors and appends them.
func (q *Queries) ReadRows(ctx context.Context, m *model.Model, src vectors.Source, o Reading) error {
	q.Fingerprint = m.Fingerprint()
	read := 0
	err := m.EncodeSource(ctx, src, o.Threads, func(first int, codes hamming.Codes, chunk vectors.Chunk) error {
		read = first + codes.Len()
		o.Progress(read)
		if err := q.addChunk(ctx, m, first, codes, chunk, o); err != nil {
			return err
		}
		return o.enough(read)
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	return q.check(o.Name, o.Rows, read)
}

// EachChunk encodes rows as they come, as from a pipe, and hands them on chunk by chunk. It reports no progress.
func EachChunk(
	ctx context.Context, m *model.Model, src vectors.Source, o Reading, take func(q *Queries) error,
) error {
	read, wanted := 0, Queries{}
	err := m.EncodeLive(ctx, src, o.Threads, func(first int, codes hamming.Codes, chunk vectors.Chunk) error {
		read = first + codes.Len()
		q := &Queries{Codes: hamming.NewCodes(0, codes.Bits), Fingerprint: m.Fingerprint()}
		if err := q.addChunk(ctx, m, first, codes, chunk, o); err != nil {
			return err
		}
		if len(q.Names) > 0 {
			wanted.Names = q.Names
			if err := take(q); err != nil {
				return err
			}
		}
		return o.enough(read)
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	return wanted.check(o.Name, o.Rows, read)
}

// addChunk appends the rows of a chunk that are wanted.
func (q *Queries) addChunk(
	ctx context.Context, m *model.Model, first int, codes hamming.Codes, chunk vectors.Chunk, o Reading,
) error {
	q.Named = q.Named || chunk.IDs != nil
	wanted := vectors.Matrix{Cols: chunk.X.Cols}
	for i := range codes.Len() {
		if !isWanted(o.Rows, first+i) {
			continue
		}
		label, vector := "", []float32(nil)
		if chunk.Labels != nil {
			label = chunk.Labels[i]
		}
		if o.KeepVectors {
			vector = chunk.X.Row(i)
		}
		q.Add(rowName(chunk.IDs, i, first+i), label, codes.Row(i), vector)
		if o.KeepMargins && len(o.Rows) > 0 {
			wanted.Rows, wanted.Data = wanted.Rows+1, append(wanted.Data, chunk.X.Row(i)...)
		}
	}
	if !o.KeepMargins {
		return nil
	}
	if len(o.Rows) == 0 {
		wanted = chunk.X
	}
	margins, err := m.Margins(ctx, wanted, o.Threads)
	q.Margins = append(q.Margins, margins.Data...)
	return err
}

// enough is errEnough when all rows that are wanted were read.
func (o Reading) enough(read int) error {
	if len(o.Rows) > 0 && read > slices.Max(o.Rows) {
		return errEnough
	}
	return nil
}

// check reports a row that was asked for and is not there, and data without rows.
func (q *Queries) check(name string, rows []int, read int) error {
	if len(rows) > 0 && slices.Max(rows) >= read {
		return fault.New("no-such-row", "%s: there is no row %d: the rows are 0 to %d", name, slices.Max(rows), read-1)
	}
	if len(q.Names) == 0 {
		return fmt.Errorf("%s: there are no rows to search for", name)
	}
	return nil
}

// isWanted reports whether a row is among rows; empty means all.
func isWanted(rows []int, row int) bool { return len(rows) == 0 || slices.Contains(rows, row) }

func rowName(ids []string, i, row int) string {
	if ids != nil {
		return ids[i]
	}
	return strconv.Itoa(row)
}

// VectorsByID reads the vectors of some items, by id, or by the number of the row where the data have no ids, in one
// pass and no more memory than they need.
func VectorsByID(
	ctx context.Context, src vectors.Source, ids map[index.ID]bool, progress func(done int),
) (map[index.ID][]float32, error) {
	found := make(map[index.ID][]float32, len(ids))
	for chunk, err := range src.Chunks(ctx) {
		if err != nil {
			return nil, err
		}
		for i := range chunk.X.Rows {
			id, err := rowID(chunk, i, chunk.First+i)
			if err != nil {
				return nil, err
			}
			if ids[id] {
				found[id] = slices.Clone(chunk.X.Row(i))
			}
		}
		progress(chunk.First + chunk.X.Rows)
		if len(found) == len(ids) {
			break
		}
	}
	return found, nil
}
