package compare

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/eval"
	"hashgrove/internal/fault"
	"hashgrove/internal/report"
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

// said is what a rule said; nothing where it did not fire.
func said(list []Advice, rule string) Advice {
	for _, a := range list {
		if a.Rule == rule {
			return a
		}
	}
	return Advice{}
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
	if a := said(list, "cost"); a.way != "gain" || !fault.NamesInOrder(a.Text, "4 bytes; 2048 bytes; 0.450; 400") {
		t.Errorf("the cost is said as %+v", a)
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
	cosine := rowName(&eval.Row{Method: cosine})
	cases := []struct {
		rule        string
		fires, does func(r *Result) // does: does not fire
		way, facts  string
		recommended string // the method, where the rule is a verdict
	}{
		{"no-method", func(r *Result) {
			for i := range r.Rows[:5] {
				fail(&r.Rows[i])
			}
			fail(row(r, "classifier-onehot", 0))
			fail(row(r, "classifier", 0))
		}, func(r *Result) {
			for i := range r.Rows[:4] {
				fail(&r.Rows[i])
			}
		}, "", "", ""},
		{"no-answers", func(r *Result) { row(r, "fasthash", 64).AP = []float64{-1, -1} },
			func(r *Result) { row(r, "fasthash", 64).AP = []float64{-1, 0.905} },
			"", "30000 new", ""},
		{"float-better",
			func(r *Result) { row(r, "float-cosine", 0).MAP = 0.96 },
			func(r *Result) { row(r, "float-cosine", 0).MAP = 0.95 },
			"", cosine + "; 0.960; FastHash; 32 bits; 0.900", "float-cosine"},
		{"no-signal",
			func(r *Result) { row(r, "random", 32).MAP = 0.89 },
			func(r *Result) { row(r, "random", 32).MAP = 0.88 },
			"", "FastHash; 32 bits; 0.900; 0.890", ""},
		{"float-cheap", func(r *Result) {
			r.Data.Base = 30_000
			row(r, "float-euclidean", 0).MAP = 0.9
		}, func(r *Result) { // too many vectors
			row(r, "float-euclidean", 0).MAP = 0.9
		}, "", "30000; 61 MB; 20 ms", "float-euclidean"},
		{"float-cheap", func(r *Result) {
			r.Data.Base = 30_000
			row(r, "float-euclidean", 0).MAP = 0.9
		}, func(r *Result) { // cheap, but worse
			r.Data.Base = 30_000
			row(r, "float-euclidean", 0).MAP = 0.89
		}, "", "0.900; 0.900", "float-euclidean"},
		{"classifier-as-good",
			func(r *Result) { row(r, "classifier-float", 0).MAP = 0.9 },
			func(r *Result) { row(r, "classifier-float", 0).MAP = 0.89 },
			"as-well", "0.900; new; 8 bytes; FastHash; 32 bits; 0.900; 4 bytes", "classifier-float"},
		{"classifier-as-good", func(r *Result) { // better, unless by chance
			row(r, "classifier-float", 0).MAP, row(r, "classifier-float", 0).AP = 0.93, []float64{1, 1, 1, 0.72}
			row(r, "fasthash", 64).AP = []float64{1, 1, 1, 0.62}
		}, func(r *Result) {}, "at-least-as-well", "0.930", "classifier-float"},
		{"classifier-larger", func(r *Result) { // as good, with a number for each of many classes
			row(r, "classifier-float", 0).MAP, row(r, "classifier-float", 0).Bytes = 0.9, 400
		}, func(r *Result) { // better, at any price
			row(r, "classifier-float", 0).MAP, row(r, "classifier-float", 0).Bytes = 0.93, 400
		}, "", "0.900; 400 bytes", "fasthash"},
		{"classifier-as-good",
			func(r *Result) { row(r, "classifier-float", 0).MAP = 0.92 },
			func(r *Result) { row(r, "classifier", 0).MAP = 0.92 }, // its probabilities decide
			"better", "0.920", "classifier-float"},
		{"classifier-as-good", func(r *Result) { // a few queries cannot tell the difference
			row(r, "classifier-float", 0).MAP, row(r, "classifier-float", 0).AP = 0.875, []float64{1, 1, 1, 0.5}
			row(r, "fasthash", 64).AP = []float64{1, 1, 1, 0.62}
		}, func(r *Result) { // every query says the same
			row(r, "classifier-float", 0).MAP, row(r, "classifier-float", 0).AP = 0.875, []float64{0.87, 0.88, 0.87, 0.88}
			row(r, "fasthash", 64).AP = []float64{0.9, 0.91, 0.9, 0.91}
		}, "too-few-queries", "1000; 0.875", "classifier-float"},
		{"classifier-as-good", func(r *Result) {
			fail(row(r, "classifier-float", 0))
			row(r, "classifier-onehot", 0).MAP = 0.9
		}, func(r *Result) {
			fail(row(r, "classifier-float", 0))
			row(r, "classifier", 0).MAP = 0.8
		}, "as-well", "one-hot; 10 bits; 0.900", "classifier-onehot"},
		{"use", func(r *Result) {}, func(r *Result) { row(r, "float-cosine", 0).MAP = 0.99 },
			"of-100", "FastHash; 32 bits; 0.900; new; 100; 90 %; FastHash; 64 bits; 0.905", "fasthash"},
		{"use", func(r *Result) { row(r, "fasthash", 32).Precision100 = 0.45 },
			func(r *Result) { row(r, "classifier-float", 0).MAP = 0.99 },
			"of-those-there-are", "100; 90 %", "fasthash"},
		{"use", func(r *Result) { row(r, "ksh", 64).MAP = 0.95 },
			func(r *Result) { row(r, "classifier-float", 0).MAP = 0.99 }, "of-100", "KSH; 64 bits; 0.950", "ksh"},
		{"learned-by-heart", func(r *Result) { row(r, "fasthash", 32).LearnedItems.MAP = 0.96 },
			func(r *Result) { row(r, "fasthash", 32).LearnedItems.MAP = 0.94 },
			"", "FastHash; 32 bits; 0.960; 0.900", ""},
		{"learned-order", func(r *Result) { row(r, "ksh", 64).LearnedItems.MAP = 0.95 },
			func(r *Result) { row(r, "fasthash", 64).LearnedItems.MAP = 0.99 }, // another length of the method
			"", "KSH; 64 bits; 0.950; 0.720", ""},
		{"mixed", func(r *Result) { row(r, "fasthash", 32).MixedLearnedShare = 0.67 },
			func(r *Result) { row(r, "fasthash", 32).MixedLearnedShare = 0.55 },
			"", "67 %; 100; FastHash; 32 bits", ""},
		{"cost", func(r *Result) { row(r, "float-cosine", 0).MAP = 0.93 }, func(r *Result) {
			fail(row(r, "float-cosine", 0), row(r, "float-euclidean", 0))
		}, "loss", "0.030", ""},
		{"enough-bits", func(r *Result) {}, func(r *Result) { row(r, "fasthash", 64).MAP = 0.95 },
			"little-better", "32 bits; 64 bits; FastHash; 0.905; 0.005", ""},
		{"enough-bits", func(r *Result) { row(r, "fasthash", 64).MAP = 0.9004 },
			func(r *Result) { row(r, "fasthash", 64).MAP = 0.95 },
			"no-better", "32 bits; FastHash", ""},
		{"more-bits", func(r *Result) { row(r, "fasthash", 64).MAP = 0.95 }, func(r *Result) {},
			"", "32; 64 bits; 0.900; 0.950; 128", ""},
		{"more-trees", func(r *Result) { row(r, "fasthash", 32).HalfTreesMAP = 0.88 },
			func(r *Result) { row(r, "fasthash", 32).HalfTreesMAP = 0.895 }, "", "0.880; 0.900", ""},
		{"more-bits", func(r *Result) { // every query says the same
			row(r, "fasthash", 64).MAP = 0.95
			row(r, "fasthash", 64).AP, row(r, "fasthash", 32).AP = []float64{0.95, 0.95, 0.95}, []float64{0.9, 0.91, 0.89}
		}, func(r *Result) { // one of three does
			row(r, "fasthash", 64).MAP = 0.95
			row(r, "fasthash", 64).AP, row(r, "fasthash", 32).AP = []float64{0.95, 0.95, 0.95}, []float64{0.95, 0.95, 0.8}
		}, "", "32; 64 bits; 0.900; 0.950", ""},
		{"sign-as-good", func(r *Result) { row(r, "sign", 0).MAP = 0.9 },
			func(r *Result) { row(r, "sign", 0).MAP = 0.89 }, "as-well", "0.900; 64 bytes", ""},
		{"sign-as-good", func(r *Result) { row(r, "sign", 0).MAP = 0.93 },
			func(r *Result) { row(r, "sign", 0).MAP = 0.89 }, "better", "0.930", ""},
		{"quicker-method", func(r *Result) {
			row(r, "ksh", 32).MAP, row(r, "ksh", 32).TrainSeconds = 0.88, 3
		}, func(r *Result) { // as good, but not much quicker
			row(r, "ksh", 32).MAP, row(r, "ksh", 32).TrainSeconds = 0.88, 5
		}, "", "KSH; 32 bits; 0.880; 3.0 s; 40.0 s", ""},
		{"quicker-method", func(r *Result) {
			row(r, "ksh", 32).MAP, row(r, "ksh", 32).TrainSeconds = 0.88, 0.3
			row(r, "fasthash", 32).TrainSeconds = 5
		}, func(r *Result) { // nobody waits for less than five seconds
			row(r, "ksh", 32).MAP, row(r, "ksh", 32).TrainSeconds = 0.88, 0.01
			row(r, "fasthash", 32).TrainSeconds = 4
		}, "", "KSH; 32 bits; 0.880; 0.3 s; 5.0 s", ""},
		{"unseen-lose", func(r *Result) {
			c := row(r, "fasthash", 32)
			c.UnseenMAP, c.UnseenChance = 0.4, 0.2
			floats(r, func(f *eval.Row) { f.UnseenMAP = 0.6 })
		}, func(r *Result) {
			c := row(r, "fasthash", 32)
			c.UnseenMAP, c.UnseenChance = 0.56, 0.2
			floats(r, func(f *eval.Row) { f.UnseenMAP = 0.6 })
		},
			"", "0.400; FastHash; 32 bits; 0.600; " + cosine + "; 0.200", ""},
		{"unseen-lose", func(r *Result) {
			c := row(r, "fasthash", 32)
			c.UnseenMAP, c.UnseenChance = 0.24, 0.2
			floats(r, func(f *eval.Row) { f.UnseenMAP = 0.2 })
		}, func(r *Result) {
			c := row(r, "fasthash", 32)
			c.UnseenMAP, c.UnseenChance = 0.26, 0.2
			floats(r, func(f *eval.Row) { f.UnseenMAP = 0.2 })
		},
			"", "0.240; 0.200; 0.200", ""}, // no better than chance
		{"unseen-less", func(r *Result) {
			c := row(r, "fasthash", 32)
			c.UnseenMAP, c.UnseenChance = 0.56, 0.2
			floats(r, func(f *eval.Row) { f.UnseenMAP = 0.6 })
		}, func(r *Result) {
			c := row(r, "fasthash", 32)
			c.UnseenMAP, c.UnseenChance = 0.595, 0.2
			floats(r, func(f *eval.Row) { f.UnseenMAP = 0.6 })
		},
			"", "0.560; 0.600; 0.200", ""},
		{"unseen-hold", func(r *Result) {
			c := row(r, "fasthash", 32)
			c.UnseenMAP, c.UnseenChance = 0.595, 0.2
			floats(r, func(f *eval.Row) { f.UnseenMAP = 0.6 })
		}, func(r *Result) {
			c := row(r, "fasthash", 32)
			c.UnseenMAP, c.UnseenChance = 0.58, 0.2
			floats(r, func(f *eval.Row) { f.UnseenMAP = 0.6 })
		},
			"", "0.595; 0.600; 0.200", ""},
		{"classes-lose", func(r *Result) {
			row(r, "float-cosine", 0).PerClass[0].MAP = 0.93
		}, func(r *Result) {
			row(r, "float-cosine", 0).PerClass[0].MAP = 0.91
		}, "", "FastHash; 32 bits; " + cosine + "; boots; 0.895; 0.930", ""},
		{"classes-weak", func(r *Result) {
			row(r, "fasthash", 32).PerClass[0].MAP, row(r, "fasthash", 32).MacroMAP = 0.5, 0.7
		}, func(r *Result) {
			row(r, "fasthash", 32).PerClass[0].MAP = 0.6
		}, "", "boots; 0.500; 0.700; 0.900", ""},
		{"classes-unequal", func(r *Result) { row(r, "fasthash", 32).MacroMAP = 0.87 },
			func(r *Result) { row(r, "fasthash", 32).MacroMAP = 0.89 },
			"", "0.870; 0.900", ""},
		{"few-codes",
			func(r *Result) { row(r, "fasthash", 32).DistinctCodes = 300 },
			func(r *Result) { row(r, "fasthash", 32).DistinctCodes = 301 },
			"", "70000 learned; 35000; FastHash; 32 bits; 30000 new; 300", ""},
		{"few-codes",
			func(r *Result) { row(r, "fasthash", 32).LearnedItems.DistinctCodes = 700 },
			func(r *Result) { row(r, "fasthash", 32).LearnedItems.DistinctCodes = 701 },
			"", "70000 learned; 700", ""},
		{"few-codes", func(r *Result) { // a code for each class
			r.Data.Base, r.Data.Learned, r.Data.New = 135, 108, 27
			row(r, "fasthash", 32).DistinctCodes = 2
		}, func(r *Result) {
			r.Data.Base, r.Data.Learned, r.Data.New = 135, 108, 27
			row(r, "fasthash", 32).DistinctCodes = 3
		}, "", "108 learned; 27 new; 2", ""},
		{"ties",
			func(r *Result) { row(r, "fasthash", 32).MAPLow = 0.85 },
			func(r *Result) { row(r, "fasthash", 32).MAPLow = 0.87 },
			"longer-codes", "0.850; 0.910", ""},
		{"ties", func(r *Result) { row(r, "fasthash", 32).MAPLow, row(r, "fasthash", 64).MAPLow = 0.85, 0.8 },
			func(r *Result) { row(r, "fasthash", 64).MAPLow = 0.8 }, // not those that are advised
			"by-vectors", "0.850; 0.910", ""},
		{"ranking", func(r *Result) { ranks(r, "fasthash", 32, eval.ByMargins, 0.906) },
			func(r *Result) { ranks(r, "fasthash", 32, eval.ByMargins, 0.904) },
			"margins", "margins; FastHash; 32 bits; 0.906; new; 0.900", ""},
		{"ranking", func(r *Result) {
			ranks(r, "fasthash", 32, eval.ByExpected, 0.94)
			ranks(r, "fasthash", 64, eval.ByExpected, 0.949)
			row(r, "classifier-float", 64).MAP = 0.92
		}, func(r *Result) { ranks(r, "fasthash", 32, eval.ByHamming, 0.9) }, "expected", "expected; 0.940; 0.900; 0.920", ""},
		{"classifier-as-good", func(r *Result) { // margins do not reach it
			ranks(r, "fasthash", 32, eval.ByMargins, 0.94)
			ranks(r, "fasthash", 64, eval.ByMargins, 0.949)
			row(r, "classifier-float", 64).MAP = 0.97
		}, func(r *Result) { // margins are ahead of it
			ranks(r, "fasthash", 64, eval.ByMargins, 0.95)
			row(r, "classifier-float", 64).MAP = 0.93
		}, "better", "0.970; new; 8 bytes; FastHash; 32 bits; 0.940; margins", "classifier-float"},
		{"use", func(r *Result) { // the best row of the table, by whatever ranking
			ranks(r, "ksh", 32, eval.ByMargins, 0.93)
		}, func(r *Result) { r.Rows = nil }, "of-100", "KSH; 32 bits; 0.930; new; margins", "ksh"},
		{"use", func(r *Result) { // the codes of a classifier included
			r.Rows = append(r.Rows, eval.Row{Method: hashed, Kind: eval.KindReference, Supervised: true, Bits: 16, Bytes: 2,
				MAP: 0.96, MAPLow: 0.96, MAPHigh: 0.96, LearnedItems: &eval.Items{MAP: 0.96}})
			row(r, "classifier-float", 64).Bytes, row(r, "classifier-float", 64).MAP = 800, 0.96
		}, func(r *Result) { r.Rows = nil }, "of-100", "Classifier, hashed; 16 bits; 0.960", hashed},
		{"use", func(r *Result) { // more bytes for detail must be worth them
			r.Rows = append(r.Rows, eval.Row{Method: detailed, Kind: eval.KindMethod, Bits: 32, DetailBits: 64, Bytes: 12, MAP: 0.915})
		}, func(r *Result) { r.Rows = nil }, "of-100", "FastHash; 32 bits; 0.900", "fasthash"},
		{"detail", func(r *Result) {
			row(r, "fasthash", 32).NearestOfClass10 = 0.04
			r.Rows = append(r.Rows, eval.Row{Method: detailed, Kind: eval.KindMethod, Bits: 32, DetailBits: 64, Bytes: 12,
				MAP: 0.9, NearestOfClass10: 0.33})
		}, func(r *Result) { row(r, "fasthash", 32).NearestOfClass10 = 0.25 },
			"measured", "FastHash; 32 bits; 4.0 %; 64; 33 %; 0.900; 12 bytes; 4 bytes", ""},
		{"detail", func(r *Result) { row(r, "fasthash", 32).NearestOfClass10 = 0.12 }, func(r *Result) {},
			"untried", "FastHash; 32 bits; 12 %", ""},
		{"float-better", func(r *Result) { row(r, "float-cosine", 0).MAP = 0.97 }, func(r *Result) {
			row(r, "float-cosine", 0).MAP = 0.97
			ranks(r, "fasthash", 64, eval.ByMargins, 0.93)
		}, "", "0.970; 0.900", "float-cosine"},
		{"few-queries", func(r *Result) { r.Data.Queries = 199 }, func(r *Result) { r.Data.Queries = 200 },
			"small-differences", "199", ""},
		{"few-queries", func(r *Result) {
			r.Data.Queries = 4
			row(r, "fasthash", 64).AP, row(r, "ksh", 64).AP = []float64{1, 1, 1, 0.62}, []float64{1, 1, 0.1, 0.78}
		}, func(r *Result) { r.Data.Queries = 200 }, "methods", "4; FastHash; KSH", ""},
		{"few-queries", func(r *Result) { r.Data.Queries = 1 }, func(r *Result) { // nothing to find
			r.Data.Queries, row(r, "fasthash", 64).AP = 1, []float64{-1}
		},
			"great-differences", "one", ""},
		{"failed", func(r *Result) { fail(row(r, "ksh", 32)) }, func(r *Result) {}, "", "KSH; 32 bits", ""},
	}
	tested := map[string]bool{}
	for _, c := range cases {
		tested[c.rule] = true
		r := shop()
		c.fires(r)
		a := said(advise(r), c.rule)
		if a.Rule == "" || a.way != c.way || !fault.NamesInOrder(a.Text, c.facts) {
			t.Errorf("%s says %+v, want %q and %q in it", c.rule, a, c.way, c.facts)
		}
		for _, row := range r.Rows {
			if row.Recommended && c.recommended != "" && row.Method != c.recommended {
				t.Errorf("%s: %s is recommended", c.rule, rowName(&row))
			}
		}
		r = shop()
		c.does(r)
		if a := said(advise(r), c.rule); a.Rule != "" {
			t.Errorf("%s fires where it should not: %+v", c.rule, a)
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

// ranks makes a ranking lead a row, with this MAP.
func ranks(r *Result, method string, bits int, by eval.Ranking, mean float64) {
	row := r.Find(method, bits)
	now, learned := row.Leading(), row.LearnedItems.MAP
	row.Rank, row.Ranked, row.RankedAP = by, now, row.AP
	row.Ranked.MAP, row.LearnedItems.Ranked.MAP = mean, learned
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

// TestRareClassesServedWorse: what is said about unequal classes is about the method, whose weights may help, only where
// rare classes are the ones that are served worse.
func TestRareClassesServedWorse(t *testing.T) {
	for macro, want := range map[float64]string{0.87: "fasthash", 0.93: ""} {
		r := shop()
		r.Find("fasthash", 32).MacroMAP = macro
		if a := said(advise(r), "classes-unequal"); a.Rule == "" || a.Method != want {
			t.Errorf("a mean over classes of %v: %+v", macro, a)
		}
	}
}
