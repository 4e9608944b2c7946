// Advice in words, drawn from the numbers of a comparison. All rules are in this file.
//
//	verdict    what to do: the first rule that fires speaks, and no other
//	remarks    what else to know: every rule that fires speaks
//
// MAP decides, as the one number over the whole ranking. Differences below near are treated as none. Seconds enter
// sentences and one remark, never a verdict, so that the same data lead to the same verdict on every machine.

package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hashgrove/eval"
)

// What the rules take for little and for much.
const (
	near      = 0.01     // a difference of MAP that nobody would notice
	much      = 0.05     // a difference of MAP that everybody would
	cheap     = 64 << 20 // bytes of float vectors that are searched in milliseconds
	fewCodes  = 100      // items for each distinct code on average, from which codes are little but classes
	fewAsked  = 200      // queries below which chance moves MAP noticeably
	quicker   = 10       // how much less training a lesser method must take to be worth a word
	giveAway  = 0.03     // and what it may cost
	weakShare = 0.5      // of the mean MAP: a class below is weak
	naming    = 3        // classes or methods named at most
)

// Advice is one sentence or two.
type Advice struct {
	Rule string `json:"rule"`
	Text string `json:"text"`
}

// facts is what the rules look at, and what they have said so far. Rows that do not exist are nil.
type facts struct {
	r      *Result
	best   *eval.Row // greatest MAP of all methods
	choice *eval.Row // the shortest code that is near the best; nil only without a best
	random *eval.Row // the best of the floors and ceilings of each sort
	sign   *eval.Row
	class  *eval.Row // a classifier's output
	float  *eval.Row
	failed []string

	advice []Advice
}

// say adds the sentence of a rule that fires.
func (f *facts) say(rule, format string, args ...any) {
	f.advice = append(f.advice, Advice{rule, fmt.Sprintf(format, args...)})
}

// advise says what follows from the numbers, the verdict first, and marks the recommended row.
func advise(r *Result) []Advice {
	f := factsOf(r)
	recommended := f.verdict()
	for i := range r.Rows {
		r.Rows[i].Recommended = &r.Rows[i] == recommended
	}
	if f.choice != nil { // remarks are about the choice among the codes, whatever the verdict
		f.remarkOnCost()
		f.remarkOnLengths()
		f.remarkOnOthers()
		f.remarkOnUnseen()
		f.remarkOnClasses()
		f.remarkOnCodes()
	}
	if r.Data.Queries < fewAsked {
		f.say("few-queries", "There are only %d queries: differences of a few hundredths are chance.", r.Data.Queries)
	}
	if len(f.failed) > 0 {
		f.say("failed", "Not considered, because they failed: %s.", firstNames(f.failed))
	}
	return f.advice
}

func factsOf(r *Result) *facts {
	f := &facts{r: r}
	better := func(old **eval.Row, row *eval.Row) {
		if *old == nil || row.MAP > (*old).MAP {
			*old = row
		}
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		switch {
		case row.Error != "":
			f.failed = append(f.failed, rowName(row))
		case row.Kind == eval.KindMethod:
			better(&f.best, row)
		case row.Method == random:
			better(&f.random, row)
		case row.Method == sign:
			better(&f.sign, row)
		case row.Method == hashed || row.Method == oneHot:
			better(&f.class, row)
		case row.Method == euclidean || row.Method == cosine:
			better(&f.float, row)
		}
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Kind != eval.KindMethod || row.Error != "" || row.MAP < f.best.MAP-near {
			continue
		}
		if c := f.choice; c == nil || row.Bits < c.Bits || row.Bits == c.Bits && row.MAP > c.MAP {
			f.choice = row
		}
	}
	return f
}

// rowName is the name of a row in sentences.
func rowName(row *eval.Row) string {
	switch {
	case row.Method == euclidean:
		return "float search by Euclidean distance"
	case row.Method == cosine:
		return "float search by cosine"
	case row.Bits == 0:
		return title(row.Method)
	}
	return fmt.Sprintf("%s with %d bits", title(row.Method), row.Bits)
}

// verdict says what to do and returns the row that it recommends, or nil.
func (f *facts) verdict() *eval.Row {
	best, float, class, choice := f.best, f.float, f.class, f.choice
	switch {
	case best == nil:
		f.say("no-method", "Nothing can be advised: no method left codes.")
		return nil
	case float != nil && float.MAP > best.MAP+much:
		f.say("float-better", "Do not hash: %s has MAP %.3f, and the best codes, %s, have %.3f. They lose more than "+
			"the memory they save is worth.", rowName(float), float.MAP, rowName(best), best.MAP)
		return float
	case f.random != nil && best.MAP <= f.random.MAP+2*near:
		f.say("no-signal", "Do not hash: the best codes, %s, have MAP %.3f, and random codes have %.3f. These "+
			"vectors do not tell which rows are similar.", rowName(best), best.MAP, f.random.MAP)
		return nil
	case float != nil && float.MAP >= best.MAP-near && f.r.Data.Base*float.Bytes <= cheap:
		f.say("float-cheap", "Do not hash: %s is as good, with MAP %.3f against %.3f of the best codes, %s, and it is "+
			"cheap: all %d vectors take %s, and one core goes through them in %s for a query.",
			rowName(float), float.MAP, best.MAP, rowName(best), f.r.Data.Base,
			byteCount(f.r.Data.Base*float.Bytes), microseconds(float.SearchMicroseconds))
		return float
	case class != nil && class.MAP >= best.MAP-near:
		what := fmt.Sprintf("its scores, hashed to %d bits, have", class.Bits)
		if class.Method == oneHot {
			what = fmt.Sprintf("its answer, one-hot in %d bits, has", class.Bits)
		}
		f.say("classifier-as-good", "A classifier does as well: %s MAP %.3f, and the best codes, %s, have %.3f. Where "+
			"all that matters is the class, and none will be new, store the class and do not hash.",
			what, class.MAP, rowName(best), best.MAP)
		return class
	}
	others := ""
	if choice != best {
		others = fmt.Sprintf(" The best of all, %s, has MAP %.3f.", rowName(best), best.MAP)
	}
	f.say("use", "Use %s: MAP %.3f, and of the 100 nearest codes %.0f %% are right.%s",
		rowName(choice), choice.MAP, 100*choice.Precision100, others)
	return choice
}

func (f *facts) remarkOnCost() {
	c, float, gain := f.choice, f.float, "gain"
	if float == nil || float.Bytes == 0 {
		return
	}
	difference := c.MAP - float.MAP
	if difference < 0 {
		gain, difference = "loss", -difference
	}
	times := ""
	if c.SearchMicroseconds > 0 && float.SearchMicroseconds > 0 {
		times = fmt.Sprintf(" and %.0f times the speed of search", float.SearchMicroseconds/c.SearchMicroseconds)
	}
	if c.EncodeMicroseconds > 0 {
		times += fmt.Sprintf("; a new vector takes %s to encode", microseconds(c.EncodeMicroseconds))
	}
	f.say("cost", "Against %s, codes of %s take %s an item instead of %s, for a %s of %.3f MAP%s.",
		rowName(float), rowName(c), byteCount(c.Bytes), byteCount(float.Bytes), gain, difference, times)
}

// remarkOnLengths compares the rows of the choice's method, which are by rising length.
func (f *facts) remarkOnLengths() {
	var before, last *eval.Row
	for i := range f.r.Rows {
		if row := &f.r.Rows[i]; row.Method == f.choice.Method && row.Error == "" {
			before, last = last, row
		}
	}
	switch {
	case before == nil:
	case last.Bits != f.choice.Bits:
		f.say("enough-bits", "%d bits are enough: %d bits of %s have MAP %.3f instead of %.3f.",
			f.choice.Bits, last.Bits, title(last.Method), last.MAP, f.choice.MAP)
	case last.MAP > before.MAP+near:
		f.say("more-bits", "More bits still help: from %d to %d bits MAP rose from %.3f to %.3f. Try %d.",
			before.Bits, last.Bits, before.MAP, last.MAP, 2*last.Bits)
	}
}

// remarkOnOthers names codes that take less learning.
func (f *facts) remarkOnOthers() {
	if f.sign != nil && f.sign.MAP >= f.best.MAP-near {
		f.say("sign-as-good", "The sign of every centred value does as well, without learning: MAP %.3f with %s an "+
			"item.", f.sign.MAP, byteCount(f.sign.Bytes))
	}
	var found *eval.Row
	for i := range f.r.Rows {
		row := &f.r.Rows[i]
		if row.Kind == eval.KindMethod && row.Error == "" && row.Method != f.choice.Method &&
			row.Bits <= f.choice.Bits && row.MAP >= f.choice.MAP-giveAway &&
			row.TrainSeconds*quicker < f.choice.TrainSeconds && (found == nil || row.MAP > found.MAP) {
			found = row
		}
	}
	if found != nil {
		f.say("quicker-method", "Where training must be quick, %s has MAP %.3f after %.1f s instead of %.1f s.",
			rowName(found), found.MAP, found.TrainSeconds, f.choice.TrainSeconds)
	}
}

func (f *facts) remarkOnUnseen() {
	if f.choice.UnseenMAP == 0 || f.float == nil {
		return
	}
	found := fmt.Sprintf("among classes that training did not see, %s has MAP %.3f and %s has %.3f.",
		rowName(f.choice), f.choice.UnseenMAP, rowName(f.float), f.float.UnseenMAP)
	if f.choice.UnseenMAP < f.float.UnseenMAP-much {
		f.say("unseen-lose", "For classes that come later do not rely on these codes: %s Train again when a class is "+
			"new.", found)
	} else {
		f.say("unseen-hold", "The codes hold for classes that come later: %s", found)
	}
}

// remarkOnClasses names the classes that codes serve worse than float search does, the greatest loss first, and those
// that they serve badly.
func (f *facts) remarkOnClasses() {
	if f.float != nil {
		before := map[string]float64{}
		for _, c := range f.float.PerClass {
			before[c.Name] = c.MAP
		}
		var names []string
		classes := slices.Clone(f.choice.PerClass)
		slices.SortStableFunc(classes, func(a, b eval.Class) int {
			return cmp.Compare(a.MAP-before[a.Name], b.MAP-before[b.Name])
		})
		for _, c := range classes {
			if was, ok := before[c.Name]; ok && c.MAP < was-2*near {
				names = append(names, fmt.Sprintf("%s (%.3f instead of %.3f)", c.Name, c.MAP, was))
			}
		}
		if len(names) > 0 {
			f.say("classes-lose", "%s less well served by codes of %s than by %s: %s.",
				countClasses(len(names)), rowName(f.choice), rowName(f.float), firstNames(names))
		}
	}
	var weak []string
	for _, c := range f.choice.PerClass { // worst first
		if c.MAP < weakShare*f.choice.MAP {
			weak = append(weak, fmt.Sprintf("%s (MAP %.3f)", c.Name, c.MAP))
		}
	}
	if len(weak) > 0 {
		f.say("classes-weak", "%s far below the mean of %s: %s.",
			countClasses(len(weak)), rowName(f.choice), firstNames(weak))
	}
}

func (f *facts) remarkOnCodes() {
	c, base := f.choice, f.r.Data.Base
	if c.DistinctCodes > 0 && c.DistinctCodes*fewCodes <= base {
		f.say("few-codes", "The %d items have only %d distinct codes of %s: good for finding the class, useless for "+
			"finding the nearest item within it.", base, c.DistinctCodes, rowName(c))
	}
	if c.MAPHigh-c.MAPLow > much {
		f.say("ties", "Many items tie: by the order among them MAP of %s is anything from %.3f to %.3f. Longer "+
			"codes, or ranking the ties by the vectors, would settle them.", rowName(c), c.MAPLow, c.MAPHigh)
	}
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

func microseconds(v float64) string {
	if v < 1000 {
		return fmt.Sprintf("%.1f us", v)
	}
	return fmt.Sprintf("%.1f ms", v/1000)
}
