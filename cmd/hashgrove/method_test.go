package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"hashgrove/internal/method"
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

// TestEveryMethodTrainsEncodesAndSearches takes each method through the verbs of FastHash.
func TestEveryMethodTrainsEncodesAndSearches(t *testing.T) {
	if testing.Short() {
		t.Skip("runs in full, without the race detector, with the documents")
	}
	shop(t)
	for _, name := range method.Names() {
		d, _ := method.Describe(name)
		if d.Name == method.FastHash {
			continue // it prints another report, and has tests of its own
		}
		args := strings.Fields("train items.csv --label category --id-column sku --bits 8 --set rows=300 --json -o m.hgm --method " + d.Name)
		var r struct {
			Method      string  `json:"method"`
			Fingerprint string  `json:"fingerprint"`
			Bits        int     `json:"bits"`
			Rows        int     `json:"rows"`
			Seconds     float64 `json:"train_seconds"`
			New         figures `json:"new_items"`
			Learned     figures `json:"learned_items"`
		}
		if err := json.Unmarshal([]byte(succeed(t, args...)), &r); err != nil {
			t.Fatalf("%s: %v", d.Name, err)
		}
		if r.Method != d.Name || r.Fingerprint == "" || r.Bits != 8 && !d.AnyBits || r.Rows != 380 || r.Seconds <= 0 {
			t.Errorf("%s: %+v", d.Name, r)
		}
		if !r.New.complete(20) || !r.Learned.complete(20) { // of the 400 rows, a twentieth is held out
			t.Errorf("%s: new items %+v, learned items %+v", d.Name, r.New, r.Learned)
		}
		var judged struct {
			MAP float64 `json:"map"`
		}
		out := succeed(t, strings.Fields("eval -m m.hgm --base items.csv --queries new.csv --label category --id-column sku --json")...)
		if err := json.Unmarshal([]byte(out), &judged); err != nil || judged.MAP < 0.27 { // 0.25 by chance
			t.Errorf("%s: MAP %v, %v", d.Name, judged.MAP, err)
		}
		succeed(t, strings.Fields("index build -o m.hgi items.csv --label category --id-column sku --model m.hgm")...)
		if out := succeed(t, strings.Fields("search m.hgi new.csv --row 0 -k 3")...); !strings.Contains(out, "items-") {
			t.Errorf("%s: search says\n%s", d.Name, out)
		}
		if out := succeed(t, "info", "m.hgm"); !strings.Contains(out, d.Name) {
			t.Errorf("%s: info says\n%s", d.Name, out)
		}
		for _, name := range []string{"m.hgm", "m.hgi"} {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
	}
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
		"train items.csv --label category -o x.hgm --set anchors=9":                  "2 wrong-method --set anchors=fasthash",
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

// TestMirrorDoublesTheRows learns from mirror images, which the model and files then count.
func TestMirrorDoublesTheRows(t *testing.T) {
	t.Chdir(t.TempDir())
	photoFolder(t, "photos", 1)
	var r struct {
		Rows int `json:"rows"`
	}
	const train = "train photos --size 8 --features gist320 --mirror --bits 4 --rounds 5 --json --force -o m.hgm"
	for flags, want := range map[string]int{"": 80, " --validation 0.25": 60, " --method lsh": 80} {
		args := train + flags
		if strings.Contains(flags, "lsh") {
			args = strings.Replace(args, " --rounds 5", "", 1)
		}
		if err := json.Unmarshal([]byte(succeed(t, strings.Fields(args)...)), &r); err != nil || r.Rows != want {
			t.Errorf("%s: %d rows, not %d, %v", args, r.Rows, want, err)
		}
	}
	if out := succeed(t, strings.Fields("eval -m m.hgm --base photos --queries photos --size 8")...); !strings.Contains(out, "MAP") {
		t.Errorf("eval says %s", out)
	}
	write(t, "pairs.csv", "0,1,similar\n")
	o := try(t, strings.Fields(train+" --pairs pairs.csv --restart")...)
	if d := o.unlike("2 conflicting-flags --mirror --pairs"); d != "" {
		t.Error(d)
	}
}
