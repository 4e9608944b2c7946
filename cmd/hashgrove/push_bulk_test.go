package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"hashgrove/internal/cli"
	"hashgrove/internal/dataset"
	"hashgrove/internal/testkit/needs"
	"hashgrove/internal/testkit/pgtest"
	"hashgrove/internal/testkit/redistest"
)

// TestBulkFiles writes files for PostgreSQL: psql makes a table of one that is as pushed, and the others are read back.
func TestBulkFiles(t *testing.T) {
	s := pgtest.Start(t)
	psql := needs.Program(t, needs.Postgres, "psql")
	indexed(t)
	t.Setenv("PGPASSWORD", pgtest.Password)
	out := succeed(t, shellWords("push items.hgi --engine postgres: --table loaded --bulk items.sql")...)
	for _, fact := range []string{"400 items", "16 bits", "psql -v ON_ERROR_STOP=1 -f items.sql"} {
		if !strings.Contains(out, fact) {
			t.Errorf("it does not say %q: %s", fact, out)
		}
	}
	if out, err := exec.Command(psql, "-q", "-X", "-v", "ON_ERROR_STOP=1", "-d", s.URL, "-f", "items.sql").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if equal, out := checked(t, s.URL); equal != 400 {
		t.Errorf("the table that psql made: %s", out)
	}

	succeed(t, shellWords("push items.csv --label category --id-column sku -m m.hgm --engine postgres: --bulk items.parquet --json")...)
	a, err := dataset.ReadAttributes("items.parquet", "id", nil)
	if err != nil {
		t.Fatal(err)
	}
	records, err := a.Records()
	if err != nil || len(records) != 400 {
		t.Fatalf("%d rows, %v", len(records), err)
	}
	lines := succeed(t, shellWords("push items.hgi --engine postgres: --bulk - --bulk-form jsonl")...)
	for _, r := range records {
		code := ""
		for _, v := range r.Attributes {
			if v.Name == "code" {
				code = v.Text
			}
		}
		if !strings.Contains(lines, `{"id":"`+r.ID+`","id_number":null,"code":"`+code+`","label":"`+r.Label+`"`) || len(code) != 16 {
			t.Fatalf("%+v is not among the lines", r)
		}
	}
	for i := range 2 {
		succeed(t, shellWords("push vectors.npy -m m.hgm --engine postgres: --bulk rows-{shard}.csv --shard "+[]string{"1/2", "2/2"}[i])...)
	}
	whole := succeed(t, shellWords("push vectors.npy -m m.hgm --engine postgres: --bulk - --bulk-form csv")...)
	if parts := string(read(t, "rows-00001-of-00002.csv")) + string(read(t, "rows-00002-of-00002.csv")); parts != whole {
		t.Error("shards give other files")
	}
	for _, c := range []struct {
		line, want string
		is         error
	}{
		{"--bulk x.npy", "2 unknown-form --bulk x.npy sql copy csv jsonl parquet", nil},
		{"--bulk -", "2 missing-flag --bulk-form", nil},
		{"--bulk-form csv", "2 missing-flag --bulk-form --bulk", nil},
		{"--bulk items.hgi --bulk-form csv", "2 output-is-input items.hgi", nil},
		{"--bulk items.sql", "1 - items.sql --force", cli.ErrExists},
	} {
		if d := try(t, shellWords("push items.hgi --engine postgres: "+c.line)...).unlike(c.want, c.is); d != "" {
			t.Errorf("%s: %s", c.line, d)
		}
	}
}

// checked compares the table loaded of an engine with items.hgi: the number of equal items, or -1 where anything differs,
// and the report.
func checked(t *testing.T, url string, more ...string) (equal int, out string) {
	t.Helper()
	var r struct {
		Equal  int            `json:"equal_items"`
		Causes map[string]int `json:"causes"`
	}
	args := []string{"check-engine", "items.hgi", "--engine", url, "--table", "loaded", "--json"}
	out = succeed(t, append(args, more...)...)
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Causes) > 0 {
		return -1, out
	}
	return r.Equal, out
}

// rowStream yields rows of raw float32 values up to a number of bytes, and checks the heap now and then.
type rowStream struct {
	left  int
	reads int
	most  uint64
}

func (r *rowStream) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	if r.reads++; r.reads%64 == 0 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		r.most = max(r.most, m.HeapAlloc)
	}
	n := min(len(p), r.left)
	clear(p[:n])
	r.left -= n
	return n, nil
}

// TestBulkInBoundedMemory reads, encodes and writes half a million rows from standard input, and looks at the heap on the way.
func TestBulkInBoundedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("runs in full, without the race detector, with the documents")
	}
	indexed(t)
	heap := func(rows int) uint64 {
		in := &rowStream{left: rows * 12 * 4}
		var errOut bytes.Buffer
		words := shellWords("push - --format raw -m m.hgm --engine postgres: --bulk - --bulk-form copy --quiet")
		if code := run(context.Background(), in, io.Discard, &errOut, words); code != 0 || in.most == 0 {
			t.Fatalf("exit %d, heap %d: %s", code, in.most, errOut.String())
		}
		return in.most
	}
	few, many := heap(100_000), heap(500_000)
	if many > few+4<<20 {
		t.Errorf("%d bytes on the heap for a hundred thousand rows, %d for half a million", few, many)
	}
	t.Logf("%d and %d bytes", few, many)
}

// TestBulkFilesOfOtherEngines: redis-cli and sqlite3 make tables of their files that are as pushed, in shards too, and all
// engines have files, which say how they are loaded.
func TestBulkFilesOfOtherEngines(t *testing.T) {
	indexed(t)
	t.Run("redis", func(t *testing.T) {
		s := redistest.Start(t)
		t.Setenv("REDISCLI_AUTH", redistest.Password)
		for _, shard := range []string{"2/2", "1/2"} {
			succeed(t, shellWords("push items.hgi --engine redis: --table loaded --force --bulk items-{shard}.resp --shard "+shard)...)
		}
		for _, file := range []string{"items-00001-of-00002.resp", "items-00002-of-00002.resp"} {
			if out := s.Pipe(t, file); !strings.Contains(out, "errors: 0, replies: 202") {
				t.Fatalf("redis-cli says %s", out)
			}
		}
		if equal, out := checked(t, s.URL, "--where", `label = "scarves"`); equal != 400 {
			t.Errorf("the table that redis-cli made: %s", out)
		}
	})
	t.Run("sqlite", func(t *testing.T) {
		needs.Program(t, needs.SQLite, "sqlite3")
		out := succeed(t, shellWords("push items.hgi --engine sqlite: --table loaded --bulk items.sql --force")...)
		if !strings.Contains(out, "sqlite3 shop.db <items.sql") {
			t.Errorf("it says %s", out)
		}
		cmd := exec.Command("sqlite3", "shop.db")
		cmd.Stdin = bytes.NewReader(read(t, "items.sql"))
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Fatalf("%v: %s", err, out)
		}
		if equal, out := checked(t, "sqlite://shop.db"); equal != 400 {
			t.Errorf("the table that sqlite3 made: %s", out)
		}
	})
	t.Setenv("QDRANT_API_KEY", "hunter2hunter2")
	for scheme, forms := range map[string]string{
		"opensearch": "jsonl", "elasticsearch": "jsonl", "qdrant": "jsonl", "weaviate": "jsonl", "milvus": "json jsonl",
		"redis": "resp", "sqlite": "sql",
	} {
		for _, form := range strings.Fields(forms + " parquet") {
			file := scheme + "." + form
			out := succeed(t, "push", "items.hgi", "--engine", scheme+":", "--bulk", file, "--json")
			var r bulkReport
			if err := json.Unmarshal([]byte(out), &r); err != nil || r.Items != 400 || r.Bits != 16 || r.Load == "" ||
				strings.Contains(out, "hunter2") || form != "parquet" && !strings.Contains(r.Load, file) {
				t.Errorf("%s: %s, %v", file, out, err)
			}
			if form != "parquet" {
				continue
			}
			if size := len(read(t, file)); size < 400 {
				t.Errorf("%s has %d bytes", file, size)
			}
		}
	}
}
