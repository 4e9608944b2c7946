package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"hashgrove/internal/testkit/pgtest"
)

// TestPushShardsAndPipes pushes shards of vectors, of codes and of an index, and vectors from standard input: each time the
// table must hold what pushing all at once gives.
func TestPushShardsAndPipes(t *testing.T) {
	s := pgtest.Start(t)
	indexed(t)
	t.Setenv("PGPASSWORD", pgtest.Password)
	to := func(table string) string { return " --engine " + s.URL + " --table " + table + " --json" }
	do := func(line string) string { return succeed(t, shellWords(line)...) }
	pulled := func(table string) string {
		do("pull" + to(table) + " -o back.hgi --force")
		return do("index export back.hgi --to jsonl -o -")
	}
	do("index export items.hgi -o items.hgc")
	forms(t)
	for i, line := range []string{
		"vectors.npy -m m.hgm", "items.csv -m m.hgm --label category --id-column sku --attribute-columns f0", "items.hgc",
		"items.hgi", "items.hgi --where 'f0 > 0'", "items.csv new.csv -m m.hgm --label category --id-column sku",
	} {
		whole, parts := fmt.Sprintf("whole%d", i), fmt.Sprintf("parts%d", i)
		do("push " + line + to(whole) + " --batch 70")
		rows := 0
		for _, shard := range []int{3, 1, 2} {
			var r pushReport
			out := do(fmt.Sprintf("push %s --shard %d/3", line, shard) + to(parts) + " --batch 70")
			if err := json.Unmarshal([]byte(out), &r); err != nil || r.Shard == nil || r.Shard.Number != shard || r.Written != r.Items {
				t.Errorf("shard %d: %v, %s", shard, err, out)
			}
			rows += r.Written
		}
		if want, got := pulled(whole), pulled(parts); want != got || strings.Count(want, "\n") != rows {
			t.Errorf("%s: %d rows in shards give another table", line, rows)
		}
	}
	for file, flags := range map[string]string{
		"new.csv": "--label category --id-column sku", "new.jsonl": "", "vectors.npy": "",
	} {
		table := strings.ReplaceAll(file, ".", "_")
		do("push " + file + " " + flags + " -m m.hgm" + to(table))
		o := feed(t, bytes.NewReader(read(t, file)), shellWords("push - "+flags+" -m m.hgm --batch 9"+to(table+"_piped"))...)
		if o.code != 0 {
			t.Fatalf("%s: %s", file, o.err)
		}
		if pulled(table) != pulled(table+"_piped") {
			t.Errorf("%s from standard input gives another table", file)
		}
	}
	for args, want := range map[string]string{
		"push - --verify -m m.hgm":                            "2 read-once --verify",
		"push - --shard 1/2 -m m.hgm":                         "2 read-once -: --shard",
		"push vectors.npy --shard 5/4 -m m.hgm":               "2 bad-flag-value --shard 5/4",
		"push - --attribute-columns f0 --format csv -m m.hgm": "2 read-once --attribute-columns --attributes",
	} {
		if d := feed(t, bytes.NewReader(read(t, "new.csv")), shellWords(args+to("x"))...).unlike(want); d != "" {
			t.Errorf("%s: %s", args, d)
		}
	}
}
