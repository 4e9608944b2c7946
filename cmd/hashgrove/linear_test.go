package main

import (
	"encoding/json"
	"strings"
	"testing"

	"hashgrove/api"
	"hashgrove/internal/model"
)

// TestLinearColumns: a model that adds columns is trained, judged, explained, indexed and searched like any other, and
// its columns have names.
func TestLinearColumns(t *testing.T) {
	shop(t) // 400 items, and new ones
	out := succeed(t, strings.Fields(trainShop+"--set linear_columns=kernel -o m.hgm")...)
	m, err := model.ReadFile("m.hgm")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(m.Info.Linear, "kernel") || !strings.Contains(out, m.Info.Linear) {
		t.Errorf("the model says %q, and train\n%s", m.Info.Linear, out)
	}
	classes := len(m.Info.Classes)
	if len(m.Info.Added) != 2*classes || m.Info.Added[0] != "linear:"+m.Info.Classes[0] ||
		m.Info.Added[classes] != "kernel:"+m.Info.Classes[0] {
		t.Fatalf("added columns %q for the classes %q", m.Info.Added, m.Info.Classes)
	}
	out = succeed(t, "info", "m.hgm")
	for _, want := range []string{"trees", "8 columns", m.Info.Linear, "score for "} {
		if !strings.Contains(out, want) {
			t.Errorf("info does not say %q:\n%s", want, out)
		}
	}
	const data = " --label category --id-column sku"
	succeed(t, strings.Fields("index build items.csv -m m.hgm -o i.hgi"+data)...)
	if out := succeed(t, "info", "i.hgi"); !strings.Contains(out, "trees") || !strings.Contains(out, "8 columns") {
		t.Errorf("info of the index says\n%s", out)
	}
	f := searched(t, "i.hgi new.csv --row 2 --explain --rerank items.csv --id-column sku --rerank-by none")
	named := 0
	for _, b := range f.Results[0].Why.Bits {
		for _, x := range b.Reasons {
			if strings.HasPrefix(x.Name, "score for ") || strings.HasPrefix(x.Name, "kernel score for ") {
				named++
			}
		}
	}
	if named == 0 {
		t.Errorf("no reason names an added column: %+v", f.Results[0].Why.Bits)
	}
	succeed(t, strings.Fields("eval -m m.hgm --base items.csv --queries new.csv --label category")...)
	longer := strings.Replace(trainShop, "--bits 8", "--bits 12", 1)
	succeed(t, strings.Fields(longer+"--grow m.hgm --set linear_columns=kernel -o longer.hgm")...)
	short, err := model.ReadFile("longer.hgm")
	if err != nil || short.Prefix(8).Fingerprint() != m.Fingerprint() {
		t.Errorf("growing changes the first bits: %v", err)
	}
}

// TestReasonsOfScores: bits that scores of classes predict are explained by the classes, and the parts of a margin make
// up the margin.
func TestReasonsOfScores(t *testing.T) {
	shop(t)
	const trainScores = "train items.csv --label category --id-column sku --bits 8 --learner scores "
	for _, kind := range []string{"linear", "kernel"} {
		m := kind + ".hgm"
		succeed(t, strings.Fields(trainScores+"--set linear_columns="+kind+" -o "+m)...)
		succeed(t, strings.Fields("index build items.csv --label category --id-column sku -m "+m+" -o "+kind+".hgi")...)
		const explain = ".hgi new.csv --row 2 --explain --rerank items.csv --id-column sku --rerank-by none"
		out := succeed(t, strings.Fields("search "+kind+explain+" --json")...)
		var answer struct{ Results []struct{ Why api.Why } }
		if err := json.Unmarshal([]byte(out), &answer); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		why := answer.Results[0].Why
		named := 0
		for _, b := range why.Bits {
			if b.RestQuery == nil || b.RestItem == nil || b.MarginQuery == nil || b.MarginItem == nil {
				t.Fatalf("%s scores: bit %d is %+v", kind, b.Bit, b)
			}
			query, item := *b.RestQuery, *b.RestItem
			for _, x := range b.Reasons {
				query, item = query+*x.PartQuery, item+*x.PartItem
				if !strings.HasPrefix(x.Name, "score for ") || x.Threshold != nil {
					t.Errorf("%s scores: bit %d has the reason %+v", kind, b.Bit, x)
				}
				named++
			}
			if float32(query) != *b.MarginQuery || float32(item) != *b.MarginItem {
				t.Errorf("%s scores: the parts of bit %d sum to %d and %d, the margins are %v and %v",
					kind, b.Bit, query, item, *b.MarginQuery, *b.MarginItem)
			}
		}
		if named == 0 || len(why.Columns) == 0 {
			t.Errorf("%s scores have no reasons: %+v", kind, why)
		}
		out = succeed(t, strings.Fields("search "+kind+explain)...)
		if !strings.Contains(out, "score for ") || !strings.Contains(out, " %") {
			t.Errorf("search --explain prints\n%s", out)
		}
	}
}
