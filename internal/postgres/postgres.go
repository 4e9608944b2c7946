// Package postgres stores codes in PostgreSQL: it writes items, searches them there, reads them back, and verifies that
// the table holds what was written and answers as an exact index.
//
// PostgreSQL 14 or later. A code is a bit(n) with our first bit first, and bit_count(code # query) is the distance,
// so a search reads every code and is exact. With the extension pgvector, an HNSW index answers instead, almost
// exactly.
//
//	items             id, id_number (of an integer id, for the order), code, label, tags, attributes
//	hashgrove_tables  which model made the codes of each table of the schema
//
// A batch is copied into a temporary table and inserted from there in the same transaction, replacing items by id, so
// an interrupted push is simply run again.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"hashgrove"
	"hashgrove/internal/hamming"
	"hashgrove/internal/message"
)

// Errors for errors.Is.
var (
	ErrTemporary = errors.New("the database cannot be reached or is busy") // trying again may help
	ErrRefused   = errors.New("the database refuses an item")              // and would refuse it again
	ErrFilter    = errors.New("the database does not support this filter")
	ErrNoTable   = errors.New("there is no such table of codes") // in the database
)

// Space describes what all codes of a table have in common.
type Space struct {
	Bits        int
	Fingerprint hamming.Fingerprint // of the model; zero if unknown
}

// Accept rejects codes that do not belong in the same table.
func (s Space) Accept(codes Space) error {
	if s.Bits != codes.Bits {
		return fmt.Errorf("codes of %d bits for a table of codes of %d: push them into another table",
			codes.Bits, s.Bits)
	}
	if err := s.Fingerprint.Accept(codes.Fingerprint); err != nil {
		return fmt.Errorf("codes of model %v do not belong in the table of model %v: "+
			"encode with that model, or push them into another table", codes.Fingerprint, s.Fingerprint)
	}
	return nil
}

// Info describes the contents of a table.
type Info struct {
	Space
	Server string // with its version
	Table  string
	Exact  bool // searches are exact, not approximate
}

// Target names a table in a database.
type Target = hashgrove.TableOptions

// Table is a table of items. Its methods may be called concurrently, but only after Prepare or Info.
type Table struct {
	pool   *pgxpool.Pool
	schema string // "" means the first in the search path
	table  string
	vector bool
	space  Space // once known
}

// leastPostgres is the first version that can count the bits of a bit string.
const leastPostgres = 140000

// schemaLock is the key of the advisory lock held while tables are created.
const schemaLock = 0x6861736867726f76

// Open returns a table, which connects on first use.
func Open(ctx context.Context, at Target) (*Table, error) {
	if err := checkURL(at.URL); err != nil {
		return nil, err
	}
	t := &Table{table: cmp.Or(at.Table, hashgrove.DefaultTable), vector: at.Vector}
	if schema, table, found := strings.Cut(t.table, "."); found {
		t.schema, t.table = schema, table
		if schema == "" {
			return nil, fmt.Errorf("%q is not a table name: write schema.table", at.Table)
		}
	}
	for _, name := range []string{t.schema, t.table} {
		if len(name) > 50 || strings.ContainsRune(name, 0) || strings.Contains(name, ".") {
			return nil, fmt.Errorf("%q is not a valid table name: use at most 50 bytes, without dots", name)
		}
	}
	if t.table == "" || t.table == "hashgrove_tables" {
		return nil, fmt.Errorf("a table cannot be called %q", t.table)
	}
	config, err := pgxpool.ParseConfig(at.URL)
	if err != nil {
		return nil, errors.New("the URL of the database cannot be used: " +
			"write it as postgres://user@host:port/database, or postgres://user@/database?host=/folder/of/the/socket")
	}
	if at.Password != "" {
		config.ConnConfig.Password = at.Password
	}
	config.MaxConns = int32(cmp.Or(max(at.Connections, 0), 2))
	if names := config.ConnConfig.RuntimeParams; names["application_name"] == "" {
		names["application_name"] = "hashgrove"
	}
	if t.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, failure(err)
	}
	return t, nil
}

// checkURL rejects a URL of something else, and one with a password, which others could read in process lists and logs.
// No error here repeats the URL.
func checkURL(text string) error {
	scheme, _, found := strings.Cut(text, "://")
	if !found {
		return errors.New("a database is named by a URL, such as postgres://user@host/database")
	}
	if scheme != "postgres" && scheme != "postgresql" {
		return fmt.Errorf("%q is not PostgreSQL: its URL is postgres://user@host/database", scheme)
	}
	u, err := url.Parse(text)
	if err != nil {
		return errors.New("the URL of the database cannot be parsed: write special characters as %XX")
	}
	_, secret := u.User.Password()
	for name := range u.Query() {
		secret = secret || slices.Contains([]string{"password", "sslpassword", "passwd", "token"}, strings.ToLower(name))
	}
	if secret {
		return errors.New("the URL of the database contains a password, which others can see: " +
			"leave it out and give it in the environment or in a file")
	}
	return nil
}

// Close closes all connections.
func (t *Table) Close() { t.pool.Close() }

// querier is a connection or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Info describes the table, or returns ErrNoTable.
func (t *Table) Info(ctx context.Context) (Info, error) {
	info, err := t.info(ctx, t.pool)
	if err != nil {
		return Info{}, failure(err)
	}
	t.space = info.Space
	return info, nil
}

// info reads what is known about the table.
func (t *Table) info(ctx context.Context, q querier) (Info, error) {
	info := Info{Table: t.table}
	if t.schema != "" {
		info.Table = t.schema + "." + t.table
	}
	var version int
	var text string
	var there, known bool
	err := q.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_version'),
  to_regclass($1) IS NOT NULL, to_regclass($2) IS NOT NULL`, t.items(), t.name("hashgrove_tables")).
		Scan(&version, &text, &there, &known)
	if err != nil {
		return info, err
	}
	if version < leastPostgres {
		return info, fmt.Errorf("PostgreSQL %s cannot count the bits of a code: version 14 or later is needed", text)
	}
	info.Server = "PostgreSQL " + strings.Fields(text)[0]
	if t.vector {
		if err := t.findVector(ctx, q, &info); err != nil {
			return info, err
		}
	}
	recorded := false
	if known {
		var fingerprint string
		err := q.QueryRow(ctx, fmt.Sprintf(`SELECT bits, fingerprint FROM %s WHERE name = $1`,
			t.name("hashgrove_tables")), t.table).Scan(&info.Bits, &fingerprint)
		if recorded = err == nil; recorded {
			info.Fingerprint, err = hamming.ParseFingerprint(fingerprint)
		}
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return info, err
		}
	}
	switch {
	case there && !recorded:
		return info, message.New("foreign-table", "the table %s exists, but was not made by Hashgrove: name another table",
			info.Table)
	case !there:
		return info, fmt.Errorf("%w: %s", ErrNoTable, info.Table)
	}
	info.Exact = !t.vector || info.detail() > 0
	return info, nil
}

// findVector checks for the extension pgvector. Before version 0.8 a filtered search could return too few hits.
func (t *Table) findVector(ctx context.Context, q querier, info *Info) error {
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
	info.Server += " with pgvector " + version
	return err
}

// Prepare creates the table, or checks that codes of the space belong in the existing one.
func (t *Table) Prepare(ctx context.Context, s Space) (Info, error) {
	var info Info
	err := pgx.BeginFunc(ctx, t.pool, func(tx pgx.Tx) (err error) {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(schemaLock)); err != nil {
			return err
		}
		info, err = t.info(ctx, tx)
		if errors.Is(err, ErrNoTable) {
			for _, text := range t.creation(s) {
				if _, err := tx.Exec(ctx, text); err != nil {
					return err
				}
			}
			info, err = t.info(ctx, tx)
		}
		if err != nil {
			return err
		}
		return info.Accept(s)
	})
	if err != nil {
		return Info{}, failure(err)
	}
	t.space = info.Space
	return info, nil
}

// failure maps a database error to ours.
func failure(err error) error {
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

// isBroken reports whether a connection ended.
func isBroken(err error) bool {
	_, network := errors.AsType[net.Error](err)
	return network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, pgconn.ErrConnClosed)
}
