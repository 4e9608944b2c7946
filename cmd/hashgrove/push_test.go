package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"hashgrove/internal/engine"
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
	checkShardJournals(t, s, to)
}

// checkShardJournals: every shard has a journal of its own, by which it continues; standard input has one where it is named.
func checkShardJournals(t *testing.T, s *pgtest.Server, to func(string) string) {
	c := connectTo(t, s)
	exec := func(text string) {
		if _, err := c.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	succeed(t, shellWords("push vectors.npy -m m.hgm --shard 1/4"+to("held"))...)
	exec("ALTER TABLE held ADD CHECK (id <> '300')")
	line := "push vectors.npy -m m.hgm --shard 4/4 --batch 5" + to("held")
	if d := try(t, shellWords(line)...).unlike(`1 - "300" vectors.npy.00004-of-00004.push`, engine.ErrRefused); d != "" {
		t.Fatalf("an item that is refused: %s", d)
	}
	exec("ALTER TABLE held DROP CONSTRAINT held_id_check")
	var r pushReport
	if out := succeed(t, shellWords(line)...); json.Unmarshal([]byte(out), &r) != nil || r.Written != 5 || r.Before != r.Items-5 {
		t.Errorf("the shard continues: %s", out)
	}
	if _, err := os.Stat("vectors.npy.00004-of-00004.push"); err == nil {
		t.Error("the journal was left behind")
	}
	content := bytes.Repeat([]byte("[1,2,3,4,5,6,7,8,9,10,11,12]\n"), 12000)
	piped := "push - -m m.hgm --batch 100 --journal j.push" + to("piped")
	broken := io.MultiReader(bytes.NewReader(content[:len(content)*3/4]), failing{})
	if d := feed(t, broken, shellWords(piped)...).unlike("1 - j.push", errBroken); d != "" {
		t.Errorf("a pipe that breaks: %s", d)
	}
	o := feed(t, bytes.NewReader(content), shellWords(piped)...)
	if json.Unmarshal([]byte(o.out), &r) != nil || o.code != 0 || r.Before == 0 {
		t.Errorf("what comes again continues: exit %d, %s%s", o.code, o.out, o.err)
	}
	for args, want := range map[string]string{
		"push - --shard 1/2 -m m.hgm":                         "2 read-once -: --shard",
		"push vectors.npy --shard 5/4 -m m.hgm":               "2 bad-flag-value --shard 5/4",
		"push vectors.npy --shard 1/4 --journal j -m m.hgm":   "2 no-shard-mark --journal j {shard}",
		"push vectors.npy --journal {shard}.push -m m.hgm":    "2 no-shard {shard}.push --shard",
		"push - --attribute-columns f0 --format csv -m m.hgm": "2 read-once --attribute-columns --attributes",
	} {
		if d := feed(t, bytes.NewReader(read(t, "new.csv")), shellWords(args+to("x"))...).unlike(want); d != "" {
			t.Errorf("%s: %s", args, d)
		}
	}
}

// failing is a pipe that breaks.
type failing struct{}

var errBroken = errors.New("the pipe broke")

func (failing) Read([]byte) (int, error) { return 0, errBroken }
