package engine

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
)

// PostgreSQL 14 or later. A code is a bit(n) with our first bit first, and bit_count(code # query) is the distance,
// so a search reads every code and is exact. With the extension pgvector, an HNSW index answers instead, almost
// exactly.
//
//	items             id, id_number (of an integer id, for the order), code, label, tags, attributes
//	hashgrove_tables  which model made the codes of each table of the schema
//
// A batch is copied into a temporary table and inserted from there in the same transaction, replacing items by id.

// postgres is the engine for PostgreSQL.
type postgres struct {
	pool   *pgxpool.Pool
	schema string // "" means the first in the search path
	table  string
	vector bool
	shape
}

// leastPostgres is the first version that can count the bits of a bit string.
const leastPostgres = 140000

// schemaLock is the key of the advisory lock held while tables are created.
const schemaLock = 0x6861736867726f76

func openPostgres(ctx context.Context, t Target) (Engine, error) {
	p := &postgres{table: t.Table, vector: t.Vector}
	if schema, table, found := strings.Cut(t.Table, "."); found {
		p.schema, p.table = schema, table
		if schema == "" {
			return nil, fmt.Errorf("%q is not a table name: write schema.table", t.Table)
		}
	}
	for _, name := range []string{p.schema, p.table} {
		if len(name) > 50 || strings.ContainsRune(name, 0) || strings.Contains(name, ".") {
			return nil, fmt.Errorf("%q is not a valid table name: use at most 50 bytes, without dots", name)
		}
	}
	if p.table == "" || p.table == "hashgrove_tables" {
		return nil, fmt.Errorf("a table cannot be called %q", p.table)
	}
	config, err := pgxpool.ParseConfig(t.URL)
	if err != nil {
		return nil, errors.New("the URL of the engine cannot be used: " +
			"write it as postgres://user@host:port/database, or postgres://user@/database?host=/folder/of/the/socket")
	}
	if t.Password != "" {
		config.ConnConfig.Password = t.Password
	}
	config.MaxConns = int32(max(t.InFlight, 1))
	config.ConnConfig.RuntimeParams["application_name"] = "hashgrove"
	if u, _ := url.Parse(t.URL); u != nil && u.Query().Get("application_name") != "" {
		config.ConnConfig.RuntimeParams["application_name"] = u.Query().Get("application_name")
	}
	if p.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, p.failure(err)
	}
	return p, nil
}

// Close implements Engine.
func (p *postgres) Close() error {
	p.pool.Close()
	return nil
}

// name returns the quoted name of a table or function in the schema of the items.
func (p *postgres) name(table string) string {
	if p.schema == "" {
		return pgx.Identifier{table}.Sanitize()
	}
	return pgx.Identifier{p.schema, table}.Sanitize()
}

// items returns the quoted name of the table.
func (p *postgres) items() string { return p.name(p.table) }

// literal quotes a text for SQL.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// creation returns the statements that create the table.
func (p *postgres) creation(s Space) []string {
	list := []string{
		fmt.Sprintf(`CREATE TABLE IF NOT EXISTS %s (
  name text PRIMARY KEY,
  bits integer NOT NULL,
  fingerprint text NOT NULL,
  identity uuid NOT NULL DEFAULT gen_random_uuid(),
  created timestamptz NOT NULL DEFAULT now()
)`, p.name("hashgrove_tables")),
		fmt.Sprintf(`CREATE TABLE %s (
  id text COLLATE "C" PRIMARY KEY,
  id_number bigint,
  code bit(%d) NOT NULL,
  label text,
  tags text[] NOT NULL DEFAULT '{}',
  attributes jsonb NOT NULL DEFAULT '{}'
)`, p.items(), s.Bits),
		fmt.Sprintf(`CREATE INDEX ON %s (label)`, p.items()),
		fmt.Sprintf(`CREATE INDEX ON %s USING gin (tags)`, p.items()),
	}
	if p.vector {
		list = append(list, fmt.Sprintf(`CREATE INDEX ON %s USING hnsw (%s bit_hamming_ops)`, p.items(),
			s.shape().spreadSQL("code")))
	}
	return append(list, fmt.Sprintf(`INSERT INTO %s (name, bits, fingerprint) VALUES (%s, %d, '%s')`,
		p.name("hashgrove_tables"), literal(p.table), s.Bits, s.Fingerprint.Full()))
}

// stagingSQL creates the temporary table that a batch is copied into.
func stagingSQL(bits int) string {
	return fmt.Sprintf(`CREATE TEMPORARY TABLE IF NOT EXISTS hashgrove_batch (
  id text, id_number bigint, code bit(%d), label text, tags text[], attributes jsonb
) ON COMMIT DELETE ROWS`, bits)
}

// columns of a batch and of the table.
var columns = []string{"id", "id_number", "code", "label", "tags", "attributes"}

// copySQL is what pgx sends to copy rows into the temporary table.
var copySQL = `copy "pg_temp"."hashgrove_batch" ( "` + strings.Join(columns, `", "`) + `" ) from stdin binary;`

// upsertSQL moves a batch into the table.
func (p *postgres) upsertSQL() string {
	return fmt.Sprintf(`INSERT INTO %s (%s)
SELECT %s FROM pg_temp.hashgrove_batch ORDER BY id COLLATE "C"
ON CONFLICT (id) DO UPDATE SET id_number = excluded.id_number, code = excluded.code, label = excluded.label,
  tags = excluded.tags, attributes = excluded.attributes`,
		p.items(), strings.Join(columns, ", "), strings.Join(columns, ", "))
}

// idOrder orders ids: integers by value, then texts bytewise.
const idOrder = `id_number NULLS LAST, id COLLATE "C"`

// Plan implements Engine.
func (p *postgres) Plan(s Space) []Statement {
	list := []Statement{{"tables are made by one program at a time", p.lockSQL(), true}}
	for _, text := range p.creation(s) {
		list = append(list, Statement{"make the table, where there is none", text, true})
	}
	list = append(list,
		Statement{"write a batch, in one transaction", stagingSQL(s.Bits), true},
		Statement{"write a batch, in one transaction", copySQL, true},
		Statement{"write a batch, in one transaction", p.upsertSQL(), true},
	)
	query := "B'" + strings.Repeat("0", s.Bits) + "'"
	what, of := "search exactly, with the code of your query", s.shape()
	if of.detail > 0 {
		what += fmt.Sprintf("; the distance is in sixteenths of a bit: the first %d bits tell the class and count 16, "+
			"the others are detail and count 2", of.class())
	}
	search := fmt.Sprintf(`SELECT id, %s AS distance
FROM %s
-- WHERE label = 'boots' AND tags && ARRAY['sale']
--   AND CASE jsonb_typeof(attributes->'price') WHEN 'number' THEN (attributes->>'price')::numeric < 30 END
ORDER BY distance, %s
LIMIT 10`, of.distanceSQL("code", query), p.items(), idOrder)
	list = append(list, Statement{what, search, false})
	if p.vector {
		list = append(list, Statement{"search with the index of pgvector, nearly exactly", fmt.Sprintf(
			"SELECT id, %s AS distance FROM %s ORDER BY %s LIMIT 10", of.nearSQL(query), p.items(), of.nearSQL(query)), false})
	}
	return append(list, Statement{"a function to search with; it is yours to create", p.functionSQL(of), false})
}

// functionSQL creates a search function. The radius is in bits.
func (p *postgres) functionSQL(of shape) string {
	distance, radius := of.distanceSQL("i.code", "query"), "radius"
	if of.detail > 0 {
		radius = fmt.Sprintf("%d * radius", hamming.BitUnits)
	}
	return fmt.Sprintf(`CREATE OR REPLACE FUNCTION %s(query bit, most integer DEFAULT 10, radius integer DEFAULT NULL)
RETURNS TABLE (id text, distance integer) LANGUAGE sql STABLE AS $function$
  SELECT i.id, (%s)::integer AS distance
  FROM %s i
  WHERE radius IS NULL OR %s <= %s
  ORDER BY %s, i.id_number NULLS LAST, i.id COLLATE "C"
  LIMIT most
$function$`, p.name(p.table+"_search"), distance, p.items(), distance, radius, distance)
}

func (p *postgres) lockSQL() string {
	return fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", int64(schemaLock))
}

// querier is a connection or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Info implements Engine.
func (p *postgres) Info(ctx context.Context) (Info, error) {
	info, err := p.info(ctx, p.pool)
	if err != nil {
		return Info{}, p.failure(err)
	}
	p.shape = info.shape()
	return info, nil
}

// info reads what is known about the table.
func (p *postgres) info(ctx context.Context, q querier) (Info, error) {
	info := Info{Table: p.table, Exact: !p.vector}
	if p.schema != "" {
		info.Table = p.schema + "." + p.table
	}
	var version int
	var text string
	var there, known bool
	err := q.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_version'),
  to_regclass($1) IS NOT NULL, to_regclass($2) IS NOT NULL`, p.items(), p.name("hashgrove_tables")).
		Scan(&version, &text, &there, &known)
	if err != nil {
		return info, err
	}
	if version < leastPostgres {
		return info, fmt.Errorf("PostgreSQL %s cannot count the bits of a code: version 14 or later is needed", text)
	}
	info.Engine = "PostgreSQL " + strings.Fields(text)[0]
	if p.vector {
		if err := p.findVector(ctx, q, &info); err != nil {
			return info, err
		}
	}
	recorded := false
	if known {
		var fingerprint string
		err := q.QueryRow(ctx, fmt.Sprintf(`SELECT bits, fingerprint, identity::text FROM %s WHERE name = $1`,
			p.name("hashgrove_tables")), p.table).Scan(&info.Bits, &fingerprint, &info.Identity)
		if recorded = err == nil; recorded {
			info.Fingerprint, err = hamming.ParseFingerprint(fingerprint)
		}
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return info, err
		}
	}
	switch {
	case there && !recorded:
		return info, fault.New("foreign-table", "the table %s exists, but was not made by Hashgrove: name another table",
			info.Table)
	case !there:
		return info, fmt.Errorf("%w: %s", ErrNoTable, info.Table)
	}
	return info, p.checkColumn(ctx, q, info)
}

// findVector checks for the extension pgvector. Before version 0.8 a filtered search could return too few hits.
func (p *postgres) findVector(ctx context.Context, q querier, info *Info) error {
	var version string
	err := q.QueryRow(ctx, "SELECT extversion FROM pg_extension WHERE extname = 'vector'").Scan(&version)
	if errors.Is(err, pgx.ErrNoRows) {
		return errors.New("the database does not have the extension pgvector: run CREATE EXTENSION vector there, " +
			"or search exactly without it")
	}
	var major, minor int
	if n, _ := fmt.Sscanf(version, "%d.%d", &major, &minor); err == nil && n == 2 && major == 0 && minor < 8 {
		return fmt.Errorf("pgvector %s is too old: version 0.8 or later is needed", version)
	}
	info.Engine += " with pgvector " + version
	return err
}

// checkColumn detects a table whose code column was changed.
func (p *postgres) checkColumn(ctx context.Context, q querier, info Info) error {
	var kind string
	err := q.QueryRow(ctx, `SELECT format_type(atttypid, atttypmod) FROM pg_attribute
WHERE attrelid = to_regclass($1) AND attname = 'code' AND NOT attisdropped`, p.items()).Scan(&kind)
	if errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("the table %s no longer has a column code", info.Table)
	}
	if want := fmt.Sprintf("bit(%d)", info.Bits); err == nil && kind != want {
		return fmt.Errorf("the column code of %s is %s instead of %s: was it changed?", info.Table, kind, want)
	}
	return err
}

// Prepare implements Engine.
func (p *postgres) Prepare(ctx context.Context, s Space) (Info, error) {
	var info Info
	err := pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) (err error) {
		if _, err := tx.Exec(ctx, p.lockSQL()); err != nil {
			return err
		}
		info, err = p.info(ctx, tx)
		if errors.Is(err, ErrNoTable) {
			if err := p.create(ctx, tx, s, info.Identity != ""); err != nil {
				return err
			}
			info, err = p.info(ctx, tx)
		}
		if err != nil {
			return err
		}
		return info.Accept(s)
	})
	if err != nil {
		return Info{}, p.failure(err)
	}
	p.shape = info.shape()
	return info, nil
}

// create creates the table after removing an old record of a dropped one.
func (p *postgres) create(ctx context.Context, tx pgx.Tx, s Space, recorded bool) error {
	if recorded {
		_, err := tx.Exec(ctx, fmt.Sprintf(`DELETE FROM %s WHERE name = $1`, p.name("hashgrove_tables")), p.table)
		if err != nil {
			return err
		}
	}
	for _, text := range p.creation(s) {
		if _, err := tx.Exec(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// failure maps a database error to ours.
func (p *postgres) failure(err error) error {
	var refusal *pgconn.PgError
	var connect *pgconn.ConnectError
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, ErrFilter), errors.Is(err, ErrRefused), errors.Is(err, ErrNoTable):
		return err
	case errors.As(err, &refusal):
		text := fmt.Errorf("PostgreSQL says: %s (%s)", refusal.Message, refusal.Code)
		switch code := refusal.Code; {
		case code[:2] == "08", code == "57P01", code == "57P02", code == "57P03", code == "40001", code == "40P01",
			code == "53300", code == "55P03":
			return fmt.Errorf("%w: %w", ErrTemporary, text)
		case code[:2] == "22", code[:2] == "23", code == "54000":
			return fmt.Errorf("%w: %w", ErrRefused, text)
		}
		return text
	case errors.As(err, &connect), pgconn.SafeToRetry(err), pgconn.Timeout(err), isBroken(err):
		return fmt.Errorf("%w: %w", ErrTemporary, err)
	}
	return err
}
