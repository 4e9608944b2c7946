package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"hashgrove/internal/hamming"
)

// TestDuplicates compares every form of the pairs and groups with the double loop over the codes.
func TestDuplicates(t *testing.T) {
	codes := foreignCodes(t)
	succeed(t, shellWords("index build hashes.csv --codes --vector phash --id-column sku -o a.hgi")...)
	succeed(t, shellWords("index build codes.npy --codes -o n.hgi")...)
	pairs, numbered := "a,b,distance\n", "" // in order of texts: p0, p1, p10, ...
	group := map[int]int{}
	count := 0
	order := func(i int) string { return fmt.Sprintf("p%d", i) }
	for i := range codes.Len() {
		for k := i + 1; k < codes.Len(); k++ {
			d := hamming.Distance(codes.Row(i), codes.Row(k))
			if d > 2 {
				continue
			}
			numbered += fmt.Sprintf(`{"a":%d,"b":%d,"distance":%d}`+"\n", i, k, d)
			group[i], group[k] = i%5, i%5
			count++
		}
	}
	for _, a := range sortedIDs(codes.Len(), order) {
		for _, b := range sortedIDs(codes.Len(), order) {
			if d := hamming.Distance(codes.Row(a), codes.Row(b)); d <= 2 && order(a) < order(b) {
				pairs += fmt.Sprintf("p%d,p%d,%d\n", a, b, d)
			}
		}
	}
	groups := ""
	for g := range 5 {
		for i := g; i < codes.Len(); i += 5 {
			if _, ok := group[i]; ok {
				groups += fmt.Sprintf("%d,%d\n", g, i)
			}
		}
	}
	if out := succeed(t, shellWords("duplicates a.hgi --radius 2 -o pairs.csv")...); !strings.Contains(out, fmt.Sprint(count)) {
		t.Errorf("said %q of %d pairs", out, count)
	}
	succeed(t, shellWords("duplicates n.hgi --radius 2 -o pairs.jsonl")...)
	succeed(t, shellWords("duplicates n.hgi --radius 2 --groups -o groups.csv")...)
	if got := string(read(t, "pairs.csv")); got != pairs {
		t.Errorf("pairs.csv:\n%s\nwant\n%s", got, pairs)
	}
	if got := string(read(t, "pairs.jsonl")); got != numbered {
		t.Errorf("pairs.jsonl:\n%s\nwant\n%s", got, numbered)
	}
	if got := string(read(t, "groups.csv")); got != "group,id\n"+groups {
		t.Errorf("groups.csv:\n%s\nwant\n%s", got, groups)
	}
	for _, index := range []string{"a", "n"} { // ids are texts, and numbers
		succeed(t, shellWords("duplicates "+index+".hgi --radius 2 -o pairs.parquet --force")...)
		r := succeed(t, shellWords("inspect pairs.parquet --vector distance")...)
		if !strings.Contains(r, fmt.Sprint(count)) {
			t.Errorf("%s.hgi, %d pairs as Parquet:\n%s", index, count, r)
		}
	}
	var r struct {
		Pairs       int
		ListedPairs []struct{ A, B, Distance int } `json:"listed_pairs"`
	}
	if err := json.Unmarshal([]byte(succeed(t, shellWords("duplicates n.hgi --radius 2 --json --limit 3")...)), &r); err != nil ||
		r.Pairs != count || len(r.ListedPairs) != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	for _, r := range []refusal{
		{"duplicates a.hgi", 2, "missing-flag", "--radius"},
		{"duplicates a.hgi --radius 2 -o x.doc", 2, "unknown-form", "x.doc --to"},
		{"duplicates a.hgi --radius 2 --to doc -o x.doc", 2, "bad-flag-value", "--to doc"},
		{"duplicates a.hgi --radius 2 --most 0", 2, "bad-flag-value", "--most 0"},
		{fmt.Sprintf("duplicates a.hgi --radius 2 --most %d -o x.csv", count-1), 1, nil,
			fmt.Sprintf("%d 2 %d --radius --groups --most", count, count-1)},
	} {
		r.try(t)
	}
	succeed(t, shellWords(fmt.Sprintf("duplicates a.hgi --radius 2 --most %d -o x.csv", count))...) // nothing was left of x.csv
}

// sortedIDs returns the numbers from 0 to n-1 in order of the ids.
func sortedIDs(n int, id func(int) string) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	for i := range list {
		for k := i; k > 0 && id(list[k]) < id(list[k-1]); k-- {
			list[k], list[k-1] = list[k-1], list[k]
		}
	}
	return list
}
