package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"hashgrove/internal/model"
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
	lines := figuresText(&m.Info)
	for _, f := range []*model.Figures{m.Info.NewItems, m.Info.LearnedItems} {
		if f == nil || f.Rows != 20 || !strings.Contains(lines, fmt.Sprintf("%.4f", f.MAP)) {
			t.Fatalf("figures %+v are\n%s", f, lines)
		}
	}
	if o.code != 0 || !strings.Contains(o.out, "\n"+lines) || !strings.Contains(o.err, "5 %") {
		t.Errorf("exit %d, and it does not say\n%s\n%s\n%s", o.code, lines, o.out, o.err)
	}
	if rough := expectation(&m.Info); !strings.Contains(rough, "20") || !strings.Contains(o.out, "\n"+rough) {
		t.Errorf("figures of 20 rows are not said to be %q:\n%s", rough, o.out)
	}
	if out := succeed(t, "info", "m.hgm"); !strings.Contains(out, lines) || !strings.Contains(out, " 380 rows") ||
		m.Info.Sketch.Len() != 380 {
		t.Errorf("info says\n%s", out)
	}
	for flags, held := range map[string]int{"": 20, "--validation 0": 0, "--validation 0.25": 100} {
		r := trainReported(t, trainShop+flags+" --restart --force -o r.hgm")
		if r.Rows != 400-held || (r.New != nil) != (held > 0) || held > 0 && (!r.New.complete(held) || !r.Learned.complete(held)) {
			t.Errorf("%q: %d rows learned, new items %+v, learned items %+v", flags, r.Rows, r.New, r.Learned)
		}
	}
}

// TestExpectation: a difference is worth a sentence where enough rows show it, and few rows are worth another.
func TestExpectation(t *testing.T) {
	for _, c := range []struct {
		rows         int
		new, learned float64
		want         string // that is named
	}{{100, 0.9, 0.96, "--validation 0"}, {100, 0.9, 0.94, ""}, {99, 0.5, 0.9, "99 rows"}} {
		got := expectation(&model.Info{
			NewItems: &model.Figures{Rows: c.rows, MAP: c.new}, LearnedItems: &model.Figures{Rows: c.rows, MAP: c.learned},
		})
		if !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%+v: %q", c, got)
		}
	}
	if got := expectation(new(model.Info)); got != "" {
		t.Errorf("without figures: %q", got)
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
