package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"hashgrove"
	"hashgrove/api"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/message"
	"hashgrove/internal/testkit/needs"
	"hashgrove/internal/testkit/pgtest"
	"hashgrove/internal/testkit/searchtest"
)

// connect opens a connection of its own.
func connect(t *testing.T, s *pgtest.Server) *pgx.Conn {
	t.Helper()
	config, err := pgx.ParseConfig(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	config.Password = pgtest.Password
	c, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

// open opens a table of the server.
func open(t *testing.T, s *pgtest.Server, table string) *Table {
	t.Helper()
	return openTarget(t, Target{URL: s.URL, Password: pgtest.Password, Table: table, Connections: 3})
}

// openVector opens a table with an index of pgvector.
func openVector(t *testing.T, s *pgtest.Server, table string) *Table {
	t.Helper()
	return openTarget(t, Target{URL: s.URL, Password: pgtest.Password, Table: table, Vector: true})
}

func openTarget(t *testing.T, target Target) *Table {
	t.Helper()
	e, err := Open(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// fill pushes items in memory.
func fill(t *testing.T, e *Table, b *index.Batch, o PushOptions) (hashgrove.Pushed, error) {
	t.Helper()
	return e.Push(t.Context(), sourceOf(b), o)
}

// TestPostgres runs everything against one real server, because starting one takes a second or two.
func TestPostgres(t *testing.T) {
	s := pgtest.Start(t)
	n := 0
	t.Run("search", func(t *testing.T) {
		searchtest.Run(t, func(t *testing.T, w *searchtest.Fixture) api.Searcher {
			n++
			return searcher(t, open(t, s, fmt.Sprintf(`odd "name" %d`, n)), w)
		}, searchtest.Abilities{})
	})
	t.Run("read", func(t *testing.T) { checkRead(t, open(t, s, "read")) })
	t.Run("items", func(t *testing.T) { checkItems(t, open(t, s, "items"), searchtest.Fingerprint) })
	t.Run("items with detail", func(t *testing.T) {
		checkItems(t, open(t, s, "detailed"), searchtest.Fingerprint.WithDetail(21))
	})
	t.Run("spaces", func(t *testing.T) { checkSpaces(t, open(t, s, "spaces")) })
	t.Run("cancelled", func(t *testing.T) { checkCancelled(t, open(t, s, "cancelled")) })
	t.Run("names", func(t *testing.T) { checkNames(t, open(t, s, "names")) })
	t.Run("verify", func(t *testing.T) { checkVerify(t, s) })
	t.Run("refusals", func(t *testing.T) { checkRefusals(t, s) })
	t.Run("tables", func(t *testing.T) { checkTables(t, s) })
	t.Run("secrets", func(t *testing.T) { checkPasswords(t, s) })
	t.Run("pgvector", func(t *testing.T) { checkVector(t, s) })
	t.Run("gone", func(t *testing.T) { // last: it stops the server
		checkServerGone(t, s, 5000)
	})
}

// checkRefusals: items that the database refuses are named and the others are written; filters that it cannot have are
// refused.
func checkRefusals(t *testing.T, s *pgtest.Server) {
	ctx, e := t.Context(), open(t, s, "refusing")
	b := searchtest.Items(100, 64, 1)
	b.Labels[17], b.Labels[60] = "no\x00no", "\xff"
	b.IDs[80] = index.Text(strings.Repeat("x", 3000))
	r, err := fill(t, e, b, PushOptions{Batch: 40})
	if !errors.Is(err, ErrRefused) || len(r.Refused) != 3 || r.Written != 97 {
		t.Errorf("%d refused, %d written, %v", len(r.Refused), r.Written, err)
	}
	if n, _ := e.Count(ctx); n != 97 {
		t.Errorf("%d items in the table", n)
	}
	for _, refused := range r.Refused {
		if !strings.Contains(fmt.Sprint(b.IDs[17], b.IDs[60], b.IDs[80]), string(refused.ID)) {
			t.Errorf("%v was refused: %s", refused.ID, refused.Reason)
		}
	}
	for _, f := range []index.Filter{index.Label("a\x00b"), index.Tag("\xff")} {
		_, err = e.Search(ctx, Query{Codes: hamming.NewCodes(1, 64), K: 1, Radius: -1, Filter: f})
		if !errors.Is(err, ErrFilter) || !message.Is(err, "unstorable") {
			t.Errorf("%v: %v", f, err)
		}
	}
}

// checkTables: tables of others are left alone, and one that was removed is made anew.
func checkTables(t *testing.T, s *pgtest.Server) {
	ctx, c := t.Context(), connect(t, s)
	do := func(text string) {
		if _, err := c.Exec(ctx, text); err != nil {
			t.Fatal(err)
		}
	}
	do("CREATE TABLE theirs (id text PRIMARY KEY, code bit(64))")
	space := Space{Bits: 64}
	_, err := open(t, s, "theirs").Prepare(ctx, space)
	if d := message.Differs(err, "foreign-table", "theirs"); d != "" {
		t.Errorf("a table of others: %s", d)
	}
	e := open(t, s, "removed")
	if _, err := e.Prepare(ctx, space); err != nil {
		t.Fatal(err)
	}
	do("DROP TABLE removed")
	if _, err := e.Info(ctx); !errors.Is(err, ErrNoTable) {
		t.Errorf("a table that was removed: %v", err)
	}
	if again, err := e.Prepare(ctx, Space{Bits: 32}); err != nil || again.Bits != 32 {
		t.Errorf("the table made anew is %v: %v", again, err)
	}
	if _, err := open(t, s, "nowhere.items").Prepare(ctx, space); err == nil {
		t.Error("a schema that does not exist")
	}
	for _, bad := range []string{".x", "x.", "a.b.c", strings.Repeat("x", 60), "hashgrove_tables", "a\x00"} {
		if _, err := Open(ctx, Target{URL: s.URL, Table: bad}); err == nil {
			t.Errorf("the table %q", bad)
		}
	}
}

// checkPasswords: no error shows a password.
func checkPasswords(t *testing.T, s *pgtest.Server) {
	const secret = "hunter2hunter2"
	for _, target := range []Target{
		{URL: s.URL, Password: secret},
		{URL: strings.Replace(s.URL, "hashgrove@", "hashgrove:"+secret+"@", 1)},
		{URL: s.URL + "&password=" + secret},
		{URL: "postgres://u:" + secret + "%zz@/x"},
		{URL: "postgres://u:" + secret + "@host:port/x"},
		{URL: "postgres://u@127.0.0.1:1/x?connect_timeout=2", Password: secret},
		{URL: "postgres://u@127.0.0.1:1/x?sslmode=" + "nonsense", Password: secret},
	} {
		e, err := Open(t.Context(), target)
		if err == nil {
			_, err = e.Info(t.Context())
			e.Close()
		}
		if err == nil || strings.Contains(fmt.Sprintf("%v %+v", err, err), secret) {
			t.Errorf("the error is %v", err)
		}
	}
}

// checkVector runs the suite with pgvector, where the server has it.
func checkVector(t *testing.T, s *pgtest.Server) {
	c := connect(t, s)
	if _, err := c.Exec(t.Context(), "CREATE EXTENSION vector"); err != nil {
		t.Log(err)
		_, err := openVector(t, s, "v").Prepare(t.Context(), Space{Bits: 64})
		if err == nil || !strings.Contains(err.Error(), "CREATE EXTENSION") {
			t.Errorf("without the extension: %v", err)
		}
		needs.Skip(t, needs.PgVector, "searching with its index is not tested: \"make setup\" compiles it where "+
			" the source package of Debian's newer suite can be had")
	}
	needs.Check(t, "the suite once more: it runs in full, without the race detector, with the documents")
	// A table as small as that of the suite would be scanned.
	settings := "ALTER ROLE hashgrove SET enable_seqscan = off; ALTER ROLE hashgrove SET jit = off"
	if _, err := c.Exec(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	defer c.Exec(t.Context(), "ALTER ROLE hashgrove RESET ALL")
	n := 0
	searchtest.Run(t, func(t *testing.T, w *searchtest.Fixture) api.Searcher {
		n++
		return searcher(t, openVector(t, s, fmt.Sprintf("vectors%d", n)), w)
	}, searchtest.Abilities{Approximate: true})
}
