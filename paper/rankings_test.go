package main

import (
	"context"
	"math"
	"slices"
	"testing"

	"hashgrove"
	"hashgrove/internal/eval"
	"hashgrove/internal/fasthash"
	"hashgrove/internal/hamming"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// matrixOf reads vectors with their classes.
func matrixOf(t *testing.T, src vectors.Source) (vectors.Matrix, *supervision.Data) {
	t.Helper()
	d, err := supervision.Scan(context.Background(), src, supervision.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	table, err := vectors.Read(context.Background(), d)
	if err != nil {
		t.Fatal(err)
	}
	return table.X, d
}

// slowRankings is the definition: margins row by row, mirror images added, and each part of the base judged by itself.
func slowRankings(t *testing.T, runner *Runner, run *training, learned []bool) (whole, added [3]float64) {
	t.Helper()
	ctx := context.Background()
	m, err := runner.readModel(run)
	if err != nil {
		t.Fatal(err)
	}
	encode := func(src, images vectors.Source) (hamming.Codes, vectors.Matrix, *supervision.Data) {
		x, d := matrixOf(t, src)
		margins, err := m.Margins(ctx, x, 1)
		if err != nil {
			t.Fatal(err)
		}
		if images != nil {
			mirrored, _ := matrixOf(t, images)
			others, err := m.Margins(ctx, mirrored, 1)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range others.Data {
				margins.Data[i] += v
			}
		}
		codes := hamming.NewCodes(margins.Rows, margins.Cols)
		for i, v := range margins.Data {
			codes.SetBit(i/margins.Cols, i%margins.Cols, v >= 0)
		}
		return codes, margins, d
	}
	base, _, items := encode(run.base, run.baseImages)
	queries, margins, asked := encode(run.queries, run.queryImages)
	truth, err := eval.TruthOf(asked, items)
	if err != nil {
		t.Fatal(err)
	}
	without := truth // learned items are not looked at
	without.Mark = func(q int, mark []uint8) {
		truth.Mark(q, mark)
		for i := range mark {
			if learned[i] {
				mark[i] = eval.Ignored
			}
		}
	}
	for i, tr := range []eval.Truth{truth, without} {
		byHamming, err := eval.Retrieval(ctx, queries, base, tr, eval.Options{})
		if err != nil {
			t.Fatal(err)
		}
		byMargins, err := eval.RetrievalMargins(ctx, queries, base, margins, tr, eval.Options{})
		if err != nil {
			t.Fatal(err)
		}
		scores := margins
		scores.Data = slices.Clone(margins.Data)
		if err := m.Expect(ctx, scores); err != nil {
			t.Fatal(err)
		}
		expected, err := eval.RetrievalMargins(ctx, queries, base, scores, tr, eval.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			whole = [3]float64{byHamming.MAP, byMargins.MAP, expected.MAP}
		} else {
			added = [3]float64{byHamming.MAP, byMargins.MAP, expected.MAP}
		}
	}
	return whole, added
}

func TestRankingsEqualTheDefinition(t *testing.T) {
	ctx := context.Background()
	runner := &Runner{Cache: t.TempDir(), Short: true, Seed: 1, Say: quiet}
	o := hashgrove.Options{Bits: 64, Effort: fasthash.Paper}
	for _, r := range runner.chosen([]row{
		fastHashRow(gist320(), 150, o, "plain", paperRow{}),
		fastHashRow(gist320().mirrored().averaged(), -5, o, "averaged", paperRow{}),
	}) {
		run, err := runner.training(ctx, cifar10, r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := runner.rankings(ctx, run, r)
		if err != nil {
			t.Fatal(err)
		}
		learned := runner.sample(r.train, 400)
		want := 320
		if r.train > 0 {
			want = r.train
		}
		n := 0
		for _, in := range learned {
			if in {
				n++
			}
		}
		if n != want {
			t.Fatalf("%s: %d rows are learned from, want %d", r.title(), n, want)
		}
		whole, added := slowRankings(t, runner, run, learned)
		for i := range whole {
			if math.Abs(got.Whole[i].MAP-whole[i]) > 1e-12 || math.Abs(got.New[i].MAP-added[i]) > 1e-12 {
				t.Errorf("%s: MAP %v and %v for new items, want %v and %v", r.title(), got.Whole[i].MAP, got.New[i].MAP,
					whole[i], added[i])
			}
		}
		if got.New[0] == got.New[1] || got.New[0] == got.Whole[0] || got.Learned[0].MAP <= got.New[0].MAP {
			t.Errorf("%s: %+v", r.title(), got)
		}
	}
}
