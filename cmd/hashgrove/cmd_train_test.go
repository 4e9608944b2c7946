package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
)

const trainShop = "train items.csv --label category --id-column sku --bits 8 --rounds 5 "

// heldOutReport is what train --json says of the rows held out.
type heldOutReport struct {
	Rows    int      `json:"rows"`
	New     *figures `json:"new_items"`
	Learned *figures `json:"learned_items"`
}

func trainReported(t *testing.T, args string) (r heldOutReport) {
	t.Helper()
	if err := json.Unmarshal([]byte(succeed(t, strings.Fields(args+" --json")...)), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTrainEndsWithNewItems(t *testing.T) {
	shop(t) // 400 rows
	o := try(t, strings.Fields(trainShop+"-o m.hgm")...)
	m, err := model.ReadFile("m.hgm")
	if err != nil {
		t.Fatal(err)
	}
	lines := ""
	for line := range strings.Lines(o.out) {
		if strings.HasPrefix(line, "new items: ") || strings.HasPrefix(line, "learned items: ") {
			lines += line
		}
	}
	for _, f := range []*model.Figures{m.Info.NewItems, m.Info.LearnedItems} {
		if f == nil || f.Rows != 20 || !strings.Contains(lines, fmt.Sprintf("%.4f", f.MAP)) {
			t.Fatalf("figures %+v are\n%s", f, lines)
		}
	}
	if o.code != 0 || strings.Count(lines, "\n") != 2 || !strings.Contains(o.err, "5 %") {
		t.Errorf("exit %d, and it does not say\n%s\n%s\n%s", o.code, lines, o.out, o.err)
	}
	if out := succeed(t, "info", "m.hgm"); !strings.Contains(out, lines) || !strings.Contains(out, " 380 rows") ||
		m.Info.Sketch.Len() != 380 {
		t.Errorf("info says\n%s", out)
	}
	for flags, held := range map[string]int{"": 20, "--validation 0": 0, "--validation 0.25": 100} {
		r := trainReported(t, trainShop+flags+" --set restart=true --force -o r.hgm")
		if r.Rows != 400-held || (r.New != nil) != (held > 0) || held > 0 && (!r.New.complete(held) || !r.Learned.complete(held)) {
			t.Errorf("%q: %d rows learned, new items %+v, learned items %+v", flags, r.Rows, r.New, r.Learned)
		}
	}
}

// TestTrainSaysWhyThereAreNoFigures: rows are only held out where they tell something.
func TestTrainSaysWhyThereAreNoFigures(t *testing.T) {
	shop(t)
	lines := strings.SplitAfter(string(read(t, "items.csv")), "\n")
	write(t, "few.csv", strings.Join(lines[:200], "")) // 199 rows
	write(t, "bare.csv", "1,2\n2,1\n3,4\n4,5\n")
	write(t, "pairs.csv", "items-0,items-1,similar\nitems-0,items-2,dissimilar\n")
	for args, fact := range map[string]string{ // that is told
		"train few.csv --label category --id-column sku --bits 4 --rounds 3 -o a.hgm":                     "200",
		"train items.csv --label category --id-column sku --pairs pairs.csv --bits 4 --rounds 3 -o b.hgm": "pairs",
		"train bare.csv --method lsh --bits 4 -o c.hgm":                                                   "tags",
	} {
		o := try(t, strings.Fields(args)...)
		none := try(t, strings.Fields(args+" --validation 0 --force")...) // where nobody needs to be told
		var more []string
		for line := range strings.Lines(o.err) {
			if !strings.HasPrefix(line, "bit ") && !strings.Contains(none.err, line) {
				more = append(more, line)
			}
		}
		m, err := model.ReadFile(strings.Fields(args)[len(strings.Fields(args))-1])
		if o.code != 0 || none.code != 0 || len(more) != 1 || !strings.Contains(more[0], fact) || err != nil ||
			m.Info.NewItems != nil {
			t.Errorf("%s: exit %d and %d, it says %q more\n%s\n%s", args, o.code, none.code, more, o.out, o.err)
		}
	}
	for args, want := range map[string]string{
		trainShop + "--validation 1 -o x.hgm":                                                          "2 bad-flag-value --validation 1",
		trainShop + "--validation -0.1 -o x.hgm":                                                       "2 bad-flag-value --validation -0.1",
		"train items.csv --id-column sku --label category --pairs pairs.csv --validation 0.1 -o x.hgm": "2 needs-classes --validation",
	} {
		if d := try(t, strings.Fields(args)...).unlike(want); d != "" {
			t.Errorf("%s: %s", args, d)
		}
	}
}

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{
		"8GB": 8e9, "8 gb": 8e9, "1.5g": 15e8, "512MiB": 512 << 20, "1TiB": 1 << 40, "2t": 2e12, "100000000": 1e8,
		"64kb": 64e3, "64KiB": 64 << 10, "7B": 7,
	} {
		if got, err := parseBytes(text); err != nil || got != want {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "GB", "x", "0", "-5MB", "1e300GB", "1PB", "1 2GB"} {
		if got, err := parseBytes(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}

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
		"eval -m lsh.hgm --rank weighted" + data:                                         "2 no-weights --rank weighted mdsh",
		"eval -m mdsh.hgm --rank best" + data:                                            "2 bad-flag-value --rank best hamming margins expected weighted",
		"train items.csv --label category -o x.hgm --method paint":                       `2 no-such-method "paint" fasthash`,
		"train items.csv --label category -o x.hgm --method lsh --rounds 9":              "2 wrong-method --rounds lsh",
		"train items.csv --label category -o x.hgm --set anchors=9":                      "2 wrong-method --set anchors fasthash",
		"train items.csv --label category -o x.hgm --method ksh --set pca=-1":            "2 bad-flag-value pca -1",
		"train items.csv --label category -o x.hgm --mirror":                             "2 missing-flag --mirror --features",
		"train items.csv --label category -o x.hgm --method lsh --set hold_out=nonsense": `1 - "nonsense" boots coats hats scarves`,
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

// TestTagsAreObeyed: tags count even if the data have classes, and both at once are a mistake.
func TestTagsAreObeyed(t *testing.T) {
	shop(t)
	var tags strings.Builder
	rows := strings.Split(strings.TrimSpace(string(read(t, "items.csv"))), "\n")[1:]
	for i := range rows {
		tags.WriteString([]string{"a,b,c", "a,b", "d,e", "d,e,f"}[i%4] + "\n")
	}
	write(t, "tags.txt", tags.String())
	from := func(args string) string {
		succeed(t, shellWords("train "+args+" --bits 4 --rounds 3 --force -o t.hgm")...)
		info := succeed(t, "info", "t.hgm")
		for _, kind := range []string{"tags", "classes"} {
			if strings.Contains(info, `"from":"`+kind+`"`) {
				return kind
			}
		}
		return info
	}
	for args, want := range map[string]string{
		"items.csv --id-column sku --tags tags.txt": "tags", "items.csv --id-column sku --label category": "classes",
	} {
		if got := from(args); got != want {
			t.Errorf("%s learns from %s, not %s", args, got, want)
		}
	}
	for _, args := range []string{
		"train items.csv --labels tags.txt --tags tags.txt -o x.hgm", "train items.csv --label category --tags tags.txt -o x.hgm",
		"inspect items.csv --label category --tags tags.txt", "compare items.csv --label category --tags tags.txt",
	} {
		refusal{args, 2, "conflicting-flags", "--tags --label --labels"}.try(t)
	}
}

// TestModelRemembersColumns: what training was told about columns need not be said again.
func TestModelRemembersColumns(t *testing.T) {
	shop(t)
	table := string(read(t, "items.csv"))
	var wide strings.Builder
	for i, line := range strings.Split(strings.TrimSpace(table), "\n") {
		extra := "42"
		if i == 0 {
			extra = "price"
		}
		wide.WriteString(extra + "," + line + "," + extra + "\n")
	}
	write(t, "wide.csv", strings.Replace(wide.String(), "f11,price", "f11,stock", 1))
	o := try(t, shellWords("train wide.csv --vector f* --label category --bits 8 --rounds 5 -o m.hgm")...)
	if o.code != 0 || lacks(o.err, "f0..f11 12 price, sku, stock") != "" {
		t.Fatalf("exit %d, %s", o.code, o.err)
	}
	o = try(t, shellWords("compare wide.csv --vector f* --label category --methods lsh --bits 4 --unseen -1")...)
	if o.code != 0 || lacks(o.err, "f0..f11 12 price, sku, stock") != "" {
		t.Errorf("compare: exit %d, %s", o.code, o.err)
	}
	out := succeed(t, shellWords("inspect wide.csv --vector f2..f4,price --label category")...)
	if !strings.Contains(out, " f2..f4, price (4 ") || !strings.Contains(out, " sku, f0, f1, f5..f11, stock\n") {
		t.Error(out)
	}
	if out := succeed(t, "info", "m.hgm"); lacks(out, "f0..f11 category") != "" {
		t.Error(out)
	}
	if a, b := hexCodes(t, "-m m.hgm wide.csv"), hexCodes(t, "-m m.hgm items.csv"); strings.Join(a, "") != strings.Join(b, "") {
		t.Error("other codes of the same columns in another table")
	}
	want := succeed(t, shellWords("eval -m m.hgm --base items.csv --queries new.csv --label category --json")...)
	got := succeed(t, shellWords("eval -m m.hgm --base wide.csv --queries new.csv --json")...)
	if got != want {
		t.Errorf("eval without --label: %s\nwith it: %s", got, want)
	}
	succeed(t, shellWords("index build wide.csv --id-column sku -m m.hgm -o w.hgi")...)
	succeed(t, shellWords("search w.hgi wide.csv --row 0")...)
	refusal{"encode wide.csv --vector price,stock -m m.hgm --to hex -o -", 1, "columns-mismatch",
		"wide.csv f0..f11 price, stock --vector"}.try(t)
}

// TestZerosAreRefused: 0 bits, trees or levels are no request for the default.
func TestZerosAreRefused(t *testing.T) {
	shop(t)
	for _, flag := range []string{"bits", "rounds", "depth", "seed"} {
		o := try(t, "train", "items.csv", "--label", "category", "-o", "zero.hgm", "--"+flag, "0")
		if d := o.differs(2, "bad-flag-value", "--"+flag+" 0"); d != "" {
			t.Errorf("--%s 0: %s", flag, d)
		}
	}
	for _, args := range []string{"demo --bits 0", "compare items.csv --label category --rounds 0", "compare items.csv --label category --bits 0",
		"encode items.csv -m m.hgm --to json -o -"} {
		if o := try(t, strings.Fields(args)...); o.code != 2 {
			t.Errorf("%s: exit %d, %s", args, o.code, o.err)
		}
	}
	for set, want := range map[string]string{"trim=0": "trim=0 number", "trim=-0": "number", "rows=many": "rows=many whole",
		"trimm=1": `"trimm" trim?`, "trim": `"trim" NAME=VALUE`} {
		o := try(t, "train", "items.csv", "--label", "category", "-o", "zero.hgm", "--set", set)
		if d := o.differs(2, "bad-flag-value", want); d != "" {
			t.Errorf("--set %s: %s", set, d)
		}
	}
	t.Setenv("HASHGROVE_DEPTH", "0")
	if o := try(t, strings.Fields("train items.csv --label category -o zero.hgm")...); o.code != 2 {
		t.Errorf("depth 0 in the environment: exit %d, %s", o.code, o.err)
	}
}
