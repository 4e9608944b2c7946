package eval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"hashgrove/internal/message"
)

// visible is the smallest difference of two shares worth mentioning.
const visible = 0.005

// measures is the table of measures, with a column for each ranking, the first one being the headline.
type measures struct {
	table.Writer
	rankings []*Report
}

func newMeasures(w io.Writer, r *Report) measures {
	m := measures{newTable(w), r.Rankings()}
	head := table.Row{"measure", "value"}
	if len(m.rankings) > 1 {
		head = table.Row{"measure"}
		for _, one := range m.rankings {
			head = append(head, string(one.Ranking))
		}
	}
	m.AppendHeader(append(head, ""))
	return m
}

// newTable starts a table.
func newTable(w io.Writer) table.Writer {
	t := table.NewWriter()
	t.SetOutputMirror(w)
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	return t
}

// Rankings lists the reports of all rankings, the first one first.
func (r *Report) Rankings() []*Report {
	list := []*Report{r}
	for _, other := range []*Report{r.Hamming, r.Margins, r.Expected} {
		if other != nil {
			list = append(list, other)
		}
	}
	return list
}

// row adds a measure for all rankings.
func (m measures) row(name string, value func(*Report) float64, note string) {
	cells := table.Row{name}
	for _, r := range m.rankings {
		cells = append(cells, fmt.Sprintf("%.4f", value(r)))
	}
	m.AppendRow(append(cells, note))
}

// single adds a measure that is independent of the ranking or was taken for the first only.
func (m measures) single(name, value, note string) {
	cells := table.Row{name, value}
	for range m.rankings[1:] {
		cells = append(cells, "")
	}
	m.AppendRow(append(cells, note))
}

// WriteText writes the report as tables; the last bits of the codes are detail.
func (r *Report) WriteText(to io.Writer, detail int) error {
	w := bufio.NewWriter(to)
	fmt.Fprintf(w, "%s against %s of %s\n", message.Count(r.Queries, "query", "queries"),
		message.Count(r.Base, "code", "codes"), message.Bits(r.Bits-detail, detail))
	t := newMeasures(w, r)
	if r.unjudged() {
		t.neighbours()
		fmt.Fprintln(w, "without labels, tags or pairs for both sides, only the recall of the nearest vectors is measured")
		t.Render()
		return w.Flush()
	}
	t.row("MAP", func(r *Report) float64 { return r.MAP },
		fmt.Sprintf("%.4f to %.4f depending on how ties are broken", r.MAPLow, r.MAPHigh))
	if len(r.PerClass) > 1 && math.Abs(r.MacroMAP-r.MAP) >= visible {
		t.row("MAP over classes", func(r *Report) float64 { return r.MacroMAP },
			"every class counts the same, however many queries it has")
	}
	t.row("MAP, first 10000", func(r *Report) float64 { return r.MAP10000 },
		"the paper's convention")
	for _, k := range slices.Sorted(maps.Keys(r.Precision)) {
		t.row("precision@"+strconv.Itoa(k), func(r *Report) float64 { return r.Precision[k] }, "")
	}
	if p, ok := r.Precision[100]; !ok || math.Abs(r.ReachablePrecision-p) >= visible {
		t.row("precision@relevant", func(r *Report) float64 { return r.ReachablePrecision },
			"at the relevant items of a query, up to 100")
	}
	t.row("PR area", func(r *Report) float64 { return r.PRArea }, "pooled over radii")
	t.row("PR area, first 10000", func(r *Report) float64 { return r.PRArea10000 },
		"the paper's convention")
	if n := r.NearestOfClassQueries; n > 0 {
		of := ""
		if n < r.Judged {
			of = fmt.Sprintf(", for %d of the queries", n)
		}
		t.row("nearest of its class", func(r *Report) float64 { return r.NearestOfClass10 },
			"in the first ten: share of the ten nearest by cosine"+of)
	}
	t.neighbours()
	if u := r.Unseen; u != nil {
		t.single("MAP, unseen classes", fmt.Sprintf("%.4f", u.MAP),
			message.Count(u.Queries, "query", "queries")+" of held-out classes against the whole base")
		t.single("  by chance", fmt.Sprintf("%.4f", u.Prior), "")
		if u.FloatQueries > 0 {
			t.single("  by the vectors", fmt.Sprintf("%.4f", u.FloatMAP), "float search with "+
				message.Count(u.FloatQueries, "query", "queries"))
		}
	}
	t.Render()
	r.writeGain(w)
	r.writeClasses(w)
	return w.Flush()
}

// unjudged reports whether only neighbours were measured.
func (r *Report) unjudged() bool { return r.Cut == 0 }

// writeGain names the ranking that is clearly better than the first one, if any.
func (r *Report) writeGain(w io.Writer) {
	best := r
	for _, other := range r.Rankings()[1:] {
		if other.MAP > best.MAP {
			best = other
		}
	}
	if best.MAP-r.MAP >= visible {
		fmt.Fprintf(w, "search --rank %s raises MAP by %.4f and keeps the codes\n", best.Ranking, best.MAP-r.MAP)
	}
}

// writeClasses writes the table by class: all of up to 20 classes, else the ten worst.
func (r *Report) writeClasses(w io.Writer) {
	rows := r.PerClass
	if len(rows) == 0 {
		return
	}
	title := "by class, worst first"
	if len(rows) > 20 {
		title = fmt.Sprintf("the ten worst of %d classes", len(rows))
		rows = rows[:10]
	}
	t := newTable(w)
	precision := "precision@100"
	if slices.ContainsFunc(rows, func(k Class) bool { return k.Base < 100 }) {
		precision = "precision@relevant"
	}
	t.AppendHeader(table.Row{"class", "queries", "relevant", "MAP", precision})
	for _, k := range rows {
		t.AppendRow(table.Row{
			k.Name, k.Queries, k.Base, fmt.Sprintf("%.4f", k.MAP), fmt.Sprintf("%.4f", k.ReachablePrecision),
		})
	}
	fmt.Fprintln(w, title)
	t.Render()
	if weak := r.WeakClasses; len(weak) > 0 {
		more := ""
		if len(weak) > 10 {
			weak, more = weak[:10], fmt.Sprintf(" and %d more", len(weak)-10)
		}
		fmt.Fprintf(w, "weak classes: %s%s; their MAP is less than three quarters of the mean over classes, %.4f\n",
			strings.Join(weak, ", "), more, r.MacroMAP)
	}
}

// neighbours adds the measures that need no labels.
func (m measures) neighbours() {
	r := m.rankings[0]
	if r.Neighbours > 0 {
		of := ""
		if r.NeighbourQueries < r.Queries {
			of = fmt.Sprintf(", for %d of the queries", r.NeighbourQueries)
		}
		metric := map[Metric]string{Euclidean: "Euclidean distance", Cosine: "cosine"}[r.NeighbourMetric]
		m.row("neighbours, first 10", func(r *Report) float64 { return r.NeighbourRecall10 },
			fmt.Sprintf("share of the %d nearest vectors by %s%s", r.Neighbours, metric, of))
		if r.Base > 100 { // in a smaller base recall is 1
			m.row("neighbours, first 100", func(r *Report) float64 { return r.NeighbourRecall100 }, "of the same")
		}
	}
	m.single("distinct codes", strconv.Itoa(r.DistinctCodes),
		fmt.Sprintf("of %d; the largest bucket holds %d", r.Base, r.LargestBucket))
	if r.LearnedShare != nil {
		m.single("learned share", message.Percent(*r.LearnedShare), "of the base are training rows of the model")
	} else {
		m.single("learned share", "unknown", "the model does not know its training rows")
	}
}

// unlabelledReport is the JSON output when only neighbours were measured.
type unlabelledReport struct {
	Queries            int               `json:"queries"`
	Base               int               `json:"base"`
	Bits               int               `json:"bits"`
	Neighbours         int               `json:"neighbours"`
	NeighbourQueries   int               `json:"neighbour_queries"`
	NeighbourMetric    Metric            `json:"neighbour_metric"`
	NeighbourRecall10  float64           `json:"neighbour_recall_10"`
	NeighbourRecall100 float64           `json:"neighbour_recall_100"`
	DistinctCodes      int               `json:"distinct_codes"`
	LargestBucket      int               `json:"largest_bucket"`
	LearnedShare       *float64          `json:"learned_share,omitempty"`
	LearnedQueries     *float64          `json:"learned_queries_share,omitempty"`
	Ranking            Ranking           `json:"ranking"`
	Hamming            *unlabelledReport `json:"hamming,omitempty"`
	Margins            *unlabelledReport `json:"margins,omitempty"`
	Expected           *unlabelledReport `json:"expected,omitempty"`
	Warnings           []string          `json:"warnings"`
}

// unlabelled drops the measures of relevance, which were not taken.
func unlabelled(r *Report) *unlabelledReport {
	if r == nil {
		return nil
	}
	return &unlabelledReport{
		r.Queries, r.Base, r.Bits, r.Neighbours, r.NeighbourQueries, r.NeighbourMetric, r.NeighbourRecall10,
		r.NeighbourRecall100, r.DistinctCodes, r.LargestBucket, r.LearnedShare, r.LearnedQueriesShare, r.Ranking,
		unlabelled(r.Hamming), unlabelled(r.Margins), unlabelled(r.Expected), r.Warnings,
	}
}

// JSON writes the measures that were taken.
func (r *Report) JSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	var v any = r
	if r.unjudged() {
		v = unlabelled(r)
	}
	err := e.Encode(v)
	return b.Bytes(), err
}
