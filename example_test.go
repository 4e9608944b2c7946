package hashgrove_test

import (
	"context"
	"fmt"
	"log"

	"hashgrove"
	"hashgrove/affinity"
	"hashgrove/eval"
	"hashgrove/internal/fashion"
	"hashgrove/model"
	"hashgrove/vectors"
)

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// A few bits from a part of the demo's pictures, encoded and judged.
func Example() {
	ctx := context.Background()
	base, test := fashion.Train(), fashion.Query()
	base.X, base.Class = base.X.Slice(0, 2000), base.Class[:2000]

	quantizer := must(must(vectors.RangesOf(ctx, base.X)).Quantizer())
	columns := must(vectors.Quantize(ctx, base.X, base.X.Rows, quantizer, 0))
	similar := must(affinity.ByClass(base.Class))

	trainer := hashgrove.Trainer{Bits: 16} // everything else as in the paper
	trainer.Trees.Rounds = 20              // but quicker
	functions := must(trainer.Train(ctx, columns, similar, hashgrove.Run{}))
	m := &model.Model{Encoder: &model.Binned{Quantizer: quantizer, Functions: functions}}

	codes := must(m.Encode(ctx, base.X, 0))
	queries := must(m.Encode(ctx, test.X, 0))
	report := must(eval.Retrieval(ctx, queries, codes, eval.ByClass(test.Class, base.Class), eval.Options{}))
	fmt.Println("better than random:", report.MAP > 5*report.Prior)
	// Output: better than random: true
}
