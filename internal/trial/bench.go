package trial

import (
	"context"
	"time"

	"hashgrove/eval"
	"hashgrove/hamming"
	"hashgrove/model"
	"hashgrove/supervision"
	"hashgrove/vectors"
)

// Bench is what codes are judged on: a base to search in, queries to search with, and which answers are right.
type Bench struct {
	Base, Queries *supervision.Data
	Truth         eval.Truth
	Options       eval.Options
	OneCore       bool // time the queries on one core, several times over
}

// NewBench returns the bench of a base and its queries, whose supervision says which answers are right.
func NewBench(base, queries *supervision.Data, o eval.Options) (*Bench, error) {
	truth, err := eval.TruthOf(queries, base)
	return &Bench{Base: base, Queries: queries, Truth: truth, Options: o}, err
}

// Codes are the codes of base and queries.
type Codes struct {
	Base, Queries hamming.Codes
	Seconds       float64 // to encode all queries
}

// Coder turns rows into codes.
type Coder func(ctx context.Context, d *supervision.Data, threads int) (hamming.Codes, error)

// ModelCoder encodes with a model: in one piece where the vectors are in memory, else while they are read.
func ModelCoder(m *model.Model) Coder {
	return func(ctx context.Context, d *supervision.Data, threads int) (hamming.Codes, error) {
		if x, ok := Vectors(d); ok {
			return m.Encode(ctx, x, threads)
		}
		all := hamming.NewCodes(d.Rows, m.Encoder.Bits())
		return all, m.EncodeSource(ctx, d, threads, func(first int, codes hamming.Codes, _ vectors.Chunk) error {
			copy(all.Data[first*all.Words:], codes.Data)
			return nil
		})
	}
}

// Vectors lends the vectors of rows that are in memory.
func Vectors(d *supervision.Data) (x vectors.Matrix, ok bool) {
	switch src := d.Source.(type) {
	case vectors.Matrix:
		return src, true
	case vectors.Table:
		return src.X, true
	}
	return x, false
}

// Encode encodes both sides.
func (b *Bench) Encode(ctx context.Context, code Coder) (c Codes, err error) {
	if c.Base, err = code(ctx, b.Base, b.Options.Threads); err != nil {
		return c, err
	}
	if b.OneCore {
		c.Seconds = Fastest(func() { c.Queries, err = code(ctx, b.Queries, 1) })
	} else {
		c.Seconds = Seconds(func() { c.Queries, err = code(ctx, b.Queries, b.Options.Threads) })
	}
	return c, err
}

// Judge ranks the base by Hamming distance to every query.
func (b *Bench) Judge(ctx context.Context, c Codes) (*eval.Report, error) {
	return eval.Retrieval(ctx, c.Queries, c.Base, b.Truth, b.Options)
}

// JudgeWeighted ranks the base by the weights of the bits.
func (b *Bench) JudgeWeighted(ctx context.Context, c Codes, weights []hamming.BitWeight) (*eval.Report, error) {
	return eval.RetrievalWeighted(ctx, c.Queries, c.Base, weights, b.Truth, b.Options)
}

// Seconds times f.
func Seconds(f func()) float64 {
	began := time.Now()
	f()
	return time.Since(began).Seconds()
}

// Fastest times f at least twice and for 20 ms, up to 20 times, and returns the seconds of the fastest run: the others
// were disturbed, and the first prepares.
func Fastest(f func()) float64 {
	best, sum := Seconds(f), 0.0
	for turn := 0; turn < 20 && (turn == 0 || sum < 0.02); turn++ {
		took := Seconds(f)
		best, sum = min(best, took), sum+took
	}
	return best
}
