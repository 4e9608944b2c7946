package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/eval"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
)

// evaluate runs eval with --json and returns what it says.
func evaluate(t *testing.T, line string) (r eval.Report, keys map[string]any) {
	t.Helper()
	out := []byte(succeed(t, shellWords("eval --json "+line)...))
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &keys); err != nil {
		t.Fatal(err)
	}
	return r, keys
}

// Without labels, codes are judged by the nearest vectors, and nothing is said about relevance.
func TestEvalWithoutLabels(t *testing.T) {
	shop(t)
	succeed(t, shellWords("train items.csv --id-column sku --method lsh --bits 16 -o m.hgm")...)
	const data = "-m m.hgm --base items.csv --queries new.csv --id-column sku"
	r, keys := evaluate(t, data)
	if r.Neighbours != 10 || r.NeighbourQueries != 80 || r.Queries != 80 || r.Base != 400 || r.DistinctCodes < 10 {
		t.Errorf("report %+v", r)
	}
	for _, key := range []string{"map", "precision", "prior", "reachable_precision"} {
		if _, ok := keys[key]; ok {
			t.Errorf("%s is reported, and nothing says what is relevant", key)
		}
	}
	out := succeed(t, shellWords("eval "+data)...)
	if !strings.Contains(out, fmt.Sprintf("%.4f", r.NeighbourRecall100)) || strings.Contains(out, "MAP") || strings.Contains(out, "precision") {
		t.Errorf("eval says\n%s", out)
	}
	// With labels it is a further line, and the same.
	labelled, _ := evaluate(t, data+" --label category")
	if labelled.MAP == 0 || labelled.NeighbourRecall10 != r.NeighbourRecall10 || labelled.NeighbourRecall100 != r.NeighbourRecall100 {
		t.Errorf("with labels MAP %v, recall %v and %v", labelled.MAP, labelled.NeighbourRecall10, labelled.NeighbourRecall100)
	}
	if angle, _ := evaluate(t, data+" --neighbours cosine"); angle.NeighbourMetric != eval.Cosine || angle.NeighbourRecall10 == r.NeighbourRecall10 {
		t.Errorf("by cosine %q: %v", angle.NeighbourMetric, angle.NeighbourRecall10)
	}
	if none, keys := evaluate(t, data+" --label category --neighbours none"); none.MAP != labelled.MAP || keys["neighbour_recall_10"] != nil {
		t.Errorf("without neighbours MAP %v, recall %v", none.MAP, keys["neighbour_recall_10"])
	}
	for _, r := range []refusal{
		{data + " --neighbours none", 2, "no-truth", "--pairs"},
		{data + " --neighbours manhattan", 2, "bad-flag-value", "--neighbours manhattan euclidean cosine none"},
		{data + " --labels classes.txt", 2, "ambiguous-flag", "--base-labels --queries-labels"},
		{data + " --queries-tags somewhere", 1, nil, `queries new.csv "somewhere" category`},
	} {
		r.line = "eval " + r.line
		r.try(t)
	}
}

// A base of training rows is named as such, because figures for new items are lower.
func TestEvalKnowsLearnedRows(t *testing.T) {
	shop(t)
	succeed(t, shellWords("train items.csv --label category --id-column sku --bits 8 --rounds 10 --validation 0 -o m.hgm")...)
	const data = "-m m.hgm --label category --id-column sku "
	for _, c := range []struct {
		base, queries  string
		share, queried float64
		warnings       int
	}{
		{"--base items.csv", "--queries new.csv", 1, 0, 1},
		{"--base new.csv", "--queries new.csv", 0, 0, 0},
		{"--base items.csv --base new.csv", "--queries new.csv", 400.0 / 480, 0, 1},
		{"--base new.csv", "--queries items.csv", 0, 1, 1},
	} {
		r, _ := evaluate(t, data+c.base+" "+c.queries)
		if r.LearnedShare == nil || *r.LearnedShare != c.share || r.LearnedQueriesShare == nil || *r.LearnedQueriesShare != c.queried {
			t.Errorf("%s %s: learned %v and %v, want %v and %v", c.base, c.queries, r.LearnedShare, r.LearnedQueriesShare, c.share, c.queried)
		}
		warnings := 0
		for _, w := range r.Warnings {
			if lacks(w, "learned --queries 100 %") == "" || lacks(w, "learned --base 83 %") == "" {
				warnings++
			}
		}
		if warnings != c.warnings {
			t.Errorf("%s %s: warnings %q", c.base, c.queries, r.Warnings)
		}
	}
	if o := try(t, shellWords("eval "+data+"--base items.csv --queries new.csv")...); lacks(o.err, "warning: 100 % --base") != "" || !strings.Contains(o.out, "100 %") {
		t.Errorf("eval says\n%s%s", o.out, o.err)
	}
}

// Queries of unseen classes meet the whole base, with chance and float search beside them.
func TestEvalOfUnseenClasses(t *testing.T) {
	shop(t)
	succeed(t, shellWords("train items.csv --label category --id-column sku --bits 8 --rounds 10 --set hold_out=hats,scarves -o m.hgm")...)
	r, _ := evaluate(t, "-m m.hgm --base items.csv --queries new.csv --label category --id-column sku")
	u := r.Unseen
	if u == nil || u.Base != 400 || u.Queries >= 80 || u.Queries < 20 {
		t.Fatalf("unseen classes: %+v", u)
	}
	if !slices.Equal(u.HeldOut, []string{"hats", "scarves"}) {
		t.Errorf("held out %q", u.HeldOut)
	}
	if u.Prior < 0.2 || u.Prior > 0.3 {
		t.Errorf("MAP %v by chance %v", u.MAP, u.Prior)
	}
	if u.FloatQueries != u.Queries || u.FloatMAP < 0.5 || u.FloatMAP <= u.MAP {
		t.Errorf("float search has MAP %v with %d of %d queries, the codes %v", u.FloatMAP, u.FloatQueries, u.Queries, u.MAP)
	}
	const judge = "eval -m m.hgm --base items.csv --queries new.csv --label category --id-column sku"
	if out := succeed(t, shellWords(judge)...); !strings.Contains(out, fmt.Sprintf("%.4f", u.MAP)) {
		t.Errorf("eval does not say %v:\n%s", u.MAP, out)
	}
	none, _ := evaluate(t, "-m m.hgm --base items.csv --queries new.csv --label category --id-column sku --neighbours none")
	if none.Unseen.FloatQueries != 0 || none.Unseen.MAP != u.MAP {
		t.Errorf("without vectors %+v", none.Unseen)
	}
}

// All rankings are measured, any of them can lead, and the model's choice does by default.
func TestEvalByAllRankings(t *testing.T) {
	shop(t)
	succeed(t, shellWords("train items.csv --id-column sku --label category --bits 12 --detail-bits 4 --rounds 20 -o m.hgm")...)
	m, err := model.ReadFile("m.hgm")
	if err != nil {
		t.Fatal(err)
	}
	const data = "-m m.hgm --base items.csv --queries new.csv --id-column sku --label category"
	usual, _ := evaluate(t, data)
	if usual.Ranking != eval.Ranking(m.Rank()) {
		t.Errorf("ranked by %s, and the model chose %s", usual.Ranking, m.Rank())
	}
	figures := map[eval.Ranking]*eval.Report{}
	for _, rank := range []eval.Ranking{eval.ByHamming, eval.ByMargins, eval.ByExpected} {
		r, _ := evaluate(t, data+" --rank "+string(rank))
		list := r.Rankings()
		if len(list) != 3 || list[0].Ranking != rank {
			t.Fatalf("%s: %d rankings, the first by %s", rank, len(list), list[0].Ranking)
		}
		for _, one := range list {
			known := figures[one.Ranking]
			if known == nil {
				known, figures[one.Ranking] = one, one
			}
			if one.MAP != known.MAP || one.PRArea != known.PRArea || one.NeighbourRecall10 != known.NeighbourRecall10 ||
				one.NearestOfClass10 != known.NearestOfClass10 || one.NearestOfClass10 == 0 {
				t.Errorf("by %s: %+v is not the same as %+v", one.Ranking, one, known)
			}
		}
	}
	if len(figures) != 3 || figures[eval.ByHamming].MAP == figures[eval.ByMargins].MAP {
		t.Error("rankings have one MAP: this test cannot fail")
	}
	out := succeed(t, shellWords("eval "+data)...)
	for _, want := range []string{"nearest of its class", message.Bits(12, 4), fmt.Sprintf("%.4f", figures[eval.ByExpected].MAP)} {
		if !strings.Contains(out, want) {
			t.Errorf("eval does not say %q:\n%s", want, out)
		}
	}
	succeed(t, shellWords("train items.csv --id-column sku --label category --method lsh --bits 2048 -o long.hgm")...)
	long, _ := evaluate(t, strings.Replace(data, "m.hgm", "long.hgm", 1))
	if len(long.Rankings()) != 1 || long.MAP == 0 {
		t.Error("codes of 2,048 bits are ranked by margins, or not at all")
	}
	refusal{"eval " + strings.Replace(data, "m.hgm", "long.hgm", 1) + " --rank margins", 2, "too-many-bits", "--rank 2048 1024 --prefix"}.try(t)
}
