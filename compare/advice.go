// Advice in words, drawn from the numbers of a comparison. All rules are in this file.
//
//	verdicts   what to do: the first rule that fires speaks, and no other
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

// rule says something about the facts, or "" when it has nothing to say.
type rule struct {
	name string
	say  func(f *facts) string
}

// facts is what the rules look at. Rows that do not exist are nil.
type facts struct {
	r      *Result
	best   *eval.Row // greatest MAP of all methods
	choice *eval.Row // the shortest code that is near the best
	random *eval.Row // the best of the floors and ceilings of each sort
	sign   *eval.Row
	class  *eval.Row // a classifier's output
	float  *eval.Row
	failed []string

	recommended *eval.Row // set by the verdict
}

var verdicts = []rule{
	{"no-method", noMethod}, {"float-better", floatBetter}, {"no-signal", noSignal}, {"float-cheap", floatCheap},
	{"classifier-as-good", classifierAsGood}, {"use", useCodes},
}

var remarks = []rule{
	{"cost", cost}, {"enough-bits", enoughBits}, {"more-bits", moreBits}, {"sign-as-good", signAsGood},
	{"quicker-method", quickerMethod}, {"unseen-lose", unseenLose}, {"unseen-hold", unseenHold},
	{"classes-lose", classesLose}, {"classes-weak", classesWeak},
	{"few-codes", fewDistinct}, {"ties", ties}, {"few-queries", fewQueries}, {"failed", failedRows},
}

// advise says what follows from the numbers, the verdict first, and marks the recommended row.
func advise(r *Result) []Advice {
	f := factsOf(r)
	var list []Advice
	for _, v := range verdicts {
		if text := v.say(f); text != "" {
			list = append(list, Advice{v.name, text})
			break
		}
	}
	for _, m := range remarks {
		if text := m.say(f); text != "" {
			list = append(list, Advice{m.name, text})
		}
	}
	for i := range r.Rows {
		r.Rows[i].Recommended = &r.Rows[i] == f.recommended
	}
	return list
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

// Verdicts.

func noMethod(f *facts) string {
	if f.best != nil {
		return ""
	}
	return "Nothing can be advised: no method left codes."
}

func floatBetter(f *facts) string {
	if f.float == nil || f.float.MAP <= f.best.MAP+much {
		return ""
	}
	f.recommended = f.float
	return fmt.Sprintf("Do not hash: %s has MAP %.3f, and the best codes, %s, have %.3f. They lose more than the "+
		"memory they save is worth.",
		rowName(f.float), f.float.MAP, rowName(f.best), f.best.MAP)
}

func noSignal(f *facts) string {
	if f.random == nil || f.best.MAP > f.random.MAP+2*near {
		return ""
	}
	return fmt.Sprintf("Do not hash: the best codes, %s, have MAP %.3f, and random codes have %.3f. These vectors "+
		"do not tell which rows are similar.",
		rowName(f.best), f.best.MAP, f.random.MAP)
}

func floatCheap(f *facts) string {
	if f.float == nil || f.float.MAP < f.best.MAP-near || f.floatBytes() > cheap {
		return ""
	}
	f.recommended = f.float
	return fmt.Sprintf("Do not hash: %s is as good, with MAP %.3f against %.3f of the best codes, %s, and it is "+
		"cheap: all %d vectors take %s, and one core goes through them in %s for a query.",
		rowName(f.float), f.float.MAP, f.best.MAP, rowName(f.best), f.r.Data.Base, byteCount(f.floatBytes()),
		microseconds(f.float.SearchMicroseconds))
}

func (f *facts) floatBytes() int { return f.r.Data.Base * f.float.Bytes }

func classifierAsGood(f *facts) string {
	if f.class == nil || f.class.MAP < f.best.MAP-near {
		return ""
	}
	f.recommended = f.class
	what := fmt.Sprintf("its scores, hashed to %d bits, have", f.class.Bits)
	if f.class.Method == oneHot {
		what = fmt.Sprintf("its answer, one-hot in %d bits, has", f.class.Bits)
	}
	return fmt.Sprintf("A classifier does as well: %s MAP %.3f, and the best codes, %s, have %.3f. Where all that "+
		"matters is the class, and none will be new, store the class and do not hash.",
		what, f.class.MAP, rowName(f.best), f.best.MAP)
}

func useCodes(f *facts) string {
	f.recommended = f.choice
	text := fmt.Sprintf("Use %s: MAP %.3f, and of the 100 nearest codes %.0f %% are right.",
		rowName(f.choice), f.choice.MAP, 100*f.choice.Precision100)
	if f.choice != f.best {
		text += fmt.Sprintf(" The best of all, %s, has MAP %.3f.", rowName(f.best), f.best.MAP)
	}
	return text
}

// Remarks. They are about the choice among the codes, whatever the verdict.

func cost(f *facts) string {
	if f.choice == nil || f.float == nil || f.float.Bytes == 0 {
		return ""
	}
	c, gain := f.choice, "gain"
	difference := c.MAP - f.float.MAP
	if difference < 0 {
		gain, difference = "loss", -difference
	}
	text := fmt.Sprintf("Against %s, %s take %s an item instead of %s, for a %s of %.3f MAP",
		rowName(f.float), codesName(c), byteCount(c.Bytes), byteCount(f.float.Bytes), gain, difference)
	if c.SearchMicroseconds > 0 && f.float.SearchMicroseconds > 0 {
		text += fmt.Sprintf(" and %.0f times the speed of search", f.float.SearchMicroseconds/c.SearchMicroseconds)
	}
	if c.EncodeMicroseconds > 0 {
		text += fmt.Sprintf("; a new vector takes %s to encode", microseconds(c.EncodeMicroseconds))
	}
	return text + "."
}

// codesName is the name of the codes of a row.
func codesName(row *eval.Row) string { return fmt.Sprintf("codes of %s", rowName(row)) }

// choiceRows lends the rows of the choice's method, by rising length.
func (f *facts) choiceRows() []*eval.Row {
	var list []*eval.Row
	if f.choice != nil {
		for i := range f.r.Rows {
			if row := &f.r.Rows[i]; row.Method == f.choice.Method && row.Error == "" {
				list = append(list, row)
			}
		}
	}
	return list
}

func enoughBits(f *facts) string {
	list := f.choiceRows()
	if len(list) < 2 || list[len(list)-1].Bits == f.choice.Bits {
		return ""
	}
	last := list[len(list)-1]
	return fmt.Sprintf("%d bits are enough: %d bits of %s have MAP %.3f instead of %.3f.",
		f.choice.Bits, last.Bits, title(last.Method), last.MAP, f.choice.MAP)
}

func moreBits(f *facts) string {
	list := f.choiceRows()
	if len(list) < 2 || list[len(list)-1].Bits != f.choice.Bits {
		return ""
	}
	before, last := list[len(list)-2], list[len(list)-1]
	if last.MAP <= before.MAP+near {
		return ""
	}
	return fmt.Sprintf("More bits still help: from %d to %d bits MAP rose from %.3f to %.3f. Try %d.",
		before.Bits, last.Bits, before.MAP, last.MAP, 2*last.Bits)
}

func signAsGood(f *facts) string {
	if f.sign == nil || f.best == nil || f.sign.MAP < f.best.MAP-near {
		return ""
	}
	return fmt.Sprintf("The sign of every centred value does as well, without learning: MAP %.3f with %s an item.",
		f.sign.MAP, byteCount(f.sign.Bytes))
}

func quickerMethod(f *facts) string {
	if f.choice == nil {
		return ""
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
	if found == nil {
		return ""
	}
	return fmt.Sprintf("Where training must be quick, %s has MAP %.3f after %.1f s instead of %.1f s.",
		rowName(found), found.MAP, found.TrainSeconds, f.choice.TrainSeconds)
}

func unseenLose(f *facts) string {
	if f.choice == nil || f.choice.UnseenMAP == 0 || f.float == nil || f.choice.UnseenMAP >= f.float.UnseenMAP-much {
		return ""
	}
	return fmt.Sprintf("For classes that come later do not rely on these codes: among classes that training did not "+
		"see, %s has MAP %.3f and %s has %.3f. Train again when a class is new.",
		rowName(f.choice), f.choice.UnseenMAP, rowName(f.float), f.float.UnseenMAP)
}

func unseenHold(f *facts) string {
	if f.choice == nil || f.choice.UnseenMAP == 0 || f.float == nil || f.choice.UnseenMAP < f.float.UnseenMAP-much {
		return ""
	}
	return fmt.Sprintf("The codes hold for classes that come later: among classes that training did not see, %s has "+
		"MAP %.3f and %s has %.3f.",
		rowName(f.choice), f.choice.UnseenMAP, rowName(f.float), f.float.UnseenMAP)
}

// classesLose names the classes that codes serve worse than float search does, the greatest loss first.
func classesLose(f *facts) string {
	if f.choice == nil || f.float == nil {
		return ""
	}
	before := map[string]float64{}
	for _, c := range f.float.PerClass {
		before[c.Name] = c.MAP
	}
	var names []string
	for _, c := range byLoss(f.choice.PerClass, before) {
		if was, ok := before[c.Name]; ok && c.MAP < was-2*near {
			names = append(names, fmt.Sprintf("%s (%.3f instead of %.3f)", c.Name, c.MAP, was))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("%s less well served by %s than by %s: %s.",
		countClasses(len(names)), codesName(f.choice), rowName(f.float), firstNames(names))
}

// byLoss orders classes by how much they lose against before.
func byLoss(classes []eval.Class, before map[string]float64) []eval.Class {
	list := slices.Clone(classes)
	slices.SortStableFunc(list, func(a, b eval.Class) int {
		return cmp.Compare(a.MAP-before[a.Name], b.MAP-before[b.Name])
	})
	return list
}

func classesWeak(f *facts) string {
	if f.choice == nil {
		return ""
	}
	var names []string
	for _, c := range f.choice.PerClass { // worst first
		if c.MAP < weakShare*f.choice.MAP {
			names = append(names, fmt.Sprintf("%s (MAP %.3f)", c.Name, c.MAP))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("%s far below the mean of %s: %s.",
		countClasses(len(names)), rowName(f.choice), firstNames(names))
}

func fewDistinct(f *facts) string {
	if f.choice == nil || f.choice.DistinctCodes == 0 || f.choice.DistinctCodes*fewCodes > f.r.Data.Base {
		return ""
	}
	return fmt.Sprintf("The %d items have only %d distinct codes of %s: good for finding the class, useless for "+
		"finding the nearest item within it.",
		f.r.Data.Base, f.choice.DistinctCodes, rowName(f.choice))
}

func ties(f *facts) string {
	if f.choice == nil || f.choice.MAPHigh-f.choice.MAPLow <= much {
		return ""
	}
	return fmt.Sprintf("Many items tie: by the order among them MAP of %s is anything from %.3f to %.3f. Longer "+
		"codes, or ranking the ties by the vectors, would settle them.",
		rowName(f.choice), f.choice.MAPLow, f.choice.MAPHigh)
}

func fewQueries(f *facts) string {
	if f.r.Data.Queries >= fewAsked {
		return ""
	}
	return fmt.Sprintf("There are only %d queries: differences of a few hundredths are chance.", f.r.Data.Queries)
}

func failedRows(f *facts) string {
	if len(f.failed) == 0 {
		return ""
	}
	return fmt.Sprintf("Not considered, because they failed: %s.", firstNames(f.failed))
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
