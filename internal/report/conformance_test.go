package report_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"hashgrove/internal/report"
)

// conformance returns a page about an engine with everything on it.
func conformance() report.ConformancePage {
	p := report.ConformancePage{
		Title: "PostgreSQL 15.18 against the exact index", Command: "hashgrove check-engine items.hgi --engine postgres://localhost/shop",
		Version: "1.0", Verdict: "PostgreSQL 15.18 finds 98.70 % of the nearest items.", Good: true,
		Facts: []report.NamedText{{Name: "Table", Text: "boots"}, {Name: "Model", Text: strings.Repeat("0123456789abcdef", 4)}},
		Notes: []string{"395 of 400 answers are the same."},
		Searches: []report.ConformanceSearch{
			{Search: "10 nearest", Queries: 100, Hits: 1000, Recall: 0.99999, Same: 90, Ties: 5, Differ: 5, Tied: 40},
			{Search: `within 3 bits where label = "boots"`, Queries: 100, Refused: "the engine cannot filter so"},
		},
		Causes: []report.ConformanceCause{
			{Cause: "approximation", Meaning: "A nearer item was not found.", Count: 12, Differences: []report.ConformanceDifference{
				{Search: "10 nearest", Query: "7", Item: "sku-1", Text: "at distance 3, and the engine does not find it"},
			}},
			{Cause: "missing item", Meaning: "It is not there.", Count: 1, Differences: []report.ConformanceDifference{{Item: "sku-2", Text: "it is missing"}}},
		},
		Commands: []report.NamedText{{Name: "exactly", Text: "SELECT id FROM boots"}},
	}
	for q := range 3 {
		a := report.ConformanceAnswer{Search: "10 nearest", Query: fmt.Sprint(q), Outcome: "the answers differ"}
		for i := range 10 * min(q, 1) {
			a.Rows = append(a.Rows, report.ConformanceRank{
				Ours: fmt.Sprint("sku-", i), OurDistance: "3", Theirs: fmt.Sprint("sku-", i+i%2), TheirDistance: "4", Same: i%2 == 0,
			})
		}
		p.Answers = append(p.Answers, a)
	}
	return p
}

func conformanceText(t *testing.T, p report.ConformancePage) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.WriteConformance(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestConformancePage shows what it is given, loads nothing, and leaves out what is not there.
func TestConformancePage(t *testing.T) {
	p := conformance()
	text := conformanceText(t, p)
	for _, want := range []string{
		p.Verdict, "<td>1,000</td>", ">0.9999</td>", p.Searches[1].Refused, "approximation: 12", "1 of 12", `class="nothing"`,
		p.Commands[0].Text, p.Command, `class="key wrong"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
	if n := strings.Count(text, "1 of 1"); n != 1 {
		t.Errorf("%d causes show a part of their differences, want the one that has 12", n)
	}
	for _, bad := range []string{"http:", "https:", "<link", "<script", "@import", "url(", "ZgotmplZ", "headline bad"} {
		if strings.Contains(text, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	bare := conformanceText(t, report.ConformancePage{Title: "Bare", Verdict: "It differs."})
	for _, missing := range []string{`id="differences"`, `id="answers"`, "<pre", `class="facts"`} {
		if strings.Contains(bare, missing) || !strings.Contains(text, missing) {
			t.Errorf("%s is where there is nothing, or is missing", missing)
		}
	}
	if !strings.Contains(bare, `class="headline bad"`) {
		t.Error("a bad verdict looks good")
	}
	evil := conformance()
	poison(reflect.ValueOf(&evil).Elem(), `"><script>alert(1)</script><img src=x onerror="alert(2)">`)
	text = conformanceText(t, evil)
	if strings.Contains(text, "<script") || strings.Contains(text, "<img") || strings.Count(text, "&lt;script&gt;") < 50 {
		t.Error("hostile text became something else")
	}
}
