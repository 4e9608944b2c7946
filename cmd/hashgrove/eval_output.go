package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"hashgrove/api"
	"hashgrove/internal/cli"
	"hashgrove/internal/eval"
	"hashgrove/internal/hamming"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// visible is the smallest difference of two shares worth mentioning.
const visible = 0.005

// measures is the table of measures, with a column for each ranking, the first one being the headline.
type measures struct {
	table.Writer
	rankings []*eval.Report
}

func (c *evalCommand) newMeasures(r *eval.Report) measures {
	m := measures{c.table(), rankingsOf(r)}
	head := table.Row{"measure", "value"}
	if len(m.rankings) > 1 {
		head = table.Row{"measure"}
		for _, one := range m.rankings {
			head = append(head, rankingHead(one.Ranking))
		}
	}
	m.AppendHeader(append(head, ""))
	return m
}

// rankingsOf lists the reports of all rankings, the first one first.
func rankingsOf(r *eval.Report) []*eval.Report {
	list := []*eval.Report{r}
	for _, other := range []*eval.Report{r.Hamming, r.Margins, r.Expected} {
		if other != nil {
			list = append(list, other)
		}
	}
	return list
}

// rankingHead is the head of the column of a ranking.
func rankingHead(r eval.Ranking) string {
	switch r {
	case eval.ByMargins:
		return "by margins"
	case eval.ByExpected:
		return "expected code"
	case eval.ByWeights:
		return "weighted"
	}
	return "by Hamming"
}

// row adds a measure for all rankings.
func (m measures) row(name string, value func(*eval.Report) float64, note string) {
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

func (c *evalCommand) print(r *eval.Report) {
	t := c.newMeasures(r)
	t.row("MAP", func(r *eval.Report) float64 { return r.MAP },
		fmt.Sprintf("%.4f to %.4f depending on how ties are broken", r.MAPLow, r.MAPHigh))
	if len(r.PerClass) > 1 && math.Abs(r.MacroMAP-r.MAP) >= visible {
		t.row("MAP over classes", func(r *eval.Report) float64 { return r.MacroMAP },
			"every class counts the same, however many queries it has")
	}
	t.row("MAP, first 10000", func(r *eval.Report) float64 { return r.MAP10000 },
		"the paper's convention")
	for _, k := range slices.Sorted(maps.Keys(r.Precision)) {
		t.row("precision@"+strconv.Itoa(k), func(r *eval.Report) float64 { return r.Precision[k] }, "")
	}
	if p, ok := r.Precision[100]; !ok || math.Abs(r.ReachablePrecision-p) >= visible {
		t.row("precision@relevant", func(r *eval.Report) float64 { return r.ReachablePrecision },
			"at the relevant items of a query, up to 100")
	}
	t.row("PR area", func(r *eval.Report) float64 { return r.PRArea }, "pooled over radii")
	t.row("PR area, first 10000", func(r *eval.Report) float64 { return r.PRArea10000 },
		"the paper's convention")
	for i, l := range r.Lookup {
		t.row("lookup, radius "+strconv.Itoa(l.Radius), func(r *eval.Report) float64 { return r.Lookup[i].Precision },
			fmt.Sprintf("precision; recall %.4f, %.1f %% of queries find nothing", l.Recall, 100*l.Empty))
	}
	if n := r.NearestOfClassQueries; n > 0 {
		of := ""
		if n < r.Judged {
			of = fmt.Sprintf(", for %d of the queries", n)
		}
		t.row("nearest of its class", func(r *eval.Report) float64 { return r.NearestOfClass10 },
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
		t.single("  among themselves", fmt.Sprintf("%.4f", u.AmongMAP),
			fmt.Sprintf("base items of held-out classes only; chance %.4f", u.AmongPrior))
	}
	fmt.Fprintln(c.out, c.sizes(r))
	t.Render()
	c.printGain(r)
	c.printClasses(r)
}

// printGain names the ranking that is clearly better than the first one, if any.
func (c *evalCommand) printGain(r *eval.Report) {
	best := r
	for _, other := range rankingsOf(r)[1:] {
		if other.MAP > best.MAP {
			best = other
		}
	}
	if best.MAP-r.MAP >= visible {
		fmt.Fprintf(c.out, "ranking by %s raises MAP by %.4f and keeps the codes: search --rank %s\n",
			rankName(string(best.Ranking)), best.MAP-r.MAP, best.Ranking)
	}
}

// sizes formats what was ranked.
func (c *evalCommand) sizes(r *eval.Report) string {
	return fmt.Sprintf("%s against %s of %s", message.Count(r.Queries, "query", "queries"),
		message.Count(r.Base, "code", "codes"), bitsText(r.Bits-c.detail, c.detail))
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

// neighbours adds the measures that need no labels.
func (m measures) neighbours() {
	r := m.rankings[0]
	if r.Neighbours > 0 {
		of := ""
		if r.NeighbourQueries < r.Queries {
			of = fmt.Sprintf(", for %d of the queries", r.NeighbourQueries)
		}
		metric := map[eval.Metric]string{eval.Euclidean: "Euclidean distance", eval.Cosine: "cosine"}[r.NeighbourMetric]
		m.row("neighbours, first 10", func(r *eval.Report) float64 { return r.NeighbourRecall10 },
			fmt.Sprintf("share of the %d nearest vectors by %s%s", r.Neighbours, metric, of))
		if r.Base > 100 { // in a smaller base recall is 1
			m.row("neighbours, first 100", func(r *eval.Report) float64 { return r.NeighbourRecall100 }, "of the same")
		}
	}
	m.single("distinct codes", strconv.Itoa(r.DistinctCodes),
		fmt.Sprintf("of %d; the largest bucket holds %d", r.Base, r.LargestBucket))
	if r.LearnedShare != nil {
		m.single("learned share", percent(*r.LearnedShare), "of the base are training rows of the model")
	} else {
		m.single("learned share", "unknown", "the model does not know its training rows")
	}
}

// printNeighboursAlone prints what can be measured without labels.
func (c *evalCommand) printNeighboursAlone(r *eval.Report) {
	t := c.newMeasures(r)
	t.neighbours()
	fmt.Fprintln(c.out, c.sizes(r))
	fmt.Fprintln(c.out, "without labels, tags or pairs for both sides, only the recall of the nearest vectors is measured")
	t.Render()
}

// unlabelledReport is the JSON output when only neighbours were measured.
type unlabelledReport struct {
	Queries            int               `json:"queries"`
	Base               int               `json:"base"`
	Bits               int               `json:"bits"`
	Neighbours         int               `json:"neighbours"`
	NeighbourQueries   int               `json:"neighbour_queries"`
	NeighbourMetric    eval.Metric       `json:"neighbour_metric"`
	NeighbourRecall10  float64           `json:"neighbour_recall_10"`
	NeighbourRecall100 float64           `json:"neighbour_recall_100"`
	DistinctCodes      int               `json:"distinct_codes"`
	LargestBucket      int               `json:"largest_bucket"`
	LearnedShare       *float64          `json:"learned_share,omitempty"`
	LearnedQueries     *float64          `json:"learned_queries_share,omitempty"`
	Ranking            eval.Ranking      `json:"ranking"`
	Hamming            *unlabelledReport `json:"hamming,omitempty"`
	Margins            *unlabelledReport `json:"margins,omitempty"`
	Expected           *unlabelledReport `json:"expected,omitempty"`
	Warnings           []string          `json:"warnings"`
}

// unlabelled drops the measures of relevance, which were not taken.
func unlabelled(r *eval.Report) *unlabelledReport {
	if r == nil {
		return nil
	}
	return &unlabelledReport{
		r.Queries, r.Base, r.Bits, r.Neighbours, r.NeighbourQueries, r.NeighbourMetric, r.NeighbourRecall10,
		r.NeighbourRecall100, r.DistinctCodes, r.LargestBucket, r.LearnedShare, r.LearnedQueriesShare, r.Ranking,
		unlabelled(r.Hamming), unlabelled(r.Margins), unlabelled(r.Expected), r.Warnings,
	}
}

// sides holds both sides of an evaluation, the truth, and what the vectors themselves find.
type sides struct {
	m             *model.Model
	queries, base *encoded
	truth         eval.Truth
	floats        *floatSearch
}

// checkRanking rejects a ranking that the model does not support.
func (c *evalCommand) checkRanking(m *model.Model) error {
	bits := m.Encoder.Bits()
	switch {
	case c.rank == string(eval.ByWeights) && m.Info.Weights == nil:
		return cli.Usage("no-weights",
			"--rank weighted: the bits of %s have no weights; models of the method mdsh do", c.model)
	case c.rank == string(eval.ByWeights) && m.DetailBits() > 0:
		return cli.Usage("no-weights",
			"--rank weighted: the bits of detail of %s have no weights; --prefix %d leaves them out", c.model, m.ClassBits())
	case (c.rank == api.Margins || c.rank == api.Expected) && bits > hamming.MaxWeightedBits:
		return cli.Usage("too-many-bits", "--rank %s: codes of %d bits are longer than the %d that can be ranked "+
			"by margins; --prefix takes the first bits", c.rank, bits, hamming.MaxWeightedBits)
	case c.rank == api.Expected && m.Ranking == nil:
		return cli.Usage("bad-flag-value", "--rank expected: %s knows no codes of training rows; train it again", c.model)
	}
	return nil
}

// headline returns the ranking that comes first.
func (c *evalCommand) headline(m *model.Model) eval.Ranking {
	if c.rank == api.Auto {
		return eval.Ranking(m.Rank())
	}
	return eval.Ranking(c.rank)
}

// addMargins stores the margins of queries.
func (e *encoded) addMargins(ctx context.Context, m *model.Model, first int, x vectors.Matrix, threads int) error {
	bits := m.Encoder.Bits()
	if bits > hamming.MaxWeightedBits {
		return nil
	}
	if e.margins.Rows == 0 {
		e.margins = vectors.Matrix{Rows: e.Rows, Cols: bits, Data: make([]float32, e.Rows*bits)}
	}
	some, err := m.Margins(ctx, x, threads)
	copy(e.margins.Data[first*bits:], some.Data)
	return err
}

// codes returns the codes of both sides.
func (s *sides) codes() eval.Codes {
	return eval.Codes{
		Queries: s.queries.codes, Base: s.base.codes, Margins: s.queries.margins, Expected: s.queries.expected,
		Weights: s.m.Info.Weights, Detail: s.m.DetailBits(),
	}
}

// measure evaluates the first ranking and the others beside it.
func (c *evalCommand) measure(ctx context.Context, s *sides) (*eval.Report, error) {
	first := c.headline(s.m)
	report, err := c.measureRanking(ctx, s, first)
	if err != nil || report == nil {
		return nil, err
	}
	for _, other := range []struct {
		ranking eval.Ranking
		to      **eval.Report
	}{
		{eval.ByHamming, &report.Hamming}, {eval.ByMargins, &report.Margins}, {eval.ByExpected, &report.Expected},
	} {
		if other.ranking == first {
			continue
		}
		if *other.to, err = c.measureBeside(ctx, s, other.ranking, report.Warnings); err != nil {
			return nil, err
		}
	}
	if s.truth.Mark == nil {
		return report, nil
	}
	return report, c.measureUnseen(ctx, s, report)
}

// measureBeside evaluates a second ranking without repeating warnings.
func (c *evalCommand) measureBeside(ctx context.Context, s *sides, ranking eval.Ranking, said []string) (
	*eval.Report, error,
) {
	r, err := c.measureRanking(ctx, s, ranking)
	if r != nil {
		r.Warnings = slices.DeleteFunc(r.Warnings, func(w string) bool { return slices.Contains(said, w) })
	}
	return r, err
}

// measureRanking evaluates one ranking.
func (c *evalCommand) measureRanking(ctx context.Context, s *sides, ranking eval.Ranking) (*eval.Report, error) {
	codes := s.codes()
	if ranking != eval.ByHamming && ranking != eval.ByWeights && codes.Scores(ranking).Rows == 0 {
		return nil, nil
	}
	near, err := c.measureNeighbours(ctx, s, ranking)
	if err != nil || s.truth.Mark == nil {
		return near, err
	}
	p := c.startProgress("measuring", s.queries.Rows, 0)
	o := eval.Options{
		K: c.precisionAt, OfClass: s.floats.ofClass, Threads: c.threads,
		Progress: func(done, _ int) { p.Tick(done) },
	}
	if l := s.queries.Labels; l != nil {
		o.Classes, o.ClassNames = l.Class, l.Names
	}
	report, err := codes.Report(ctx, ranking, s.truth, o)
	p.End()
	if err != nil {
		return nil, err
	}
	if near != nil {
		report.Neighbours, report.NeighbourQueries = near.Neighbours, near.NeighbourQueries
		report.NeighbourMetric = near.NeighbourMetric
		report.NeighbourRecall10, report.NeighbourRecall100 = near.NeighbourRecall10, near.NeighbourRecall100
	}
	return report, nil
}

// measureNeighbours measures only neighbours; it returns nil if they were not asked for.
func (c *evalCommand) measureNeighbours(ctx context.Context, s *sides, ranking eval.Ranking) (*eval.Report, error) {
	if s.floats.near == nil {
		return nil, nil
	}
	some, all := s.codes(), s.codes()
	some.Queries = hamming.NewCodes(0, all.Queries.Bits)
	for _, i := range s.floats.sample.rows {
		some.Queries.Data = append(some.Queries.Data, all.Queries.Row(i)...)
	}
	some.Margins, some.Expected = pick(all.Margins, s.floats.sample.rows), pick(all.Expected, s.floats.sample.rows)
	r, err := some.Report(ctx, ranking, eval.Truth{}, eval.Options{Neighbours: s.floats.near, Threads: c.threads})
	if err != nil {
		return nil, err
	}
	r.Queries = s.queries.Rows
	return r, nil
}

// pick returns a copy of some rows of a matrix; an empty one has none.
func pick(x vectors.Matrix, rows []int) vectors.Matrix {
	some := vectors.Matrix{Cols: x.Cols}
	if x.Rows == 0 {
		return some
	}
	for _, i := range rows {
		some.Data = append(some.Data, x.Row(i)...)
	}
	some.Rows = len(rows)
	return some
}
