package engine

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
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
	all, columns := make([][]index.Hit, q.Codes.Len()), "hex(CAST(id AS BLOB)), distance"
	weighted := s.detail > 0 && !s.vec
	if weighted {
		columns += ", class"
	}
	var script []string
	for i := range all {
		script = append(script, fmt.Sprintf("SELECT %d", i), s.searchSQL(s.shape, q, i, columns, condition))
	}
	query := -1
	err = s.run(ctx, script, func(line string) error {
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
		if weighted {
			var n, class int
			_, err = fmt.Sscanf(distance, "%d|%d", &n, &class)
			h = rankedHit(id, n, class)
		} else {
			h.Distance, err = strconv.Atoi(strings.TrimSuffix(distance, ".0")) // sqlite-vec returns 3.0
		}
		all[query] = append(all[query], h)
		return err
	})
	if err != nil || weighted {
		return all, err
	}
	return s.apart(ctx, s, q, all)
}

// searchSQL returns the statement that searches for code i of a query.
func (s *sqlite) searchSQL(of shape, q Query, i int, columns, condition string) string {
	from, radius := s.scanSQL(of, q.Codes, i, condition), of.radius(q.Radius)
	if of.detail > 0 && !s.vec {
		radius *= hamming.DetailUnits
	}
	if radius >= 0 {
		from += fmt.Sprintf("\nWHERE distance <= %d", radius)
	}
	limit := ""
	if q.K > 0 {
		limit = fmt.Sprintf("\nLIMIT %d", q.K)
	}
	return fmt.Sprintf("SELECT %s FROM %s\nORDER BY distance, id_number NULLS LAST, id%s", columns, from, limit)
}

// scanSQL returns a query for the distances of all items that meet a condition.
func (s *sqlite) scanSQL(of shape, c hamming.Codes, i int, condition string) string {
	if s.vec {
		return fmt.Sprintf("(SELECT id, id_number, vec_distance_hamming(vec_bit(c.code), vec_bit(%s)) AS distance\n"+
			"  FROM %s AS c CROSS JOIN %s AS i ON i.item = c.rowid WHERE %s LIMIT -1)",
			vecCode(of.spread(c, i), 0), s.name("_codes"), s.name(""), condition)
	}
	var x, y, z, class, detail []string
	for j, part := range of.parts() {
		w, word := part.word, int64(c.Row(i)[part.word])
		differ := fmt.Sprintf("(w%d|%d)-(w%d&%d)", w, word, w, word)
		if part.mask != 0 {
			differ = fmt.Sprintf("(%s)&%d", differ, int64(part.mask))
		}
		x = append(x, fmt.Sprintf("%s AS x%d", differ, j))
		y = append(y, fmt.Sprintf("x%d&%d AS y%d, (x%d<0)+(x%d>>62&1) AS t%d", j, int64(low62), j, j, j, j))
		z = append(z, fmt.Sprintf("y%d-(y%d>>1&%d)-(y%d>>2&%d) AS z%d, t%d", j, j, int64(threes), j, int64(ones3), j, j))
		n := fmt.Sprintf("(z%d+(z%d>>3)&%d)%%63+t%d", j, j, int64(sixes), j)
		if part.detail {
			detail = append(detail, n)
		} else {
			class = append(class, n)
		}
	}
	distance := strings.Join(class, "+") + " AS distance"
	if of.detail > 0 {
		sum := strings.Join(class, "+")
		distance = fmt.Sprintf("%d*(%s)+%d*(%s) AS distance, %s AS class",
			hamming.BitUnits, sum, hamming.DetailUnits, strings.Join(detail, "+"), sum)
	}
	return fmt.Sprintf(`(SELECT id, id_number, %s
  FROM (SELECT id, id_number, %s
    FROM (SELECT id, id_number, %s
      FROM (SELECT id, id_number, %s
        FROM %s AS i WHERE %s
      LIMIT -1) LIMIT -1) LIMIT -1) LIMIT -1)`,
		distance, strings.Join(z, ", "), strings.Join(y, ", "), strings.Join(x, ", "), s.name(""), condition)
}

// wordPart is some bits of a word of a code, all of the class or all of detail.
type wordPart struct {
	word   int
	mask   uint64 // 0 means all bits
	detail bool
}

// parts returns the words of a code; the one that ends the class comes twice.
func (s shape) parts() (list []wordPart) {
	for w := range words(s.bits) {
		switch first, class := 64*w, s.class(); {
		case s.detail == 0 || class >= first+64:
			list = append(list, wordPart{word: w})
		case class <= first:
			list = append(list, wordPart{word: w, detail: true})
		default:
			rest := uint64(math.MaxUint64) >> (class - first)
			list = append(list, wordPart{w, ^rest, false}, wordPart{w, rest, true})
		}
	}
	return list
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
