package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"hashgrove/model"
)

const trainShop = "train items.csv --label category --id sku --bits 8 --rounds 5 "

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
	if o.code != 0 || !strings.Contains(o.out, "\nnew items:     MAP 0.") || !strings.Contains(o.out, "\nlearned items: MAP ") ||
		!strings.Contains(o.out, "in 20 rows") || !strings.Contains(o.err, "5 % of them held out") {
		t.Errorf("%s\n%s", o.out, o.err)
	}
	if !strings.Contains(o.out, "Only 20 rows were held out: these figures are rough\n") || strings.Contains(o.out, "An index gets") {
		t.Errorf("figures of 20 rows are said to be\n%s", o.out)
	}
	if out := succeed(t, "info", "m.hgm"); !strings.Contains(out, "new items:     MAP 0.") || !strings.Contains(out, "sketch of 380") {
		t.Errorf("info says\n%s", out)
	}
	for flags, held := range map[string]int{"": 20, "--validation 0": 0, "--validation 0.25": 100, "--patience 50": 40} {
		r := trainReported(t, trainShop+flags+" --restart --force -o r.hgm")
		if r.Rows != 400-held || (r.New != nil) != (held > 0) || held > 0 && (!r.New.complete(held) || !r.Learned.complete(held)) {
			t.Errorf("%q: %d rows learned, new items %+v, learned items %+v", flags, r.Rows, r.New, r.Learned)
		}
	}
}

// TestExpectation: a difference is worth a sentence where enough rows show it.
func TestExpectation(t *testing.T) {
	for _, c := range []struct {
		rows         int
		new, learned float64
		want         string
	}{{100, 0.9, 0.96, "An index gets new items"}, {100, 0.9, 0.94, ""}, {99, 0.5, 0.9, "Only 99 rows"}} {
		got := expectation(&model.Info{
			NewItems: &model.Figures{Rows: c.rows, MAP: c.new}, LearnedItems: &model.Figures{Rows: c.rows, MAP: c.learned},
		})
		if !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
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
	for args, want := range map[string]string{
		"train few.csv --label category --id sku --bits 4 --rounds 3 -o a.hgm":                     "fewer than 200",
		"train items.csv --label category --id sku --pairs pairs.csv --bits 4 --rounds 3 -o b.hgm": "not pairs",
		"train bare.csv --method lsh --bits 4 -o c.hgm":                                            "need classes or tags",
	} {
		o := try(t, strings.Fields(args)...)
		if o.code != 0 || !strings.Contains(o.err, want) || strings.Contains(o.out, "new items") {
			t.Errorf("%s: exit %d\n%s\n%s", args, o.code, o.out, o.err)
		}
		if o := try(t, strings.Fields(args+" --validation 0 --restart")...); strings.Contains(o.err, want) {
			t.Errorf("%s --validation 0 still says\n%s", args, o.err)
		}
	}
	for args, want := range map[string]string{
		trainShop + "--validation 1 -o x.hgm":                                                   "not a share",
		trainShop + "--validation -0.1 -o x.hgm":                                                "not a share",
		trainShop + "--validation 0 --patience 2 -o x.hgm":                                      "must be above 0",
		"train items.csv --id sku --label category --pairs pairs.csv --validation 0.1 -o x.hgm": "classes or tags",
	} {
		if o := try(t, strings.Fields(args)...); o.code != 2 || !strings.Contains(o.err, want) {
			t.Errorf("%s: exit %d, %s", args, o.code, o.err)
		}
	}
}

// TestGrowHoldsTheSameRowsOut: growing gives the model that training at once gives, figures and all, and a model that was
// learned from all rows is grown from all rows.
func TestGrowHoldsTheSameRowsOut(t *testing.T) {
	shop(t)
	for _, flags := range []string{"", "--validation 0 ", "--validation 0.25 "} {
		long := strings.Replace(trainShop, "--bits 8", "--bits 12", 1)
		succeed(t, strings.Fields(trainShop+flags+"--restart --force -o first.hgm")...)
		succeed(t, strings.Fields(long+flags+"--restart --force -o whole.hgm")...)
		succeed(t, strings.Fields(long+"--grow first.hgm --restart --force -o grown.hgm")...)
		if !bytes.Equal(read(t, "grown.hgm"), read(t, "whole.hgm")) {
			t.Errorf("%q: growing gives another model", flags)
		}
	}
	succeed(t, strings.Fields(trainShop+"--validation 0 --restart --force -o first.hgm")...)
	o := try(t, strings.Fields(strings.Replace(trainShop, "--bits 8", "--bits 12", 1)+"--grow first.hgm --validation 0.1 -o x.hgm")...)
	if o.code != 0 || !strings.Contains(o.err, "no figures for new items") || strings.Contains(o.out, "new items") {
		t.Errorf("exit %d\n%s\n%s", o.code, o.out, o.err)
	}
}
