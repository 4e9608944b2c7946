package hashgrove

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
)

// TestFindByScore: the nearest items by code, all that tie among them, in the order of the scores.
func TestFindByScore(t *testing.T) {
	ctx := context.Background()
	x, labels := clouds(1, 300)
	ix := must[*Index](t)(NewIndex(ctx, must[*Model](t)(Train(ctx, Rows(x, labels), quick)), Rows(x, labels)))
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
