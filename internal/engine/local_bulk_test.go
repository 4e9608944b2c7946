package engine_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/engine"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/testkit/redistest"
	"hashgrove/internal/testkit/searchtest"
)

// oddItems returns items, some with texts that need escaping, and codes with some bits of detail.
func oddItems(t *testing.T, bits, detail int) (*index.Batch, engine.Source) {
	t.Helper()
	b := searchtest.Items(1200, bits, 6)
	for i, text := range []string{"tab\there", "line\nbreak", "cr\r\n", `\N`, `"';--`, "\x01\x02", "<&>\u2028", "héé", "$HOME `x`"} {
		b.Labels[i], b.Tags[i] = text, []string{text, "x" + text}
		b.Attributes[i] = map[string]index.Value{"n": index.String(text), text: index.Number(0.1)}
	}
	if detail > 0 {
		b.Fingerprint = b.Fingerprint.WithDetail(detail)
	}
	source, err := engine.FromBatch(b)
	if err != nil {
		t.Fatal(err)
	}
	return b, source
}

// layoutOf returns an engine's layout by name.
func layoutOf(t *testing.T, e engine.Engine, s engine.Space, name string) engine.Layout {
	t.Helper()
	for _, l := range e.(engine.Loader).Layouts(s) {
		if l.Name == name {
			return l
		}
	}
	t.Fatalf("there is no form %s", name)
	return engine.Layout{}
}

// writeBulk writes a file and returns its path and how it is loaded.
func writeBulk(t *testing.T, e engine.Engine, source engine.Source, form string) (path, load string) {
	t.Helper()
	l := layoutOf(t, e, source.Space, form)
	path = filepath.Join(t.TempDir(), "items."+form)
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	n, err := l.WriteText(t.Context(), file, source, nil)
	if closed := file.Close(); n != source.Items || err != nil || closed != nil {
		t.Fatalf("%d items, %v, %v", n, err, closed)
	}
	return path, strings.ReplaceAll(l.Load, "FILE", path)
}

// checkHeld demands that a table holds items and nothing else.
func checkHeld(t *testing.T, e engine.Engine, items *index.Batch) {
	t.Helper()
	info, err := e.Info(t.Context())
	if err != nil || info.Fingerprint != items.Fingerprint || info.Bits != items.Codes.Bits {
		t.Fatalf("%+v, %v", info, err)
	}
	f, err := index.Parse(`label = "boots" or tag = "x y" and price < 20 or n = "héé"`)
	if err != nil {
		t.Fatal(err)
	}
	r, err := compared(t, e, items, engine.CheckOptions{
		Queries: searchtest.Items(2, items.Codes.Bits, 8).Codes, Filters: []index.Filter{f},
	})
	if err != nil || len(r.Differences) > 0 {
		t.Errorf("%+v, %v", r.Differences, err)
	}
	if n, err := e.Count(t.Context()); n != len(items.IDs) || err != nil {
		t.Errorf("%d items instead of %d: %v", n, len(items.IDs), err)
	}
}

// other returns a source of codes of another model.
func other(s engine.Source) engine.Source {
	s.Fingerprint = hamming.Fingerprint{9, 9, 9}
	return s
}

// checkRedisBulk: redis-cli makes of a file the table of a push, twice too, and leaves one of another model alone.
func checkRedisBulk(t *testing.T, s *redistest.Server, detail int) {
	table := fmt.Sprintf("loaded 'odd' %d", detail)
	b, source := oddItems(t, 64, detail)
	e := openRedis(t, s, table, "")
	path, load := writeBulk(t, e, source, "resp")
	if !strings.HasPrefix(load, "redis-cli --pipe <"+path) {
		t.Errorf("it says: %s", load)
	}
	for range 2 {
		if out := s.Pipe(t, path); !strings.Contains(out, "errors: 0, replies: 1202") {
			t.Fatalf("redis-cli says %s", out)
		}
		checkHeld(t, e, b)
	}
	before, err := e.Info(t.Context())
	if err != nil || len(before.Identity) != 40 {
		t.Errorf("the identity is %q, %v", before.Identity, err)
	}
	path, _ = writeBulk(t, e, other(source), "resp")
	if out := s.Pipe(t, path); !strings.Contains(out, "errors: 1200,") {
		t.Errorf("redis-cli says of codes of another model: %s", out)
	}
	checkHeld(t, e, b)
	if after, err := e.Info(t.Context()); after != before || err != nil {
		t.Errorf("the table is %+v, before it was %+v: %v", after, before, err)
	}
}

// checkSQLiteBulk: sqlite3 makes of a script the file that a push makes, twice too, and leaves other tables alone.
func checkSQLiteBulk(t *testing.T, more string, detail int) {
	const table = `it's "odd"`
	b, source := oddItems(t, 70, detail)
	folder := t.TempDir()
	loaded, pushed := filepath.Join(folder, "loaded.db"), filepath.Join(folder, "pushed.db")
	e, p := openSQLite(t, loaded, table, more), openSQLite(t, pushed, table, more)
	if _, err := engine.Push(t.Context(), p, b, engine.PushOptions{}); err != nil {
		t.Fatal(err)
	}
	path, _ := writeBulk(t, e, source, "sql")
	dump := func(file string) string {
		load := ""
		if more != "" {
			load = ".load " + more[strings.LastIndex(more, "=")+1:] + "\n"
		}
		return sqlite(t, file, load+"UPDATE hashgrove_tables SET identity = '';\n.dump\n")
	}
	run := func(file, script string) string {
		out, _ := bash(t, "sqlite3 "+file+" <"+script)
		return out
	}
	if out := run(loaded, path); out != "" {
		t.Fatalf("sqlite3 says %s", out)
	}
	if got, want := strings.ReplaceAll(dump(loaded), " IF NOT EXISTS", ""), strings.ReplaceAll(dump(pushed), " IF NOT EXISTS", ""); got != want {
		t.Errorf("a script makes\n%.2000s\na push makes\n%.2000s", got, want)
	}
	if out := run(loaded, path); out != "" {
		t.Fatalf("the second time sqlite3 says %s", out)
	}
	checkHeld(t, e, b)
	path, _ = writeBulk(t, e, other(source), "sql")
	if out := run(loaded, path); !strings.Contains(out, engine.Misfit) {
		t.Errorf("of codes of another model sqlite3 says %s", out)
	}
	checkHeld(t, e, b)
	theirs := filepath.Join(folder, "theirs.db")
	sqlite(t, theirs, `CREATE TABLE "it's ""odd""" (id TEXT);`)
	if out := run(theirs, path); !strings.Contains(out, engine.Misfit) {
		t.Errorf("of a table of others sqlite3 says %s", out)
	}
	if out := sqlite(t, theirs, ".tables"); strings.Contains(out, "hashgrove") {
		t.Errorf("it leaves %s", out)
	}
}

// TestPlainTables: the tables of Redis and SQLite have the items.
func TestPlainTables(t *testing.T) {
	b, source := oddItems(t, 13, 0)
	b.Tags[20], b.Labels[20], b.Attributes[20] = nil, "", nil
	rows := map[string]int{}
	for i, id := range b.IDs {
		rows[id.String()] = i
	}
	for _, url := range []string{"redis://localhost", "sqlite://x.db"} {
		l := layoutOf(t, openTarget(t, engine.Target{URL: url}), source.Space, "parquet")
		seen := map[any]bool{}
		_, err := l.WriteRows(t.Context(), source, nil, func(row []any) error {
			i := rows[row[0].(string)]
			it := b.Item(i)
			var attributes map[string]index.Value
			if text, ok := row[4].(string); ok {
				if err := json.Unmarshal([]byte(text), &attributes); err != nil {
					return err
				}
			}
			label, _ := row[2].(string)
			if row[1] != fmt.Sprintf("%x", b.Codes.AppendBytes(nil, i)) || label != it.Label || (row[2] == nil) != (label == "") ||
				!slices.Equal(row[3].([]string), it.Tags) || !maps.Equal(attributes, it.Attributes) {
				t.Errorf("%v, want %+v", row, it)
			}
			seen[row[0]] = true
			return nil
		})
		if len(seen) != 1200 || err != nil {
			t.Errorf("%s: %d items, %v", url, len(seen), err)
		}
	}
}
