package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"hashgrove/internal/engine"
	"hashgrove/internal/engine/enginetest"
	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/testkit/needs"
	"hashgrove/internal/testkit/searchtest"
)

// openSQLite opens a table of a file; more is added to the URL.
func openSQLite(t *testing.T, path, table, more string) engine.Engine {
	t.Helper()
	return openTarget(t, engine.Target{URL: "sqlite://" + filepath.ToSlash(path) + more, Table: table, InFlight: 3})
}

// sqlite runs statements in the program, as a user would.
func sqlite(t *testing.T, path, script string) string {
	t.Helper()
	cmd := exec.Command("sqlite3", "-batch", "-bail", "-init", os.DevNull, path)
	cmd.Stdin = strings.NewReader(script)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, out, script)
	}
	return string(out)
}

func TestSQLite(t *testing.T) {
	needs.Program(t, needs.SQLite, "sqlite3")
	file := filepath.Join(t.TempDir(), "it's a file.db")
	home := t.TempDir() // what users set up for the program does not matter
	if err := os.WriteFile(filepath.Join(home, ".sqliterc"), []byte(".mode box\nSELECT 'hello';\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	n := 0
	t.Run("suite", func(t *testing.T) {
		if testing.Short() {
			t.Skip("thousands of searches")
		}
		enginetest.Run(t, func(t *testing.T) engine.Engine {
			n++
			return openSQLite(t, file, fmt.Sprintf(`odd "name" %d`, n), "")
		}, searchtest.Abilities{Refuses: noDates, Brief: true})
	})
	t.Run("plan", func(t *testing.T) { checkSQLitePlan(t, "", 0) })
	t.Run("plan with detail", func(t *testing.T) { checkSQLitePlan(t, "", 27) })
	t.Run("codes", func(t *testing.T) { checkSQLiteCodes(t, openSQLite(t, file, "codes", "")) })
	t.Run("bytes", func(t *testing.T) { checkSQLiteBytes(t, openSQLite(t, file, "bytes", "")) })
	t.Run("refusals", func(t *testing.T) { checkSQLiteRefusals(t, file) })
	t.Run("tables", func(t *testing.T) { checkSQLiteTables(t, file) })
	t.Run("interrupted", func(t *testing.T) { checkInterrupted(t, openSQLite(t, file, "interrupted", ""), 1200) })
	t.Run("bulk", func(t *testing.T) { checkSQLiteBulk(t, "", 0) })
	t.Run("bulk with detail", func(t *testing.T) { checkSQLiteBulk(t, "", 27) })
	t.Run("locked", func(t *testing.T) { checkSQLiteLocked(t) })
	t.Run("program", func(t *testing.T) { checkSQLiteProgram(t, file) })
}

// sqliteVec returns the file of the extension sqlite-vec, or skips the test.
func sqliteVec(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("needs sqlite-vec")
	}
	return filepath.Join(needs.Package(t, needs.SQLiteVec), "vec0.so")
}

// TestSQLiteVec tries the layout of sqlite-vec in the extension itself.
func TestSQLiteVec(t *testing.T) {
	needs.Program(t, needs.SQLite, "sqlite3")
	more := "?layout=vec0&extension=" + sqliteVec(t)
	file := filepath.Join(t.TempDir(), "vec.db")
	t.Run("plan", func(t *testing.T) { checkSQLitePlan(t, more, 0) })
	t.Run("plan with detail", func(t *testing.T) { checkSQLitePlan(t, more, 27) })
	t.Run("codes", func(t *testing.T) { checkSQLiteCodes(t, openSQLite(t, file, "codes", more)) })
	t.Run("bytes", func(t *testing.T) { checkSQLiteBytes(t, openSQLite(t, file, "bytes", more)) })
	t.Run("bits", func(t *testing.T) { checkSQLiteVecBits(t, file, more) })
	t.Run("bulk", func(t *testing.T) { checkSQLiteBulk(t, more, 0) })
	t.Run("bulk with detail", func(t *testing.T) { checkSQLiteBulk(t, more, 27) })
	t.Run("without", func(t *testing.T) {
		e := openSQLite(t, file, "codes", "?layout=vec0&extension=/nowhere")
		if _, err := e.Info(t.Context()); err == nil || !strings.Contains(err.Error(), "nowhere") {
			t.Errorf("without the extension: %v", err)
		}
	})
	t.Run("suite", func(t *testing.T) {
		if os.Getenv("HASHGROVE_LONG") != "1" {
			t.Skip("the whole suite runs with HASHGROVE_LONG=1")
		}
		n := 0
		enginetest.Run(t, func(t *testing.T) engine.Engine {
			n++
			return openSQLite(t, file, fmt.Sprintf(`odd "name" %d`, n), more)
		}, searchtest.Abilities{Refuses: noDates, Brief: true})
	})
}

// checkSQLiteVecBits: the first bit of a code is the first that sqlite-vec sees, and items may be replaced.
func checkSQLiteVecBits(t *testing.T, file, more string) {
	ctx, e, b := t.Context(), openSQLite(t, file, "bits", more), index.NewBatch(13)
	b.Append(index.Item{ID: index.Int(1), Code: []uint64{0b1010000000001 << 51}})
	for range 2 {
		if _, err := engine.Push(ctx, e, b, engine.PushOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	_, extension, _ := strings.Cut(more, "extension=")
	out := sqlite(t, file, ".load "+extension+"\nSELECT vec_to_json(vec_bit(code)) FROM bits_codes;")
	if out != "[1,0,1,0,0,0,0,0,0,0,0,0,1,0,0,0]\n" {
		t.Errorf("sqlite-vec sees %s", out)
	}
}

// checkSQLitePlan runs what is printed by hand: a table and two items must be there as a push makes them, and the
// printed searches must answer as ours.
func checkSQLitePlan(t *testing.T, more string, detail int) {
	ctx, file := t.Context(), filepath.Join(t.TempDir(), "planned.db")
	e := openSQLite(t, file, "planned", more)
	items := searchtest.Items(200, 70, 1)
	if detail > 0 {
		items.Fingerprint = items.Fingerprint.WithDetail(detail)
	}
	space := engine.Space{Bits: 70, Fingerprint: items.Fingerprint}
	var sent, searches []string
	for _, st := range e.Plan(space) {
		switch {
		case strings.HasPrefix(st.Text, ".load"):
			sent = append(sent, st.Text+"\n")
		case strings.HasPrefix(st.Text, "CREATE TEMPORARY TABLE same"), strings.HasPrefix(st.Text, "INSERT INTO same"):
			// The identity of a table is random.
		case st.Sent:
			sent = append(sent, st.Text+";\n")
		case strings.HasPrefix(st.Text, "SELECT"):
			searches = append(searches, st.Text)
		}
	}
	sqlite(t, file, strings.Join(sent, ""))
	if _, err := e.Prepare(ctx, space); err != nil {
		t.Fatal(err)
	}
	want := map[index.ID]index.Item{
		index.Int(17): {Label: "boots", Tags: []string{"sale"}, Code: []uint64{0, 0}},
		index.Text("sku-9"): {Code: []uint64{1 << 63, 0}, Attributes: map[string]index.Value{
			"price": index.Number(29.5), "colour": index.String("red"),
		}},
	}
	err := e.Read(ctx, index.Filter{}, func(b *index.Batch) error {
		for i, id := range b.IDs {
			w := want[id]
			w.ID = id
			if got := b.Item(i); fmt.Sprint(got) != fmt.Sprint(w) {
				t.Errorf("%+v, want %+v", got, w)
			}
			delete(want, id)
		}
		return nil
	})
	if err != nil || len(want) > 0 {
		t.Errorf("%v, %v is missing", err, want)
	}
	if _, err := engine.Push(ctx, e, items, engine.PushOptions{}); err != nil {
		t.Fatal(err)
	}
	hits, err := e.Search(ctx, engine.Query{Codes: hamming.NewCodes(1, 70), K: 10, Radius: -1})
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range searches {
		if strings.HasPrefix(sent[0], ".load") {
			text = sent[0] + text
		}
		lines := strings.Split(strings.TrimSpace(sqlite(t, file, text+";")), "\n")
		for at, h := range hits[0] {
			id, distance, _ := strings.Cut(lines[at], "|")
			want := h.Distance
			if detail > 0 {
				if want = h.MarginDistance; more != "" {
					want /= hamming.DetailUnits // sqlite-vec counts bits
				}
			}
			same := i > 0 || id == h.ID.String() // sqlite-vec alone does not know our order of ties
			if !same || strings.TrimSuffix(distance, ".0") != fmt.Sprint(want) {
				t.Errorf("%s\nanswers %v, want %v", text, lines, hits[0])
				break
			}
		}
	}
	if len(searches) == 0 {
		t.Error("no searches are printed")
	}
}

// checkSQLiteCodes: distances of codes whose bits overflow easily.
func checkSQLiteCodes(t *testing.T, e engine.Engine) {
	ctx, b := t.Context(), index.NewBatch(128)
	words := []uint64{0, ^uint64(0), 1, 1 << 63, 1 << 62, 1<<63 | 1, 1<<63 - 1, 3 << 62, 1<<62 - 1, 0x5555555555555555, 0xaaaaaaaaaaaaaaaa}
	for i, w := range words {
		for j, v := range words {
			b.Append(index.Item{ID: index.Int(int64(100*i + j)), Code: []uint64{w, v}})
		}
	}
	if _, err := engine.Push(ctx, e, b, engine.PushOptions{}); err != nil {
		t.Fatal(err)
	}
	x := index.New(128, b.Fingerprint, index.Config{})
	if err := x.Add(ctx, b); err != nil {
		t.Fatal(err)
	}
	q := engine.Query{Codes: b.Codes, K: 200, Radius: -1}
	want, err := enginetest.Exact(ctx, x.Snapshot(), q)
	if err != nil {
		t.Fatal(err)
	}
	got, err := e.Search(ctx, q)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if !slices.Equal(got[i], want[i]) {
			t.Fatalf("query %d: %v, want %v", i, got[i], want[i])
		}
	}
}

// checkSQLiteBytes: every text and number comes back as it was, also one that is no text at all.
func checkSQLiteBytes(t *testing.T, e engine.Engine) {
	ctx, b := t.Context(), index.NewBatch(8)
	numbers := []float64{0.1, -0.1, 5e-324, -1.7976931348623157e308, 1 << 53, 1e23, 9007199254740993, 123456789.123456789e-200}
	for i, text := range []string{"a\x00b", "\xff\xfe", "line\n.quit\n", ";\r\n", "'); DROP TABLE bytes; --", "|", ".", "\u2028", ""} {
		it := index.Item{ID: index.Text("id" + text), Code: []uint64{uint64(i) << 56}, Label: text}
		if text != "" {
			it.Tags = []string{text, "x"}
		}
		it.Attributes = map[string]index.Value{
			"n" + text: index.String(text), "x": index.Number(numbers[i%len(numbers)]),
		}
		b.Append(it)
	}
	if r, err := engine.Push(ctx, e, b, engine.PushOptions{}); err != nil || r.Checked != len(b.IDs) {
		t.Fatalf("%+v, %v", r, err)
	}
	x := index.New(8, b.Fingerprint, index.Config{})
	if err := x.Add(ctx, b); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"label = \"a\x00b\"", `label > "a"`, `label starts with "line\n."`, `tag = ";\r\n"`, `tag between "." and "z"`, `id starts with "id\n"`,
		`x = 0.1`, `x <= -0.1`, `x = 5e-324`, `x between 1e22 and 1e24`, `x > 9007199254740992`, `x in (1e23, 2)`, `not x > 0`,
		"`n|` = \"|\"", `id in ("id.", "id", 7)`, `id > "id"`,
	} {
		f, err := index.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		q := engine.Query{Codes: hamming.NewCodes(1, 8), K: 20, Radius: -1, Filter: f}
		want, err := enginetest.Exact(ctx, x.Snapshot(), q)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := e.Search(ctx, q); err != nil || !slices.Equal(got[0], want[0]) {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
}

// checkSQLiteRefusals: items that the file refuses are named and the others are written.
func checkSQLiteRefusals(t *testing.T, file string) {
	ctx, e := t.Context(), openSQLite(t, file, "refusing", "")
	if _, err := e.Prepare(ctx, engine.Space{Bits: 64}); err != nil {
		t.Fatal(err)
	}
	sqlite(t, file, `CREATE TRIGGER strict BEFORE INSERT ON refusing WHEN new.label = 'forbidden'
BEGIN SELECT RAISE(ABORT, 'a constraint failed: no such label'); END;`)
	b := searchtest.Items(100, 64, 1)
	b.Labels[33] = "forbidden"
	r, err := engine.Push(ctx, e, b, engine.PushOptions{Batch: 40})
	if !errors.Is(err, engine.ErrRefused) || len(r.Refused) != 1 || r.Written != 99 || r.Refused[0].ID != b.IDs[33] {
		t.Errorf("%+v, %d written, %v", r.Refused, r.Written, err)
	}
	if n, err := e.Count(ctx); n != 99 || err != nil {
		t.Errorf("%d items in the table, %v", n, err)
	}
	f, err := index.Parse(`added = 2024-01-31`)
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.Search(ctx, engine.Query{Codes: hamming.NewCodes(1, 64), K: 1, Radius: -1, Filter: f})
	if !errors.Is(err, engine.ErrFilter) || fault.Differs(err, "no-dates", "2024-01-31") != "" {
		t.Errorf("dates: %v", err)
	}
}

// checkSQLiteTables: tables and files of others are left alone, and a table that was removed is made anew.
func checkSQLiteTables(t *testing.T, file string) {
	ctx, space := t.Context(), engine.Space{Bits: 64}
	sqlite(t, file, "CREATE TABLE theirs (id TEXT);")
	_, err := openSQLite(t, file, "theirs", "").Prepare(ctx, space)
	if d := fault.Differs(err, "foreign-table", "theirs"); d != "" {
		t.Errorf("a table of others: %s", d)
	}
	e := openSQLite(t, file, "removed", "")
	first, err := e.Prepare(ctx, space)
	if err == nil {
		err = e.Write(ctx, searchtest.Items(10, 64, 1))
	}
	if err != nil {
		t.Fatal(err)
	}
	if out := sqlite(t, file, "DELETE FROM removed; SELECT count(*) FROM removed_tags; SELECT count(*) FROM removed_attributes;"); out != "0\n0\n" {
		t.Errorf("of items that were deleted there is left: %s", out)
	}
	sqlite(t, file, "DROP TABLE removed;")
	if _, err := e.Info(ctx); !errors.Is(err, engine.ErrNoTable) {
		t.Errorf("a table that was removed: %v", err)
	}
	again, err := openSQLite(t, file, "removed", "").Prepare(ctx, space)
	if err != nil || again.Identity == first.Identity {
		t.Errorf("the table made anew is %v, before %v: %v", again, first, err)
	}
	if err := e.Write(ctx, searchtest.Items(10, 64, 1)); !errors.Is(err, engine.ErrNoTable) {
		t.Errorf("writing into a table that was made anew: %v", err)
	}
	if n, err := e.Count(ctx); n != 0 || err != nil {
		t.Errorf("%d items, %v", n, err)
	}
	if _, err := openSQLite(t, file, "removed", "?layout=vec0").Info(ctx); err == nil {
		t.Error("another layout")
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte(strings.Repeat("no database ", 1000)), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := openSQLite(t, other, "items", "").Prepare(ctx, space); err == nil || !strings.Contains(err.Error(), "not a database") {
		t.Errorf("a file that is no database: %v", err)
	}
	if _, err := openSQLite(t, filepath.Join(other, "x.db"), "items", "").Prepare(ctx, space); err == nil {
		t.Error("a folder that is not there")
	}
	wide := filepath.Join(t.TempDir(), "wide.db")
	sqlite(t, wide, "PRAGMA encoding = 'UTF-16'; CREATE TABLE x (y);")
	if _, err := openSQLite(t, wide, "items", "").Prepare(ctx, space); err == nil || !strings.Contains(err.Error(), "UTF-16") {
		t.Errorf("a file of UTF-16: %v", err)
	}
	for _, target := range []engine.Target{
		{URL: "sqlite://" + file, Table: "hashgrove_tables"}, {URL: "sqlite://" + file, Table: "sqlite_x"},
		{URL: "sqlite://" + file, Table: "a\nb"}, {URL: "sqlite://"}, {URL: "sqlite://" + file + "?layout=x"},
		{URL: "sqlite://" + file + "?extension=a%0a.quit"}, {URL: "sqlite://" + file, Password: "x"},
	} {
		if _, err := engine.Open(ctx, target); err == nil {
			t.Errorf("%+v", target)
		}
	}
}

// checkSQLiteLocked: another program writes for a while, and the push waits for it, or is called off.
func checkSQLiteLocked(t *testing.T) {
	ctx, file := t.Context(), filepath.Join(t.TempDir(), "locked.db")
	e := openSQLite(t, file, "items", "")
	b := searchtest.Items(100, 64, 1)
	if _, err := e.Prepare(ctx, engine.Space{Bits: 64}); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sqlite3", "-batch", file)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	io.WriteString(in, "BEGIN IMMEDIATE; SELECT 'locked';\n")
	if _, err := io.ReadFull(out, make([]byte, 7)); err != nil {
		t.Fatal(err)
	}
	soon, stop := context.WithTimeout(ctx, 200*time.Millisecond)
	defer stop()
	if err := e.Write(soon, b); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a write that had to wait and was called off: %v", err)
	}
	done := make(chan error)
	go func() {
		_, err := engine.Push(ctx, e, b, engine.PushOptions{Batch: 40})
		done <- err
	}()
	in.Close() // its transaction is lost
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n, err := e.Count(ctx); n != 100 || err != nil {
		t.Errorf("%d items, %v", n, err)
	}
}

// checkSQLiteProgram: a program that ends early or answers nonsense, and none at all.
func checkSQLiteProgram(t *testing.T, file string) {
	if runtime.GOOS == "windows" {
		t.Skip("the programs are scripts")
	}
	ctx, e := t.Context(), openSQLite(t, file, "program", "")
	if _, err := e.Prepare(ctx, engine.Space{Bits: 64}); err != nil {
		t.Fatal(err)
	}
	path := t.TempDir()
	t.Setenv("PATH", path+":"+os.Getenv("PATH"))
	for script, temporary := range map[string]bool{
		"exit 3": true, "kill -9 $$": true, "cat >/dev/null; echo 7": false, "cat >/dev/null": true, "cat >/dev/null; echo x; echo .": false,
		"cat >/dev/null; echo .; echo .": false, "head -c 20 >/dev/null; echo 'Runtime error near line 7: disk I/O error (10)' >&2": true,
		"echo 'Runtime error near line 2: database is locked (5)' >&2; exit 1": true,
	} {
		if err := os.WriteFile(filepath.Join(path, "sqlite3"), []byte("#!/bin/sh\n"+script+"\n"), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := e.Write(ctx, searchtest.Items(1000, 64, 1)); err == nil || errors.Is(err, engine.ErrTemporary) != temporary {
			t.Errorf("%s: %v", script, err)
		}
	}
	t.Setenv("PATH", t.TempDir())
	err := e.Write(ctx, searchtest.Items(10, 64, 1))
	if d := fault.Differs(err, "no-program", "sqlite3"); d != "" {
		t.Errorf("without the program: %s", d)
	}
}
