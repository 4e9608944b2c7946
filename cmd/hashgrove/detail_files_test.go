package main

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hashgrove/api"
	foreign "hashgrove/internal/export"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/model"
	"hashgrove/internal/testkit/pgtest"
)

// detailShop makes the model detail.hgm with bits of detail, codes of the items and an index.
func detailShop(t *testing.T) *hamming.Table {
	t.Helper()
	serveShop(t)
	m, err := model.ReadFile("items.hgm")
	if err != nil {
		t.Fatal(err)
	}
	p, rng := &model.Projection{Threshold: make([]float32, 21)}, rand.New(rand.NewPCG(1, 1))
	for range 21 * m.Encoder.Dim() {
		p.Weight = append(p.Weight, float32(rng.NormFloat64()))
	}
	m.Encoder = &model.Detailed{Class: m.Encoder, Detail: p}
	if err := model.WriteFile("detail.hgm", m); err != nil {
		t.Fatal(err)
	}
	succeed(t, "encode", "items.csv", "--label", "category", "--id-column", "sku", "-m", "detail.hgm", "-o", "detail.hgc")
	succeed(t, "index", "build", "items.csv", "--label", "category", "--id-column", "sku", "-m", "detail.hgm",
		"-o", "detail.hgi")
	codes, err := hamming.ReadFile("detail.hgc")
	if err != nil || codes.Fingerprint.Detail(codes.Codes.Bits) != 21 || codes.Codes.Bits != 29 {
		t.Fatalf("%v, %v", codes, err)
	}
	return codes
}

// byDetail is the definition of a search for a code: all items by weighted distance, then by id.
func byDetail(codes *hamming.Table, query []uint64) (hits []api.Hit) {
	for i, id := range codes.IDs {
		class, detail := 0, 0
		for b := range codes.Codes.Bits {
			switch differ := codes.Codes.Bit(i, b) != (query[0]>>(63-b)&1 == 1); {
			case differ && b < 8:
				class++
			case differ:
				detail++
			}
		}
		hits = append(hits, api.Hit{
			ID: api.ID(id), Distance: class, DetailDistance: &detail, MarginDistance: new(16*class + 2*detail),
		})
	}
	slices.SortFunc(hits, func(a, b api.Hit) int {
		return cmp.Or(cmp.Compare(*a.MarginDistance, *b.MarginDistance),
			index.Text(string(a.ID)).Compare(index.Text(string(b.ID))))
	})
	return hits
}

// searchesByDetail demands that an index ranks by the weighted distance.
func searchesByDetail(t *testing.T, path string, codes *hamming.Table) {
	t.Helper()
	for _, i := range []int{0, 7} {
		query := hex.EncodeToString(codes.Codes.AppendBytes(nil, i))
		var got api.Answer
		out := succeed(t, "search", path, "--code", query, "--rank", "hamming", "-k", "15", "--json")
		if err := json.Unmarshal([]byte(out), &got); err != nil || len(got.Results) != 1 {
			t.Fatalf("%v: %.300s", err, out)
		}
		want := byDetail(codes, codes.Codes.Row(i))[:15]
		same := slices.EqualFunc(got.Results[0].Hits, want, func(a, b api.Hit) bool {
			return a.ID == b.ID && a.Distance == b.Distance && a.DetailDistance != nil && a.MarginDistance != nil &&
				*a.DetailDistance == *b.DetailDistance && *a.MarginDistance == *b.MarginDistance
		})
		if !same {
			t.Fatalf("%s: another answer: %.600s", path, out)
		}
	}
}

// TestDetailSurvives takes codes with detail through every file; whatever comes out ranks them as before.
func TestDetailSurvives(t *testing.T) {
	codes := detailShop(t)
	for _, step := range []struct{ line, index string }{
		{"", "detail.hgi"},
		{"index build detail.hgc -o codes.hgi", "codes.hgi"}, // without a model
		{"index backup detail.hgi -o detail.backup", ""},
		{"index restore detail.backup -o restored.hgi", "restored.hgi"},
		{"index compact restored.hgi", "restored.hgi"},
		{"index migrate items.hgi -m detail.hgm --vectors items.csv --label category --id-column sku", "items.hgi"},
		{"index export detail.hgi -o exported.hgc", ""},
		{"index build exported.hgc -o rebuilt.hgi", "rebuilt.hgi"},
		{"pull detail.hgc -o pulled.hgi", "pulled.hgi"},
		{"encode items.csv --label category --id-column sku -m detail.hgm --shard 1/2 -o part1.hgc", ""},
		{"encode items.csv --label category --id-column sku -m detail.hgm --shard 2/2 -o part2.hgc", ""},
		{"merge part1.hgc part2.hgc -o whole.hgc", ""},
		{"index build whole.hgc -o whole.hgi", "whole.hgi"},
		{"index build part1.hgc -o part1.hgi", ""},
		{"index build part2.hgc -m detail.hgm -o part2.hgi", ""},
		{"merge part1.hgi part2.hgi -o merged.hgi", "merged.hgi"},
	} {
		if step.line != "" {
			succeed(t, shellWords(step.line)...)
		}
		if step.index != "" {
			searchesByDetail(t, step.index, codes)
		}
	}
	// A file of FAISS has no fingerprint, which the model gives, and this one has no ids either.
	numbered := *codes
	numbered.IDs = slices.Clone(codes.IDs)
	for i := range numbered.IDs {
		numbered.IDs[i] = strconv.Itoa(i)
	}
	var faiss bytes.Buffer
	if err := foreign.WriteFAISS(&faiss, codes.Codes, nil); err != nil {
		t.Fatal(err)
	}
	write(t, "foreign.faiss", faiss.String())
	succeed(t, "pull", "foreign.faiss", "-m", "detail.hgm", "-o", "foreign.hgi")
	searchesByDetail(t, "foreign.hgi", &numbered)
}

// TestDetailInPostgres pushes codes with detail, compares and pulls them.
func TestDetailInPostgres(t *testing.T) {
	to := " --table boots --engine " + pgtest.Start(t).URL
	t.Setenv("PGPASSWORD", pgtest.Password)
	codes := detailShop(t)
	succeed(t, shellWords("push detail.hgi --verify"+to)...)
	for _, line := range []string{
		"pull --where 'not prize = 3' -o none.hgi" + to, "pull --where 'prize < 3' -o none.hgc" + to,
	} {
		refusal{line, 2, nil, "--where prize"}.try(t)
	}
	for _, name := range []string{"none.hgi", "none.hgc"} {
		if _, err := os.Stat(name); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	succeed(t, shellWords("pull -o pulled.hgi"+to)...)
	searchesByDetail(t, "pulled.hgi", codes)
}

// TestExportOfDetail: nothing is exported that ranks differently without saying so.
func TestExportOfDetail(t *testing.T) {
	codes := detailShop(t)
	for _, r := range []refusal{
		{"export detail.hgc --no-ids -o x.faiss", 2, "detail", "detail.hgc 21 29 --prefix 8 --spread"},
		{"export detail.hgi --no-ids --prefix 9 -o x.faiss", 2, "detail", "detail.hgi --prefix 8"},
		{"export detail.hgi --no-ids --prefix 8 --spread -o x.faiss", 2, "conflicting-flags", "--prefix --spread"},
		{"export items.hgi --no-ids --spread -o x.faiss", 2, "conflicting-flags", "items.hgi --spread"},
		{"export detail.hgi --no-ids --prefix 30 -o x.faiss", 2, "bad-flag-value", "--prefix 30 29"},
		{"export detail.hgm --prefix 30 -o x.onnx", 2, "bad-flag-value", "--prefix 30 29"},
		{"export detail.hgm --spread -o x.onnx", 2, "conflicting-flags", "--spread"},
	} {
		r.try(t)
	}
	succeed(t, "export", "detail.hgm", "-o", "detail.onnx")
	succeed(t, "export", "detail.hgm", "-o", "all.c")
	succeed(t, "export", "detail.hgm", "--prefix", "8", "-o", "detail.c")
	succeed(t, "export", "items.hgm", "-o", "items.c")
	if detail, items := read(t, "detail.c"), read(t, "items.c"); !bytes.Equal(detail, items) {
		t.Errorf("the class bits are\n%.300s, want\n%.300s", detail, items)
	}
	succeed(t, "export", "detail.hgi", "--no-ids", "--spread", "-o", "spread.faiss")
	spread, _, err := hamming.ReadFAISS(bytes.NewReader(read(t, "spread.faiss")))
	if err != nil || spread.Len() != codes.Codes.Len() || spread.Bits != 88 { // of whole bytes
		t.Fatalf("%d codes of %d bits, %v", spread.Len(), spread.Bits, err)
	}
	order := slices.Clone(codes.IDs) // an index is exported in the order of its ids
	slices.SortFunc(order, func(a, b string) int { return index.Text(a).Compare(index.Text(b)) })
	first := slices.Index(codes.IDs, order[0])
	for _, h := range byDetail(codes, codes.Codes.Row(first)) {
		at := slices.Index(order, string(h.ID))
		if d := hamming.Distance(spread.Row(0), spread.Row(at)); 2*d != *h.MarginDistance {
			t.Fatalf("%s is %d bits away, want %d / 2", h.ID, d, *h.MarginDistance)
		}
	}
	succeed(t, "export", "detail.hgc", "--no-ids", "--prefix", "8", "-o", "class.faiss")
	class, _, err := hamming.ReadFAISS(bytes.NewReader(read(t, "class.faiss")))
	if err != nil || class.Bits != 8 || !slices.Equal(class.Data, codes.Codes.Prefix(8).Data) {
		t.Errorf("%d bits, %v", class.Bits, err)
	}
	if out := succeed(t, "export", "detail.hgi", "--no-ids", "--spread", "-o", "again.faiss", "--json"); !strings.Contains(out, `"spread": true`) {
		t.Errorf("%s", out)
	}
}
