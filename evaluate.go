package hashgrove

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"hashgrove/api"
	"hashgrove/internal/dataset"
	"hashgrove/internal/eval"
	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/hamming"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// EvalOptions say how to measure a model.
type EvalOptions struct {
	Rank        string // the ranking that comes first: api.Auto (the default), Hamming, Margins or Expected, or weighted
	Neighbours  string // the distance of float neighbours: euclidean (the default), cosine, or none to leave them out
	MinShared   int    // tags that similar rows share; 0 means 2
	PrecisionAt []int  // ranks of Precision; nil means 1, 10, 100 and 1,000
	Threads     int    // 0 means all cores

	Progress func(Step) // called from one goroutine; may be nil
}

// Step is a step of work that takes long.
type Step struct {
	What        string // what is being done, in a word
	Done, Total int    // a Total of 0 is unknown
	Note        string // a remark for people instead of a step

	Read *DataRead // what reading data met, once that is over; nil in other steps
}

// steps reports steps of work; nil does nothing.
type steps func(Step)

func (p steps) report(s Step) {
	if p != nil {
		p(s)
	}
}

func (p steps) step(what string, done, total int) {
	p.report(Step{What: what, Done: done, Total: total})
}

// of returns what reports one kind of step.
func (p steps) of(what string) func(done, total int) {
	return func(done, total int) { p.step(what, done, total) }
}

// Evaluation says how well the codes of a model find similar rows. Its JSON has all measures.
type Evaluation struct {
	MAP       float64  // mean average precision by the first ranking, expected over the orders of ties
	Precision float64  // of the first items, as many as are relevant, up to 100
	Warnings  []string // what casts doubt on the figures, in sentences

	report *eval.Report
	detail int
}

// MarshalJSON writes all measures. Without labels, tags or pairs for both sides, these are only the measures of
// neighbours.
func (e *Evaluation) MarshalJSON() ([]byte, error) { return e.report.JSON() }

// WriteText writes the measures as a table.
func (e *Evaluation) WriteText(w io.Writer) error { return e.report.WriteText(w, e.detail) }

// Evaluate encodes a base and queries, ranks the base for every query, and measures the rankings: by Hamming distance,
// by margins and by the expected code, as far as the model knows them. Pairs of the queries name a query and an item of
// the base.
func (m *Model) Evaluate(ctx context.Context, base, queries *Data, o EvalOptions) (*Evaluation, error) {
	e := &evaluation{EvalOptions: o, m: m.model}
	if err := e.check(); err != nil {
		return nil, err
	}
	if err := e.read(ctx, base, queries); err != nil {
		return nil, err
	}
	report, err := e.measure(ctx)
	if err != nil {
		return nil, err
	}
	e.addLearned(report)
	return &Evaluation{report.MAP, report.ReachablePrecision, report.Warnings, report, m.model.DetailBits()}, nil
}

// evaluation is the work of Evaluate.
type evaluation struct {
	EvalOptions
	m             *model.Model
	queries, base *side
	truth         eval.Truth
	floats        *floatSearch
}

// check rejects options that do not fit the model.
func (e *evaluation) check() error {
	if e.Rank == "" || e.Rank == api.Auto {
		e.Rank = e.m.Rank()
	}
	if e.Neighbours == "" {
		e.Neighbours = string(eval.Euclidean)
		if e.m.TakesMissing() { // distances need every value
			e.Neighbours = noNeighbours
		}
	}
	switch bits := e.m.Encoder.Bits(); {
	case !slices.Contains(append(api.Rankings(), string(eval.ByWeights)), e.Rank):
		return badOption("rank", "%s: choose one of %s, %s", e.Rank, strings.Join(api.Rankings(), ", "), eval.ByWeights)
	case !slices.Contains([]string{string(eval.Euclidean), string(eval.Cosine), noNeighbours}, e.Neighbours):
		return badOption("neighbours", "%s: choose euclidean, cosine or none", e.Neighbours)
	case e.MinShared < 0 || e.MinShared > 255:
		return badOption("min-shared", "%d: give a number from 1 to 255", e.MinShared)
	case e.m.TakesMissing() && e.Neighbours != noNeighbours:
		return wrong("missing-values", "%s %s: the model takes missing values, and distances need every value: give none",
			option("neighbours"), e.Neighbours)
	case e.Rank == string(eval.ByWeights) && e.m.Info.Weights == nil:
		return wrong("no-weights", "%s weighted: the bits of the model have no weights; models of the method mdsh do",
			option("rank"))
	case e.Rank == string(eval.ByWeights) && e.m.DetailBits() > 0:
		return wrong("no-weights", "%s weighted: the bits of detail have no weights; %s %d leaves them out",
			option("rank"), option("prefix"), e.m.ClassBits())
	case (e.Rank == api.Margins || e.Rank == api.Expected) && bits > hamming.MaxWeightedBits:
		return wrong("too-many-bits", "%s %s: codes of %d bits are longer than the %d that can be ranked by margins; "+
			"%s takes the first bits", option("rank"), e.Rank, bits, hamming.MaxWeightedBits, option("prefix"))
	case e.Rank == api.Expected && e.m.Ranking == nil:
		return badOption("rank", "expected: the model knows no codes of training rows; train it again")
	}
	return nil
}

// badOption returns an error about the value of an option.
func badOption(name, format string, args ...any) error {
	return wrong("bad-flag-value", "%s "+format, append([]any{option(name)}, args...)...)
}

// read scans and encodes both sides. Vectors are looked at while they are encoded, and then forgotten.
func (e *evaluation) read(ctx context.Context, base, queries *Data) (err error) {
	if e.base, err = e.open(ctx, base); err != nil {
		return fmt.Errorf("base: %w", err)
	}
	defer e.base.close()
	if e.queries, err = e.open(ctx, queries); err != nil {
		return fmt.Errorf("queries: %w", err)
	}
	defer e.queries.close()
	if err := e.findTruth(base, queries); err != nil {
		return err
	}
	e.floats = e.newFloatSearch()
	if err := e.encode(ctx, e.queries, func(ctx context.Context, first int, x vectors.Matrix) error {
		e.floats.addQueries(first, x)
		return e.addMargins(ctx, first, x)
	}); err != nil {
		return fmt.Errorf("queries: %w", err)
	}
	if e.queries.expected, err = e.m.Expected(ctx, e.queries.margins); err != nil {
		return err
	}
	if err := e.encode(ctx, e.base, e.floats.addBase); err != nil {
		return fmt.Errorf("base: %w", err)
	}
	return nil
}

// side is one side of an evaluation: its rows and their codes.
type side struct {
	*supervision.Data
	codes    hamming.Codes
	margins  vectors.Matrix // of the queries, if codes are short enough
	expected vectors.Matrix // their expected codes, if the model knows codes
	close    func() error   // frees cached features
}

// open makes the first pass over one side; encode adds the codes.
func (e *evaluation) open(ctx context.Context, d *Data) (*side, error) {
	_, src, err := d.alone().forModel(e.m, true, e.Threads)
	if err != nil {
		return nil, err
	}
	done := func() error { return nil }
	if e.m.Features != nil {
		kept := vectors.Cache(src, vectors.CacheBytes, "") // computed once for all passes
		src, done = kept, kept.Close
	}
	o := supervision.ScanOptions{Hashes: e.m.Info.Sketch != nil, Hashed: e.m.Encoder.Dim()}
	o.Progress = func(rows int) { steps(e.Progress).step("reading", rows, 0) }
	sum, err := supervision.Scan(ctx, src, o)
	if err != nil {
		return nil, errors.Join(err, done())
	}
	if sum.Bad > 0 {
		steps(e.Progress).report(Step{Note: dropped(sum.Bad, sum.BadExamples[0])})
	}
	return &side{Data: sum, codes: hamming.NewCodes(sum.Rows, e.m.Encoder.Bits()), close: done}, nil
}

// dropped says how many rows were left out.
func dropped(bad int, first error) string {
	return fmt.Sprintf("dropped %s, the first: %v", message.Count(bad, "bad row", "bad rows"), first)
}

// encode computes the codes of one side and passes every run of vectors to look.
func (e *evaluation) encode(
	ctx context.Context, s *side, look func(ctx context.Context, first int, x vectors.Matrix) error,
) error {
	return e.m.EncodeSource(ctx, s.Source, e.Threads, func(first int, codes hamming.Codes, chunk vectors.Chunk) error {
		copy(s.codes.Data[first*s.codes.Words:], codes.Data)
		steps(e.Progress).step("encoding", first+codes.Len(), s.Rows)
		return look(ctx, first, chunk.X)
	})
}

// addMargins stores the margins of queries.
func (e *evaluation) addMargins(ctx context.Context, first int, x vectors.Matrix) error {
	q, bits := e.queries, e.m.Encoder.Bits()
	if bits > hamming.MaxWeightedBits {
		return nil
	}
	if q.margins.Rows == 0 {
		q.margins = vectors.Matrix{Rows: q.Rows, Cols: bits, Data: make([]float32, q.Rows*bits)}
	}
	some, err := e.m.Margins(ctx, x, e.Threads)
	copy(q.margins.Data[first*bits:], some.Data)
	return err
}

// findTruth says which items are relevant, numbering classes and tags the same for both sides. Without labels, tags or
// pairs the truth has no marks, and only neighbours are measured.
func (e *evaluation) findTruth(base, queries *Data) (err error) {
	e.base.MinShared = cmp.Or(e.MinShared, affinity.DefaultShared)
	e.queries.Supervision = e.queries.In(&e.base.Supervision)
	switch {
	case queries.pairsFile != "":
		e.queries.Pairs, err = dataset.ReadPairsBetween(queries.pairsFile, e.queries.Data, e.base.Data)
	case queries.pairs != nil:
		e.queries.Pairs = pairsOf(queries.pairs)
	}
	if err != nil {
		return err
	}
	if e.truth, err = eval.TruthOf(e.queries.Data, e.base.Data); err == nil {
		return nil
	}
	if e.truth = (eval.Truth{}); e.Neighbours == noNeighbours || base.saysRelevance() || queries.saysRelevance() {
		return wrong("no-truth", "nothing says which answers are right: give labels or tags for base and queries, "+
			"or %s", option("pairs"))
	}
	return nil
}

// saysRelevance reports whether classes or tags are named.
func (d *Data) saysRelevance() bool {
	return d.spec.Label != "" || d.spec.Tags != "" || d.spec.LabelsFile != nil ||
		d.table != nil && (d.table.Labels != nil || d.table.Tags != nil)
}

// codes returns the codes of both sides.
func (e *evaluation) codes() eval.Codes {
	return eval.Codes{
		Queries: e.queries.codes, Base: e.base.codes, Margins: e.queries.margins, Expected: e.queries.expected,
		Weights: e.m.Info.Weights, Detail: e.m.DetailBits(),
	}
}

// measure evaluates the first ranking and the others beside it.
func (e *evaluation) measure(ctx context.Context) (*eval.Report, error) {
	first := eval.Ranking(e.Rank)
	report, err := e.measureRanking(ctx, first)
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
		if *other.to, err = e.measureBeside(ctx, other.ranking, report.Warnings); err != nil {
			return nil, err
		}
	}
	if e.truth.Mark == nil {
		return report, nil
	}
	return report, e.measureUnseen(ctx, report)
}

// measureBeside evaluates a second ranking without repeating warnings.
func (e *evaluation) measureBeside(ctx context.Context, ranking eval.Ranking, said []string) (
	*eval.Report, error,
) {
	r, err := e.measureRanking(ctx, ranking)
	if r != nil {
		r.Warnings = slices.DeleteFunc(r.Warnings, func(w string) bool { return slices.Contains(said, w) })
	}
	return r, err
}

// measureRanking evaluates one ranking.
func (e *evaluation) measureRanking(ctx context.Context, ranking eval.Ranking) (*eval.Report, error) {
	codes := e.codes()
	if ranking != eval.ByHamming && ranking != eval.ByWeights && codes.Scores(ranking).Rows == 0 {
		return nil, nil
	}
	near, err := e.measureNeighbours(ctx, ranking)
	if err != nil || e.truth.Mark == nil {
		return near, err
	}
	report, err := codes.Report(ctx, ranking, e.truth, e.reportOptions(e.floats.ofClass))
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

// reportOptions returns options for what labels and tags tell.
func (e *evaluation) reportOptions(of *eval.OfClass) eval.Options {
	o := eval.Options{
		K: e.PrecisionAt, OfClass: of, Threads: e.Threads,
		Progress: func(done, _ int) { steps(e.Progress).step("measuring", done, e.queries.Rows) },
	}
	if l := e.queries.Labels; l != nil {
		o.Classes, o.ClassNames = l.Class, l.Names
	}
	return o
}

// measureNeighbours measures only neighbours; it returns nil if they were not asked for.
func (e *evaluation) measureNeighbours(ctx context.Context, ranking eval.Ranking) (*eval.Report, error) {
	if e.floats.near == nil {
		return nil, nil
	}
	some, all := e.codes(), e.codes()
	some.Queries = hamming.NewCodes(0, all.Queries.Bits)
	for _, i := range e.floats.sample.rows {
		some.Queries.Data = append(some.Queries.Data, all.Queries.Row(i)...)
	}
	some.Margins, some.Expected = pick(all.Margins, e.floats.sample.rows), pick(all.Expected, e.floats.sample.rows)
	r, err := some.Report(ctx, ranking, eval.Truth{}, eval.Options{Neighbours: e.floats.near, Threads: e.Threads})
	if err != nil {
		return nil, err
	}
	r.Queries = e.queries.Rows
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

// notable is the share of training rows above which the figures are in doubt.
const notable = 0.05

// addLearned adds the share of training rows on both sides, and a warning if it is high.
func (e *evaluation) addLearned(r *eval.Report) {
	share := func(d *supervision.Data) *float64 {
		part, looked := e.m.Info.Sketch.Share(d.Hashes)
		if looked == 0 || looked < min(10, d.Rows) {
			return nil
		}
		return &part
	}
	r.LearnedShare, r.LearnedQueriesShare = share(e.base.Data), share(e.queries.Data)
	if s := r.LearnedShare; s != nil && *s >= notable {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s of the base was learned from: items that are added later are "+
			"usually found less well than these figures say; to judge them, give a --base and --queries that training did "+
			"not see, or let compare hold rows out", message.Percent(*s)))
	}
	if s := r.LearnedQueriesShare; s != nil && *s >= notable {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s of the queries were learned from: new queries usually find less "+
			"than these figures say; give --queries that training did not see", message.Percent(*s)))
	}
}
