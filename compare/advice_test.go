package compare

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hashgrove/eval"
	"hashgrove/report"
)

// shop is a comparison in which FastHash at 32 bits is the plain choice and no remark fires but cost and enough-bits.
func shop() *Result {
	classes := func(a, b float64) []eval.Class {
		return []eval.Class{{Name: "boots", Queries: 500, Base: 9000, MAP: a}, {Name: "hats", Queries: 500, Base: 9000, MAP: b}}
	}
	float := func(name string, mean, unseen float64) eval.Row {
		return eval.Row{Method: name, Kind: eval.KindReference, Bits: 32 * 512, Bytes: 2048, MAP: mean, MAPLow: mean,
			MAPHigh: mean, UnseenMAP: unseen,
			SearchMicroseconds: 20_000, DistinctCodes: 99_000, PerClass: classes(mean, mean)}
	}
	code := func(name string, kind eval.Kind, bits int, mean float64, train float64) eval.Row {
		return eval.Row{Method: name, Kind: kind, Bits: bits, Bytes: bits / 8, MAP: mean, MAPLow: mean - 0.01,
			MAPHigh: mean + 0.01, Precision100: mean, ReachablePrecision: mean, MacroMAP: mean,
			NewItems: &eval.Items{MAP: mean, DistinctCodes: 15_000}, MixedLearnedShare: 0.51,
			LearnedItems: &eval.Items{MAP: mean + 0.01, DistinctCodes: 35_000},
			TrainSeconds: train, EncodeMicroseconds: 2, SearchMicroseconds: 50, DistinctCodes: 15_000, PerClass: classes(mean-0.005, mean+0.005)}
	}
	return &Result{
		Data: report.Dataset{Base: 100_000, Learned: 70_000, New: 30_000, Queries: 1000, Dim: 512, Classes: 2},
		Rows: []eval.Row{
			code("fasthash", eval.KindMethod, 16, 0.80, 20), code("fasthash", eval.KindMethod, 32, 0.90,
				40), code("fasthash", eval.KindMethod, 64, 0.905, 80),
			code("ksh", eval.KindMethod, 32, 0.70, 10), code("ksh", eval.KindMethod, 64, 0.72, 20),
			code("random", eval.KindFloor, 32, 0.10, 0), code("sign", eval.KindFloor, 512, 0.40, 0),
			code("classifier-float", eval.KindReference, 64, 0.76, 1),
			code("classifier-onehot", eval.KindReference, 10, 0.75, 1), code("classifier", eval.KindReference, 32, 0.74, 1),
			float("float-euclidean", 0.44, 0), float("float-cosine", 0.45, 0),
		},
	}
}

func said(list []Advice, rule string) string {
	for _, a := range list {
		if a.Rule == rule {
			return a.Text
		}
	}
	return ""
}

func TestPlainAdvice(t *testing.T) {
	r := shop()
	list := advise(r)
	var rules []string
	for _, a := range list {
		rules = append(rules, a.Rule)
		if !strings.HasSuffix(a.Text, ".") || strings.Contains(a.Text, "%!") || strings.Contains(a.Text, "NaN") {
			t.Errorf("%s is no sentence: %s", a.Rule, a.Text)
		}
	}
	if want := []string{"use", "cost", "enough-bits"}; !slices.Equal(rules, want) {
		t.Errorf("the rules %v fired, want %v", rules, want)
	}
	for i, row := range r.Rows {
		if row.Recommended != (i == 1) {
			t.Errorf("recommended is %s", rowName(&row))
		}
	}
	few := shop()
	if few.Data.Queries = 9; advise(few)[1].Rule != "few-queries" {
		t.Error("that there are 9 queries is not said at once")
	}
	if text := said(list, "cost"); !strings.Contains(text,
		"4 bytes an item instead of 2048 bytes") || !strings.Contains(text, "gain of 0.450") || !strings.Contains(text, "400 times") {
		t.Errorf("the cost is said as %q", text)
	}
}

// Every rule has a change of the plain comparison that makes it fire, and one close to it that does not.
func TestEachRule(t *testing.T) {
	row := func(r *Result, method string, bits int) *eval.Row { return r.Find(method, bits) }
	floats := func(r *Result, f func(*eval.Row)) {
		f(row(r, "float-euclidean", 0))
		f(row(r, "float-cosine", 0))
	}
	fail := func(rows ...*eval.Row) {
		for _, row := range rows {
			*row = eval.Row{Method: row.Method, Kind: row.Kind, Bits: row.Bits, Error: "out of patience"}
		}
	}
	cases := []struct {
		rule        string
		fires, does func(r *Result) // does: does not fire
		want        string          // in the sentence
		recommended string          // the method, where the rule is a verdict
	}{
		{"no-method", func(r *Result) {
			for i := range r.Rows[:5] {
				fail(&r.Rows[i])
			}
		}, func(r *Result) {
			for i := range r.Rows[:4] {
				fail(&r.Rows[i])
			}
		}, "Nothing can be advised", ""},
		{"no-answers", func(r *Result) { row(r, "fasthash", 64).AP = []float64{-1, -1} },
			func(r *Result) { row(r, "fasthash", 64).AP = []float64{-1, 0.905} },
			"Nothing can be advised: no query has a similar item among the 30000 new items", ""},
		{"float-better",
			func(r *Result) { row(r, "float-cosine", 0).MAP = 0.96 },
			func(r *Result) { row(r, "float-cosine", 0).MAP = 0.95 },
			"Do not hash: float search by cosine has MAP 0.960", "float-cosine"},
		{"no-signal",
			func(r *Result) { row(r, "random", 32).MAP = 0.89 },
			func(r *Result) { row(r, "random", 32).MAP = 0.88 },
			"do not tell which rows are similar", ""},
		{"float-cheap", func(r *Result) {
			r.Data.Base = 30_000
			row(r, "float-euclidean", 0).MAP = 0.9
		}, func(r *Result) { // too many vectors
			row(r, "float-euclidean", 0).MAP = 0.9
		}, "61 MB, and one core goes through them in 20.0 ms", "float-euclidean"},
		{"float-cheap", func(r *Result) {
			r.Data.Base = 30_000
			row(r, "float-euclidean", 0).MAP = 0.9
		}, func(r *Result) { // cheap, but worse
			r.Data.Base = 30_000
			row(r, "float-euclidean", 0).MAP = 0.89
		}, "Do not hash", "float-euclidean"},
		{"classifier-as-good",
			func(r *Result) { row(r, "classifier-float", 0).MAP = 0.9 },
			func(r *Result) { row(r, "classifier-float", 0).MAP = 0.89 },
			"A classifier does as well: ranking by its probabilities has MAP 0.900 for new items, with 8 bytes an " +
				"item, and the best codes, FastHash with 32 bits, have 0.900 with 4 bytes", "classifier-float"},
		{"classifier-as-good", func(r *Result) { // better, unless by chance
			row(r, "classifier-float", 0).MAP, row(r, "classifier-float", 0).AP = 0.93, []float64{1, 1, 1, 0.72}
			row(r, "fasthash", 64).AP = []float64{1, 1, 1, 0.62}
		}, func(r *Result) {}, "A classifier does at least as well", "classifier-float"},
		{"classifier-larger", func(r *Result) { // as good, with a number for each of many classes
			row(r, "classifier-float", 0).MAP, row(r, "classifier-float", 0).Bytes = 0.9, 400
		}, func(r *Result) { // better, at any price
			row(r, "classifier-float", 0).MAP, row(r, "classifier-float", 0).Bytes = 0.93, 400
		}, "do as well, with MAP 0.900, and take 400 bytes an item", "fasthash"},
		{"classifier-as-good",
			func(r *Result) { row(r, "classifier-float", 0).MAP = 0.92 },
			func(r *Result) { row(r, "classifier", 0).MAP = 0.92 }, // its probabilities decide
			"A classifier does better", "classifier-float"},
		{"classifier-as-good", func(r *Result) { // a few queries cannot tell the difference
			row(r, "classifier-float", 0).MAP, row(r, "classifier-float", 0).AP = 0.875, []float64{1, 1, 1, 0.5}
			row(r, "fasthash", 64).AP = []float64{1, 1, 1, 0.62}
		}, func(r *Result) { // every query says the same
			row(r, "classifier-float", 0).MAP, row(r, "classifier-float", 0).AP = 0.875, []float64{0.87, 0.88, 0.87, 0.88}
			row(r, "fasthash", 64).AP = []float64{0.9, 0.91, 0.9, 0.91}
		}, "as well, as far as 1000 queries can tell", "classifier-float"},
		{"classifier-as-good", func(r *Result) {
			fail(row(r, "classifier-float", 0))
			row(r, "classifier-onehot", 0).MAP = 0.9
		}, func(r *Result) {
			fail(row(r, "classifier-float", 0))
			row(r, "classifier", 0).MAP = 0.8
		}, "its answer, one-hot in 10 bits, has MAP 0.900", "classifier-onehot"},
		{"classifier-as-good", func(r *Result) {
			fail(row(r, "classifier-float", 0))
			row(r, "classifier", 0).MAP = 0.91
		}, func(r *Result) {}, "its probabilities, hashed to 32 bits, have MAP 0.910", "classifier"},
		{"use", func(r *Result) {}, func(r *Result) { row(r, "float-cosine", 0).MAP = 0.99 },
			"Use FastHash with 32 bits: MAP 0.900 for new items, and of the 100 nearest items 90 % are right. The best of " +
				"all, FastHash with 64 bits, has MAP 0.905.", "fasthash"},
		{"use", func(r *Result) { row(r, "fasthash", 32).Precision100 = 0.45 },
			func(r *Result) { row(r, "classifier-float", 0).MAP = 0.99 },
			"of the nearest items, as many as there are right ones and 100 at most, 90 % are right", "fasthash"},
		{"use", func(r *Result) { row(r, "ksh", 64).MAP = 0.95 },
			func(r *Result) { row(r, "classifier-float", 0).MAP = 0.99 }, "Use KSH with 64 bits", "ksh"},
		{"learned-by-heart", func(r *Result) { row(r, "fasthash", 32).LearnedItems.MAP = 0.96 },
			func(r *Result) { row(r, "fasthash", 32).LearnedItems.MAP = 0.94 },
			"FastHash with 32 bits has MAP 0.960. That flatters: 0.900 is what to expect of items that come later", ""},
		{"learned-order", func(r *Result) { row(r, "ksh", 64).LearnedItems.MAP = 0.95 },
			func(r *Result) { row(r, "fasthash", 64).LearnedItems.MAP = 0.99 }, // another length of the method
			"KSH with 64 bits looks better, with MAP 0.950; among new ones it has 0.720", ""},
		{"mixed", func(r *Result) { row(r, "fasthash", 32).MixedLearnedShare = 0.67 },
			func(r *Result) { row(r, "fasthash", 32).MixedLearnedShare = 0.55 },
			"67 % of the first 100 hits of FastHash with 32 bits are learned ones", ""},
		{"cost", func(r *Result) { row(r, "float-cosine", 0).MAP = 0.93 }, func(r *Result) {
			fail(row(r, "float-cosine", 0), row(r, "float-euclidean", 0))
		}, "for a loss of 0.030 MAP", ""},
		{"enough-bits", func(r *Result) {}, func(r *Result) { row(r, "fasthash", 64).MAP = 0.95 },
			"32 bits are enough: with 64 bits FastHash has MAP 0.905, only 0.005 more.", ""},
		{"enough-bits", func(r *Result) { row(r, "fasthash", 64).MAP = 0.9004 },
			func(r *Result) { row(r, "fasthash", 64).MAP = 0.95 },
			"32 bits are enough: with more bits FastHash is no better.", ""},
		{"more-bits", func(r *Result) { row(r, "fasthash", 64).MAP = 0.95 }, func(r *Result) {}, "Try 128", ""},
		{"more-trees", func(r *Result) { row(r, "fasthash", 32).HalfTreesMAP = 0.88 },
			func(r *Result) { row(r, "fasthash", 32).HalfTreesMAP = 0.895 }, "from 0.880 to 0.9", ""},
		{"more-bits", func(r *Result) { // every query says the same
			row(r, "fasthash", 64).MAP = 0.95
			row(r, "fasthash", 64).AP, row(r, "fasthash", 32).AP = []float64{0.95, 0.95, 0.95}, []float64{0.9, 0.91, 0.89}
		}, func(r *Result) { // one of three does
			row(r, "fasthash", 64).MAP = 0.95
			row(r, "fasthash", 64).AP, row(r, "fasthash", 32).AP = []float64{0.95, 0.95, 0.95}, []float64{0.95, 0.95, 0.8}
		}, "from 32 to 64 bits MAP rose from 0.900 to 0.950", ""},
		{"sign-as-good", func(r *Result) { row(r, "sign", 0).MAP = 0.9 },
			func(r *Result) { row(r, "sign", 0).MAP = 0.89 }, "does as well, without learning: MAP 0.900 with 64 bytes", ""},
		{"sign-as-good", func(r *Result) { row(r, "sign", 0).MAP = 0.93 },
			func(r *Result) { row(r, "sign", 0).MAP = 0.89 }, "does better, without learning", ""},
		{"quicker-method", func(r *Result) {
			row(r, "ksh", 32).MAP, row(r, "ksh", 32).TrainSeconds = 0.88, 3
		}, func(r *Result) { // as good, but not much quicker
			row(r, "ksh", 32).MAP, row(r, "ksh", 32).TrainSeconds = 0.88, 5
		}, "KSH with 32 bits has MAP 0.880 after 3.0 s instead of 40.0 s", ""},
		{"quicker-method", func(r *Result) {
			row(r, "ksh", 32).MAP, row(r, "ksh", 32).TrainSeconds = 0.88, 0.3
			row(r, "fasthash", 32).TrainSeconds = 5
		}, func(r *Result) { // nobody waits for less than five seconds
			row(r, "ksh", 32).MAP, row(r, "ksh", 32).TrainSeconds = 0.88, 0.01
			row(r, "fasthash", 32).TrainSeconds = 4
		}, "KSH with 32 bits has MAP 0.880 after 0.3 s instead of 5.0 s", ""},
		{"unseen-lose", func(r *Result) {
			c := row(r, "fasthash", 32)
			c.UnseenMAP, c.UnseenChance = 0.4, 0.2
			floats(r, func(f *eval.Row) { f.UnseenMAP = 0.6 })
		}, func(r *Result) {
			c := row(r, "fasthash", 32)
			c.UnseenMAP, c.UnseenChance = 0.56, 0.2
			floats(r, func(f *eval.Row) { f.UnseenMAP = 0.6 })
		},
			"in all items, have MAP 0.400 with FastHash with 32 bits and 0.600 with float search by cosine; chance would be " +
				"0.200", ""},
		{"unseen-lose", func(r *Result) {
			c := row(r, "fasthash", 32)
			c.UnseenMAP, c.UnseenChance = 0.24, 0.2
			floats(r, func(f *eval.Row) { f.UnseenMAP = 0.2 })
		}, func(r *Result) {
			c := row(r, "fasthash", 32)
			c.UnseenMAP, c.UnseenChance = 0.26, 0.2
			floats(r, func(f *eval.Row) { f.UnseenMAP = 0.2 })
		},
			"do not rely on these codes", ""}, // no better than chance
		{"unseen-less", func(r *Result) {
			c := row(r, "fasthash", 32)
			c.UnseenMAP, c.UnseenChance = 0.56, 0.2
			floats(r, func(f *eval.Row) { f.UnseenMAP = 0.6 })
		}, func(r *Result) {
			c := row(r, "fasthash", 32)
			c.UnseenMAP, c.UnseenChance = 0.595, 0.2
			floats(r, func(f *eval.Row) { f.UnseenMAP = 0.6 })
		},
			"found less well than by float search", ""},
		{"unseen-hold", func(r *Result) {
			c := row(r, "fasthash", 32)
			c.UnseenMAP, c.UnseenChance = 0.595, 0.2
			floats(r, func(f *eval.Row) { f.UnseenMAP = 0.6 })
		}, func(r *Result) {
			c := row(r, "fasthash", 32)
			c.UnseenMAP, c.UnseenChance = 0.58, 0.2
			floats(r, func(f *eval.Row) { f.UnseenMAP = 0.6 })
		},
			"hold for classes that come later", ""},
		{"classes-lose", func(r *Result) {
			row(r, "float-cosine", 0).PerClass[0].MAP = 0.93
		}, func(r *Result) {
			row(r, "float-cosine", 0).PerClass[0].MAP = 0.91
		}, "One class is less well served by codes of FastHash with 32 bits than by float search by cosine: boots " +
			"(0.895 instead of 0.930)", ""},
		{"classes-weak", func(r *Result) {
			row(r, "fasthash", 32).PerClass[0].MAP, row(r, "fasthash", 32).MacroMAP = 0.5, 0.7
		}, func(r *Result) {
			row(r, "fasthash", 32).PerClass[0].MAP = 0.6
		}, "boots (MAP 0.500); the mean over classes, each counted once, is 0.700 and over queries 0.900", ""},
		{"classes-unequal", func(r *Result) { row(r, "fasthash", 32).MacroMAP = 0.87 },
			func(r *Result) { row(r, "fasthash", 32).MacroMAP = 0.89 },
			"each counted once, is 0.870 and over queries 0.900", ""},
		{"few-codes",
			func(r *Result) { row(r, "fasthash", 32).DistinctCodes = 300 },
			func(r *Result) { row(r, "fasthash", 32).DistinctCodes = 301 },
			"The 70000 learned items have only 35000 distinct codes of FastHash with 32 bits, and the 30000 new ones 300", ""},
		{"few-codes",
			func(r *Result) { row(r, "fasthash", 32).LearnedItems.DistinctCodes = 700 },
			func(r *Result) { row(r, "fasthash", 32).LearnedItems.DistinctCodes = 701 },
			"The 70000 learned items have only 700 distinct codes", ""},
		{"few-codes", func(r *Result) { // a code for each class
			r.Data.Base, r.Data.Learned, r.Data.New = 135, 108, 27
			row(r, "fasthash", 32).DistinctCodes = 2
		}, func(r *Result) {
			r.Data.Base, r.Data.Learned, r.Data.New = 135, 108, 27
			row(r, "fasthash", 32).DistinctCodes = 3
		}, "and the 27 new ones 2: good for finding the class", ""},
		{"ties",
			func(r *Result) { row(r, "fasthash", 32).MAPLow = 0.85 },
			func(r *Result) { row(r, "fasthash", 32).MAPLow = 0.87 },
			"from 0.850 to 0.910. Longer codes, or ranking the ties by the vectors, would settle it.", ""},
		{"ties", func(r *Result) { row(r, "fasthash", 32).MAPLow, row(r, "fasthash", 64).MAPLow = 0.85, 0.8 },
			func(r *Result) { row(r, "fasthash", 64).MAPLow = 0.8 }, // not those that are advised
			"0.910. Ranking the ties by the vectors would settle it.", ""},
		{"margins", func(r *Result) { row(r, "fasthash", 32).Margins.MAP = 0.906 },
			func(r *Result) { row(r, "fasthash", 32).Margins.MAP = 0.905 },
			"codes of FastHash with 32 bits then have MAP 0.906 for new items, and 0.900 by Hamming distance.", ""},
		{"margins", func(r *Result) {
			row(r, "fasthash", 32).Margins.MAP, row(r, "fasthash", 64).Margins.MAP = 0.94, 0.95
			row(r, "classifier-float", 64).MAP = 0.92
		}, func(r *Result) { // chance
			f := row(r, "fasthash", 32)
			f.Margins.MAP, f.AP, f.MarginAP = 0.93, []float64{1, 0.7, 1, 0.9}, []float64{0.72, 1, 1, 1}
		}, "Only then are they ahead of a classifier, which has 0.920.", ""},
		{"classifier-as-good", func(r *Result) { // margins do not reach it
			row(r, "fasthash", 32).Margins.MAP, row(r, "fasthash", 64).Margins.MAP = 0.94, 0.95
			row(r, "classifier-float", 64).MAP = 0.97
		}, func(r *Result) { // margins are ahead of it
			row(r, "fasthash", 64).Margins.MAP, row(r, "classifier-float", 64).MAP = 0.95, 0.93
		}, "A classifier does better: ranking by its probabilities has MAP 0.970 for new items, with 8 bytes an item, and " +
			"the best codes, FastHash with 32 bits, have 0.940 ranked by margins", "classifier-float"},
		{"margins-order", func(r *Result) { row(r, "ksh", 32).Margins.MAP = 0.93 },
			func(r *Result) { row(r, "ksh", 32).Margins.MAP, row(r, "fasthash", 32).Margins.MAP = 0.93, 0.93 },
			"Ranked by margins, KSH with 32 bits has MAP 0.930 for new items: more than FastHash with 32 bits, which has 0.900.",
			""},
		{"float-better", func(r *Result) { row(r, "float-cosine", 0).MAP = 0.96 }, func(r *Result) {
			row(r, "float-cosine", 0).MAP, row(r, "fasthash", 64).Margins.MAP = 0.96, 0.93
		}, "have 0.900.", "float-cosine"},
		{"few-queries", func(r *Result) { r.Data.Queries = 199 }, func(r *Result) { r.Data.Queries = 200 },
			"only 199 queries: differences of a few hundredths are chance", ""},
		{"few-queries", func(r *Result) {
			r.Data.Queries = 4
			row(r, "fasthash", 64).AP, row(r, "ksh", 64).AP = []float64{1, 1, 1, 0.62}, []float64{1, 1, 0.1, 0.78}
		}, func(r *Result) { r.Data.Queries = 200 }, "that FastHash is ahead of KSH may be chance", ""},
		{"few-queries", func(r *Result) { r.Data.Queries = 1 }, func(r *Result) { // nothing to find
			r.Data.Queries, row(r, "fasthash", 64).AP = 1, []float64{-1}
		},
			"There is only one query: even great differences may be chance.", ""},
		{"failed", func(r *Result) { fail(row(r, "ksh", 32)) }, func(r *Result) {}, "KSH with 32 bits", ""},
	}
	tested := map[string]bool{}
	for _, c := range cases {
		tested[c.rule] = true
		r := shop()
		c.fires(r)
		text := said(advise(r), c.rule)
		if text == "" || !strings.Contains(text, c.want) {
			t.Errorf("%s says %q, want %q in it", c.rule, text, c.want)
		}
		for _, row := range r.Rows {
			if row.Recommended && c.recommended != "" && row.Method != c.recommended {
				t.Errorf("%s: %s is recommended", c.rule, rowName(&row))
			}
		}
		r = shop()
		c.does(r)
		if text := said(advise(r), c.rule); text != "" {
			t.Errorf("%s fires where it should not: %s", c.rule, text)
		}
	}
	var source []byte
	for _, name := range []string{"advice.go", "remarks.go"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		source = append(source, text...)
	}
	rules := regexp.MustCompile(`\.say\("([a-z-]+)"`).FindAllSubmatch(source, -1)
	if len(rules) != len(tested) {
		t.Errorf("advice.go has %d rules, and %d are tested", len(rules), len(tested))
	}
	for _, rule := range rules {
		if !tested[string(rule[1])] {
			t.Errorf("the rule %s is not tested", rule[1])
		}
	}
}

// Advice must come of any rows, whatever failed.
func TestAdviceOfRuins(t *testing.T) {
	whole := shop()
	for missing := range 1 << len(whole.Rows) {
		r := shop()
		var kept []eval.Row
		for i, row := range r.Rows {
			if missing>>i&1 == 0 {
				kept = append(kept, row)
			} else if i%2 == 0 {
				kept = append(kept, eval.Row{Method: row.Method, Kind: row.Kind, Bits: row.Bits, Error: "failed"})
			}
		}
		r.Rows = kept
		if list := advise(r); len(list) == 0 || list[0].Text == "" {
			t.Fatalf("no advice without rows %b", missing)
		}
	}
}
