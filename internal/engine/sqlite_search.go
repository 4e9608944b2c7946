package engine

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// SQLite cannot count bits. Its integers have 64 bits with a sign, and overflow turns them into reals, so bits are
// counted in steps that stay below 2^63 (after HAKMEM, item 169):
//
//	x = (w | q) - (w & q)                       the bits that differ
//	y = the lower 62 of them, t = the number of the other two
//	z = y - (y>>1 & 0o333...) - (y>>2 & 0o111...)   the count in every three bits
//	n = ((z + (z>>3)) & 0o0707...) % 63 + t     counts of six bits each, and their sum, which is at most 62
//
// Each step is a subquery. LIMIT -1 keeps SQLite from flattening them, which would compute x six times for every code.
const (
	low62  = 1<<62 - 1
	threes = 0o333333333333333333333 & low62
	ones3  = 0o111111111111111111111 & low62
	sixes  = 0o070707070707070707070707 & low62
)

// Search implements Engine.
func (s *sqlite) Search(ctx context.Context, q Query) ([][]index.Hit, error) {
	if err := q.check(s.bits); err != nil {
		return nil, err
	}
	condition, err := sqliteFilter{s}.condition(q.Filter)
	if err != nil {
		return nil, err
	}
	all := make([][]index.Hit, q.Codes.Len())
	var script []string
	for i := range all {
		script = append(script, fmt.Sprintf("SELECT %d", i), s.searchSQL(q, i, "hex(CAST(id AS BLOB)), distance", condition))
	}
	query := -1
	return all, s.run(ctx, script, func(line string) error {
		name, distance, hit := strings.Cut(line, "|")
		if !hit { // the next query
			query++
			return nil
		}
		id, err := unhexID(name)
		if err != nil {
			return err
		}
		h := index.Hit{ID: id}
		if h.Distance, err = strconv.Atoi(strings.TrimSuffix(distance, ".0")); err == nil { // sqlite-vec returns 3.0
			all[query] = append(all[query], h)
		}
		return err
	})
}

// searchSQL returns the statement that searches for code i of a query.
func (s *sqlite) searchSQL(q Query, i int, columns, condition string) string {
	from := s.scanSQL(q.Codes, i, condition)
	if q.Radius >= 0 {
		from += fmt.Sprintf("\nWHERE distance <= %d", q.Radius)
	}
	limit := ""
	if q.K > 0 {
		limit = fmt.Sprintf("\nLIMIT %d", q.K)
	}
	return fmt.Sprintf("SELECT %s FROM %s\nORDER BY distance, id_number NULLS LAST, id%s", columns, from, limit)
}

// scanSQL returns a query for the distances of all items that meet a condition.
func (s *sqlite) scanSQL(c hamming.Codes, i int, condition string) string {
	if s.vec {
		return fmt.Sprintf("(SELECT id, id_number, vec_distance_hamming(vec_bit(c.code), vec_bit(%s)) AS distance\n"+
			"  FROM %s AS c CROSS JOIN %s AS i ON i.item = c.rowid WHERE %s LIMIT -1)",
			vecCode(c, i), s.name("_codes"), s.name(""), condition)
	}
	var x, y, z, n []string
	for w, word := range c.Row(i) {
		x = append(x, fmt.Sprintf("(w%d|%d)-(w%d&%d) AS x%d", w, int64(word), w, int64(word), w))
		y = append(y, fmt.Sprintf("x%d&%d AS y%d, (x%d<0)+(x%d>>62&1) AS t%d", w, int64(low62), w, w, w, w))
		z = append(z, fmt.Sprintf("y%d-(y%d>>1&%d)-(y%d>>2&%d) AS z%d, t%d", w, w, int64(threes), w, int64(ones3), w, w))
		n = append(n, fmt.Sprintf("(z%d+(z%d>>3)&%d)%%63+t%d", w, w, int64(sixes), w))
	}
	return fmt.Sprintf(`(SELECT id, id_number, %s AS distance
  FROM (SELECT id, id_number, %s
    FROM (SELECT id, id_number, %s
      FROM (SELECT id, id_number, %s
        FROM %s AS i WHERE %s
      LIMIT -1) LIMIT -1) LIMIT -1) LIMIT -1)`,
		strings.Join(n, "+"), strings.Join(z, ", "), strings.Join(y, ", "), strings.Join(x, ", "), s.name(""), condition)
}

// vecCode returns code i for sqlite-vec, whose first bit is the lowest of the first byte.
func vecCode(c hamming.Codes, i int) string {
	packed := c.AppendBytes(nil, i)
	for at, b := range packed {
		packed[at] = bits.Reverse8(b)
	}
	return fmt.Sprintf("x'%x'", packed)
}

// unhexID decodes an id.
func unhexID(text string) (index.ID, error) {
	b, err := hex.DecodeString(text)
	if err != nil {
		return index.ID{}, errOutput
	}
	return index.ParseID(string(b))
}

// errOutput reports unexpected output of sqlite3.
var errOutput = errors.New("the program sqlite3 printed something unexpected")
