package eval

import (
	"cmp"
	"slices"
	"strconv"

	"hashgrove/internal/message"
)

// Ranking is a way to order the base for a query.
type Ranking string

// Rankings of codes.
const (
	ByHamming  Ranking = "hamming"  // the number of differing bits
	ByMargins  Ranking = "margins"  // the query's weights of the differing bits
	ByExpected Ranking = "expected" // the same for the code that the query most likely has, see model.Ranking
	ByWeights  Ranking = "weighted" // the weights of a model, see RetrievalWeighted
)

// Report says how well rankings put relevant items first. All shares are from 0 to 1.
type Report struct {
	Queries int `json:"queries"`
	Judged  int `json:"judged"` // queries with at least one relevant item
	Base    int `json:"base"`
	Bits    int `json:"bits"` // of a code; of a vector, 32 for each dimension

	// Mean average precision of the whole ranking, divided by all relevant items: expected over the orders of ties,
	// in the worst order and in the best.
	MAP     float64 `json:"map"`
	MAPLow  float64 `json:"map_low"`
	MAPHigh float64 `json:"map_high"`
	// Prior is the mean share of relevant items, about the MAP of random codes.
	Prior float64 `json:"prior"`
	// Precision of the first K items, expected over the orders of ties.
	Precision map[int]float64 `json:"precision"`
	// ReachablePrecision is the precision of the first min(100, relevant items of the query), averaged over the
	// judged queries and expected over the orders of ties: 1 for perfect rankings, however small the classes.
	ReachablePrecision float64 `json:"reachable_precision"`
	// MacroMAP is the mean of the classes' MAPs, each counting once however many queries it has. It is 0 without
	// classes.
	MacroMAP float64 `json:"macro_map"`

	// The share of a query's float neighbours among the first 10 and the first 100 items, expected over the orders
	// of ties: how much of a search among vectors a search among codes preserves. Neighbours is their number per
	// query, 0 if not measured. NeighbourQueries is the number of queries measured.
	Neighbours         int     `json:"neighbours"`
	NeighbourQueries   int     `json:"neighbour_queries,omitempty"`
	NeighbourMetric    Metric  `json:"neighbour_metric,omitempty"`
	NeighbourRecall10  float64 `json:"neighbour_recall_10,omitempty"`
	NeighbourRecall100 float64 `json:"neighbour_recall_100,omitempty"`

	// NearestOfClass10 is the share of the ten relevant items nearest to a query by cosine (fewer if there are fewer) that
	// are among the first ten, expected over the orders of ties; see OfClass. It is 0 if no query was measured.
	NearestOfClass10      float64 `json:"nearest_of_class_10,omitempty"`
	NearestOfClassQueries int     `json:"nearest_of_class_queries,omitempty"`

	// AP is the average precision of each query, expected over the orders of ties; -1 if nothing is relevant.
	AP []float64 `json:"-"`

	// PRArea is the area under PRCurve, which pools all queries at each Hamming radius, with the first point
	// repeated at recall 0. For vectors it runs over ranks instead of radii.
	PRArea  float64   `json:"pr_area"`
	PRCurve []PRPoint `json:"pr_curve"`

	// The paper's convention: ties in base order, lists cut at Cut (10,000 by default). MAP10000 divides by the hits
	// in the list. PRArea10000 is the area under mean precision over mean recall at every position of the list, from
	// recall 0, with the first precision, to the recall reached.
	Cut         int     `json:"cut"`
	MAP10000    float64 `json:"map_10000"`
	PRArea10000 float64 `json:"pr_area_10000"`

	// PrecisionCurve[k-1] is the expected precision of the first k items; CurvePoints is a thinned copy.
	PrecisionCurve []float64    `json:"-"`
	CurvePoints    []CurvePoint `json:"precision_curve"`

	DistinctCodes int `json:"distinct_codes"` // different codes in the base; 0 for vectors
	LargestBucket int `json:"largest_bucket"` // base items with the most frequent code; 0 for vectors

	PerClass    []Class  `json:"per_class,omitempty"`    // worst first
	WeakClasses []string `json:"weak_classes,omitempty"` // names of those in PerClass whose MAP is far below the mean

	HeldOut []string `json:"held_out,omitempty"` // set by Unseen: the held-out classes
	// Set by callers: what the vectors themselves reach at the same task, and the number of queries measured.
	FloatMAP     float64 `json:"float_map,omitempty"`
	FloatQueries int     `json:"float_queries,omitempty"`

	Unseen *Report `json:"unseen,omitempty"` // set by callers: the report of Unseen

	// Set by callers: how the base was ranked, and reports of the same queries by other rankings.
	Ranking  Ranking `json:"ranking,omitempty"`
	Hamming  *Report `json:"hamming,omitempty"`
	Margins  *Report `json:"margins,omitempty"`
	Expected *Report `json:"expected,omitempty"`

	// Set by callers: the share of base and queries that the model was trained on; nil if unknown.
	LearnedShare        *float64 `json:"learned_share,omitempty"`
	LearnedQueriesShare *float64 `json:"learned_queries_share,omitempty"`

	Warnings []string `json:"warnings"`

	doubts []error // those of the warnings that this package gave, with their codes
}

// doubt adds warnings.
func (r *Report) doubt(doubts ...error) {
	for _, err := range doubts {
		r.doubts, r.Warnings = append(r.doubts, err), append(r.Warnings, err.Error())
	}
}

// PRPoint is the precision and recall of all items within a radius.
type PRPoint struct {
	Radius    int     `json:"radius"` // for vectors, the rank
	Recall    float64 `json:"recall"`
	Precision float64 `json:"precision"`
}

// CurvePoint is the precision of the first Rank items.
type CurvePoint struct {
	Rank      int     `json:"rank"`
	Precision float64 `json:"precision"`
}

// Class is a row of the table by query class.
type Class struct {
	Name    string  `json:"name"`
	Number  int32   `json:"number"`
	Queries int     `json:"queries"`
	Base    int     `json:"base"` // relevant items of one query, rounded mean: the size of the class
	MAP     float64 `json:"map"`  // as in Report

	ReachablePrecision float64 `json:"reachable_precision"` // as in Report
}

// report turns sums into means.
func (t *tally) report(j judgement) *Report {
	r := &Report{
		Queries: j.queries, Base: j.base, Bits: j.bits, Precision: map[int]float64{},
		PRCurve: []PRPoint{}, CurvePoints: []CurvePoint{}, Warnings: []string{},
	}
	if !j.unjudged {
		r = t.relevance(j)
	}
	if t.o.Neighbours != nil {
		r.Neighbours, r.NeighbourQueries = min(NeighbourCount, j.base), j.queries
		r.NeighbourMetric = t.o.Neighbours.metric
		r.NeighbourRecall10 = t.near10 / float64(j.queries)
		r.NeighbourRecall100 = t.near100 / float64(j.queries)
	}
	if t.ofClassQueries > 0 {
		r.NearestOfClass10, r.NearestOfClassQueries = t.ofClass/float64(t.ofClassQueries), t.ofClassQueries
	}
	return r
}

// relevance fills in the part of the report that needs a truth.
func (t *tally) relevance(j judgement) *Report {
	queries, judged := float64(t.queries), float64(max(1, t.judged))
	r := &Report{
		Queries: t.queries, Judged: t.judged, Base: j.base, Bits: j.bits, Cut: t.o.Cut,
		MAP:       t.mean / judged,
		Prior:     t.prior / judged,
		MAP10000:  t.cutAP / queries,
		Precision: make(map[int]float64, len(t.o.K)),
		Warnings:  []string{},

		ReachablePrecision: t.reachable / judged,
	}
	// Without ties the three are equal up to rounding.
	r.MAPLow = min(t.worst/judged, r.MAP)
	r.MAPHigh = max(t.best/judged, r.MAP)
	for i, k := range t.o.K {
		r.Precision[k] = t.precision[i] / queries
	}

	expected, curve := 0.0, make([]float64, len(t.chance))
	for i, c := range t.chance {
		expected += c
		curve[i] = min(expected/float64(t.queries*(i+1)), 1)
	}
	r.PrecisionCurve = curve[:t.o.CurveTo:t.o.CurveTo]
	for _, rank := range thinRanks(t.o.CurveTo) {
		r.CurvePoints = append(r.CurvePoints, CurvePoint{rank, curve[rank-1]})
	}

	if j.radii > 0 {
		r.PRCurve = t.byRadius()
		r.PRArea = area(r.PRCurve)
	} else {
		all := make([]PRPoint, len(curve))
		for i, precision := range curve {
			recall := precision * float64(t.queries*(i+1)) / float64(max(1, t.relevant))
			all[i] = PRPoint{i + 1, min(recall, 1), precision}
		}
		r.PRArea = area(all)
		for _, rank := range thinRanks(len(all)) {
			r.PRCurve = append(r.PRCurve, all[rank-1])
		}
	}

	places := make([]PRPoint, len(t.hits))
	found, recall := 0, 0.0
	for i, hits := range t.hits {
		found += hits
		recall += t.recall[i]
		places[i] = PRPoint{i + 1, min(recall/judged, 1), float64(found) / float64(t.queries*(i+1))}
	}
	r.PRArea10000 = area(places)
	return r
}

// byRadius returns the precision-recall curve pooled over all queries, without radii that find nothing.
func (t *tally) byRadius() []PRPoint {
	curve := []PRPoint{}
	items, relevant := 0, 0
	for d, n := range t.radiusItems {
		items += n
		relevant += t.radiusRelevant[d]
		if n > 0 {
			recall := float64(relevant) / float64(max(1, t.relevant))
			curve = append(curve, PRPoint{d, recall, float64(relevant) / float64(items)})
		}
	}
	return curve
}

// area integrates a curve of rising recall by the trapezoid rule, with the first point repeated at recall 0.
func area(curve []PRPoint) float64 {
	sum, before := 0.0, PRPoint{}
	for i, p := range curve {
		if i == 0 {
			before.Precision = p.Precision
		}
		sum += float64((p.Recall - before.Recall) * (p.Precision + before.Precision) / 2)
		before = p
	}
	return sum
}

// thinRanks picks a few dozen of the ranks 1 to n: dense at first, then an eighth apart.
func thinRanks(n int) []int {
	var ranks []int
	for k := 1; k < n; k += max(1, k/8) {
		ranks = append(ranks, k)
	}
	if n > 0 {
		ranks = append(ranks, n)
	}
	return ranks
}

// className returns the name of a class for reports.
func (o Options) className(class int32) string {
	if class >= 0 && int(class) < len(o.ClassNames) {
		return o.ClassNames[class]
	}
	return strconv.Itoa(int(class))
}

// perClass returns the table by query class and the mean of its MAPs. Queries without a class (negative numbers) are
// left out, and classes without a relevant item do not count in the mean.
func perClass(o Options, singles []single) ([]Class, float64) {
	at := map[int32]int{}
	var rows []Class
	var relevant, judged []int
	for q, c := range o.Classes {
		if c < 0 {
			continue
		}
		i, ok := at[c]
		if !ok {
			i = len(rows)
			at[c] = i
			rows = append(rows, Class{Name: o.className(c), Number: c})
			relevant, judged = append(relevant, 0), append(judged, 0)
		}
		s := singles[q]
		rows[i].Queries++
		rows[i].MAP += s.ap
		rows[i].ReachablePrecision += s.reachable
		relevant[i] += s.relevant
		if s.relevant > 0 {
			judged[i]++
		}
	}
	macro, classes := 0.0, 0
	for i := range rows {
		r := &rows[i]
		r.MAP /= float64(max(1, judged[i]))
		r.ReachablePrecision /= float64(max(1, judged[i]))
		r.Base = (relevant[i] + r.Queries/2) / r.Queries
		if judged[i] > 0 {
			macro += r.MAP
			classes++
		}
	}
	slices.SortFunc(rows, func(a, b Class) int {
		return cmp.Or(cmp.Compare(a.MAP, b.MAP), cmp.Compare(a.Number, b.Number))
	})
	return rows, macro / float64(max(1, classes))
}

// A class is weak if its MAP is below three quarters of the mean over classes, with at least five queries: fewer may
// be bad by chance.
const (
	weakPart    = 0.75
	weakQueries = 5
)

// weakClasses names the rows that fall far behind the mean over classes.
func weakClasses(table []Class, mean float64) (weak []string) {
	for _, c := range table {
		if c.Base > 0 && c.Queries >= weakQueries && c.MAP < weakPart*mean {
			weak = append(weak, c.Name)
		}
	}
	return weak
}

// addWarnings adds warnings that follow from the numbers themselves.
func (r *Report) addWarnings(j judgement, t *tally) {
	say := func(code message.Code, format string, args ...any) { r.doubt(message.New(code, format, args...)) }
	switch {
	case j.unjudged:
	case r.Judged == 0:
		say("nothing-relevant", "no query has a relevant item: every number is 0 and says nothing")
	case r.Judged < r.Queries:
		say("queries-without-relevant", "%d of %d queries have no relevant item: they are left out of MAP and recall, and "+
			"count 0 in precision and map_10000", r.Queries-r.Judged, r.Queries)
	}
	if r.Judged > 0 && t.allRelevant == r.Judged {
		say("all-relevant", "every ranked item is relevant: any codes would be perfect")
	}
	if t.short > 0 {
		say("few-ranked", "%d queries have fewer ranked items than the largest K: the missing ones count as misses",
			t.short)
	}
	if j.same {
		say("queries-are-base", "the queries are the base itself: every query finds itself first")
	}
	if gap := r.MAPHigh - r.MAPLow; gap > 0.1 {
		say("ties", "the order of ties moves MAP by %.2f, from %.3f to %.3f: compare with others only by expected "+
			"values", gap, r.MAPLow, r.MAPHigh)
	}
	if j.radii > 0 && r.DistinctCodes > 0 && r.DistinctCodes <= r.Base/100 {
		say("few-codes", "the base has only %d distinct codes for %d items, the largest bucket holds %d: items of one "+
			"bucket cannot be told apart", r.DistinctCodes, r.Base, r.LargestBucket)
	}
}
