package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"hashgrove/internal/eval"
)

// remark adds what else there is to know about the recommended codes.
func (f *facts) remark() {
	f.remarkOnRanking()
	f.remarkOnLearned()
	f.remarkOnCost()
	f.remarkOnLengths()
	f.remarkOnTrees()
	f.remarkOnOthers()
	f.remarkOnUnseen()
	f.remarkOnClasses()
	f.remarkOnCodes()
	f.remarkOnDetail()
}

// remarkOnRanking says what the ranking that leads finds more than Hamming distance, and whether that decides.
func (f *facts) remarkOnRanking() {
	c := f.choice
	if lead(c) < c.MAP+costless {
		return
	}
	how, ahead := "the margins of the query", ""
	if c.Rank == eval.ByExpected {
		how = "the expected code of the query"
	}
	if class := f.class; class != nil && lead(class) >= c.MAP-near && lead(c) > lead(class)+near {
		ahead = fmt.Sprintf(" Only then are they ahead of a classifier, which has %.3f.", lead(class))
	}
	a := f.say("ranking", "Rank by %s: the same codes of %s have MAP %.3f%s then, and %.3f by Hamming distance.%s",
		how, rowName(c), lead(c), f.forNew(), c.MAP, ahead)
	a.Rank, a.way = c.Rank, string(c.Rank)
}

// remarkOnDetail says how many of the nearest items of its class a query finds first, where they are few, and what bits
// of detail change.
func (f *facts) remarkOnDetail() {
	c, own := f.choice, f.choice.Leading().NearestOfClass10
	if c.DetailBits > 0 || own == 0 {
		return
	}
	share := func(v float64) string {
		if v < 0.095 {
			return fmt.Sprintf("%.1f %%", 100*v)
		}
		return fmt.Sprintf("%.0f %%", 100*v)
	}
	class := "of its class"
	if f.r.Data.Classes == 0 {
		class = "with its tags"
	}
	way, change := "untried", ": the codes tell little more than the class. Bits of detail keep what an item looks like."
	worth := own < fewNearest
	for i := range f.r.Rows {
		d := &f.r.Rows[i]
		if d.DetailBits == 0 || d.Error != "" || d.Bits != c.Bits {
			continue
		}
		with := d.Leading()
		more := with.NearestOfClass10 - own
		worth = more > muchNearer || worth && more > near
		way, change = "measured", fmt.Sprintf(", and FastHash with %d more bits of detail %s: with MAP %.3f, and %s an "+
			"item instead of %s.", d.DetailBits, share(with.NearestOfClass10), with.MAP, byteCount(d.Bytes), byteCount(c.Bytes))
	}
	if !worth {
		return
	}
	f.say("detail", "Of the ten items %s that are most like a query, %s finds %s first%s",
		class, rowName(c), share(own), change).way = way
}

func (f *facts) remarkOnCost() {
	c, float, gain := f.choice, f.float, "gain"
	if float == nil || float.Bytes == 0 {
		return
	}
	difference := lead(c) - lead(float)
	if difference < 0 {
		gain, difference = "loss", -difference
	}
	times := ""
	if c.SearchMicroseconds > 0 && float.SearchMicroseconds > unfelt {
		if faster := f.floatSearch() / c.SearchMicroseconds; faster >= 2 {
			times = fmt.Sprintf(" and about %s times the speed of search", oneDigit(faster))
		}
	}
	if c.EncodeMicroseconds > 0 {
		times += fmt.Sprintf("; a new vector takes %s to encode", microseconds(c.EncodeMicroseconds))
	}
	f.say("cost", "Against %s, codes of %s take %s an item instead of %s, for a %s of %.3f MAP%s.",
		rowName(float), rowName(c), byteCount(c.Bytes), byteCount(float.Bytes), gain, difference, times).way = gain
}

// floatSearch returns the time of float search, the faster one of the two, which do the same work: on a busy machine
// either may have been held up.
func (f *facts) floatSearch() float64 {
	least := f.float.SearchMicroseconds
	for i := range f.r.Rows {
		row := &f.r.Rows[i]
		if (row.Method == euclidean || row.Method == cosine) && row.Error == "" && row.SearchMicroseconds > 0 {
			least = min(least, row.SearchMicroseconds)
		}
	}
	return least
}

// remarkOnLengths compares the rows of the recommended method, which are in order of length.
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
		way, text := longer(title(last.Method), last.Bits, "MAP", lead(last), lead(f.choice))
		f.say("enough-bits", "%d bits are enough: %s.", f.choice.Bits, text).way = way
	case lead(last) > lead(before)+max(near, chance(last, before)) && last.CappedFrom == 0:
		f.say("more-bits", "More bits still help: from %d to %d bits MAP rose from %.3f to %.3f. Try %d.",
			before.Bits, last.Bits, lead(before), lead(last), 2*last.Bits)
	}
}

// remarkOnTrees says whether the second half of the trees was worth learning, and so whether more would be.
func (f *facts) remarkOnTrees() {
	if half := f.choice.HalfTreesMAP; half > 0 && f.choice.MAP > half+near {
		f.say("more-trees", "More trees still help: the second half of them raises MAP%s from %.3f to %.3f. Try twice as "+
			"many.", f.forNew(), half, f.choice.MAP)
	}
}

// asWell compares what is as good at least.
func asWell(own, other float64) (way, text string) {
	if own > other+near {
		return "better", "better"
	}
	return "as-well", "as well"
}

// longer says how little is gained by a longer code.
func longer(method string, bits int, measure string, long, short float64) (way, text string) {
	if long < short+0.0005 {
		return "no-better", fmt.Sprintf("with more bits %s is no better", method)
	}
	return "little-better", fmt.Sprintf("with %d bits %s has %s %.3f, only %.3f more", bits, method, measure, long,
		long-short)
}

// remarkOnOthers names methods that match the recommended one but differ in size or training.
func (f *facts) remarkOnOthers() {
	most := lead(f.best)
	if c := f.class; c != nil && c.Bytes > fewBytes && lead(c) >= most-near && !f.classifierSuffices() {
		f.say("classifier-larger", "A classifier's probabilities do as well, with MAP %.3f, and take %s an item.",
			lead(c), byteCount(c.Bytes))
	}
	if f.sign != nil && lead(f.sign) >= most-near {
		way, how := asWell(lead(f.sign), most)
		f.say("sign-as-good", "The sign of every centred value does %s, without learning: MAP %.3f with %s an item.",
			how, lead(f.sign), byteCount(f.sign.Bytes)).way = way
	}
	var found *eval.Row
	for i := range f.r.Rows {
		row := &f.r.Rows[i]
		if row.Kind == eval.KindMethod && row.Error == "" && row.Method != f.choice.Method &&
			row.DetailBits == 0 && row.Bits <= f.choice.Bits && lead(row) >= lead(f.choice)-giveAway &&
			row.TrainSeconds*quicker < f.choice.TrainSeconds && f.choice.TrainSeconds >= noticed &&
			(found == nil || lead(row) > lead(found)) {
			found = row
		}
	}
	if found != nil {
		f.say("quicker-method", "Where training must be quick, %s has MAP %.3f after %.1f s instead of %.1f s.",
			rowName(found), lead(found), found.TrainSeconds, f.choice.TrainSeconds)
	}
}

func (f *facts) remarkOnUnseen() {
	c, float := f.choice, f.float
	if c.UnseenMAP == 0 || float == nil {
		return
	}
	found := fmt.Sprintf("queries of classes that training did not see, in all items, have MAP %.3f with %s and %.3f "+
		"with %s; chance would be %.3f.", c.UnseenMAP, rowName(c), float.UnseenMAP, rowName(float), c.UnseenChance)
	switch {
	case c.UnseenMAP < float.UnseenMAP-much || c.UnseenMAP < c.UnseenChance+much:
		f.say("unseen-lose", "For classes that come later do not rely on these codes: %s Train again when a class is "+
			"new.", found)
	case c.UnseenMAP < float.UnseenMAP-near:
		f.say("unseen-less", "Classes that come later are found less well than by float search: %s", found)
	default:
		f.say("unseen-hold", "The codes hold for classes that come later: %s", found)
	}
}

// remarkOnClasses names the classes that codes serve worse than float search does, largest loss first, and those that
// they serve badly.
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
	for _, c := range eval.WeakClasses(f.choice.PerClass) { // worst first
		weak = append(weak, fmt.Sprintf("%s (MAP %.3f)", c.Name, c.MAP))
	}
	macro := ""
	if m := f.choice.MacroMAP; m > 0 && math.Abs(m-lead(f.choice)) > 2*near {
		macro = fmt.Sprintf("the mean over classes, each counted once, is %.3f and over queries %.3f", m, lead(f.choice))
	}
	switch {
	case len(weak) > 0:
		if macro != "" {
			macro = "; " + macro
		}
		f.say("classes-weak", "%s far below the mean of %s: %s%s.",
			countClasses(len(weak)), rowName(f.choice), firstNames(weak), macro).Method = f.unbalanced()
	case macro != "":
		f.say("classes-unequal", "%s does not serve all classes equally well: %s.",
			rowName(f.choice), macro).Method = f.unbalanced()
	}
}

// unbalanced returns the chosen method if it serves rare classes worse, and "" otherwise.
func (f *facts) unbalanced() string {
	if m := f.choice.MacroMAP; m > 0 && lead(f.choice)-m > 2*near {
		return f.choice.Method
	}
	return ""
}

func (f *facts) remarkOnCodes() {
	c, d := f.choice, f.r.Data
	if f.fewCodes(c.DistinctCodes, f.r.searched()) || f.fewCodes(itemsOf(c.LearnedItems).DistinctCodes, d.Learned) {
		which := fmt.Sprintf("The %d items have only %d distinct codes of %s", d.Base, c.DistinctCodes, rowName(c))
		if d.New > 0 {
			which = fmt.Sprintf("The %d learned items have only %d distinct codes of %s, and the %d new ones %d",
				d.Learned, itemsOf(c.LearnedItems).DistinctCodes, rowName(c), d.New, c.DistinctCodes)
		}
		f.say("few-codes", "%s: good for finding the class, useless for finding the nearest item within it.", which)
	}
	if by := c.Leading(); by.MAPHigh-by.MAPLow > much {
		way, remedy := f.remedy()
		f.say("ties", "Many items tie: depending on their order, MAP of %s is anything from %.3f to %.3f. %s "+
			"would settle it.", rowName(c), by.MAPLow, by.MAPHigh, remedy).way = way
	}
}

// remedy says what helps against ties; longer codes only if they do.
func (f *facts) remedy() (way, text string) {
	for i := range f.r.Rows {
		row := &f.r.Rows[i]
		by := row.Leading()
		if row.Method == f.choice.Method && row.Bits > f.choice.Bits && by.MAPHigh-by.MAPLow > much {
			return "by-vectors", "Ranking the ties by the vectors"
		}
	}
	return "longer-codes", "Longer codes, or ranking the ties by the vectors,"
}

// fewCodes reports whether codes say little more than the class.
func (f *facts) fewCodes(codes, items int) bool {
	return codes > 0 && items > 0 && (codes*fewCodes <= items || codes <= f.r.Data.Classes)
}

// remarkOnLearned explains where figures for learned items differ from those for new ones.
func (f *facts) remarkOnLearned() {
	c, d := f.choice, f.r.Data
	if d.New == 0 || c.LearnedItems == nil {
		return
	}
	if own := learnedLead(c); own > lead(c)+much {
		f.say("learned-by-heart", "Among the items that it learned from, %s has MAP %.3f. That flatters: %.3f is what to "+
			"expect of items that come later.", rowName(c), own, lead(c))
	}
	other := c
	for i := range f.r.Rows {
		row := &f.r.Rows[i]
		if row.Kind == eval.KindMethod && row.Error == "" && row.Method != c.Method &&
			row.DetailBits == 0 && learnedLead(row) > learnedLead(other)+near {
			other = row
		}
	}
	if other != c {
		f.say("learned-order", "Among learned items %s looks better, with MAP %.3f; among new ones it has %.3f.",
			rowName(other), learnedLead(other), lead(other))
	}
	if c.MixedLearnedShare > preferred {
		f.say("mixed", "In a base of as many learned as new items, %.0f %% of the first %d hits of %s are learned ones, "+
			"not half of them: new items come too late.", 100*c.MixedLearnedShare, mixedHits(min(d.New, d.Learned)), rowName(c)).
			Method = c.Method
	}
}

// learnedLead returns the MAP of a row among learned items, by the ranking that leads.
func learnedLead(row *eval.Row) float64 {
	items := itemsOf(row.LearnedItems)
	if row.Rank == "" {
		return items.MAP
	}
	return items.Ranked.MAP
}

// remarkOnQueries says what so few queries cannot show.
func (f *facts) remarkOnQueries() {
	if f.r.Data.Queries >= fewAsked || f.best != nil && unanswered(f.best) {
		return
	}
	var names []string
	for i := range f.r.Rows {
		row := &f.r.Rows[i]
		if f.best == nil || row.Kind != eval.KindMethod || row.Error != "" || row.Method == f.best.Method {
			continue
		}
		ahead, name := lead(f.best)-lead(row), title(row.Method)
		if ahead > near && ahead <= chance(f.best, row) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	way, text := "small-differences", "differences of a few hundredths are chance"
	count := fmt.Sprintf("are only %d queries", f.r.Data.Queries)
	switch {
	case len(names) > 0:
		others := firstNames(names)
		if n := len(names); n <= naming && n > 1 {
			others = strings.Join(names[:n-1], ", ") + " and " + names[n-1]
		}
		way, text = "methods", fmt.Sprintf("that %s is ahead of %s may be chance", title(f.best.Method), others)
	case f.r.Data.Queries < scarce:
		way, text = "great-differences", "even great differences may be chance"
	}
	if f.r.Data.Queries == 1 {
		count = "is only one query"
	}
	f.say("few-queries", "There %s: %s.", count, text).way = way
}
