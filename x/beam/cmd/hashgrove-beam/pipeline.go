package main

import (
	"context"
	"fmt"
	"io"
	"reflect"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"

	"hashgrove/x/beam"
)

func init() {
	sdk.RegisterType(reflect.TypeFor[saveFn]())
}

// pipeline builds and runs what was asked for.
func (s *settings) pipeline(ctx context.Context, out io.Writer) (err error) {
	if s.model != "" {
		if s.in.Model, err = beam.OpenModel(ctx, s.model); err != nil {
			return err
		}
	}
	p, scope := sdk.NewPipelineWithRoot()
	build := map[string]func(context.Context, sdk.Scope) error{
		"encode": s.encode, "push": s.push, "features": s.features, "eval": s.judge,
	}[s.verb]
	if err := build(ctx, scope); err != nil {
		return err
	}
	result, err := sdk.Run(ctx, s.runner, p)
	if err != nil {
		return err
	}
	return s.report(out, result)
}

func (s *settings) encode(ctx context.Context, scope sdk.Scope) error {
	shards, err := beam.Shards(ctx, scope, s.in)
	if err == nil {
		_, err = beam.Write(scope, beam.Encode(scope, shards, s.in), s.output)
	}
	return err
}

func (s *settings) push(ctx context.Context, scope sdk.Scope) error {
	shards, err := beam.Shards(ctx, scope, s.in)
	if err == nil {
		_, err = beam.Push(scope, beam.Encode(scope, shards, s.in), s.in.Model, s.target)
	}
	return err
}

func (s *settings) features(ctx context.Context, scope sdk.Scope) error {
	shards, err := beam.Shards(ctx, scope, s.in)
	if err == nil {
		_, err = beam.Features(scope, shards, s.in, s.extractor, s.output)
	}
	return err
}

// judge encodes the queries, and the base where it is not codes already.
func (s *settings) judge(ctx context.Context, scope sdk.Scope) error {
	s.in.TagsAlone = s.in.Tags != "" && s.in.Label == "" && len(s.in.LabelsFile) == 0 && len(s.queryLabels) == 0
	queries := s.in
	queries.Paths, queries.LabelsFile, queries.IDsFile, queries.Shards = s.queries, s.queryLabels, nil, 1
	shards, err := beam.Shards(ctx, scope.Scope("Queries"), queries)
	if err != nil {
		return err
	}
	asked := beam.Encode(scope.Scope("Queries"), shards, queries)
	base, err := s.readBase(ctx, scope.Scope("Base"))
	if err != nil {
		return err
	}
	sdk.ParDo0(scope, &saveFn{Output: s.output}, beam.Evaluate(scope, asked, base, s.eval))
	return nil
}

// readBase reads codes, or encodes vectors.
func (s *settings) readBase(ctx context.Context, scope sdk.Scope) (sdk.PCollection, error) {
	coded, err := beam.AreCodes(ctx, s.base)
	if err != nil {
		return sdk.PCollection{}, err
	}
	if coded {
		return beam.ReadCodes(ctx, scope, s.base)
	}
	in := s.in
	in.Paths = s.base
	shards, err := beam.Shards(ctx, scope, in)
	if err != nil {
		return sdk.PCollection{}, err
	}
	return beam.Encode(scope, shards, in), nil
}

// saveFn writes the report.
type saveFn struct{ Output string }

// ProcessElement writes it.
func (f *saveFn) ProcessElement(ctx context.Context, text string) error {
	return beam.WriteText(ctx, f.Output, text)
}

// report says what was done, as far as the runner counts it.
func (s *settings) report(out io.Writer, result sdk.PipelineResult) error {
	counts := map[string]int64{}
	if result != nil {
		all := result.Metrics().Query(func(r sdk.MetricResult) bool { return r.Namespace() == "hashgrove" })
		for _, c := range all.Counters() {
			counts[c.Name()] += c.Result()
		}
	}
	if bad := counts["bad_rows"]; bad > 0 {
		fmt.Fprintf(out, "%d bad rows were left out\n", bad)
	}
	switch model := s.in.Model.Fingerprint; s.verb {
	case "encode":
		fmt.Fprintf(out, "%s: %d codes, model %.16s\n", s.output, counts["encoded"], model)
	case "push":
		fmt.Fprintf(out, "%d items written, model %.16s\n", counts["pushed"], model)
	case "features":
		fmt.Fprintf(out, "%s: %d vectors\n", s.output, counts["extracted"])
	case "eval":
		fmt.Fprintf(out, "%s: the report, model %.16s\n", s.output, model)
	}
	return nil
}
