package main

import (
	"bytes"
	"context"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"hashgrove/dataset"
	"hashgrove/internal/needs"
	"hashgrove/internal/pgtest"
	"hashgrove/internal/redistest"
)

// TestBulkFiles writes files for PostgreSQL: psql makes a table of one that is as pushed, and the others are read back.
func TestBulkFiles(t *testing.T) {
	s := pgtest.Start(t)
	psql := needs.Program(t, needs.Postgres, "psql")
	indexed(t)
	t.Setenv("PGPASSWORD", pgtest.Password)
	out := succeed(t, shellWords("push items.hgi --engine postgres: --table loaded --bulk items.sql")...)
	if !strings.Contains(out, "400 items of 16 bits") || !strings.Contains(out, "psql -v ON_ERROR_STOP=1 -f items.sql") {
		t.Errorf("it says %s", out)
	}
	if out, err := exec.Command(psql, "-q", "-X", "-v", "ON_ERROR_STOP=1", "-d", s.URL, "-f", "items.sql").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out := succeed(t, "check-engine", "items.hgi", "--engine", s.URL, "--table", "loaded"); !strings.Contains(out, "no differences") {
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
	for line, want := range map[string]string{
		"--bulk x.npy": "sql, copy, csv, jsonl", "--bulk -": "--bulk-form", "--bulk-form csv": "--bulk", "--bulk items.hgi --bulk-form csv": "items.hgi",
		"--bulk items.sql": "exists",
	} {
		if o := try(t, shellWords("push items.hgi --engine postgres: "+line)...); o.code == 0 || !strings.Contains(o.err, want) {
			t.Errorf("%s: exit %d, %s", line, o.code, o.err)
		}
	}
}

// rowStream is rows of bare float32 values without end until so many bytes; it looks at the heap now and then.
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
		out := succeed(t, "check-engine", "items.hgi", "--engine", s.URL, "--table", "loaded", "--where", `label = "scarves"`)
		if !strings.Contains(out, "400 of them equal") || !strings.Contains(out, "no differences") {
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
		if out := succeed(t, "check-engine", "items.hgi", "--engine", "sqlite://shop.db", "--table", "loaded"); !strings.Contains(out, "no differences") {
			t.Errorf("the table that sqlite3 made: %s", out)
		}
	})
	t.Setenv("QDRANT_API_KEY", "hunter2hunter2")
	for scheme, forms := range map[string]string{
		"opensearch": "jsonl", "elasticsearch": "jsonl", "qdrant": "jsonl", "weaviate": "jsonl", "vespa": "jsonl", "milvus": "json jsonl",
		"redis": "resp", "sqlite": "sql",
	} {
		for _, form := range strings.Fields(forms + " parquet") {
			file := scheme + "." + form
			out := succeed(t, "push", "items.hgi", "--engine", scheme+":", "--bulk", file)
			if !strings.Contains(out, "400 items of 16 bits") || !strings.Contains(out, "to load it: ") || strings.Contains(out, "hunter2") ||
				form != "parquet" && !strings.Contains(out[strings.Index(out, "to load it"):], file) {
				t.Errorf("%s: %s", file, out)
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
