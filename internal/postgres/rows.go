package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"hashgrove/api"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/message"
)

// maxKey is the longest id; an index of PostgreSQL allows slightly more.
const maxKey = 2600

// checkText rejects a text that PostgreSQL cannot store.
func checkText(what, text string) error {
	if strings.ContainsRune(text, 0) {
		return message.New("zero-byte", "%w: its %s has a zero byte, which PostgreSQL cannot store", ErrRefused, what)
	}
	if !utf8.ValidString(text) {
		return message.New("not-utf8", "%w: its %s is not UTF-8, which PostgreSQL cannot store", ErrRefused, what)
	}
	return nil
}

// checkTexts rejects an item with a text that PostgreSQL cannot store.
func checkTexts(it index.Item) error {
	id := it.ID.String()
	err := errors.Join(checkText("id", id), checkText("label", it.Label))
	if len(id) > maxKey {
		err = errors.Join(err,
			fmt.Errorf("%w: its id has %d bytes, but PostgreSQL allows at most %d", ErrRefused, len(id), maxKey))
	}
	for _, tag := range it.Tags {
		err = errors.Join(err, checkText("tag", tag))
	}
	for name, v := range it.Attributes {
		text, _ := v.Text()
		err = errors.Join(err, checkText("attribute's name", name), checkText("attribute", text))
	}
	return err
}

// row converts an item to the columns of the table.
func row(c hamming.Codes, i int, it index.Item) ([]any, error) {
	if err := checkTexts(it); err != nil {
		return nil, err
	}
	var number *int64
	if n, ok := it.ID.Integer(); ok {
		number = &n
	}
	var label *string
	if it.Label != "" {
		label = &it.Label
	}
	tags, attributes := it.Tags, []byte("{}")
	if tags == nil {
		tags = []string{}
	}
	var err error
	if len(it.Attributes) > 0 {
		attributes, err = json.Marshal(it.Attributes)
	}
	return []any{it.ID.String(), number, bitString(c, i), label, tags, attributes}, err
}

// bitString returns code i as a PostgreSQL bit string.
func bitString(c hamming.Codes, i int) pgtype.Bits {
	return pgtype.Bits{Bytes: c.AppendBytes(nil, i), Len: int32(c.Bits), Valid: true}
}

// Write adds items in one transaction, replacing those with the same ids; repeating a call changes nothing. If an id
// occurs twice, the last row counts.
func (t *Table) Write(ctx context.Context, b *index.Batch) error {
	if b.Codes.Bits != t.space.Bits {
		return fmt.Errorf("codes of %d bits for a table of codes of %d", b.Codes.Bits, t.space.Bits)
	}
	order, err := b.Order(true)
	if err != nil {
		return err
	}
	rows := make([][]any, len(order))
	for i, r := range order {
		if rows[i], err = row(b.Codes, r, b.Item(r)); err != nil {
			return err
		}
	}
	return failure(pgx.BeginFunc(ctx, t.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, stagingSQL(t.space.Bits)); err != nil {
			return err
		}
		_, err := tx.CopyFrom(ctx, pgx.Identifier{"pg_temp", "hashgrove_batch"}, columns, pgx.CopyFromRows(rows))
		if err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, t.upsertSQL())
		if err == nil && tag.RowsAffected() != int64(len(rows)) {
			err = fmt.Errorf("PostgreSQL wrote %d of %d rows: does a trigger drop some?", tag.RowsAffected(), len(rows))
		}
		return err
	}))
}

// Query asks for the items nearest to each of some codes.
type Query struct {
	Codes  hamming.Codes
	K      int // hits per code; 0 means all within the radius
	Radius int // largest distance in bits of the class; negative means any
	Filter index.Filter
}

// near reports whether the index of pgvector answers a query, nearly exactly.
func (t *Table) near(q Query) bool { return t.vector && t.space.detail() == 0 && q.Radius < 0 }

// Search returns hits for every code of the query, by distance, then by id.
func (t *Table) Search(ctx context.Context, q Query) ([][]index.Hit, error) {
	switch {
	case q.Codes.Bits != t.space.Bits:
		return nil, fmt.Errorf("a query of %d bits for a table of codes of %d", q.Codes.Bits, t.space.Bits)
	case q.K < 0 || q.K == 0 && q.Radius < 0:
		return nil, errors.New("a search needs a number of hits, or a radius")
	}
	where := &filter{args: []any{nil}}
	text, err := t.searchSQL(q, where)
	if err != nil {
		return nil, err
	}
	all := make([][]index.Hit, q.Codes.Len())
	const pipeline = 64 // queries sent without waiting for replies
	for first := 0; first < len(all); first += pipeline {
		batch := &pgx.Batch{}
		if t.near(q) { // search enough of the graph, and continue if a filter leaves too few
			batch.Queue("SELECT set_config('hnsw.ef_search', $1, false), "+
				"set_config('hnsw.iterative_scan', 'strict_order', false)", strconv.Itoa(min(max(200, 4*q.K), 1000)))
		}
		for i := first; i < min(first+pipeline, len(all)); i++ {
			args := append([]any{bitString(q.Codes, i)}, where.args[1:]...)
			batch.Queue(text, args...).Query(func(rows pgx.Rows) error {
				var id string
				var distance, class int
				all[i] = []index.Hit{}
				_, err := pgx.ForEachRow(rows, []any{&id, &distance, &class}, func() error {
					key, err := index.ParseID(id)
					hit := index.Hit{ID: key, Distance: distance}
					if t.space.detail() > 0 {
						hit = rankedHit(key, distance, class)
					}
					all[i] = append(all[i], hit)
					return err
				})
				return err
			})
		}
		if err := t.pool.SendBatch(ctx, batch).Close(); err != nil {
			return nil, failure(err)
		}
	}
	return all, nil
}

// searchSQL returns the statement of a search; $1 is the code.
func (t *Table) searchSQL(q Query, where *filter) (string, error) {
	condition, err := where.sql(q.Filter)
	if err != nil {
		return "", err
	}
	limit := ""
	if q.K > 0 {
		limit = fmt.Sprintf(" LIMIT %d", q.K)
	}
	query := fmt.Sprintf("$1::bit(%d)", t.space.Bits)
	distance := fmt.Sprintf("(%s)::integer", t.space.distanceSQL("code", query))
	class := fmt.Sprintf("%s::integer AS class", t.space.classSQL("code", query))
	if q.Radius >= 0 {
		condition += fmt.Sprintf(" AND %s <= %d", t.space.classSQL("code", query), q.Radius)
	}
	if t.near(q) { // only this order uses the index
		return fmt.Sprintf("SELECT id, distance, class FROM (SELECT id, id_number, %s AS distance, %s FROM %s WHERE %s "+
			"ORDER BY code <~> %s%s) AS nearest ORDER BY distance, %s", distance, class, t.items(), condition, query, limit,
			idOrder), nil
	}
	return fmt.Sprintf("SELECT id, %s AS distance, %s FROM %s WHERE %s ORDER BY distance, %s%s",
		distance, class, t.items(), condition, idOrder, limit), nil
}

// Count returns the number of items.
func (t *Table) Count(ctx context.Context) (n int, err error) {
	err = t.pool.QueryRow(ctx, "SELECT count(*) FROM "+t.items()).Scan(&n)
	return n, failure(err)
}

// Read passes on the items that match a filter, ordered by id, some at a time.
func (t *Table) Read(ctx context.Context, f index.Filter, take func(*index.Batch) error) error {
	where := &filter{}
	condition, err := where.sql(f)
	if err != nil {
		return err
	}
	rows, err := t.pool.Query(ctx, fmt.Sprintf("SELECT id, code, label, tags, attributes FROM %s WHERE %s ORDER BY %s",
		t.items(), condition, idOrder), where.args...)
	if err != nil {
		return failure(err)
	}
	defer rows.Close()
	const some = 4096
	b, code := index.NewBatch(t.space.Bits), hamming.NewCodes(1, t.space.Bits)
	for rows.Next() {
		it, err := scanItem(rows, code)
		if err != nil {
			return failure(err)
		}
		if b.Append(it); len(b.IDs) == some {
			if err := take(b); err != nil {
				return err
			}
			b = index.NewBatch(t.space.Bits)
		}
	}
	if err := rows.Err(); err != nil {
		return failure(err)
	}
	if len(b.IDs) == 0 {
		return nil
	}
	return take(b)
}

// scanItem reads a row of the table as an item with the given code.
func scanItem(rows pgx.Rows, code hamming.Codes) (index.Item, error) {
	var id string
	var bits pgtype.Bits
	var label *string
	var attributes []byte
	it := index.Item{Code: code.Row(0)}
	if err := rows.Scan(&id, &bits, &label, &it.Tags, &attributes); err != nil {
		return it, err
	}
	var err error
	if it.ID, err = index.ParseID(id); err != nil {
		return it, err
	}
	if int(bits.Len) != code.Bits || !code.SetBytes(0, bits.Bytes) {
		return it, fmt.Errorf("item %q has a code of %d bits instead of %d", id, bits.Len, code.Bits)
	}
	if label != nil {
		it.Label = *label
	}
	if len(it.Tags) == 0 {
		it.Tags = nil
	}
	if len(attributes) > 2 {
		if err := json.Unmarshal(attributes, &it.Attributes); err != nil {
			return it, fmt.Errorf("item %q has attributes that are neither numbers nor texts: %w", id, err)
		}
	}
	return it, nil
}

// CheckNames refuses a filter on a name that no item of a table has, as an index does: it is more likely misspelled
// than meant, and a database finds nothing in silence, or everything with "not". An empty table takes any name.
func (t *Table) CheckNames(ctx context.Context, f index.Filter) error {
	for _, name := range f.Names() {
		where := &filter{}
		condition, err := where.sql(index.Filter{Condition: &index.Condition{Op: "has", Name: name}})
		if err != nil {
			return err
		}
		var known bool
		err = t.pool.QueryRow(ctx, fmt.Sprintf(
			"SELECT EXISTS (SELECT 1 FROM %[1]s WHERE %[2]s) OR NOT EXISTS (SELECT 1 FROM %[1]s)", t.items(), condition),
			where.args...).Scan(&known)
		if err != nil {
			return failure(err)
		}
		if !known {
			return api.Errorf(api.ErrFilter, "filter: no item has %.60q: a filter can use id, label, tag and attributes "+
				"that items have", name)
		}
	}
	return nil
}
