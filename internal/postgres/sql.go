package postgres

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// name returns the quoted name of a table or function in the schema of the items.
func (t *Table) name(table string) string {
	if t.schema == "" {
		return pgx.Identifier{table}.Sanitize()
	}
	return pgx.Identifier{t.schema, table}.Sanitize()
}

// items returns the quoted name of the table.
func (t *Table) items() string { return t.name(t.table) }

// literal quotes a text for SQL.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// creation returns the statements that create the table.
func (t *Table) creation(s Space) []string {
	list := []string{
		fmt.Sprintf(`CREATE TABLE IF NOT EXISTS %s (
  name text PRIMARY KEY,
  bits integer NOT NULL,
  fingerprint text NOT NULL,
  created timestamptz NOT NULL DEFAULT now()
)`, t.name("hashgrove_tables")),
		fmt.Sprintf(`CREATE TABLE %s (
  id text COLLATE "C" PRIMARY KEY,
  id_number bigint,
  code bit(%d) NOT NULL,
  label text,
  tags text[] NOT NULL DEFAULT '{}',
  attributes jsonb NOT NULL DEFAULT '{}'
)`, t.items(), s.Bits),
		fmt.Sprintf(`CREATE INDEX ON %s (label)`, t.items()),
		fmt.Sprintf(`CREATE INDEX ON %s USING gin (tags)`, t.items()),
	}
	if t.vector && s.detail() == 0 {
		list = append(list, fmt.Sprintf(`CREATE INDEX ON %s USING hnsw (code bit_hamming_ops)`, t.items()))
	}
	return append(list, fmt.Sprintf(`INSERT INTO %s (name, bits, fingerprint) VALUES (%s, %d, '%s')
ON CONFLICT (name) DO UPDATE SET bits = excluded.bits, fingerprint = excluded.fingerprint, created = now()`,
		t.name("hashgrove_tables"), literal(t.table), s.Bits, s.Fingerprint.Full()))
}

// stagingSQL creates the temporary table that a batch is copied into.
func stagingSQL(bits int) string {
	return fmt.Sprintf(`CREATE TEMPORARY TABLE IF NOT EXISTS hashgrove_batch (
  id text, id_number bigint, code bit(%d), label text, tags text[], attributes jsonb
) ON COMMIT DELETE ROWS`, bits)
}

// columns of a batch and of the table.
var columns = []string{"id", "id_number", "code", "label", "tags", "attributes"}

// upsertSQL moves a batch into the table.
func (t *Table) upsertSQL() string {
	return fmt.Sprintf(`INSERT INTO %s (%s)
SELECT %s FROM pg_temp.hashgrove_batch ORDER BY id COLLATE "C"
ON CONFLICT (id) DO UPDATE SET id_number = excluded.id_number, code = excluded.code, label = excluded.label,
  tags = excluded.tags, attributes = excluded.attributes`,
		t.items(), strings.Join(columns, ", "), strings.Join(columns, ", "))
}

// idOrder orders ids: integers by value, then texts bytewise.
const idOrder = `id_number NULLS LAST, id COLLATE "C"`

// Codes with bits of detail are ranked by D = 16 x the bits of the class that differ + 2 x those of detail, as an index
// ranks them. The index of pgvector counts all bits alike, so that such codes are searched exactly, without it.

// detail returns the number of bits of detail, which are the last ones.
func (s Space) detail() int { return s.Fingerprint.Detail(s.Bits) }

// rankedHit returns a hit of a database that computed its weighted distance and its distance in class bits.
func rankedHit(id index.ID, weighted, class int) index.Hit {
	return index.Hit{
		ID: id, Distance: class, MarginDistance: weighted,
		DetailDistance: (weighted - hamming.BitUnits*class) / hamming.DetailUnits,
	}
}

// distanceSQL returns the distance of two bit strings: the number of bits that differ, or for codes with detail the
// weighted distance in sixteenths of a bit.
func (s Space) distanceSQL(a, b string) string {
	if s.detail() == 0 {
		return fmt.Sprintf("bit_count(%s # %s)", a, b)
	}
	return fmt.Sprintf("%d * %s + %d * bit_count(substring(%s # %s from %d))", hamming.BitUnits, s.classSQL(a, b),
		hamming.DetailUnits, a, b, s.Bits-s.detail()+1)
}

// classSQL returns the number of class bits that differ.
func (s Space) classSQL(a, b string) string {
	if s.detail() == 0 {
		return fmt.Sprintf("bit_count(%s # %s)", a, b)
	}
	return fmt.Sprintf("bit_count(substring(%s # %s from 1 for %d))", a, b, s.Bits-s.detail())
}
