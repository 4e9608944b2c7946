package compare

import (
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/eval"
	"hashgrove/internal/message"
)

// shop is a comparison in which FastHash at 32 bits is the plain choice and no remark fires but cost.
func shop() *Result {
	row := func(name string, kind eval.Kind, bits, bytes int, mean float64) eval.Row {
		return eval.Row{Method: name, Kind: kind, Bits: bits, Bytes: bytes, Figures: eval.Figures{MAP: mean, Precision: mean},
			LearnedItems: &eval.Items{Figures: eval.Figures{MAP: mean}}}
	}
	return &Result{
		Data: Dataset{Base: 100_000, Learned: 70_000, New: 30_000, Queries: 1000, Dim: 512, Classes: 2},
		Rows: []eval.Row{
			row("fasthash", eval.KindMethod, 16, 2, 0.80), row("fasthash", eval.KindMethod, 32, 4, 0.90),
			row("fasthash", eval.KindMethod, 64, 8, 0.905), row("ksh", eval.KindMethod, 32, 4, 0.70),
			row("random", eval.KindFloor, 32, 4, 0.10), row("classifier-float", eval.KindReference, 64, 8, 0.76),
			row("float-euclidean", eval.KindReference, 32*512, 2048, 0.44),
		},
	}
}

// Every rule has a change of a plain comparison that makes it fire, and the verdicts recommend a row.
func TestEachRule(t *testing.T) {
	tested := map[string]bool{}
	for _, c := range []struct {
		change  func(r *Result)
		rules   string // all that fire
		advised int    // row; -1 for none
		facts   string
	}{
		{func(*Result) {}, "use cost", 1, "FastHash; 32 bits; 0.900; new; 90 %"},
		{func(r *Result) { r.Rows = r.Rows[4:5] }, "nothing", -1, ""},
		{func(r *Result) { r.Rows[2].AP = []float64{-1, -1} }, "nothing", -1, ""},
		{func(r *Result) {
			r.Rows = []eval.Row{r.Rows[3], r.Rows[4]}
			r.Rows[0].MAP = 0.11
		}, "no-signal", -1, "KSH; 0.110; 0.100"},
		{func(r *Result) { r.Rows[6].MAP = 0.97 }, "float", 6, "float search; 0.970; 0.900"},
		{func(r *Result) { r.Rows[6].MAP, r.Data.Base = 0.9, 10_000 }, "float", 6, "0.900; 10000; 20.5 MB"},
		{func(r *Result) { r.Rows[6].MAP = 0.9 }, "use cost", 1, ""}, // too many vectors
		{func(r *Result) { r.Rows[5].MAP = 0.9 }, "classifier-as-good cost", 5, "0.900; 8 bytes; 32 bits; 4 bytes"},
		{func(r *Result) {
			r.Rows[1].Rank, r.Rows[1].Ranked = eval.ByMargins, eval.Figures{MAP: 0.93}
		}, "use ranking cost", 1, "0.930; margins"},
		{func(r *Result) { r.Rows = slices.Delete(r.Rows, 2, 3) }, "use cost more-bits", 1, ""},
		{func(r *Result) {
			r.Rows[1].UnseenMAP, r.Rows[1].UnseenChance, r.Rows[6].UnseenMAP = 0.2, 0.1, 0.4
		}, "use cost unseen", 1, ""},
		{func(r *Result) { r.Rows[3].Error = "no" }, "use cost", 1, ""},
		{func(r *Result) { // one class has three of four queries
			r.classes = []int32{0, 0, 0, 1}
			for i := range r.Rows {
				r.Rows[i].AP = []float64{1, 1, 1, 0}
			}
			r.Rows[3].AP = []float64{0.7, 0.7, 0.7, 0.7}
		}, "use cost", 1, "FastHash; 0.900; equally; KSH with 32 bits; 0.700; 0.500; FastHash with 32 bits"},
	} {
		r := shop()
		c.change(r)
		var rules []string
		list := advise(r)
		for _, a := range list {
			rules, tested[a.Rule] = append(rules, a.Rule), true
			if !strings.HasSuffix(a.Text, ".") || strings.Contains(a.Text, "%!") || strings.Contains(a.Text, "NaN") {
				t.Errorf("%s is no sentence: %s", a.Rule, a.Text)
			}
		}
		if strings.Join(rules, " ") != c.rules || !message.NamesInOrder(list[0].Text, c.facts) {
			t.Errorf("%v says %q, want %s with %q", rules, list[0].Text, c.rules, c.facts)
		}
		for i, row := range r.Rows {
			if row.Recommended != (i == c.advised) {
				t.Errorf("%s: row %d is recommended: %v", c.rules, i, row.Recommended)
			}
		}
	}
	for _, u := range slices.Concat(verdicts, remarks) {
		if !tested[u.name] {
			t.Errorf("the rule %s is not tested", u.name)
		}
	}
}

// What the choice of queries explains is no difference.
func TestChance(t *testing.T) {
	for _, c := range []struct {
		a, b []float64
		want float64
	}{
		{[]float64{0.5, 0.5}, []float64{0.5}, 0},
		{[]float64{0.9, 0.8, 0.7}, []float64{0.5, 0.4, 0.3}, 0}, // all alike
		{[]float64{1, 0, 1, -1}, []float64{0, 1, 0, 1}, 2 * 2.0 / 3},
	} {
		if got := chanceOf(c.a, c.b); got < c.want-1e-6 || got > c.want+1e-6 {
			t.Errorf("%v and %v: %v, want %v", c.a, c.b, got, c.want)
		}
	}
}
