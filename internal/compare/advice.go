// Advice in words, drawn from the numbers of a comparison.
//
//	verdict    what to do: only the first rule that fires speaks
//	remarks    what else to know about the recommended codes: every rule that fires speaks
//
// MAP decides, since it sums up the whole ranking, and always that of new items, if there are any: learned items appear
// in sentences, never in a choice. Differences below near count as none, and so do those that the choice of queries
// explains. Every row counts by the ranking that leads it, and the best codes are the best row of codes in the table,
// those of a classifier included; bits of detail, which take more bytes, must be clearly better to be the best. Seconds
// appear in sentences and one remark, never in a verdict, so the same data lead to the same verdict on every machine.

package compare

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"hashgrove/internal/eval"
)

// Thresholds of the rules.
const (
	near      = 0.01     // a MAP difference that nobody would notice
	costless  = 0.005    // a MAP gain worth having because it is free
	much      = 0.05     // a MAP difference that everybody would notice
	cheap     = 64 << 20 // bytes of float vectors that are searched in milliseconds
	fewBytes  = 256      // bytes of an item that are small enough without codes
	fewCodes  = 100      // items per distinct code on average, above which codes hardly say more than classes
	fewAsked  = 200      // queries below which chance moves MAP noticeably
	quicker   = 10       // how many times faster a weaker method must train to be worth mentioning
	noticed   = 5        // seconds of training worth mentioning
	giveAway  = 0.03     // MAP that faster training may cost
	preferred = 0.55     // share of learned items among the first hits of a mixed base that is worth mentioning
	scarce    = 10       // queries below which figures are mere chance
	unfelt    = 10       // microseconds of a search that nobody needs to shorten
	deviation = 2        // standard errors that chance explains
	naming    = 3        // most classes or methods to name

	// Shares of the nearest of its class in the first ten: below which bits of detail are worth a word, and what they must
	// add to be worth their bytes.
	fewNearest = 0.25
	muchNearer = 0.1
)

// Advice is one sentence or two.
type Advice struct {
	Rule string `json:"rule"`
	Text string `json:"text"`

	Method string       `json:"-"` // the sentence is about; "" if several or none
	Rank   eval.Ranking `json:"-"` // that the sentence advises; "" if none

	way string // which of several sentences a rule used
}

// facts holds what the rules look at and what they have said so far. Rows that do not exist are nil.
type facts struct {
	r      *Result
	best   *eval.Row // greatest MAP of all codes
	choice *eval.Row // the shortest code of its method that is near the best; nil only without a best
	random *eval.Row // the best of the floors and references of each sort
	sign   *eval.Row
	class  *eval.Row // a classifier's output: its probabilities, or else its answer
	float  *eval.Row
	failed []string

	advice []Advice
}

// say adds the sentence of a rule that fires and returns it, valid until the next one.
func (f *facts) say(rule, format string, args ...any) *Advice {
	f.advice = append(f.advice, Advice{Rule: rule, Text: fmt.Sprintf(format, args...)})
	return &f.advice[len(f.advice)-1]
}

// advise returns the conclusions from the numbers, verdict first, and marks the recommended row.
func advise(r *Result) []Advice {
	f := factsOf(r)
	recommended := f.verdict()
	for i := range r.Rows {
		r.Rows[i].Recommended = &r.Rows[i] == recommended
	}
	scarcely := r.Data.Queries < scarce
	if scarcely { // everything else depends on it
		f.remarkOnQueries()
	}
	if recommended != nil && recommended != f.float { // those who should not hash need no details about codes
		f.remark()
	}
	if !scarcely {
		f.remarkOnQueries()
	}
	if len(f.failed) > 0 {
		f.say("failed", "Not considered, because they failed: %s.", firstNames(f.failed))
	}
	return f.advice
}

func factsOf(r *Result) *facts {
	f := &facts{r: r}
	better := func(old **eval.Row, row *eval.Row) {
		if *old == nil || lead(row) > lead(*old) {
			*old = row
		}
	}
	var detail *eval.Row
	for i := range r.Rows {
		row := &r.Rows[i]
		switch {
		case row.Error != "":
			f.failed = append(f.failed, rowName(row))
		case row.DetailBits > 0:
			better(&detail, row)
		case row.Kind == eval.KindMethod || row.Method == hashed:
			better(&f.best, row)
		case row.Method == random:
			better(&f.random, row)
		case row.Method == sign:
			better(&f.sign, row)
		case row.Method == probable:
			f.class = row
		case row.Method == oneHot:
			if better(&f.best, row); f.class == nil {
				f.class = row
			}
		case row.Method == euclidean || row.Method == cosine:
			better(&f.float, row)
		}
	}
	if detail != nil && (f.best == nil || lead(detail) > lead(f.best)+near) {
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

// chance returns how far the choice of queries alone may move the MAPs of two rows apart.
func chance(a, b *eval.Row) float64 { return chanceOf(a.LeadingAP(), b.LeadingAP()) }

// chanceOf returns two standard errors of the mean difference, query by query. It returns 0 if the queries differ.
func chanceOf(a, b []float64) float64 {
	if len(a) != len(b) {
		return 0
	}
	n, sum, squares := 0.0, 0.0, 0.0
	for q, own := range a {
		if other := b[q]; own >= 0 && other >= 0 {
			d := own - other
			n, sum, squares = n+1, sum+d, squares+float64(d*d)
		}
	}
	if n < 2 {
		return 0
	}
	variance := max(0, squares-float64(sum*sum)/n) / (n - 1)
	return deviation * math.Sqrt(variance/n)
}

// lead returns the MAP of a row by the ranking that leads it.
func lead(row *eval.Row) float64 { return row.Leading().MAP }

// ranked says by what a row is ranked, if not by Hamming distance: the end of a sentence about its MAP.
func ranked(row *eval.Row) string {
	switch row.Rank {
	case eval.ByMargins:
		return " ranked by margins"
	case eval.ByExpected:
		return " ranked by the expected code"
	}
	return ""
}

// reached puts the MAP of a row into words.
func reached(row *eval.Row) string { return fmt.Sprintf("%.3f%s", lead(row), ranked(row)) }

// unanswered reports whether no query had anything to find.
func unanswered(row *eval.Row) bool {
	return len(row.AP) > 0 && slices.Max(row.AP) < 0
}

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

// verdict says what to do and returns the recommended row, or nil.
func (f *facts) verdict() *eval.Row {
	best, float, class, choice := f.best, f.float, f.class, f.choice
	if best == nil {
		f.say("no-method", "Nothing can be advised: no method left codes.")
		return nil
	}
	most := lead(best)
	switch {
	case unanswered(best):
		items := "items"
		if f.r.Data.New > 0 {
			items = "new items"
		}
		f.say("no-answers", "Nothing can be advised: no query has a similar item among the %d %s. It takes more rows, "+
			"or other queries.", f.r.searched(), items)
		return nil
	case float != nil && float.MAP > most+much:
		f.say("float-better", "Do not hash: %s has MAP %.3f, and the best codes, %s, have %s. They lose more than "+
			"the memory they save is worth.", rowName(float), float.MAP, rowName(choice), reached(choice))
		return float
	case f.random != nil && most <= f.random.MAP+2*near:
		f.say("no-signal", "Do not hash: the best codes, %s, have MAP %.3f, and random codes have %.3f. These "+
			"vectors do not tell which rows are similar.", rowName(choice), lead(choice), f.random.MAP)
		return nil
	case float != nil && float.MAP >= most-near && f.r.Data.Base*float.Bytes <= cheap:
		f.say("float-cheap", "Do not hash: %s is as good, with MAP %.3f against %s of the best codes, %s, and it is "+
			"cheap: all %d vectors take %s, and one core goes through them in %s for a query.",
			rowName(float), float.MAP, reached(choice), rowName(choice), f.r.Data.Base,
			byteCount(f.r.Data.Base*float.Bytes), microseconds(float.SearchMicroseconds))
		return float
	case f.classifierSuffices():
		f.sayClassifier()
		return class
	}
	others := ""
	if choice != best {
		others = fmt.Sprintf(" The best of all, %s, has MAP %.3f.", rowName(best), most)
	}
	way, precision := precisionOf(choice)
	by := ranked(choice)
	if by != "" {
		by = "," + by
	}
	f.say("use", "Use %s: MAP %.3f%s%s, and %s are right.%s",
		rowName(choice), lead(choice), f.forNew(), by, precision, others).way = way
	return choice
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

// sayClassifier adds the verdict that a classifier is as good as the best codes, or better.
func (f *facts) sayClassifier() {
	class, way, how := f.class, "as-well", "as well"
	most := lead(f.best)
	switch tolerance := max(near, chance(f.best, class)); {
	case lead(class) > most+tolerance:
		way, how = "better", "better"
	case lead(class) > most+near:
		way, how = "at-least-as-well", "at least as well"
	case lead(class) < most-near:
		way, how = "too-few-queries", fmt.Sprintf("as well, as far as %d queries can tell", f.r.Data.Queries)
	}
	what := fmt.Sprintf("ranking by its probabilities has MAP %.3f", lead(class))
	if class.Method == oneHot {
		what = fmt.Sprintf("its answer, one-hot in %d bits, has MAP %.3f", class.Bits, lead(class))
	}
	matters := "the class, and no class will be new"
	if f.r.Data.Classes == 0 {
		matters = "tags, and no tag will be new"
	}
	f.say("classifier-as-good", "A classifier does %s: %s%s, with %s an item, and the best codes, %s, have %s with %s. "+
		"Where all that matters is %s, classify and do not hash.", how, what, f.forNew(), byteCount(class.Bytes),
		rowName(f.choice), reached(f.choice), byteCount(f.choice.Bytes), matters).way = way
}

// forNew says what the numbers are about.
func (f *facts) forNew() string {
	if f.r.Data.New > 0 {
		return " for new items"
	}
	return ""
}

// precisionOf says how many of the nearest items are right: of 100, or of all if there are fewer.
func precisionOf(row *eval.Row) (way, text string) {
	if math.Abs(row.ReachablePrecision-row.Precision100) < 0.0005 {
		return "of-100", fmt.Sprintf("of the 100 nearest items %.0f %%", 100*row.Leading().Precision)
	}
	return "of-those-there-are", fmt.Sprintf("of the nearest items, as many as there are right ones and 100 at most, "+
		"%.0f %%", 100*row.Leading().Precision)
}

// countClasses begins a sentence about classes.
func countClasses(n int) string {
	if n == 1 {
		return "One class is"
	}
	return fmt.Sprintf("%d classes are", n)
}

// firstNames joins the first few names.
func firstNames(names []string) string {
	if len(names) <= naming {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:naming], ", "), len(names)-naming)
}

func byteCount(n int) string {
	switch {
	case n == 1:
		return "1 byte"
	case n < 10_000:
		return fmt.Sprintf("%d bytes", n)
	case n < 10_000_000:
		return fmt.Sprintf("%d kB", (n+500)/1000)
	}
	return fmt.Sprintf("%d MB", (n+500_000)/1_000_000)
}

// microseconds writes a time that was measured once, perhaps on a busy machine: its first digit is all it can mean.
func microseconds(v float64) string {
	if v < 950 {
		return "about " + oneDigit(v) + " us"
	}
	return "about " + oneDigit(v/1000) + " ms"
}

// oneDigit rounds a number to its first digit.
func oneDigit(v float64) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 0, 64), 64)
	if err != nil {
		return fmt.Sprint(v)
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}
