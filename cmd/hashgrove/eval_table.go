package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"hashgrove/eval"
	"hashgrove/internal/plain"
)

// visible is the difference of two shares that is worth a line of its own.
const visible = 0.005

func (c *evalCommand) print(r *eval.Report) {
	t := c.table()
	row := func(name, value, note string) { t.AppendRow(table.Row{name, value, note}) }
	t.AppendHeader(table.Row{"measure", "value", ""})
	row("MAP", fmt.Sprintf("%.4f", r.MAP),
		fmt.Sprintf("%.4f to %.4f depending on how ties are broken", r.MAPLow, r.MAPHigh))
	if len(r.PerClass) > 1 && math.Abs(r.MacroMAP-r.MAP) >= visible {
		row("MAP over classes", fmt.Sprintf("%.4f", r.MacroMAP), "every class counts alike, however many queries it has")
	}
	row(fmt.Sprintf("MAP, first %d", c.cut), fmt.Sprintf("%.4f", r.MAP10000), "the paper's convention")
	for _, k := range slices.Sorted(maps.Keys(r.Precision)) {
		row("precision@"+strconv.Itoa(k), fmt.Sprintf("%.4f", r.Precision[k]), "")
	}
	if p, ok := r.Precision[100]; !ok || math.Abs(r.ReachablePrecision-p) >= visible {
		row("precision@relevant", fmt.Sprintf("%.4f", r.ReachablePrecision), "at the relevant items of a query, up to 100")
	}
	row("PR area", fmt.Sprintf("%.4f", r.PRArea), "pooled over Hamming radii")
	row(fmt.Sprintf("PR area, first %d", c.cut), fmt.Sprintf("%.4f", r.PRArea10000), "the paper's convention")
	for _, l := range r.Lookup {
		row("lookup, radius "+strconv.Itoa(l.Radius), fmt.Sprintf("%.4f", l.Precision),
			fmt.Sprintf("precision; recall %.4f, %.1f %% of queries find nothing", l.Recall, 100*l.Empty))
	}
	printNeighbours(row, r)
	if u := r.Unseen; u != nil {
		row("MAP, unseen classes", fmt.Sprintf("%.4f", u.MAP),
			plain.Count(u.Queries, "query", "queries")+" of held-out classes against the whole base")
		row("  by chance", fmt.Sprintf("%.4f", u.Prior), "")
		if u.FloatQueries > 0 {
			row("  by the vectors", fmt.Sprintf("%.4f", u.FloatMAP), "float search with "+
				plain.Count(u.FloatQueries, "query", "queries"))
		}
		row("  among themselves", fmt.Sprintf("%.4f", u.AmongMAP),
			fmt.Sprintf("base items of held-out classes only; chance %.4f", u.AmongPrior))
	}
	fmt.Fprintln(c.out, sizes(r))
	t.Render()
	c.printClasses(r)
	if c.curve {
		c.printCurves(r)
	}
}

// sizes says what was ranked.
func sizes(r *eval.Report) string {
	return fmt.Sprintf("%s against %s of %s", plain.Count(r.Queries, "query", "queries"),
		plain.Count(r.Base, "code", "codes"), plain.Count(r.Bits, "bit", "bits"))
}

// printClasses prints the table by class: all of up to 20 classes, else the ten worst.
func (c *evalCommand) printClasses(r *eval.Report) {
	rows := r.PerClass
	if len(rows) == 0 {
		return
	}
	title := "by class, worst first"
	if len(rows) > 20 {
		title = fmt.Sprintf("the ten worst of %d classes", len(rows))
		rows = rows[:10]
	}
	t := c.table()
	precision := "precision@100"
	if slices.ContainsFunc(rows, func(k eval.Class) bool { return k.Base < 100 }) {
		precision = "precision@relevant"
	}
	t.AppendHeader(table.Row{"class", "queries", "relevant", "MAP", precision})
	for _, k := range rows {
		t.AppendRow(table.Row{
			k.Name, k.Queries, k.Base, fmt.Sprintf("%.4f", k.MAP), fmt.Sprintf("%.4f", k.ReachablePrecision),
		})
	}
	fmt.Fprintln(c.out, title)
	t.Render()
	if weak := r.WeakClasses; len(weak) > 0 {
		more := ""
		if len(weak) > 10 {
			weak, more = weak[:10], fmt.Sprintf(" and %d more", len(weak)-10)
		}
		fmt.Fprintf(c.out, "weak classes: %s%s; their MAP is less than three quarters of the mean over classes, %.4f\n",
			strings.Join(weak, ", "), more, r.MacroMAP)
	}
}

func (c *evalCommand) printCurves(r *eval.Report) {
	fmt.Fprintln(c.out, "radius,recall,precision")
	for _, p := range r.PRCurve {
		fmt.Fprintf(c.out, "%d,%.6f,%.6f\n", p.Radius, p.Recall, p.Precision)
	}
	fmt.Fprintln(c.out, "rank,precision")
	for i, p := range r.PrecisionCurve {
		fmt.Fprintf(c.out, "%d,%.6f\n", i+1, p)
	}
}

// printNeighbours adds what is known without labels to the table of measures.
func printNeighbours(row func(name, value, note string), r *eval.Report) {
	if r.Neighbours > 0 {
		of := ""
		if r.NeighbourQueries < r.Queries {
			of = fmt.Sprintf(", for %d of the queries", r.NeighbourQueries)
		}
		metric := map[eval.Metric]string{eval.Euclidean: "Euclidean distance", eval.Cosine: "cosine"}[r.NeighbourMetric]
		row("neighbours, first 10", fmt.Sprintf("%.4f", r.NeighbourRecall10),
			fmt.Sprintf("share of the %d nearest vectors by %s%s", r.Neighbours, metric, of))
		if r.Base > 100 { // in a smaller base they are all there
			row("neighbours, first 100", fmt.Sprintf("%.4f", r.NeighbourRecall100), "of the same")
		}
	}
	row("distinct codes", strconv.Itoa(r.DistinctCodes),
		fmt.Sprintf("of %d; the largest bucket holds %d", r.Base, r.LargestBucket))
	if r.LearnedShare != nil {
		row("learned share", percent(*r.LearnedShare), "of the base are rows that the model was learned from")
	} else {
		row("learned share", "unknown", "the model cannot tell which rows it was learned from")
	}
}

// printNeighboursAlone prints what can be measured where nothing says which answers are right.
func (c *evalCommand) printNeighboursAlone(r *eval.Report) {
	t := c.table()
	t.AppendHeader(table.Row{"measure", "value", ""})
	printNeighbours(func(name, value, note string) { t.AppendRow(table.Row{name, value, note}) }, r)
	fmt.Fprintln(c.out, sizes(r))
	fmt.Fprintln(c.out, "without labels, tags or pairs of both sides: how well the codes keep the nearest vectors")
	t.Render()
}

// unlabelled is the report of neighbours alone as JSON, without measures of relevance that nobody took.
func unlabelled(r *eval.Report) any {
	return struct {
		Queries            int         `json:"queries"`
		Base               int         `json:"base"`
		Bits               int         `json:"bits"`
		Neighbours         int         `json:"neighbours"`
		NeighbourQueries   int         `json:"neighbour_queries"`
		NeighbourMetric    eval.Metric `json:"neighbour_metric"`
		NeighbourRecall10  float64     `json:"neighbour_recall_10"`
		NeighbourRecall100 float64     `json:"neighbour_recall_100"`
		DistinctCodes      int         `json:"distinct_codes"`
		LargestBucket      int         `json:"largest_bucket"`
		LearnedShare       *float64    `json:"learned_share,omitempty"`
		LearnedQueries     *float64    `json:"learned_queries_share,omitempty"`
		Warnings           []string    `json:"warnings"`
	}{
		r.Queries, r.Base, r.Bits, r.Neighbours, r.NeighbourQueries, r.NeighbourMetric, r.NeighbourRecall10,
		r.NeighbourRecall100, r.DistinctCodes, r.LargestBucket, r.LearnedShare, r.LearnedQueriesShare, r.Warnings,
	}
}
