package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
)

// SQLite, through the program sqlite3 (sqlite_program.go). A code is one integer per 64 bits, first bit highest, and
// the distance is computed in SQL (sqlite_search.go), so a search reads every code and is exact.
//
//	items             item (a number), id, id_number (of an integer id, for the order), label, w0, w1, ...
//	items_tags        item, tag
//	items_attributes  item, name, number or text, number_key (an integer that sorts like the numbers)
//	hashgrove_tables  which model made the codes of each table of the file
//
// In the layout vec0 the codes are in items_codes instead, a virtual table of the extension sqlite-vec with a column
// code bit[n], whose first bit is the lowest of the first byte; its rowid is item. Codes with detail are spread there
// (shape.go).
//
// A batch is one transaction, which deletes the items with the same ids and inserts all of them.

// sqlite is the engine for SQLite.
type sqlite struct {
	path, table string
	vec         bool   // the layout with sqlite-vec
	extension   string // its file

	writing  sync.Mutex // SQLite has one writer at a time
	identity string
	shape
}

const (
	plainLayout = "plain"
	vecLayout   = "vec0"
)

func openSQLite(t Target) (Engine, error) {
	u, err := url.Parse(t.URL)
	if err != nil || u.Host+u.Path == "" || u.User != nil {
		return nil, errors.New("the URL of the engine cannot be used: write it as sqlite:///path/of/the/file.db, " +
			"or sqlite://file.db in this folder")
	}
	if t.Password != "" {
		return nil, errors.New("SQLite has no passwords: leave it out")
	}
	s := &sqlite{table: t.Table, extension: "vec0"}
	if s.path, err = filepath.Abs(filepath.FromSlash(sqlitePath(u, runtime.GOOS == "windows"))); err != nil {
		return nil, err
	}
	for name, values := range u.Query() {
		switch value := values[0]; {
		case name == "layout" && (value == plainLayout || value == vecLayout):
			s.vec = value == vecLayout
		case name == "extension" && checkWord(value) == nil:
			s.extension = value
		default:
			return nil, fmt.Errorf("the URL of SQLite says %s=%s: it may say layout=plain or layout=vec0, "+
				"and extension=FILE of sqlite-vec", name, value)
		}
	}
	if err := checkWord(t.Table); err != nil || len(t.Table) > 100 || t.Table == "hashgrove_tables" ||
		strings.HasPrefix(strings.ToLower(t.Table), "sqlite_") {
		return nil, fmt.Errorf("a table cannot be called %q", t.Table)
	}
	return s, nil
}

// sqlitePath returns the file named by a URL. On Windows /C:/x is the file x on drive C.
func sqlitePath(u *url.URL, drives bool) string {
	path := u.Host + u.Path
	if drives && len(path) > 2 && path[0] == '/' && path[2] == ':' {
		path = path[1:]
	}
	return path
}

// checkWord rejects what a command line of sqlite3 cannot hold.
func checkWord(s string) error {
	if s == "" || strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c == 0x7f || c == '\ufffd' }) {
		return fmt.Errorf("%q cannot be used as a name", s)
	}
	return nil
}

// Close implements Engine.
func (s *sqlite) Close() error { return nil }

// name returns the quoted name of a table with the given suffix.
func (s *sqlite) name(more string) string {
	return `"` + strings.ReplaceAll(s.table+more, `"`, `""`) + `"`
}

// words returns the number of integers per code.
func words(bits int) int { return (bits + 63) / 64 }

// eachWord formats something for every integer of a code.
func eachWord(bits int, format string) string {
	list := make([]string, words(bits))
	for i := range list {
		list[i] = strings.ReplaceAll(format, "#", strconv.Itoa(i))
	}
	return strings.Join(list, ", ")
}

// creation returns the statements that create the table.
func (s *sqlite) creation(space Space) []string {
	columns, layout := eachWord(space.Bits, "w# INTEGER NOT NULL"), plainLayout
	if s.vec {
		columns, layout = "", vecLayout
	}
	if columns != "" {
		columns = ",\n  " + columns
	}
	list := []string{
		`CREATE TABLE IF NOT EXISTS hashgrove_tables (
  name TEXT PRIMARY KEY,
  bits INTEGER NOT NULL,
  fingerprint TEXT NOT NULL,
  layout TEXT NOT NULL,
  identity TEXT NOT NULL DEFAULT (lower(hex(randomblob(16))))
)`,
		fmt.Sprintf(`CREATE TABLE %s (
  item INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  id_number INTEGER,
  label TEXT%s
)`, s.name(""), columns),
		fmt.Sprintf("CREATE TABLE %s (item INTEGER, tag TEXT, PRIMARY KEY (item, tag)) WITHOUT ROWID", s.name("_tags")),
		fmt.Sprintf("CREATE TABLE %s (item INTEGER, name TEXT, number REAL, text TEXT, number_key INTEGER, "+
			"PRIMARY KEY (item, name)) WITHOUT ROWID", s.name("_attributes")),
		fmt.Sprintf("CREATE INDEX %s ON %s (label)", s.name("_label"), s.name("")),
		fmt.Sprintf("CREATE INDEX %s ON %s (tag)", s.name("_tag"), s.name("_tags")),
		fmt.Sprintf(`CREATE TRIGGER %s AFTER DELETE ON %s BEGIN
  DELETE FROM %s WHERE item = old.item;
  DELETE FROM %s WHERE item = old.item;
END`, s.name("_removed"), s.name(""), s.name("_tags"), s.name("_attributes")),
	}
	if s.vec {
		list = append(list, fmt.Sprintf("CREATE VIRTUAL TABLE %s USING vec0(code bit[%d])",
			s.name("_codes"), width(space.shape().wide()))) // whole bytes
	}
	return append(list, fmt.Sprintf("INSERT OR REPLACE INTO hashgrove_tables (name, bits, fingerprint, layout) "+
		"VALUES (%s, %d, '%s', '%s')", sqlText(s.table), space.Bits, space.Fingerprint.Full(), layout))
}

// Plan implements Engine.
func (s *sqlite) Plan(space Space) []Statement {
	var list []Statement
	add := func(purpose string, sent bool, texts ...string) {
		for _, text := range texts {
			list = append(list, Statement{purpose, text, sent})
		}
	}
	if s.vec {
		add("load the extension sqlite-vec; \"sqlite3 FILE\" reads this and all that follows", true, s.load())
	}
	add("make the table, where there is none", true, s.creation(space)...)
	var rows sqlBatch
	rows.example(space.shape(), s.vec)
	add("write a batch, in one transaction; this one has two items", true, s.writeSQL(&rows, space.Bits, "...")...)
	zero := hamming.NewCodes(1, space.Bits)
	where := fmt.Sprintf("label = 'boots' AND EXISTS (SELECT 1 FROM %s AS t WHERE t.item = i.item AND t.tag = 'sale')\n"+
		"  AND EXISTS (SELECT 1 FROM %s AS a WHERE a.item = i.item AND a.name = 'price' AND a.number < 30)",
		s.name("_tags"), s.name("_attributes"))
	of := space.shape()
	search := s.searchSQL(of, Query{Codes: zero, K: 10, Radius: -1}, 0, "id, distance", "true")
	how := ""
	switch {
	case s.vec:
		how = of.advice()
	case of.detail > 0:
		how = "; the distance is in sixteenths of a bit"
	}
	add("search exactly, with the code of your query in the place of zeros"+how, false, search)
	add("a condition to search with, in the place of true", false, "-- "+strings.ReplaceAll(where, "\n", "\n-- "))
	if s.vec {
		add("search with sqlite-vec alone", false, fmt.Sprintf("SELECT id, distance FROM %s JOIN %s ON item = rowid\n"+
			"WHERE code MATCH vec_bit(%s) AND k = 10 ORDER BY distance",
			s.name("_codes"), s.name(""), vecCode(of.spread(zero, 0), 0)))
	}
	return list
}

// Info implements Engine.
func (s *sqlite) Info(ctx context.Context) (Info, error) {
	info, _, err := s.info(ctx)
	return info, err
}

// info also reports whether there is a record of the table, which may have been dropped.
func (s *sqlite) info(ctx context.Context) (info Info, recorded bool, err error) {
	if err := ctx.Err(); err != nil {
		return info, false, err
	}
	if _, err := os.Stat(s.path); errors.Is(err, os.ErrNotExist) {
		return info, false, fmt.Errorf("%w: there is no file %s", ErrNoTable, s.path)
	}
	var lines []string
	keep := func(line string) error {
		lines = append(lines, line)
		return nil
	}
	there := fmt.Sprintf("SELECT count(*) FROM sqlite_master WHERE name = %s", sqlText(s.table))
	err = s.run(ctx, []string{"SELECT sqlite_version()", "PRAGMA encoding", there,
		"SELECT count(*) FROM sqlite_master WHERE name = 'hashgrove_tables'"}, keep)
	if err != nil {
		return Info{}, false, err
	}
	if len(lines) != 4 || lines[1] != "UTF-8" {
		return Info{}, false, fmt.Errorf("%s stores text as %s, but UTF-8 is needed: name another file", s.path, lines[1:2])
	}
	info = Info{Table: s.table, Engine: "SQLite " + lines[0], Exact: true}
	known, items := lines[3] == "1", lines[2] == "1"
	if lines = nil; known {
		err = s.run(ctx, []string{"SELECT bits, fingerprint, layout, identity FROM hashgrove_tables WHERE name = " +
			sqlText(s.table)}, keep)
	}
	if err != nil {
		return Info{}, false, err
	}
	recorded = len(lines) == 1
	switch {
	case items && !recorded:
		return Info{}, false, fault.New("foreign-table", "the table %s exists, but was not made by Hashgrove: "+
			"name another table", s.table)
	case !items:
		return Info{}, recorded, fmt.Errorf("%w: %s", ErrNoTable, s.table)
	}
	fields := strings.Split(lines[0], "|")
	if len(fields) != 4 {
		return Info{}, true, errors.New("the table hashgrove_tables is damaged")
	}
	if layout := fields[2]; s.vec != (layout == vecLayout) {
		return Info{}, true, fmt.Errorf("the table %s has the layout %s: say so with ?layout=%s in the URL of the engine",
			s.table, layout, layout)
	}
	info.Bits, err = strconv.Atoi(fields[0])
	if err == nil {
		info.Fingerprint, err = hamming.ParseFingerprint(fields[1])
	}
	if err != nil || info.Bits < 1 || info.Bits > hamming.MaxBits {
		return Info{}, true, fmt.Errorf("the table hashgrove_tables is damaged: %w",
			cmp.Or(err, fmt.Errorf("codes of %d bits", info.Bits)))
	}
	if s.vec {
		info.Engine += " with sqlite-vec"
	}
	info.Identity = fields[3]
	s.shape, s.identity = info.shape(), info.Identity
	return info, true, nil
}

// Prepare implements Engine.
func (s *sqlite) Prepare(ctx context.Context, space Space) (Info, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	info, recorded, err := s.info(ctx)
	if errors.Is(err, ErrNoTable) {
		script := []string{"BEGIN IMMEDIATE"}
		if recorded { // the remains of a dropped table
			for _, more := range []string{"_tags", "_attributes", "_codes"} {
				script = append(script, "DROP TABLE IF EXISTS "+s.name(more))
			}
		}
		script = append(append(script, s.creation(space)...), "COMMIT")
		err = s.run(ctx, script, func(string) error { return nil })
		if again, _, readErr := s.info(ctx); err == nil || readErr == nil { // or another process created it meanwhile
			info, err = again, readErr
		}
	}
	if err != nil {
		return Info{}, err
	}
	return info, info.Accept(space)
}
