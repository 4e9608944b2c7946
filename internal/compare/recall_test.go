package compare

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/eval"
	"hashgrove/internal/message"
	"hashgrove/internal/supervision"
)

// bare is the clusters without labels.
func bare() *Data {
	d := clusterData()
	for _, p := range []*Part{d.Base, d.Queries} {
		p.Labels = nil
	}
	return d
}

// Without labels, codes are judged by the float neighbours that they keep, and only by those.
func TestWithoutLabels(t *testing.T) {
	d, o := bare(), Options{Bits: []int{8, 16}, Seed: 1}
	r := run(t, d, o)
	for _, row := range r.Rows {
		if row.Supervised || row.Error != "" || row.MAP != 0 || row.LearnedItems != nil || row.UnseenMAP != 0 {
			t.Errorf("%+v", row)
		}
		if row.NeighbourRecall100 <= 0 || row.NeighbourRecall10 > row.NeighbourRecall100 {
			t.Errorf("%s has recall %v and %v", rowName(&row), row.NeighbourRecall10, row.NeighbourRecall100)
		}
	}
	random, lsh, itq := value(t, r, "random", 16), value(t, r, "lsh", 16), value(t, r, "pca-itq", 0)
	if !(random.NeighbourRecall10 < lsh.NeighbourRecall10-0.1 && itq.NeighbourRecall10 > random.NeighbourRecall10) {
		t.Errorf("random codes find %v, LSH %v, PCA-ITQ %v", random.NeighbourRecall10, lsh.NeighbourRecall10,
			itq.NeighbourRecall10)
	}
	if float := value(t, r, "float-euclidean", 0); float.NeighbourRecall10 != 1 || r.Find("float-cosine", 0) != nil {
		t.Errorf("float search finds %v of its own neighbours", float.NeighbourRecall10)
	}
	if !strings.Contains(r.Advice[0].Text, "recall@10 ") || r.Neighbours != eval.Euclidean {
		t.Errorf("advice %+v by %s", r.Advice, r.Neighbours)
	}
	head, _ := r.Table()
	if slices.Contains(head, "MAP") || !slices.Contains(head, "recall@10") || !slices.Contains(head, "recall@100") {
		t.Errorf("the table has %v", head)
	}
	if err := r.Write(io.Discard, "T", "c"); err != nil {
		t.Error(err)
	}
	// Another metric is another measure.
	o.Neighbours = eval.Cosine
	if other := run(t, bare(), o); value(t, other, "lsh", 8).NeighbourRecall100 == value(t, r, "lsh", 8).NeighbourRecall100 {
		t.Error("neighbours by cosine are those by distance")
	}
}

// What needs labels is refused by name, and none is silently left out of a list.
func TestMethodsThatNeedLabels(t *testing.T) {
	o := Options{Methods: []string{"lsh", "fasthash", "sdh"}, Bits: []int{8}}
	_, err := Run(context.Background(), bare(), o)
	refused, ok := errors.AsType[*LabelsError](err)
	if !ok || !errors.Is(err, supervision.ErrNone) || !slices.Equal(refused.Methods, []string{"fasthash", "sdh"}) ||
		!message.NamesInOrder(err.Error(), "fasthash; sdh; lsh; pca-itq") {
		t.Errorf("%v", err)
	}
	o.Methods = []string{"fasthash"}
	_, err = Run(context.Background(), bare(), o)
	if !errors.As(err, &refused) || !slices.Equal(refused.Methods, o.Methods) {
		t.Errorf("%v", err)
	}
	o = Options{Neighbours: NoNeighbours}
	_, err = Run(context.Background(), bare(), o)
	if d := message.Differs(err, "nothing-to-judge-by"); d != "" {
		t.Error(d)
	}
	d := clusterData()
	d.Queries.Labels = nil
	if _, err = Run(context.Background(), d, small()); !errors.Is(err, supervision.ErrNone) || errors.As(err, &refused) ||
		!strings.Contains(err.Error(), "queries") {
		t.Errorf("%v", err)
	}
	err = Options{Neighbours: "taxi"}.Check()
	if d := message.Differs(err, "no-such-metric", "taxi", "euclidean", "cosine", "none"); d != "" {
		t.Error(d)
	}
}
