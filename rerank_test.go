package hashgrove

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"

	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
	"hashgrove/internal/vectors"
)

// TestFindByScore: the nearest items by code, all that tie among them, in the order of the scores.
func TestFindByScore(t *testing.T) {
	ctx := context.Background()
	x, labels := clouds(1, 300)
	ix := must[*Index](t)(NewIndex(ctx, trained(t)(Train(ctx, Rows(x, labels), quick)), Rows(x, labels)))
	asked := 0
	score := func(id string) (float64, error) {
		row, err := strconv.Atoi(id)
		asked++
		sum := 0.0
		for j, v := range x[row] {
			d := float64(v) - float64(x[9][j])
			sum += float64(d * d)
		}
		return sum, err
	}
	near := 2
	for _, q := range []Query{
		{Vector: x[9], Score: score}, {Vector: x[9], K: 4, Score: score, Shortlist: 5}, {Vector: x[9], K: 40, Score: score, Shortlist: 1}, {Vector: x[9], K: 20, Score: score, Where: `label != "a"`},
		{ID: "9", Score: score, Radius: &near}, {ID: "9", Score: score, Radius: &near, K: 3, Shortlist: 1},
	} {
		plain := q
		plain.Score, plain.K = nil, 300
		want := must[[]Hit](t)(ix.Find(ctx, plain))
		if q.Shortlist > 0 {
			last := want[max(q.Shortlist, q.K)-1].Distance
			want = slices.DeleteFunc(want, func(h Hit) bool { return h.Distance > last })
			if len(want) == q.Shortlist {
				t.Error("nothing ties")
			}
		}
		for i := range want {
			want[i].Score, _ = score(want[i].ID)
		}
		slices.SortStableFunc(want, func(a, b Hit) int { return cmp.Compare(a.Score, b.Score) })
		k := cmp.Or(q.K, 10)
		if q.K == 0 && q.Radius != nil {
			k = len(want)
		}
		asked = 0
		got := must[[]Hit](t)(ix.Find(ctx, q))
		if asked != len(want) || !slices.EqualFunc(got, want[:min(k, len(want))], func(a, b Hit) bool { return a.ID == b.ID && a.Score == b.Score }) {
			t.Errorf("%+v: %d items were scored, want %d\n got %v\nwant %v", q, asked, len(want), got, want)
		}
	}
	no := errors.New("no vector")
	if _, err := ix.Find(ctx, Query{ID: "9", Score: func(string) (float64, error) { return 0, no }}); !errors.Is(err, no) {
		t.Errorf("the error of the score: %v", err)
	}
	if _, err := ix.Find(ctx, Query{ID: "9", Score: score, Shortlist: -1}); err == nil {
		t.Error("a negative shortlist is accepted")
	}
}

// TestFindByMargins ranks all items by how certain the query is of the bits that differ.
func TestFindByMargins(t *testing.T) {
	ctx := context.Background()
	x, labels := clouds(1, 300)
	m := trained(t)(Train(ctx, Rows(x, labels), quick))
	ix := must[*Index](t)(NewIndex(ctx, m, Rows(x, labels)))
	near := 1
	for _, q := range []Query{
		{K: 300}, {K: 7}, {K: 40, Where: `label != "a"`}, {Radius: &near}, {Radius: &near, K: 3},
	} {
		plain := q
		q.Vector, q.Margins = x[9], true
		plain.Vector, plain.K, plain.Radius = x[9], 300, nil
		margins := must[vectors.Matrix](t)(m.Expert().Margins(ctx, vectors.Matrix{Rows: 1, Cols: len(x[9]), Data: x[9]}, 1))
		weights := hamming.Weights(margins.Data)
		want := must[[]Hit](t)(ix.Find(ctx, plain))
		for i := range want {
			row, _ := strconv.Atoi(want[i].ID)
			a := must[[]uint64](t)(m.Expert().EncodeRow(x[9]))
			b := must[[]uint64](t)(m.Expert().EncodeRow(x[row]))
			want[i].MarginDistance = hamming.WeightedDistance(a, b, weights)
		}
		slices.SortFunc(want, func(a, b Hit) int {
			i, _ := strconv.Atoi(a.ID)
			j, _ := strconv.Atoi(b.ID)
			return cmp.Or(cmp.Compare(a.MarginDistance, b.MarginDistance), cmp.Compare(i, j))
		})
		if q.Radius != nil {
			want = slices.DeleteFunc(want, func(h Hit) bool { return h.MarginDistance > 16*near })
		}
		if q.K > 0 {
			want = want[:min(q.K, len(want))]
		}
		got := must[[]Hit](t)(ix.Find(ctx, q))
		if !slices.EqualFunc(got, want, func(a, b Hit) bool {
			return a.ID == b.ID && a.Distance == b.Distance && a.MarginDistance == b.MarginDistance
		}) {
			t.Errorf("%+v:\n got %v\nwant %v", q, got, want)
		}
	}
	for _, q := range []Query{{ID: "9", Margins: true}, {Code: make(Code, (m.Bits()+7)/8), Margins: true}} {
		_, err := ix.Find(ctx, q)
		if d := fault.Differs(err, "no-margins"); d != "" {
			t.Errorf("%+v: %s", q, d)
		}
	}
}
