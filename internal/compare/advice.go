package compare

import (
	"cmp"
	"fmt"
	"slices"

	"hashgrove/internal/eval"
	"hashgrove/internal/message"
)

// Advice in words, drawn from the numbers of a comparison: the first verdict that applies, then every remark that does.
//
// What decides is MAP by the ranking that leads a row, of new items, if there are any. Differences below near count as
// none, and so do those that the choice of queries explains. Seconds decide nothing, so the same data lead to the same
// advice on every machine.

// Thresholds of the rules.
const (
	near     = 0.01     // a difference of MAP that nobody would notice
	costless = 0.005    // a gain worth having because it is free
	much     = 0.05     // a difference that everybody would notice
	cheap    = 64 << 20 // bytes of float vectors that are searched in milliseconds
	fewBytes = 256      // bytes of an item that are small enough without codes
)

// Advice is one sentence or two.
type Advice struct {
	Rule string `json:"rule"`
	Text string `json:"text"`

	Rank eval.Ranking `json:"-"` // of the best codes; "" if they have one ranking
}

// rule is a sentence and when it is said.
type rule struct {
	name    string
	applies func(f *facts) bool
	text    func(f *facts) string
	advised func(f *facts) *eval.Row // by a verdict; nil advises no row
}

// verdicts say what to do. Only the first that applies speaks.
var verdicts = []rule{
	{"nothing", func(f *facts) bool { return f.best == nil || unanswered(f.best) },
		func(*facts) string {
			return "Nothing can be advised: no method left codes by which a query finds a similar item."
		}, nil},
	{"no-signal", (*facts).lacksSignal, func(f *facts) string {
		return fmt.Sprintf("Do not hash: the best codes, %s, have MAP %.3f, and random codes have %.3f. These vectors do "+
			"not tell which rows are similar.", rowName(f.choice), lead(f.choice), lead(f.random))
	}, nil},
	{"float", (*facts).floatSuffices, func(f *facts) string {
		return fmt.Sprintf("Do not hash: %s has MAP %.3f, and the best codes, %s, have %.3f. All %d vectors take %s.",
			rowName(f.float), lead(f.float), rowName(f.choice), lead(f.choice), f.r.Data.Base,
			byteCount(f.r.Data.Base*f.float.Bytes))
	}, func(f *facts) *eval.Row { return f.float }},
	{"classifier-as-good", (*facts).classifierSuffices, func(f *facts) string {
		return fmt.Sprintf("A classifier suffices: its output has MAP %.3f%s with %s an item, and the best codes, %s, "+
			"have %.3f with %s. Where all that matters is the class, and no class will be new, classify and do not hash.",
			lead(f.class), f.forNew(), byteCount(f.class.Bytes), rowName(f.choice), lead(f.choice), byteCount(f.choice.Bytes))
	}, func(f *facts) *eval.Row { return f.class }},
	{"use", func(*facts) bool { return true }, func(f *facts) string {
		return fmt.Sprintf("Use %s: MAP %.3f%s%s, and %.0f %% of the first items are right.", rowName(f.choice),
			lead(f.choice), f.forNew(), ranked(f.choice), 100*f.choice.Leading().Precision)
	}, func(f *facts) *eval.Row { return f.choice }},
}

// remarks say what else to know about the advised codes. Every one that applies speaks.
var remarks = []rule{
	{"ranking", func(f *facts) bool { return lead(f.choice) >= f.choice.MAP+costless }, func(f *facts) string {
		return fmt.Sprintf("Rank by %s: the same codes have MAP %.3f then, and %.3f by Hamming distance.",
			rankings[f.choice.Rank], lead(f.choice), f.choice.MAP)
	}, nil},
	{"cost", func(f *facts) bool { return f.float != nil && f.float.Bytes > 0 }, func(f *facts) string {
		return fmt.Sprintf("Against %s, codes of %s take %s an item instead of %s, and MAP is %.3f instead of %.3f.",
			rowName(f.float), rowName(f.choice), byteCount(f.choice.Bytes), byteCount(f.float.Bytes), lead(f.choice),
			lead(f.float))
	}, nil},
	{"more-bits", (*facts).gainsByBits, func(f *facts) string {
		before, last := f.longest()
		return fmt.Sprintf("More bits still help: from %d to %d bits MAP rose from %.3f to %.3f. Try %d.", before.Bits,
			last.Bits, lead(before), lead(last), 2*last.Bits)
	}, nil},
	{"unseen", func(f *facts) bool { return f.choice.UnseenMAP > 0 && f.float != nil }, func(f *facts) string {
		c, how := f.choice, "The codes hold for classes that come later"
		if c.UnseenMAP < max(f.float.UnseenMAP, c.UnseenChance+2*much)-much {
			how = "For classes that come later do not rely on these codes"
		}
		return fmt.Sprintf("%s: queries of classes that training did not see have MAP %.3f, and %.3f with %s; chance would "+
			"be %.3f.", how, c.UnseenMAP, f.float.UnseenMAP, rowName(f.float), c.UnseenChance)
	}, nil},
}

// facts holds what the rules look at. Rows that do not exist are nil.
type facts struct {
	r      *Result
	best   *eval.Row // greatest MAP of all codes
	choice *eval.Row // the shortest code of its method that is near the best; nil only without a best
	random *eval.Row // the best of the floors and references of each sort
	class  *eval.Row // a classifier's output: its probabilities, or else its answer
	float  *eval.Row
}

// advise returns the conclusions from the numbers, verdict first, and marks the recommended row.
func advise(r *Result) (list []Advice) {
	f := factsOf(r)
	say := func(u rule) {
		a := Advice{Rule: u.name, Text: u.text(f)}
		if f.choice != nil {
			a.Rank = f.choice.Rank
		}
		list = append(list, a)
	}
	verdict := verdicts[slices.IndexFunc(verdicts, func(u rule) bool { return u.applies(f) })]
	say(verdict)
	var advised *eval.Row
	if verdict.advised != nil {
		advised = verdict.advised(f)
		list[0].Text += f.evenly(advised)
	}
	for i := range r.Rows {
		r.Rows[i].Recommended = &r.Rows[i] == advised
	}
	if advised != nil && advised != f.float { // those who should not hash need no details about codes
		for _, u := range remarks {
			if u.applies(f) {
				say(u)
			}
		}
	}
	return list
}

func factsOf(r *Result) *facts {
	best := func(of func(*eval.Row) bool) (best *eval.Row) {
		for i := range r.Rows {
			if row := &r.Rows[i]; row.Error == "" && of(row) && (best == nil || lead(row) > lead(best)) {
				best = row
			}
		}
		return best
	}
	named := func(names ...string) *eval.Row {
		return best(func(row *eval.Row) bool { return slices.Contains(names, row.Method) })
	}
	f := &facts{r: r, random: named(random), float: named(euclidean, cosine),
		class: cmp.Or(named(probable), named(oneHot))}
	f.best = best(func(row *eval.Row) bool {
		return row.Kind == eval.KindMethod && row.DetailBits == 0 || row.Method == hashed || row.Method == oneHot
	})
	detail := best(func(row *eval.Row) bool { return row.DetailBits > 0 })
	if detail != nil && (f.best == nil || lead(detail) > lead(f.best)+near) { // it takes more bytes
		f.best = detail
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		if f.best == nil || row.Method != f.best.Method || row.Error != "" || lead(row) < lead(f.best)-near {
			continue
		}
		if f.choice == nil || row.Bits < f.choice.Bits {
			f.choice = row
		}
	}
	return f
}

// evenly names the row that is best if all classes are asked about equally, if that is clearly another method than the
// advised one.
func (f *facts) evenly(advised *eval.Row) string {
	if f.r.classes == nil {
		return ""
	}
	even := func(row *eval.Row) float64 { return eval.EvenMAP(row.LeadingAP(), f.r.classes) }
	best := advised
	for i := range f.r.Rows {
		row := &f.r.Rows[i]
		if row.Error == "" && row.DetailBits == 0 && row.Kind != eval.KindFloor && even(row) > even(best) {
			best = row
		}
	}
	if best.Method == advised.Method || even(best) <= even(advised)+near {
		return ""
	}
	return fmt.Sprintf(" If all classes are asked about equally, use %s: the mean of the classes' MAPs is %.3f, and "+
		"%.3f with %s.", rowName(best), even(best), even(advised), rowName(advised))
}

// lacksSignal reports whether the best codes are hardly better than random ones.
func (f *facts) lacksSignal() bool {
	return f.random != nil && lead(f.best) <= lead(f.random)+2*near &&
		(f.float == nil || lead(f.float) <= lead(f.best)+much)
}

// floatSuffices reports whether the vectors are far better than the best codes, or as good and cheap to search.
func (f *facts) floatSuffices() bool {
	if f.float == nil {
		return false
	}
	small := f.r.Data.Base*f.float.Bytes <= cheap
	return lead(f.float) > lead(f.best)+much || small && lead(f.float) >= lead(f.best)-near
}

// classifierSuffices reports whether a classifier beats the best codes, or matches them in not much more space.
func (f *facts) classifierSuffices() bool {
	if f.class == nil || f.class == f.best {
		return false
	}
	most := lead(f.best)
	tolerance := max(near, chance(f.best, f.class))
	return lead(f.class) > most+tolerance || lead(f.class) >= most-tolerance && f.class.Bytes <= fewBytes
}

// longest returns the two longest rows of the advised method, which are in order of length.
func (f *facts) longest() (before, last *eval.Row) {
	for i := range f.r.Rows {
		if row := &f.r.Rows[i]; row.Method == f.choice.Method && row.Error == "" {
			before, last = last, row
		}
	}
	return before, last
}

// gainsByBits reports whether the longest codes of the advised method are clearly better than shorter ones.
func (f *facts) gainsByBits() bool {
	before, last := f.longest()
	return before != nil && last.CappedFrom == 0 && last.Bits == f.choice.Bits &&
		lead(last) > lead(before)+max(near, chance(last, before))
}

// forNew says what the numbers are about.
func (f *facts) forNew() string {
	if f.r.Data.New > 0 {
		return " for new items"
	}
	return ""
}

// chance returns how far the choice of queries alone may move the MAPs of two rows apart.
func chance(a, b *eval.Row) float64 { return chanceOf(a.LeadingAP(), b.LeadingAP()) }

// chanceOf returns the same for two lists of average precisions, and 0 if the queries differ.
func chanceOf(a, b []float64) float64 {
	if len(a) != len(b) {
		return 0
	}
	_, chance := eval.Ahead(a, b, nil)
	return chance
}

// lead returns the MAP of a row by the ranking that leads it.
func lead(row *eval.Row) float64 { return row.Leading().MAP }

// rankings names the rankings other than by Hamming distance.
var rankings = map[eval.Ranking]string{eval.ByMargins: "the margins of the query", eval.ByExpected: "the expected code"}

// ranked says by what a row is ranked, if not by Hamming distance.
func ranked(row *eval.Row) string {
	if how := rankings[row.Rank]; how != "" {
		return " ranked by " + how
	}
	return ""
}

// unanswered reports whether no query had anything to find.
func unanswered(row *eval.Row) bool { return len(row.AP) > 0 && slices.Max(row.AP) < 0 }

// rowName returns the name of a row in sentences.
func rowName(row *eval.Row) string {
	switch {
	case row.Method == euclidean:
		return "float search by Euclidean distance"
	case row.Method == cosine:
		return "float search by cosine"
	case row.Bits == 0:
		return title(row.Method)
	case row.DetailBits > 0:
		return fmt.Sprintf("FastHash with %d bits and %d of detail", row.Bits, row.DetailBits)
	}
	return fmt.Sprintf("%s with %d bits", title(row.Method), row.Bits)
}

func byteCount(n int) string { return message.Size(int64(n)) }
