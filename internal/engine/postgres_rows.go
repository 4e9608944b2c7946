package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// isBroken reports whether a connection ended.
func isBroken(err error) bool {
	_, network := errors.AsType[net.Error](err)
	return network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, pgconn.ErrConnClosed)
}

// maxKey is the longest id; an index of PostgreSQL allows slightly more.
const maxKey = 2600

// checkText rejects a text that PostgreSQL cannot store.
func checkText(what, text string) error {
	if strings.ContainsRune(text, 0) {
		return fault.New("zero-byte", "%w: its %s has a zero byte, which PostgreSQL cannot store", ErrRefused, what)
	}
	return checkUTF8("PostgreSQL", what, text)
}

// row converts an item to the columns of the table.
func row(c hamming.Codes, i int, it index.Item) ([]any, error) {
	id := it.ID.String()
	err := errors.Join(checkText("id", id), checkLength("PostgreSQL", "id", id, maxKey), eachText(it, checkText))
	if err != nil {
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
	if len(it.Attributes) > 0 {
		if attributes, err = json.Marshal(it.Attributes); err != nil {
			return nil, err
		}
	}
	return []any{id, number, bitString(c, i), label, tags, attributes}, nil
}

// bitString returns code i as a PostgreSQL bit string.
func bitString(c hamming.Codes, i int) pgtype.Bits {
	return pgtype.Bits{Bytes: c.AppendBytes(nil, i), Len: int32(c.Bits), Valid: true}
}

// Write implements Engine.
func (p *postgres) Write(ctx context.Context, b *index.Batch) error {
	order, err := orderOf(b, p.bits)
	if err != nil {
		return err
	}
	rows := make([][]any, len(order))
	for i, r := range order {
		if rows[i], err = row(b.Codes, r, b.Item(r)); err != nil {
			return err
		}
	}
	return p.failure(pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, stagingSQL(p.bits)); err != nil {
			return err
		}
		_, err := tx.CopyFrom(ctx, pgx.Identifier{"pg_temp", "hashgrove_batch"}, columns, pgx.CopyFromRows(rows))
		if err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, p.upsertSQL())
		if err == nil && tag.RowsAffected() != int64(len(rows)) {
			err = fmt.Errorf("PostgreSQL wrote %d of %d rows: does a trigger drop some?", tag.RowsAffected(), len(rows))
		}
		return err
	}))
}

// Search implements Engine.
func (p *postgres) Search(ctx context.Context, q Query) ([][]index.Hit, error) {
	if err := q.check(p.bits); err != nil {
		return nil, err
	}
	where := &pgFilter{args: []any{nil}}
	text, err := p.searchSQL(q, where)
	if err != nil {
		return nil, err
	}
	all := make([][]index.Hit, q.Codes.Len())
	const pipeline = 64 // queries sent without waiting for replies
	for first := 0; first < len(all); first += pipeline {
		batch := &pgx.Batch{}
		if p.vector && q.Radius < 0 { // search enough of the graph, and continue if a filter leaves too few
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
					if p.detail > 0 {
						hit = rankedHit(key, distance, class)
					}
					all[i] = append(all[i], hit)
					return err
				})
				return err
			})
		}
		if err := p.pool.SendBatch(ctx, batch).Close(); err != nil {
			return nil, p.failure(err)
		}
	}
	return all, nil
}

// searchSQL returns the statement of a search; $1 is the code.
func (p *postgres) searchSQL(q Query, where *pgFilter) (string, error) {
	condition, err := where.condition(q.Filter)
	if err != nil {
		return "", err
	}
	limit := ""
	if q.K > 0 {
		limit = fmt.Sprintf(" LIMIT %d", q.K)
	}
	query := fmt.Sprintf("$1::bit(%d)", p.bits)
	distance := fmt.Sprintf("(%s)::integer", p.distanceSQL("code", query))
	class := fmt.Sprintf("%s::integer AS class", p.classSQL("code", query))
	if q.Radius >= 0 {
		radius := q.Radius
		if p.detail > 0 {
			radius = hamming.DetailUnits * p.radius(q.Radius)
		}
		condition += fmt.Sprintf(" AND %s <= %d", distance, radius)
	}
	if p.vector && q.Radius < 0 { // only this order uses the index
		return fmt.Sprintf("SELECT id, distance, class FROM (SELECT id, id_number, %s AS distance, %s FROM %s WHERE %s "+
			"ORDER BY %s%s) AS nearest ORDER BY distance, %s", distance, class, p.items(), condition, p.nearSQL(query), limit,
			idOrder), nil
	}
	return fmt.Sprintf("SELECT id, %s AS distance, %s FROM %s WHERE %s ORDER BY distance, %s%s",
		distance, class, p.items(), condition, idOrder, limit), nil
}

// Count implements Engine.
func (p *postgres) Count(ctx context.Context) (n int, err error) {
	err = p.pool.QueryRow(ctx, "SELECT count(*) FROM "+p.items()).Scan(&n)
	return n, p.failure(err)
}

// Read implements Engine.
func (p *postgres) Read(ctx context.Context, f index.Filter, take func(*index.Batch) error) error {
	where := &pgFilter{}
	condition, err := where.condition(f)
	if err != nil {
		return err
	}
	rows, err := p.pool.Query(ctx, fmt.Sprintf("SELECT id, code, label, tags, attributes FROM %s WHERE %s ORDER BY %s",
		p.items(), condition, idOrder), where.args...)
	if err != nil {
		return p.failure(err)
	}
	defer rows.Close()
	const some = 4096
	b, code := index.NewBatch(p.bits), hamming.NewCodes(1, p.bits)
	for rows.Next() {
		it, err := scanItem(rows, code)
		if err != nil {
			return p.failure(err)
		}
		if b.Append(it); len(b.IDs) == some {
			if err := take(b); err != nil {
				return err
			}
			b = index.NewBatch(p.bits)
		}
	}
	if err := rows.Err(); err != nil {
		return p.failure(err)
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
