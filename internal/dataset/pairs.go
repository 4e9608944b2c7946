package dataset

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"hashgrove/internal/message"
	"hashgrove/internal/supervision"
)

// A file of pairs says which rows are similar, one pair per line:
//
//	a,b,similar        also s, 1, +1
//	a,b,dissimilar     also d, -1
//	a,b,unknown        also u, 0
//
// separated by commas or, when the first line has one, tabs; fields may be quoted as in CSV; the first line may be
// a header. The rows are named by id when the data have ids, else by their number in the data, from 0. The file may be
// compressed.

// ReadPairsBetween reads pairs of a row of a, the queries, and a row of b, the base. Each pair is returned once, in
// order of A, then B. Numbers count the rows that were kept.
func ReadPairsBetween(path string, a, b *supervision.Data) ([]supervision.Pair, error) {
	pairs, _, err := readPairs(path, newRowNames(a.IDs, a.Rows, nil), newRowNames(b.IDs, b.Rows, nil), false)
	return pairs, err
}

// ReadPairs makes the pairs in a file the supervision of the data. Numbers count the rows of the files. If bad rows
// were left out, pairs that name an unknown row are left out too, with a warning.
func ReadPairs(path string, d *supervision.Data) error {
	names := newRowNames(d.IDs, d.Rows, d.Dropped)
	pairs, leftOut, err := readPairs(path, names, names, true)
	if err != nil {
		return err
	}
	if len(pairs) == 0 {
		return message.New("no-pairs", "%s: no pairs", path)
	}
	if leftOut > 0 {
		d.Warnings = append(d.Warnings, fmt.Sprintf("%s: %s left out, because the rows they name were not kept",
			path, message.Count(leftOut, "pair was", "pairs were")))
	}
	return d.SetPairs(pairs)
}

// rowNames finds rows by their names in a file of pairs.
type rowNames struct {
	rows    int
	dropped []int            // rows of the files that were left out, ascending
	byID    map[string]int32 // nil: rows go by number
}

func newRowNames(ids []string, rows int, dropped []int) *rowNames {
	r := &rowNames{rows: rows, dropped: dropped}
	if ids != nil {
		r.byID = make(map[string]int32, len(ids))
		for i, id := range ids {
			r.byID[id] = int32(i)
		}
	}
	return r
}

// errDropped marks a row that was left out as bad, or may have been.
var errDropped = errors.New("left out")

func (r *rowNames) find(name string) (int32, error) {
	if r.byID != nil {
		row, ok := r.byID[name]
		switch {
		case ok:
			return row, nil
		case len(r.dropped) > 0:
			return 0, errDropped
		}
		return 0, message.New("no-such-id", "no row has the id %q", name)
	}
	n, err := strconv.ParseInt(name, 10, 64)
	last := r.rows + len(r.dropped) - 1
	switch {
	case errors.Is(err, strconv.ErrSyntax):
		return 0, message.New("not-a-row-number", "%q is not the number of a row, and the data have no ids", name)
	case err != nil || n < 0 || n > int64(last):
		return 0, message.New("no-such-row", "there is no row %s: the rows are 0 to %d", name, last)
	}
	before, dropped := slices.BinarySearch(r.dropped, int(n))
	if dropped {
		return 0, errDropped
	}
	return int32(int(n) - before), nil
}

// statement is a line of a file of pairs.
type statement struct {
	supervision.Pair
	line int
}

// readPairs reads all lines, then finds repetitions and contradictions by sorting.
func readPairs(path string, a, b *rowNames, symmetric bool) (pairs []supervision.Pair, leftOut int, err error) {
	in, err := openInput(path)
	if err != nil {
		return nil, 0, err
	}
	defer in.Close()
	head, err := in.head()
	if err != nil {
		return nil, 0, err
	}
	format := "csv"
	if first, _, _ := bytes.Cut(bytes.TrimSpace(head), []byte("\n")); bytes.IndexByte(first, '\t') >= 0 {
		format = "tsv"
	}
	t, _, err := sampleTable(in, format)
	if message.Is(err, "no-rows") {
		return nil, 0, nil
	}
	var statements []statement
	for first := err == nil; ; first = false {
		if err == nil {
			t.width = 3
			err = t.readRow()
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, 0, err
		}
		line, field := t.line, [3]string{string(t.fields[0]), string(t.fields[1]), string(t.fields[2])}
		if first && isHeader(field, a, b) {
			continue
		}
		p, err := parsePair(field, a, b)
		switch {
		case err == nil && symmetric && p.A == p.B:
			if p.Y < 0 {
				return nil, 0, message.New("dissimilar-to-itself",
					"%s: line %d: row %s is dissimilar to itself", path, line, field[0])
			}
			continue
		case err == nil:
		case errors.Is(err, errDropped):
			leftOut++
			continue
		default:
			return nil, 0, fmt.Errorf("%s: line %d: %w", path, line, err)
		}
		if symmetric && p.A > p.B {
			p.A, p.B = p.B, p.A
		}
		if len(statements) == math.MaxInt32 {
			return nil, 0, fmt.Errorf("%s: more than %d pairs", path, math.MaxInt32)
		}
		if err := in.hold(entryBytes); err != nil {
			return nil, 0, err
		}
		statements = append(statements, statement{p, line})
	}
	slices.SortFunc(statements, func(x, y statement) int {
		return cmp.Or(cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B), cmp.Compare(x.line, y.line))
	})
	for i, s := range statements {
		if i == 0 || s.A != statements[i-1].A || s.B != statements[i-1].B {
			pairs = append(pairs, s.Pair)
		} else if first := statements[i-1]; first.Y != s.Y {
			return nil, 0, message.New("contradiction", "%s: line %d calls a pair %s that line %d calls %s",
				path, s.line, verdictName(s.Y), first.line, verdictName(first.Y))
		}
	}
	return pairs, leftOut, nil
}

// parsePair parses the three fields of a line.
func parsePair(field [3]string, a, b *rowNames) (p supervision.Pair, err error) {
	// The verdict first: a bad line stays bad even if its rows were left out.
	if p.Y, err = verdict(field[2]); err != nil {
		return p, err
	}
	if p.A, err = a.find(field[0]); err != nil {
		return p, err
	}
	p.B, err = b.find(field[1])
	return p, err
}

// isHeader reports whether the first line names columns: neither row is known, and the third field is not a verdict.
func isHeader(field [3]string, a, b *rowNames) bool {
	_, errA := a.find(field[0])
	_, errB := b.find(field[1])
	_, errY := verdict(field[2])
	return errA != nil && errB != nil && errY != nil
}

// verdict parses the third field: a number, or the beginning of a word.
func verdict(s string) (int8, error) {
	switch supervision.CanonicalLabel(s) {
	case "1", "+1":
		return 1, nil
	case "-1":
		return -1, nil
	case "0":
		return 0, nil
	}
	if word := strings.ToLower(s); word != "" {
		for _, y := range []int8{1, -1, 0} {
			if strings.HasPrefix(verdictName(y), word) {
				return y, nil
			}
		}
	}
	return 0, message.New("unknown-verdict", "%q is not one of similar, dissimilar, unknown, 1, -1, 0", s)
}

func verdictName(y int8) string {
	return [3]string{"dissimilar", "unknown", "similar"}[y+1]
}
