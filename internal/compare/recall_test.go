package compare

import (
	"context"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/eval"
	"hashgrove/internal/fault"
	"hashgrove/internal/method"
	"hashgrove/internal/model"
	"hashgrove/internal/report"
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
		if row.Supervised || row.Error != "" || row.MAP != 0 || row.NewItems != nil || row.UnseenMAP != 0 {
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
	if !strings.HasPrefix(r.Advice[0].Rule, "recall-") || r.Neighbours != eval.Euclidean {
		t.Errorf("advice %+v by %s", r.Advice, r.Neighbours)
	}
	head, _ := r.Table()
	if slices.Contains(head, "MAP") || !slices.Contains(head, "recall@10") || !slices.Contains(head, "recall@100") {
		t.Errorf("the table has %v", head)
	}
	out, err := r.Report(d, Page{Title: "T"})
	if err != nil {
		t.Fatal(err)
	}
	if err := report.Write(discard{}, out); err != nil {
		t.Error(err)
	}
	// Another metric is another measure.
	o.Neighbours = eval.Cosine
	if other := run(t, bare(), o); value(t, other, "lsh", 8).NeighbourRecall100 == value(t, r, "lsh", 8).NeighbourRecall100 {
		t.Error("neighbours by cosine are those by distance")
	}
}

// The page takes those hits for right that the recall counts: neighbours of standardised vectors where these are compared.
func TestNeighboursOnThePage(t *testing.T) {
	d, o := bare(), Options{Methods: []string{"lsh"}, Bits: []int{64}, Seed: 1, Standardize: "on"}
	for _, p := range []*Part{d.Base, d.Queries} {
		for i := range p.X.Rows {
			p.X.Row(i)[12] *= 1000
		}
	}
	r := run(t, d, o)
	out, err := r.Report(d, Page{Title: "T"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	parts := parted(t, d, o)
	scale, err := method.ScaleOf(ctx, parts.Base.Data, method.Options{Standardize: "on"})
	if err != nil {
		t.Fatal(err)
	}
	near := func(maps ...model.Map) *eval.Neighbours {
		queries, err := model.Transform(ctx, 0, d.Queries.X, maps...)
		if err != nil {
			t.Fatal(err)
		}
		items, err := model.Transform(ctx, 0, parts.New.X, maps...)
		if err != nil {
			t.Fatal(err)
		}
		n, err := eval.FindNeighbours(ctx, queries, items, eval.Euclidean, 0)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	plain, scaled, differ := near(), near(scale.Map), 0
	for i, s := range r.exampleRow().Searches {
		for k, item := range s.Items {
			right := slices.Contains(scaled.Rows(s.Query), item)
			if got := out.Searches[i].Hits[k].Right; got != right {
				t.Errorf("search %d: hit %d is %v, want %v", i, k, got, right)
			}
			if right != slices.Contains(plain.Rows(s.Query), item) {
				differ++
			}
		}
	}
	if differ == 0 {
		t.Error("the scale does not matter: this test cannot fail")
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// What needs labels is refused by name, and none is silently left out of a list.
func TestMethodsThatNeedLabels(t *testing.T) {
	o := Options{Methods: []string{"lsh", "fasthash", "sdh"}, Bits: []int{8}}
	_, err := Run(context.Background(), bare(), o)
	refused, ok := errors.AsType[*LabelsError](err)
	if !ok || !errors.Is(err, supervision.ErrNone) || !slices.Equal(refused.Methods, []string{"fasthash", "sdh"}) ||
		!fault.NamesInOrder(err.Error(), "fasthash; sdh; lsh; pca-itq") {
		t.Errorf("%v", err)
	}
	o.Methods = []string{"fasthash"}
	_, err = Run(context.Background(), bare(), o)
	if !errors.As(err, &refused) || !slices.Equal(refused.Methods, o.Methods) {
		t.Errorf("%v", err)
	}
	o = Options{Neighbours: NoNeighbours}
	_, err = Run(context.Background(), bare(), o)
	if d := fault.Differs(err, "nothing-to-judge-by"); d != "" {
		t.Error(d)
	}
	d := clusterData()
	d.Queries.Labels = nil
	if _, err = Run(context.Background(), d, small()); !errors.Is(err, supervision.ErrNone) || errors.As(err, &refused) ||
		!strings.Contains(err.Error(), "queries") {
		t.Errorf("%v", err)
	}
	err = Options{Neighbours: "taxi"}.Check()
	if d := fault.Differs(err, "no-such-metric", "taxi", "euclidean", "cosine", "none"); d != "" {
		t.Error(d)
	}
}

// With labels the recall is one more number, and changes no other.
func TestRecallBesideLabels(t *testing.T) {
	with := quickRun(t, clusterData(), nil)
	without := quickRun(t, clusterData(), func(o *Options) { o.Neighbours = NoNeighbours })
	for i, row := range with.Rows {
		other := without.Rows[i]
		for _, items := range []*eval.MarginItems{&row.NewItems.Margins, &row.NewItems.Expected, &row.NewItems.Ranked} {
			items.NearestOfClass10 = 0 // it is about neighbours too
		}
		if row.NewItems.NearestOfClass10 == 0 || other.NewItems.NearestOfClass10 != 0 {
			t.Errorf("%s: %v of the nearest of its class, and without neighbours %v", rowName(&row),
				row.NewItems.NearestOfClass10, other.NewItems.NearestOfClass10)
		}
		row.NewItems.NearestOfClass10 = 0
		if row.MAP != other.MAP || *row.NewItems != *other.NewItems || other.NeighbourRecall100 != 0 {
			t.Errorf("%s: MAP %v with neighbours, %v without", rowName(&row), row.MAP, other.MAP)
		}
		if float := strings.HasPrefix(row.Method, "float"); (row.NeighbourRecall100 == 0) != float {
			t.Errorf("%s has recall %v", rowName(&row), row.NeighbourRecall100)
		}
	}
	head, _ := without.Table()
	if slices.Contains(head, "recall@100") || without.Neighbours != "" {
		t.Errorf("the table has %v", head)
	}
}

// Each rule about recall has a change that makes it fire, and one close to it that does not.
func TestAdviceByRecall(t *testing.T) {
	vault := func() *Result {
		code := func(name string, kind eval.Kind, bits int, recall float64) eval.Row {
			return eval.Row{Method: name, Kind: kind, Bits: bits, Bytes: bits / 8, NeighbourRecall100: recall,
				NeighbourRecall10: recall / 2, SearchMicroseconds: 50}
		}
		return &Result{
			Data: report.Dataset{Base: 100_000, Queries: 1000, Dim: 512}, Neighbours: eval.Euclidean,
			Rows: []eval.Row{
				code("pca-itq", eval.KindMethod, 64, 0.70), code("pca-itq", eval.KindMethod, 128, 0.80),
				code("lsh", eval.KindMethod, 128, 0.60), code("sign", eval.KindFloor, 512, 0.75),
				code("float-euclidean", eval.KindReference, 512*32, 1),
			},
		}
	}
	tested := map[string]bool{}
	for _, c := range []struct {
		rule        string
		fires, does func(r *Result)
		way, facts  string
	}{
		{"recall-use", func(*Result) {}, func(r *Result) { r.Rows = nil },
			"", "PCA-ITQ; 128 bits; 10; 80 %; 100; 40 %; 10"},
		{"recall-use", func(r *Result) { r.Rows[0].NeighbourRecall100 = 0.795 }, func(r *Result) { r.Rows = nil },
			"", "PCA-ITQ; 64 bits; 80 %"},
		{"recall-cheap", func(r *Result) {
			r.Data.Base = 20_000
			r.Rows[0].NeighbourRecall100, r.Rows[1].NeighbourRecall100, r.Rows[2].NeighbourRecall100 = 0.3, 0.4, 0.2
		}, func(r *Result) { // too many vectors
			r.Rows[0].NeighbourRecall100, r.Rows[1].NeighbourRecall100, r.Rows[2].NeighbourRecall100 = 0.3, 0.4, 0.2
		}, "", "PCA-ITQ; 128 bits; 10; 40 %; 100"},
		{"recall-cost", func(*Result) {}, func(r *Result) { r.Rows = r.Rows[:4] }, "", "16 bytes; 2048 bytes"},
		{"recall-more-bits", func(*Result) {}, func(r *Result) { r.Rows[0].NeighbourRecall100 = 0.795 },
			"", "64; 128 bits; recall@100; 0.700; 0.800; 256"},
		{"recall-enough-bits", func(r *Result) { r.Rows[0].NeighbourRecall100 = 0.795 }, func(*Result) {},
			"little-better", "64 bits; 128 bits; PCA-ITQ; recall@100 0.800; 0.005"},
		{"recall-sign", func(r *Result) { r.Rows[3].NeighbourRecall100 = 0.79 }, func(*Result) {},
			"as-well", "recall@100 0.790; 64 bytes"},
		{"recall-sign", func(r *Result) { r.Rows[3].NeighbourRecall100 = 0.9 }, func(*Result) {},
			"better", "recall@100 0.900"},
		{"no-method", func(r *Result) { r.Rows = r.Rows[3:] }, func(*Result) {}, "", ""},
		{"failed", func(r *Result) { r.Rows[2].Error = "no" }, func(*Result) {}, "", "LSH; 128 bits"},
	} {
		tested[c.rule] = true
		r := vault()
		c.fires(r)
		if a := said(adviseByRecall(r), c.rule); a.Rule == "" || a.way != c.way || !fault.NamesInOrder(a.Text, c.facts) {
			t.Errorf("%s says %+v, want %q and %q in it", c.rule, a, c.way, c.facts)
		}
		r = vault()
		c.does(r)
		if a := said(adviseByRecall(r), c.rule); a.Rule != "" {
			t.Errorf("%s fires where it should not: %+v", c.rule, a)
		}
	}
	source, err := os.ReadFile("recall.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range regexp.MustCompile(`\.say\("([a-z-]+)"`).FindAllSubmatch(source, -1) {
		if !tested[string(rule[1])] {
			t.Errorf("the rule %s is not tested", rule[1])
		}
	}
}
