package main

import (
	"encoding/json"
	"strings"
	"testing"

	"hashgrove/internal/compare"
	"hashgrove/internal/method"
	"hashgrove/internal/supervision"
	"hashgrove/internal/testkit/needs"
)

// compareArgs is a comparison of a second on the shop's items.
func compareArgs(more ...string) []string {
	return append([]string{"compare", "items.csv", "--label", "category", "--id-column", "sku", "--methods", "fasthash,lsh", "--bits", "8,16", "--rounds", "10"}, more...)
}

func TestCompareSaysTheSameInEveryForm(t *testing.T) {
	shop(t)
	out := succeed(t, compareArgs("--report", "page.html")...)
	for _, want := range []string{"40 ", "360 ", "12 ", "288 ", "72 ", "learned", "classifier-float*", "float-cosine", "Advice\n- ", "page.html"} {
		if !strings.Contains(out, want) {
			t.Errorf("the text lacks %q:\n%s", want, out)
		}
	}
	var r compare.Result
	text := succeed(t, compareArgs("--json")...)
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	random, lsh, fast := r.Find("random", 16), r.Find("lsh", 16), r.Find("fasthash", 16)
	if !(random.MAP+0.05 < lsh.MAP && lsh.MAP+0.05 < fast.MAP) || fast.UnseenMAP == 0 || len(r.Advice) < 2 {
		t.Errorf("random %.3f, LSH %.3f, FastHash %.3f (unseen %.3f), advice %v", random.MAP, lsh.MAP, fast.MAP, fast.UnseenMAP, r.Advice)
	}
	if d := r.Find("fasthash-detail", 16); d == nil || d.DetailBits != 12 || d.Bytes != 4 ||
		d.Ranked.NearestOfClass10 <= fast.Ranked.NearestOfClass10 {
		t.Errorf("with bits of detail: %+v", d)
	}
	var keys map[string]any
	if err := json.Unmarshal([]byte(text), &keys); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"version", "data", "bits", "seed", "rows", "advice", "warnings", "seconds"} {
		if _, ok := keys[key]; !ok {
			t.Errorf("compare --json has no %q", key)
		}
	}
	row := keys["rows"].([]any)[0].(map[string]any)
	for _, key := range []string{
		"method", "kind", "supervised", "bits", "bytes_per_item", "map", "map_low", "map_high", "pr_area",
		"unseen_map", "unseen_chance", "learned_items", "precision",
		"train_seconds", "encode_microseconds", "distinct_codes", "recommended",
		"nearest_of_class_10", "margins", "expected", "rank", "ranked",
	} {
		if _, ok := row[key]; !ok {
			t.Errorf("a row of compare --json has no %q", key)
		}
	}
	page := string(read(t, "page.html"))
	for _, want := range []string{"<html", "items.csv", "fasthash", "--rounds 10"} {
		if !strings.Contains(page, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
}

func TestCompareMistakes(t *testing.T) {
	shop(t)
	for _, r := range []refusal{
		{"compare", 2, "wrong-arguments", "compare"},
		{"compare items.csv --label category --methods fasthash,magic", 2, nil, `"magic" ` + strings.Join(compare.Names(), " ")},
		{"compare items.csv --label category --methods lsh,lsh", 2, nil, "lsh"},
		{"compare items.csv --label category --bits 0", 2, nil, "0 bits 1 4096"},
		{"compare items.csv --label category --bits eight", 2, "bad-flag-value", `--bits "eight"`},
		{"compare items.csv --label category --depth 40", 2, nil, "depth 40 1 8"},
		{"compare items.csv --label category --set boost=gentle", 2, nil, `"gentle" adaboost logistic`},
		{"compare items.csv --label category --min-shared 0", 2, "bad-flag-value", "--min-shared 0 1 255"},
		{"compare items.csv --label category --features gist320", 2, "needs-pictures", "--features"},
		{"compare vectors.npy --methods lsh", 1, supervision.ErrNone, "--label"},
		{"compare vectors.npy --labels classes.txt --new vectors.npy --methods lsh", 1, supervision.ErrNone, "new"},
		{"compare nowhere.csv", 1, nil, "nowhere.csv"},
		{"compare items.csv --label category --id-column sku --methods lsh --bits 8 --unseen 3", 1, nil, "3 4 classes"},
		{"compare vectors.npy --labels classes.txt --queries vectors.npy --methods lsh", 1, supervision.ErrNone, "queries"},
	} {
		r.try(t)
	}
}

// New items are a fifth of the rows or come from a file of their own, and all forms have both kinds of figures.
func TestCompareWithNewItems(t *testing.T) {
	shop(t)
	read := func(args ...string) (r compare.Result) {
		args = append([]string{"compare", "items.csv", "--label", "category", "--id-column", "sku", "--methods", "lsh", "--bits", "8",
			"--json"}, args...)
		if err := json.Unmarshal([]byte(succeed(t, args...)), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := read()
	if d := r.Data; d.Learned != 288 || d.New != 72 || r.Rows[0].LearnedItems.MAP == r.Rows[0].MAP {
		t.Errorf("%+v", d)
	}
	r = read("--new", "new.csv")
	if d := r.Data; d.Learned != 360 || d.New == 0 || d.Base != d.Learned+d.New {
		t.Errorf("%+v", d)
	}
}

// A method that cannot make as many bits makes as many as it can, and says so.
func TestCompareCapsBits(t *testing.T) {
	shop(t)
	o := try(t, "compare", "items.csv", "--label", "category", "--id-column", "sku", "--methods", "pca-itq,lsh", "--bits", "8,16", "--unseen", "-1")
	if o.code != 0 || !strings.Contains(o.out, "12 of 16") || strings.Contains(o.out+o.err, "failed") {
		t.Errorf("exit %d\n%s%s", o.code, o.out, o.err)
	}
}

func TestDemoLeavesAReport(t *testing.T) {
	needs.Check(t, "the demo takes seconds")
	t.Chdir(t.TempDir())
	var r compare.Result
	if err := json.Unmarshal([]byte(succeed(t, "demo", "--bits", "4", "-o", "shop", "--json")), &r); err != nil {
		t.Fatal(err)
	}
	fast, detail, random := r.Find("fasthash", 4), r.Find(compare.Detailed, 4), r.Find("random", 4)
	if fast.MAP < 2*random.MAP || fast.LearnedItems.MAP < fast.MAP || len(r.Advice) == 0 || r.Seconds == 0 {
		t.Errorf("FastHash has MAP %v, random codes %v; advice %v", fast.MAP, random.MAP, r.Advice)
	}
	if detail.Leading().NearestOfClass10 < 2*fast.Leading().NearestOfClass10 {
		t.Errorf("with detail %+v, without %+v", detail.Leading(), fast.Leading())
	}
	if page := string(read(t, "shop/report.html")); !strings.Contains(page, "FastHash") {
		t.Error("the report does not name the method")
	}
	if m := informed(t, "shop/demo.hgm"); m.Bits != 4+method.UsualDetail {
		t.Errorf("the model has %d bits", m.Bits)
	}
}
