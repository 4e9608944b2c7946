package main

import (
	"strings"
	"testing"
)

// TestSearchReport writes the page with vectors, and with pictures of queries and hits.
func TestSearchReport(t *testing.T) {
	indexed(t)
	out := succeed(t, shellWords("search items.hgi new.csv --label category --id-column sku --row 1,3 -k 3 --report found.html")...)
	page := string(read(t, "found.html"))
	if !strings.HasSuffix(out, " found.html\n") {
		t.Errorf("it says\n%s", out)
	}
	r := searched(t, "items.hgi new.csv --row 1,3 -k 3 --label category --id-column sku").Results
	for _, want := range []string{"query new-1<", "query new-3<", "hashgrove search items.hgi new.csv", r[0].Hits[2].ID, r[1].Hits[0].Label, "f0 "} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if strings.Contains(page, "<img") || strings.Contains(page, "query new-2<") {
		t.Error("vectors became pictures, or another query is there")
	}
	for line, want := range map[string]string{
		"search items.hgi new.csv --pictures items.csv":                                        "2 missing-flag --pictures --report",
		"search items.hgi new.csv --report x.html --pictures items.csv --rerank-id-column sku": "1 not-pictures --pictures items.csv",
		"search items.hgi new.csv --report none/x.html":                                        "1 no-such-folder none/x.html",
	} {
		if d := try(t, shellWords(line)...).unlike(want); d != "" {
			t.Errorf("%s: %s", line, d)
		}
	}
}

func TestSearchReportShowsPictures(t *testing.T) {
	t.Chdir(t.TempDir())
	photoFolder(t, "photos", 1)
	photoFolder(t, "album", 2)
	succeed(t, shellWords("train photos --size 6 --bits 8 --rounds 3 -o p.hgm")...)
	succeed(t, shellWords("index build photos -m p.hgm -o p.hgi")...)
	for line, pictures := range map[string]int{
		"search p.hgi album --row 1,2 -k 3":                   2,
		"search p.hgi album --row 1,2 -k 3 --pictures photos": 8,
		"search p.hgi album --row 1,2 -k 3 --rerank photos":   8,
	} {
		succeed(t, append(shellWords(line), "--report", "p.html", "--force")...)
		if n := strings.Count(string(read(t, "p.html")), "<img"); n != pictures {
			t.Errorf("%s: %d pictures, want %d", line, n, pictures)
		}
	}
}

// TestRerankWithoutAllVectors: items without vectors come last with a warning, never silently.
func TestRerankWithoutAllVectors(t *testing.T) {
	indexed(t)
	succeed(t, shellWords("index add items.hgi new.csv --label category --id-column sku")...)
	o := try(t, shellWords("search items.hgi new.csv --row 1 --rerank items.csv --rerank-id-column sku --json")...)
	for _, fact := range []string{"warning", "15 of 100", "items.csv", `"new-`} {
		if o.code != 0 || !strings.Contains(o.err, fact) {
			t.Errorf("exit %d, no %q: %s", o.code, fact, o.err)
		}
	}
	if o := try(t, shellWords("search items.hgi new.csv --row 1 --rerank items.csv new.csv --rerank-id-column sku")...); o.code == 0 {
		t.Error("two files after one --rerank")
	}
	o = try(t, shellWords("search items.hgi new.csv --row 1 --rerank items.csv --rerank new.csv --rerank-id-column sku")...)
	if o.code != 0 || strings.Contains(o.err, "warning") {
		t.Errorf("all vectors are there: exit %d, %s", o.code, o.err)
	}
}
