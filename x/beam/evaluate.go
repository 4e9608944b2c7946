package beam

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"hashgrove/internal/eval"
	"hashgrove/internal/hamming"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// Evaluation of a base that no machine holds.
//
//	rank      every run of codes against all queries    -> eval.Part, by block of queries
//	combine   parts of a block, in any order            -> the block's rankings of the whole base: sums and first rows
//	census    every run of codes, by hash of the code   -> how often each code is there, and the names of classes
//	report    all blocks and the census, in one place   -> eval.Parts.Report
//
// All sums are of integers until the report, which package eval makes as it does in one process: see eval.Part.
//
// Cost: base x queries distances, spread over the workers. What travels: for each query and bundle the counts by
// distance and up to Cut rows, and each code once for the census.

// EvalOptions say what to measure; the zero value measures what hashgrove eval does.
type EvalOptions struct {
	K         []int // ranks of precision
	Cut       int   // length of the lists of the paper's convention; 0 means 10,000
	MinShared int   // tags that a right answer has in common with the query at least; 0 means 2
	NoCensus  bool  // leave out distinct_codes and largest_bucket, for which every code travels once
}

// queryBlock is the number of queries whose rankings come together in one place.
const queryBlock = 64

// Blocks and partitions of the census share one type of key.
func init() {
	beam.RegisterType(reflect.TypeFor[EvalOptions]())
	beam.RegisterCoder(reflect.TypeFor[*eval.Part](), encodePart, decodePart)
	beam.RegisterType(reflect.TypeFor[rankFn]())
	beam.RegisterType(reflect.TypeFor[partCombine]())
	beam.RegisterType(reflect.TypeFor[reportFn]())
	beam.RegisterFunction(packPart)
}

func encodePart(p *eval.Part) []byte {
	b, err := p.MarshalBinary()
	if err != nil {
		panic(err) // it has none
	}
	return b
}

func decodePart(b []byte) *eval.Part {
	p := new(eval.Part)
	if err := p.UnmarshalBinary(b); err != nil {
		panic(err) // Beam hands over what encodePart wrote
	}
	return p
}

// Evaluate judges how queries, which are one run of codes, rank a base of codes by Hamming distance. It returns a
// collection of one text, the report of hashgrove eval --rank hamming as JSON. What needs vectors (neighbours, learned
// shares) or needs the rows side by side (two warnings) is not in it; every number that is there has the same digits.
func Evaluate(s beam.Scope, queries, base beam.PCollection, o EvalOptions) beam.PCollection {
	s = s.Scope("Evaluate")
	side := beam.SideInput{Input: queries}
	ranked := beam.ParDo(s, &rankFn{Options: o}, base, side)
	texts := beam.ParDo(s, packPart, beam.CombinePerKey(s, &partCombine{}, ranked))
	texts = beam.Flatten(s, texts, takeCensus(s, base, o))
	return beam.ParDo(s, &reportFn{Options: o}, beam.Impulse(s), beam.SideInput{Input: texts}, side)
}

// rankFn ranks a run of the base.
type rankFn struct{ Options EvalOptions }

// ProcessElement ranks one run for all queries.
func (f *rankFn) ProcessElement(
	ctx context.Context, base, queries Codes, emit func(int, *eval.Part),
) error {
	if base.Fingerprint != queries.Fingerprint || base.Bits != queries.Bits {
		return fmt.Errorf("the base has codes of model %.16s, and the queries of %.16s: encode both with one model",
			base.Fingerprint, queries.Fingerprint)
	}
	if print, err := hamming.ParseFingerprint(base.Fingerprint); err == nil && print.Detail(base.Bits) > 0 {
		return fmt.Errorf("the last %d of %d bits are detail, and a base in parts is ranked by plain Hamming distance: "+
			"encode the first %d bits alone", print.Detail(base.Bits), base.Bits, base.Bits-print.Detail(base.Bits))
	}
	if len(base.IDs) == 0 {
		return nil
	}
	q, err := queries.codes()
	if err != nil {
		return err
	}
	b, err := base.codes()
	if err != nil {
		return err
	}
	truth, err := truthOf(ctx, queries, base, f.Options.MinShared)
	if err != nil {
		return err
	}
	// Rows that were left out as bad leave gaps, so that a run is one or several parts.
	var whole *eval.Part
	for lo, hi := 0, 0; lo < b.Len(); lo = hi {
		for hi = lo + 1; hi < b.Len() && base.Rows[hi] == base.Rows[hi-1]+1; {
			hi++
		}
		part, err := eval.RankPart(q, rowsOf(b, lo, hi), cutTruth(truth, lo, hi), int64(base.Rows[lo]), f.Options.Cut)
		if err != nil {
			return err
		}
		if whole == nil {
			whole = part
		} else if err := whole.Add(part); err != nil {
			return err
		}
	}
	for lo := 0; lo < q.Len(); lo += queryBlock {
		emit(lo/queryBlock, whole.Slice(lo, min(lo+queryBlock, q.Len())))
	}
	return nil
}

// rowsOf copies rows lo to hi.
func rowsOf(c hamming.Codes, lo, hi int) hamming.Codes {
	if lo == 0 && hi == c.Len() {
		return c
	}
	out := hamming.NewCodes(hi-lo, c.Bits)
	copy(out.Data, c.Data[lo*c.Words:hi*c.Words])
	return out
}

// cutTruth is what a truth says about rows lo to hi of its base.
func cutTruth(t eval.Truth, lo, hi int) eval.Truth {
	if lo == 0 && hi == t.Base {
		return t
	}
	return eval.Truth{Queries: t.Queries, Base: hi - lo, Mark: func(q int, mark []uint8) {
		whole := make([]uint8, t.Base)
		t.Mark(q, whole)
		copy(mark, whole[lo:hi])
	}}
}

// truthOf says which rows of a run are relevant to which queries. What the queries have decides whether classes or tags
// count: a run where nothing is known of a row has the answer "not known", as in a base where others have labels.
func truthOf(ctx context.Context, queries, base Codes, minShared int) (eval.Truth, error) {
	q, err := queries.data(ctx)
	if err != nil {
		return eval.Truth{}, err
	}
	b, err := base.data(ctx)
	if err != nil {
		return eval.Truth{}, err
	}
	b.MinShared = minShared
	switch {
	case q.Labels != nil:
		q.Tags = nil
		if b.Labels == nil {
			b.Labels = &supervision.Labels{Class: slices.Repeat([]int32{-1}, b.Rows)}
		}
	case q.Tags != nil && b.Tags == nil:
		b.Tags = &supervision.Tags{Start: make([]int, b.Rows+1)}
	}
	truth, err := eval.TruthOf(q, b)
	if err != nil {
		return truth, errors.New("the queries have neither labels nor tags, so nothing says which answers are right")
	}
	return truth, nil
}

// data is what is known about the rows, in the numbering of package supervision.
func (c *Codes) data(ctx context.Context) (*supervision.Data, error) {
	if len(c.IDs) == 0 {
		return nil, errors.New("there are no queries to judge")
	}
	return supervision.Scan(ctx, facts{c}, supervision.ScanOptions{})
}

// facts is rows without values.
type facts struct{ *Codes }

// Dim implements vectors.Source.
func (f facts) Dim() int { return 1 }

// Schema implements vectors.Source.
func (f facts) Schema() vectors.Schema { return vectors.Schema{} }

// Chunks implements vectors.Source.
func (f facts) Chunks(context.Context) iter.Seq2[vectors.Chunk, error] {
	return func(yield func(vectors.Chunk, error) bool) {
		n := len(f.IDs)
		c := vectors.Chunk{X: vectors.Matrix{Rows: n, Cols: 1, Data: make([]float32, n)}}
		if slices.ContainsFunc(f.Labels, func(label string) bool { return label != "" }) {
			c.Labels = f.Labels
		}
		if slices.ContainsFunc(f.Tags, func(tags []string) bool { return len(tags) > 0 }) {
			c.Tags = f.Tags
		}
		yield(c, nil)
	}
}

// partCombine puts parts together.
type partCombine struct{}

// MergeAccumulators adds one part to another, which is changed.
func (*partCombine) MergeAccumulators(a, b *eval.Part) (*eval.Part, error) { return a, a.Add(b) }

// packPart makes a text of the rankings of a block, to stand beside the census.
func packPart(block int, p *eval.Part, emit func(string)) {
	emit(pack(finding{Block: block, Part: encodePart(p)}))
}

// finding is what comes together for the report: a block of queries, or a partition of the census.
type finding struct {
	Block  int
	Part   []byte   `json:",omitempty"`
	Counts *summary `json:",omitempty"`
}

func pack(f finding) string {
	b, err := json.Marshal(f)
	if err != nil {
		panic(err) // nothing in it can fail
	}
	return string(b)
}

// reportFn makes the report.
type reportFn struct{ Options EvalOptions }

// ProcessElement makes it of all findings.
func (f *reportFn) ProcessElement(
	ctx context.Context, _ []byte, findings func(*string) bool, queries Codes, emit func(string),
) error {
	var blocks []finding
	counts := summary{}
	for text := ""; findings(&text); {
		var one finding
		if err := json.Unmarshal([]byte(text), &one); err != nil {
			return err
		}
		if one.Counts != nil {
			counts.add(*one.Counts)
		} else {
			blocks = append(blocks, one)
		}
	}
	if len(blocks) == 0 {
		return errors.New("the base is empty: nothing can be found in it")
	}
	slices.SortFunc(blocks, func(a, b finding) int { return a.Block - b.Block })
	parts := eval.Parts{DistinctCodes: counts.Distinct, LargestBucket: counts.Largest}
	for _, b := range blocks {
		part := new(eval.Part)
		if err := part.UnmarshalBinary(b.Part); err != nil {
			return err
		}
		parts.Queries = append(parts.Queries, part)
	}
	q, err := queries.data(ctx)
	if err != nil {
		return err
	}
	o := eval.Options{K: f.Options.K, Cut: f.Options.Cut}
	if q.Labels != nil {
		if len(counts.Names) == 0 {
			return errors.New("the queries have labels and the base has none, so nothing says which answers are right")
		}
		base, err := (&Codes{IDs: counts.Names, Labels: counts.Names}).data(ctx)
		if err != nil {
			return err
		}
		labels := q.Labels.In(base.Labels)
		o.Classes, o.ClassNames = labels.Class, labels.Names
	}
	report, err := parts.Report(ctx, o)
	if err != nil {
		return err
	}
	report.Ranking = eval.ByHamming
	b, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	emit(string(b) + "\n")
	return nil
}
