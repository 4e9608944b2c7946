package main

import (
	"encoding/json"
	"strings"
	"testing"

	"hashgrove/internal/model"
)

// detailedHits is what search --json says of codes with bits of detail.
type detailedHits struct {
	Rank    string `json:"rank"`
	Results []struct {
		Hits []struct {
			ID       string `json:"id"`
			Distance int    `json:"distance"`
			Detail   *int   `json:"detail_distance"`
			Margin   *int   `json:"margin_distance"`
		} `json:"hits"`
	} `json:"results"`
}

// TestDetailBits takes bits of detail through train, info, growing and searching.
func TestDetailBits(t *testing.T) {
	shop(t)
	const data = " items.csv --label category --id-column sku"
	out := succeed(t, shellWords("train"+data+" --bits 8 --detail-bits 4 --rounds 5 -o d.hgm")...)
	m, err := model.ReadFile("d.hgm")
	if err != nil || m.ClassBits() != 8 || m.DetailBits() != 4 {
		t.Fatal(m.ClassBits(), m.DetailBits(), err)
	}
	about := bitsText(8, 4)
	for name, text := range map[string]string{"train": out, "info": succeed(t, "info", "d.hgm")} {
		if lack := lacks(text, about+" expected margins Hamming"); lack != "" || !strings.Contains(text, rankingOf(m).String()) {
			t.Errorf("%s does not say %q:\n%s", name, lack, text)
		}
	}
	var info struct {
		Bits    int            `json:"bits"`
		Detail  int            `json:"detail_bits"`
		Ranking *rankingReport `json:"ranking"`
	}
	if err := json.Unmarshal([]byte(succeed(t, "info", "d.hgm", "--json")), &info); err != nil || info.Bits != 12 ||
		info.Detail != 4 || info.Ranking == nil || info.Ranking.Rank != m.Rank() {
		t.Errorf("info says %+v, %v", info, err)
	}

	// A model that grows keeps its bits of detail, or gets others.
	for flags, want := range map[string]int{"": 4, " --detail-bits 3": 3} {
		succeed(t, shellWords("train"+data+" --bits 10 --rounds 5 --grow d.hgm -o g.hgm --force"+flags)...)
		if g, err := model.ReadFile("g.hgm"); err != nil || g.ClassBits() != 10 || g.DetailBits() != want ||
			g.Encoder.Fingerprint(8) != m.Encoder.Fingerprint(8) {
			t.Errorf("grown%s: %d and %d bits, %v", flags, g.ClassBits(), g.DetailBits(), err)
		}
	}

	succeed(t, shellWords("index build"+data+" -m d.hgm -o d.hgi")...)
	if out := succeed(t, "info", "d.hgi"); lacks(out, about) != "" {
		t.Errorf("info of the index says\n%s", out)
	}
	for flags, rank := range map[string]string{"": m.Rank(), " --rank hamming": "hamming", " --rank margins": "margins",
		" --rank expected": "expected", " --radius 3": "hamming", " --prefix 8": m.Rank()} {
		var r detailedHits
		line := "search d.hgi new.csv --label category --id-column sku --row 3 -k 5" + flags
		if err := json.Unmarshal([]byte(succeed(t, shellWords(line+" --json")...)), &r); err != nil {
			t.Fatal(err)
		}
		if r.Rank != rank || len(r.Results[0].Hits) == 0 {
			t.Fatalf("%q: %+v", flags, r)
		}
		for _, h := range r.Results[0].Hits {
			if h.Detail == nil || h.Margin == nil || rank == "hamming" && *h.Margin != 16*h.Distance+2**h.Detail {
				t.Errorf("%q: hit %+v", flags, h)
			}
		}
		if out := succeed(t, shellWords(line+" --explain")...); lacks(out, "detail_distance margin_distance") != "" {
			t.Errorf("%q prints\n%s", flags, out)
		}
	}
	var r detailedHits
	if err := json.Unmarshal([]byte(succeed(t, shellWords("search d.hgi --id items-7 -k 1 --json")...)), &r); err != nil ||
		r.Rank != m.Rank() {
		t.Errorf("by id: %+v, %v", r, err)
	}

	for _, refused := range []refusal{
		{"train" + data + " --detail-bits -1 -o x.hgm", 2, "bad-flag-value", "--detail-bits -1"},
		{"train" + data + " --bits 1000 --detail-bits 25 -o x.hgm", 2, "bad-flag-value", "--detail-bits 25 1024 24"},
		{"search d.hgi new.csv --rank best", 2, "bad-flag-value", "--rank best expected"},
	} {
		refused.try(t)
	}
}
