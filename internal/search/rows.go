package search

import (
	"context"
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hashgrove/api"
	"hashgrove/internal/hamming"
	"hashgrove/internal/message"
	"hashgrove/internal/vectors"
)

// CodeQueries reads the given rows of code files as queries, or all if rows is empty, and the fingerprint of the model
// that made them. The codes must have the given number of bits.
func CodeQueries(paths []string, rows []int, bits int) (list []api.Query, made hamming.Fingerprint, err error) {
	first := 0
	for i, path := range paths {
		t, err := hamming.ReadFile(path)
		if err != nil {
			return nil, made, err
		}
		if i > 0 && t.Fingerprint != made {
			return nil, made, fmt.Errorf("%s has codes of model %v, %s of model %v: search for one after the other",
				path, t.Fingerprint, paths[0], made)
		}
		made = t.Fingerprint
		if t.Codes.Bits != bits && bits != 0 {
			return nil, made, message.New("bits-mismatch",
				"%s: codes of %d bits for an index of %d: encode with the model of the index", path, t.Codes.Bits, bits)
		}
		for r := range t.Codes.Len() {
			if isWanted(rows, first+r) {
				code := hex.EncodeToString(t.Codes.AppendBytes(nil, r))
				list = append(list, api.Query{Name: rowName(t.IDs, r, first+r), Code: code})
			}
		}
		first += t.Codes.Len()
	}
	return list, made, CheckRows(strings.Join(paths, " "), rows, first, len(list))
}

// IDQueries returns queries by id. A text with commas is one id if an item has it, else a list of ids.
func IDQueries(has func(id string) (bool, error), texts []string) (list []api.Query, err error) {
	for _, text := range texts {
		ok, err := has(text)
		switch ids, notList := csv.NewReader(strings.NewReader(text)).Read(); {
		case err != nil:
			return nil, err
		case ok:
			list = append(list, api.Query{ID: api.ID(text)})
		case notList == nil && len(ids) > 1:
			more, err := IDQueries(has, ids)
			if err != nil {
				return nil, err
			}
			list = append(list, more...)
		default:
			return nil, api.Errorf(api.ErrNotFound, "no item has the id %q", text)
		}
	}
	return list, nil
}

// Reading describes how rows are read.
type Reading struct {
	Name     string // of the rows, for errors
	Rows     []int  // only these; empty means all
	AtLeast  int    // rows per batch, except the last; 0 means as they arrive
	Progress func(done int)
}

// EachBatch reads rows as queries and passes them on in batches. It reports whether the rows have ids.
func EachBatch(
	ctx context.Context, src vectors.Source, o Reading, take func([]api.Query) error,
) (named bool, err error) {
	read, wanted := 0, 0
	var batch []api.Query
	flush := func() error {
		wanted += len(batch)
		if len(batch) == 0 {
			return nil
		}
		list := batch
		batch = nil
		return take(list)
	}
	for chunk, err := range src.Chunks(ctx) {
		if err != nil {
			return named, err
		}
		named = named || chunk.IDs != nil
		for i := range chunk.X.Rows {
			if row := chunk.First + i; isWanted(o.Rows, row) {
				q := api.Query{Name: rowName(chunk.IDs, i, row), Vector: slices.Clone(chunk.X.Row(i))}
				if chunk.Labels != nil {
					q.Label = chunk.Labels[i]
				}
				batch = append(batch, q)
			}
		}
		read = chunk.First + chunk.X.Rows
		if o.Progress != nil {
			o.Progress(read)
		}
		if len(batch) >= o.AtLeast {
			if err := flush(); err != nil {
				return named, err
			}
		}
		if len(o.Rows) > 0 && read > slices.Max(o.Rows) {
			break
		}
	}
	if err := flush(); err != nil {
		return named, err
	}
	return named, CheckRows(o.Name, o.Rows, read, wanted)
}

// CheckRows returns an error if a requested row does not exist or there are no rows at all.
func CheckRows(name string, rows []int, read, wanted int) error {
	if len(rows) > 0 && slices.Max(rows) >= read {
		return message.New("no-such-row", "%s: there is no row %d: the rows are 0 to %d", name, slices.Max(rows), read-1)
	}
	if wanted == 0 {
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
