package beam_test

import (
	"context"
	"log"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"

	"hashgrove/x/beam"
)

// Vectors in many files become files of codes. The program runs the pipeline with a runner that it imports, as
// cmd/hashgrove-beam does.
func Example() {
	sdk.Init()
	ctx := context.Background()
	m, err := beam.OpenModel(ctx, "shop.hgm")
	if err != nil {
		log.Fatal(err)
	}
	in := beam.Input{Paths: []string{"vectors-*.npy"}, Model: m, Shards: 100}
	p, s := sdk.NewPipelineWithRoot()
	shards, err := beam.Shards(ctx, s, in)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := beam.Write(s, beam.Encode(s, shards, in), "codes-{shard}.parquet"); err != nil {
		log.Fatal(err)
	}
	if _, err := sdk.Run(ctx, "prism", p); err != nil {
		log.Fatal(err)
	}
}
