package engine

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"hashgrove/internal/index"
)

// Bulk files for Redis and SQLite, loaded by their own tools without a connection. Both create the table if needed,
// add to one of the same model, replacing items by id, and refuse one of another model. So the files of shards may
// be loaded one after the other, and a file may be loaded twice.

// bulkNoteScript is noteScript for a note without an identity: a new table gets one from the time.
const bulkNoteScript = `if redis.call('EXISTS', KEYS[1], KEYS[2]) == 0 then
  local time = redis.call('TIME')
  redis.call('HSET', KEYS[2], '', ARGV[1] .. redis.sha1hex(KEYS[2] .. ':' .. time[1] .. ':' .. time[2]) .. '"}')
end`

// Layouts implements Loader.
//
//	resp     commands in the protocol of Redis
//	parquet  codes as hex digits, attributes as JSON
func (r *redis) Layouts(s Space) []Layout {
	note := strings.TrimSuffix(redisNote(s, ""), `"}`)
	sum := sha1.Sum([]byte(writeScript))
	head := appendCommand(nil, "EVAL", bulkNoteScript, "2", r.table, r.details(), note)
	head = appendCommand(head, "SCRIPT", "LOAD", writeScript)
	write := []string{
		"EVALSHA", hex.EncodeToString(sum[:]), "2", r.table, r.details(), note, strconv.Itoa(s.shape().wide()),
	}
	return []Layout{
		{
			Name: "resp", Load: "redis-cli --pipe <FILE makes the table, where there is none, and fills it; " +
				"errors: 0 is what it says at the end",
			Head: string(head),
			Append: func(dst []byte, b *index.Batch, i int) ([]byte, error) {
				words, err := redisWords(s.shape(), b, i)
				if err != nil {
					return dst, err
				}
				return appendCommand(dst, append(write[:len(write):len(write)], words...)...), nil
			},
		},
		plainTable(),
	}
}

// Layouts implements Loader.
//
//	sql      a script for the program sqlite3
//	parquet  codes as hex digits, attributes as JSON
func (s *sqlite) Layouts(space Space) []Layout {
	return []Layout{
		{
			Name: "sql", Load: "sqlite3 shop.db <FILE, with the name of your database, makes the table, where there is none, " +
				"and fills it, in one transaction",
			Head: s.scriptHead(space), Tail: "COMMIT;\n",
			Append: func(dst []byte, b *index.Batch, i int) ([]byte, error) {
				var rows sqlBatch
				rows.add(space.shape(), b.Codes, i, b.Item(i), s.vec)
				for _, text := range s.insertSQL(&rows, space.Bits) {
					dst = append(append(dst, text...), ";\n"...)
				}
				return dst, nil
			},
		},
		plainTable(),
	}
}

// misfit is the constraint that SQLite names when a script is aborted.
const misfit = "the table is of other codes, or none of ours"

// scriptHead creates the table if needed. A constraint aborts the script if there is a different one.
func (s *sqlite) scriptHead(space Space) string {
	creation, layout := s.creation(space), plainLayout
	var b strings.Builder
	b.WriteString(".bail on\n.timeout 60000\n")
	if s.vec {
		layout = vecLayout
		b.WriteString(s.load() + "\n")
	}
	there := fmt.Sprintf("(SELECT count(*) FROM sqlite_master WHERE name = %s)", sqlText(s.table))
	record := fmt.Sprintf("(SELECT count(*) FROM hashgrove_tables WHERE name = %s", sqlText(s.table))
	fmt.Fprintf(&b, "BEGIN IMMEDIATE;\n%s;\n", creation[0])
	b.WriteString("CREATE TEMPORARY TABLE fitting (fits CONSTRAINT \"" + misfit + "\" CHECK (fits));\n")
	fmt.Fprintf(&b, "INSERT INTO fitting SELECT (SELECT encoding FROM pragma_encoding) = 'UTF-8' AND %s = %s)\n"+
		"  AND %s = %s AND bits = %d AND fingerprint = '%s' AND layout = '%s');\n",
		there, record, there, record, space.Bits, space.Fingerprint.Full(), layout)
	for _, text := range creation[1:] {
		for _, kind := range []string{"TABLE", "VIRTUAL TABLE", "INDEX", "TRIGGER"} {
			if rest, found := strings.CutPrefix(text, "CREATE "+kind+" "); found {
				text = "CREATE " + kind + " IF NOT EXISTS " + rest
			}
		}
		b.WriteString(strings.Replace(text, "INSERT OR REPLACE", "INSERT OR IGNORE", 1) + ";\n")
	}
	return b.String()
}
