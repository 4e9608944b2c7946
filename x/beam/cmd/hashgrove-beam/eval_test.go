package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// numbers is a report without what needs the vectors or the whole base in one place.
func numbers(t *testing.T, text string) map[string]any {
	t.Helper()
	var report map[string]any
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, key := range []string{"warnings", "learned_share", "learned_queries_share", "margins"} {
		delete(report, key)
	}
	if len(report) < 20 {
		t.Fatalf("a report of %d entries", len(report))
	}
	return report
}

// The numbers of eval are the same to the last digit, from vectors and from codes, in any number of shards.
func TestEvaluateIsEval(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	data(t, dir, "a", 1, 700)
	data(t, dir, "b", 2, 401)
	data(t, dir, "q", 3, 150) // three blocks of queries
	m := train(t, dir, "m.hgm", 12, 1)
	judge := func(args ...string) map[string]any {
		t.Helper()
		mustPipe(t, append([]string{"eval", "--model", m, "--queries", in("q.jsonl"), "--output", in("report.json")},
			args...)...)
		b, err := os.ReadFile(in("report.json"))
		if err != nil {
			t.Fatal(err)
		}
		return numbers(t, string(b))
	}
	same := func(name string, got, want map[string]any) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			for key := range want {
				if !reflect.DeepEqual(got[key], want[key]) {
					t.Errorf("%s: %s is %v, want %v", name, key, got[key], want[key])
				}
			}
			t.Errorf("%s: the reports have %d and %d entries", name, len(got), len(want))
		}
	}
	eval := []string{"eval", "-m", m, "--base", in("a.jsonl"), "--base", in("b.jsonl"), "--queries", in("q.jsonl"),
		"--neighbours", "none", "--json", "--quiet"}
	base := []string{"--base", in("a.jsonl"), "--base", in("b.jsonl")}

	want := numbers(t, grove(t, append(eval, "--label", "label", "--cut", "100")...))
	for _, shards := range []string{"1", "4", "30"} {
		same(shards+" shards", judge(append(base, "--label", "label", "--cut", "100", "--shards", shards)...), want)
	}
	mustPipe(t, "encode", in("a.jsonl"), in("b.jsonl"), "--label", "label", "--model", m, "--shards", "6",
		"--output", in("codes-{shard}.parquet"))
	same("codes", judge("--base", in("codes-*.parquet"), "--label", "label", "--cut", "100"), want)

	// With tags, other ranks, and the usual cut, which is longer than the base.
	tags := []string{"--tags", "tags", "--precision-at", "1,7,200"}
	want = numbers(t, grove(t, append(append(eval, tags...), "--min-shared", "2")...))
	same("tags", judge(append(append(base, tags...), "--shards", "3")...), want)

	checkEvalErrors(t, dir, m)
}

// checkEvalErrors looks at what is wrong with bases of codes.
func checkEvalErrors(t *testing.T, dir, m string) {
	in := func(name string) string { return filepath.Join(dir, name) }
	judge := func(model, base string) error {
		_, err := pipe("eval", "--model", model, "--queries", in("q.jsonl"), "--label", "label", "--base", base,
			"--output", in("none.json"))
		return err
	}
	other := train(t, dir, "other.hgm", 12, 5)
	wantError(t, judge(other, in("codes-*.parquet")), "status 1", fingerprint(t, m), fingerprint(t, other))
	wantError(t, judge(m, in("codes-0000[1-5]*.parquet")), "status 1", " 5 ", " 6 ")
	path := in("codes-00003-of-00006.parquet")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, damaged := range []string{
		string(whole[:len(whole)/2]), "no Parquet", string(whole[:4]) + string(make([]byte, 400)) + string(whole[404:]),
	} {
		write(t, path, damaged)
		wantError(t, judge(m, in("codes-*.parquet")), "status 1", "codes-00003-of-00006.parquet", "damaged")
	}
	mustPipe(t, "encode", in("a.jsonl"), in("b.jsonl"), "--model", other, "--shards", "6",
		"--output", in("others-{shard}.parquet"))
	foreign, err := os.ReadFile(in("others-00003-of-00006.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, string(foreign))
	wantError(t, judge(m, in("codes-*.parquet")), "status 1", "codes-00003-of-00006.parquet", fingerprint(t, m), fingerprint(t, other))
	first, err := os.ReadFile(in("codes-00001-of-00006.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, string(first))
	wantError(t, judge(m, in("codes-*.parquet")), "status 1", "codes-00001-of-00006.parquet", "codes-00003-of-00006.parquet")
	if _, err := os.Stat(in("none.json")); err == nil {
		t.Error("a pipeline that failed has written a report")
	}
}
