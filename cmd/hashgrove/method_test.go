package main

import (
	"encoding/json"
	"strings"
	"testing"

	"hashgrove/internal/supervision"
)

// figures is what train says of new or learned items.
type figures struct {
	Rows      int     `json:"rows"`
	MAP       float64 `json:"map"`
	Low       float64 `json:"map_low"`
	High      float64 `json:"map_high"`
	Precision float64 `json:"precision"`
	Area      float64 `json:"pr_area"`
	Codes     int     `json:"distinct_codes"`
}

// complete reports whether there are figures of the given number of rows.
func (f figures) complete(rows int) bool {
	return f.Rows == rows && f.Codes > 0 && f.Codes <= rows && 0 < f.Low && f.Low <= f.MAP && f.MAP <= f.High && f.High <= 1 &&
		f.Precision > 0 && f.Area > 0
}

// TestWeightedRankingNeedsWeights judges MDSH both ways.
func TestWeightedRankingNeedsWeights(t *testing.T) {
	shop(t)
	const data = " --base items.csv --queries new.csv --label category --id-column sku --json"
	succeed(t, strings.Fields("train items.csv --label category --id-column sku --bits 16 --method mdsh --set pca=6 -o mdsh.hgm")...)
	succeed(t, strings.Fields("train items.csv --label category --id-column sku --bits 16 --method lsh -o lsh.hgm")...)
	var plain, weighted struct {
		MAP float64 `json:"map"`
	}
	for flags, r := range map[string]any{"": &plain, " --rank weighted": &weighted} {
		if err := json.Unmarshal([]byte(succeed(t, strings.Fields("eval -m mdsh.hgm"+data+flags)...)), r); err != nil {
			t.Fatal(err)
		}
	}
	if plain.MAP < 0.27 || weighted.MAP < 0.27 || plain.MAP == weighted.MAP {
		t.Errorf("MAP %v by Hamming distance, %v by weights", plain.MAP, weighted.MAP)
	}
	succeed(t, strings.Fields("eval -m mdsh.hgm --prefix 5 --rank weighted"+data)...)
	for args, want := range map[string]string{
		"eval -m lsh.hgm --rank weighted" + data:                                     "2 no-weights --rank weighted lsh.hgm mdsh",
		"eval -m mdsh.hgm --rank best" + data:                                        "2 bad-flag-value --rank best hamming margins expected weighted",
		"train items.csv --label category -o x.hgm --method paint":                   `2 no-such-method "paint" fasthash`,
		"train items.csv --label category -o x.hgm --method lsh --rounds 9":          "2 wrong-method --rounds lsh",
		"train items.csv --label category -o x.hgm --set anchors=9":                  "2 wrong-method --set anchors fasthash",
		"train items.csv --label category -o x.hgm --method ksh --set pca=-1":        "2 bad-flag-value pca -1",
		"train items.csv --label category -o x.hgm --mirror":                         "2 missing-flag --mirror --features",
		"train items.csv --label category -o x.hgm --method lsh --hold-out nonsense": `1 - "nonsense" boots coats hats scarves`,
	} {
		if d := try(t, strings.Fields(args)...).unlike(want); d != "" {
			t.Errorf("%s: %s", args, d)
		}
	}
	const blind = "train vectors.npy -o x.hgm --method ksh"
	if d := try(t, strings.Fields(blind)...).unlike("1 - --label --labels --tags --pairs", supervision.ErrNone); d != "" {
		t.Errorf("%s: %s", blind, d)
	}
}
