package search

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hashgrove/api"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/message"
	"hashgrove/internal/vectors"
)

// CodeQueries reads the given rows of code files as queries, or all if rows is empty, and the fingerprint of the model
// that made them. The codes must have the given number of bits, or any for 0.
func CodeQueries(paths []string, rows []int, bits int) (list []api.Query, made hamming.Fingerprint, err error) {
	first := 0
	for i, path := range paths {
		t, err := hamming.ReadFile(path)
		if err != nil {
			return nil, made, err
		}
		if i > 0 && t.Fingerprint != made {
			return nil, made, fmt.Errorf("%s has codes of model %v, %s of model %v: search for them separately",
				path, t.Fingerprint, paths[0], made)
		}
		made = t.Fingerprint
		if err := CheckBits(path, t.Codes.Bits, bits); err != nil {
			return nil, made, err
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

// Page returns a page of items in order of their ids: those after an id, or the first ones for "", and at most limit,
// or all for 0. next is where the next page starts; it is "" on the last one.
func Page(list []index.Hit, limit int, after api.ID) (page []index.Hit, next api.ID, err error) {
	if after != "" {
		id, err := index.ParseID(string(after))
		if err != nil {
			return nil, "", invalid("after", "after: %v", err)
		}
		at, found := slices.BinarySearchFunc(list, id, func(h index.Hit, id index.ID) int { return h.ID.Compare(id) })
		if found {
			at++
		}
		list = list[at:]
	}
	if limit > 0 && len(list) > limit {
		list = list[:limit]
		next = api.ID(list[limit-1].ID.String())
	}
	return list, next, nil
}

// CheckBits returns an error for codes of another length than those that are searched; 0 is unknown.
func CheckBits(path string, bits, searched int) error {
	if bits == searched || searched == 0 {
		return nil
	}
	return message.New("bits-mismatch",
		"%s: codes of %d bits for an index of %d: encode with the model of the index", path, bits, searched)
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
