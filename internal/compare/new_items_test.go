package compare

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/eval"
	"hashgrove/internal/fasthash"
	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
	"hashgrove/internal/train"
	"hashgrove/internal/vectors"
)

// noted is the note of a comparison that has a code; "" where it has none.
func noted(r *Result, code fault.Code) string {
	for _, note := range r.notes {
		if fault.Is(note, code) {
			return note.Error()
		}
	}
	return ""
}

// How many new items there are, and that the numbers at the top are about them.
func TestShareOfNewItems(t *testing.T) {
	for _, c := range []struct {
		share   float64
		added   int
		inTitle string
	}{{0, 120, "600; 16; 480; 120 new"}, {0.5, 300, "600; 16; 300; 300 new"}, {-1, 0, "600; 16"}} {
		r := quickRun(t, clusterData(), func(o *Options) { o.NewShare, o.Unseen = c.share, -1 })
		if r.NewShare != float64(c.added)/600 {
			t.Errorf("share %v: the result says that %v are new", c.share, r.NewShare)
		}
		if r.Data.New != c.added || r.Data.Learned != 600-c.added || !fault.NamesInOrder(r.Title(), c.inTitle) ||
			strings.Contains(r.Title(), "learned") != (c.added > 0) {
			t.Errorf("share %v: %+v, %s", c.share, r.Data, r.Title())
		}
		for _, row := range r.Rows {
			top := eval.Items{MAP: row.MAP, MAPLow: row.MAPLow, MAPHigh: row.MAPHigh, Precision: row.ReachablePrecision,
				PRArea: row.PRArea, DistinctCodes: row.DistinctCodes, NearestOfClass10: row.NearestOfClass10,
				Margins: row.Margins, Expected: row.Expected, Ranked: row.Ranked}
			decides := row.NewItems
			if c.added == 0 {
				decides = row.LearnedItems
			}
			if (row.NewItems != nil) != (c.added > 0) || *decides != top {
				t.Errorf("share %v: %s has %+v, new items %+v", c.share, rowName(&row), top, row.NewItems)
			}
		}
		head, _ := r.Table()
		if slices.Contains(head, "learned MAP") != (c.added > 0) {
			t.Errorf("share %v: the table has %v", c.share, head)
		}
		doubt := noted(r, "no-new-items")
		if (doubt != "") != (c.added == 0) || doubt != "" && !slices.Contains(r.Warnings, doubt) {
			t.Errorf("share %v: the warnings are %q", c.share, r.Warnings)
		}
	}
	x := vectors.Matrix{Rows: 80_000, Cols: 1, Data: make([]float32, 80_000)}
	large := &Part{Data: &supervision.Data{Source: x, Rows: 80_000}, X: x, Row: make([]int, 80_000)}
	large.Tags = &supervision.Tags{Start: make([]int, 80_001)}
	if d := parted(t, &Data{Base: large}, Options{}); d.New.X.Rows != 10_000 {
		t.Errorf("of 80,000 rows %d became new items", d.New.X.Rows)
	}
	tiny := clusters(1, 2, 2)
	if d := parted(t, &Data{Base: tiny}, Options{}); d.New != nil || d.Base != tiny {
		t.Error("two rows were parted")
	}
}

// No row is in two of the parts that a run uses, and none is lost.
func TestPartsShareNoRow(t *testing.T) {
	all := clusters(3, 500, 5)
	base, queries, err := all.Split(0, 1)
	if err != nil {
		t.Fatal(err)
	}
	d := parted(t, &Data{Base: base, Queries: queries}, Options{Seed: 1})
	seen := make([]int, 500)
	for _, p := range []*Part{d.Base, d.New, d.Queries} {
		for i, row := range p.Row {
			seen[row]++
			if !slices.Equal(p.X.Row(i), all.X.Row(row)) {
				t.Fatalf("a row is not row %d", row)
			}
		}
	}
	if slices.Min(seen) != 1 || slices.Max(seen) != 1 {
		t.Errorf("rows are in the parts %v times", seen)
	}
}

// Items that are called new and were learned from, and queries that are items, are not taken for what they are not.
func TestCopiesAreNoticed(t *testing.T) {
	copied := func(from, of *Part, n int) *Part {
		copy(of.X.Data, from.X.Data[:n*from.X.Cols])
		return of
	}
	base := clusters(1, 300, 4)
	for _, c := range []struct {
		added, asked     int // rows of the base among them
		copied, repeated string
	}{
		{0, 0, "", ""},
		{1, 1, "1; 100", "1; 60"},
		{5, 0, "5; 100", ""},
		{100, 0, "100; 100", ""},
		{0, 3, "", "3; 60"},
	} {
		d := &Data{Base: base, New: copied(base, clusters(3, 100, 4), c.added), Queries: copied(base, clusters(2, 60, 4), c.asked)}
		o := small()
		o.Methods, o.Bits, o.Unseen = []string{"lsh"}, []int{8}, -1
		r := run(t, d, o)
		added, asked := noted(r, "new-items-learned"), noted(r, "queries-are-items")
		if (added != "") != (c.copied != "") || !fault.NamesInOrder(added, c.copied) || (asked != "") != (c.repeated != "") ||
			!fault.NamesInOrder(asked, c.repeated) {
			t.Errorf("%+v: the warnings are %q", c, r.Warnings)
		}
	}
}

// Nothing is learned from new items: other vectors there leave every model as it is.
func TestNewItemsAreNotLearned(t *testing.T) {
	prints := func(added *Part) (list []string) {
		d := &Data{Name: "clusters", Base: clusters(1, 300, 6), New: added, Queries: clusters(2, 60, 6)}
		o := small()
		o.Methods, o.Bits, o.Unseen = []string{"fasthash", "sdh", "pca-itq"}, []int{8}, -1
		o.Each = func(_ string, _ int, m *model.Model) { list = append(list, fmt.Sprint(m.Fingerprint())) }
		run(t, d, o)
		return list
	}
	if a, b := prints(clusters(3, 90, 6)), prints(clusters(4, 120, 6)); len(a) < 3 || !slices.Equal(a, b) {
		t.Errorf("models %v and %v", a, b)
	}
	d := &Data{Name: "clusters", Base: clusters(1, 300, 6), New: clusters(3, 90, 6), Queries: clusters(2, 60, 6)}
	d.New.X.Cols = 8
	_, err := Run(context.Background(), d, small())
	if d := fault.Differs(err, "wrong-dimension", "new items", "8", "16"); d != "" {
		t.Error(d)
	}
}

// Nor does anything else that is learned or tuned depend on new items or queries: the scale of the columns, principal
// components and the classifier leave what is found among learned items as it is.
func TestNothingIsTunedOnNewItems(t *testing.T) {
	if testing.Short() {
		t.Skip("runs in full, without the race detector, with the documents")
	}
	scaled := func(p *Part, factor float32) *Part {
		for i := range p.X.Rows {
			for j := 8; j < 16; j++ { // noise
				p.X.Row(i)[j] *= factor
			}
		}
		return p
	}
	for _, pca := range []int{0, 12} {
		try := func(added, asked *Part) (*Result, []string) {
			var prints []string
			d := &Data{Name: "clusters", Base: scaled(clusters(1, 300, 6), 1000), New: added, Queries: asked}
			o := small()
			o.Methods, o.Bits, o.PCA, o.Unseen = []string{"sdh", "cca-itq", "pca-itq", "lsh"}, []int{8}, pca, -1
			o.Each = func(_ string, _ int, m *model.Model) { prints = append(prints, fmt.Sprint(m.Fingerprint())) }
			return run(t, d, o), prints
		}
		one, of := try(scaled(clusters(3, 90, 6), 1000), scaled(clusters(2, 60, 6), 1000))
		other, ofOther := try(scaled(clusters(4, 200, 6), 1), scaled(clusters(2, 60, 6), 1000))
		_, ofThird := try(scaled(clusters(4, 200, 6), 1), scaled(clusters(5, 100, 6), 1))
		if !slices.Equal(of, ofOther) || !slices.Equal(of, ofThird) || len(of) != 6 { // and two of the classifier
			t.Errorf("PCA %d: the models are %v, %v and %v", pca, of, ofOther, ofThird)
		}
		if !one.Standardized || one.Scale != other.Scale {
			t.Errorf("PCA %d: %q and %q", pca, one.Scale, other.Scale)
		}
		for i := range one.Rows {
			if a := &one.Rows[i]; a.Method != random {
				b := other.Find(a.Method, a.Bits)
				// Which ranking leads is about new items.
				a.LearnedItems.Ranked, b.LearnedItems.Ranked = eval.MarginItems{}, eval.MarginItems{}
				if *a.LearnedItems != *b.LearnedItems || *a.NewItems == *b.NewItems {
					t.Errorf("PCA %d: %s has %+v and %+v", pca, rowName(a), a.LearnedItems, b.LearnedItems)
				}
			}
		}
	}
}

// sums draws vectors in which the class is the sum of all columns, with noise: planes find it, and trees learn the rows
// by heart.
func sums(seed uint64, n int) *Part {
	const cols = 24
	rng := rand.New(rand.NewPCG(seed, 3))
	p := &Part{
		X:    vectors.Matrix{Rows: n, Cols: cols},
		Data: &supervision.Data{Rows: n, Digest: sha256.Sum256(fmt.Append(nil, "sums", seed, n))},
	}
	p.Labels = &supervision.Labels{Names: []string{"low", "high"}}
	for i := range n {
		sum := 0.0
		for range cols {
			v := rng.NormFloat64()
			sum += v
			p.X.Data = append(p.X.Data, float32(v))
		}
		class := int32(0)
		if sum+3*rng.NormFloat64() > 0 {
			class = 1
		}
		p.Labels.Class, p.Row = append(p.Labels.Class, class), append(p.Row, i)
	}
	p.Source = p.X
	return p
}

// Where a method knows the learned items by heart and another is better for new ones, the other is advised.
func TestAdviceFollowsNewItems(t *testing.T) {
	d := &Data{Name: "sums", Base: sums(1, 400), Queries: sums(2, 200)}
	o := Options{Methods: []string{"fasthash", "cca-itq"}, Bits: []int{8}, Seed: 1, NewShare: 0.4,
		Train: train.Options{Effort: fasthash.Paper, Rounds: 60, Depth: 5}}
	r := run(t, d, o)
	fast, cca := value(t, r, "fasthash", 0), value(t, r, "cca-itq", 0)
	if !(fast.LearnedItems.MAP > cca.LearnedItems.MAP+0.02 && fast.NewItems.MAP < cca.NewItems.MAP-0.02) {
		t.Fatal("the order of learned and new items is the same: this test cannot fail")
	}
	if r.Rows[0].Method != "cca-itq" || strings.Contains(r.Advice[0].Text, "FastHash") {
		t.Errorf("the first row is %s, and the advice %q", r.Rows[0].Method, r.Advice[0].Text)
	}
}

// The mix against its definition: every order of the ties at once.
func TestMixedShare(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	draw := func(n int) hamming.Codes {
		c := hamming.NewCodes(n, 4)
		for i := range n {
			for b := range 4 {
				c.SetBit(i, b, rng.IntN(3) == 0)
			}
		}
		return c
	}
	queries, learned, added := draw(9), draw(431), draw(130)
	got, err := mixedShare(context.Background(), queries, learned, added, 2)
	if err != nil {
		t.Fatal(err)
	}
	want := 0.0
	for q := range queries.Len() {
		// An item is among the first 13 as surely as there is room for its distance.
		distance := func(c hamming.Codes, i int) (d int) {
			for b := range 4 {
				if c.Bit(i, b) != queries.Bit(q, b) {
					d++
				}
			}
			return d
		}
		var own, all []int
		for i := range 130 {
			own = append(own, distance(learned, i*431/130))
			all = append(all, own[i], distance(added, i))
		}
		for _, d := range own {
			nearer, tied := 0, 0
			for _, e := range all {
				if e < d {
					nearer++
				} else if e == d {
					tied++
				}
			}
			want += min(1, max(0, float64(13-nearer)/float64(tied))) / 13 / 9
		}
	}
	if math.Abs(got-want) > 1e-12 || got == 0.5 {
		t.Errorf("the share is %v, want %v", got, want)
	}
}

// Queries of unseen classes search in all items, those of seen classes among them.
func TestUnseenSearchesInAllItems(t *testing.T) {
	d := clusterData()
	r := quickRun(t, d, nil)
	parts := parted(t, d, small())
	held := r.Data.HeldOut
	var queries []int32
	rows := vectors.Matrix{Cols: d.Queries.X.Cols}
	for i, c := range d.Queries.Labels.Class {
		if slices.Contains(held, d.Queries.Labels.Names[c]) {
			queries = append(queries, c)
			rows.Rows++
			rows.Data = append(rows.Data, d.Queries.X.Row(i)...)
		}
	}
	all := slices.Concat(parts.Base.Labels.Class, parts.New.Labels.Class)
	x := vectors.Matrix{Rows: len(all), Cols: rows.Cols, Data: slices.Concat(parts.Base.X.Data, parts.New.X.Data)}
	want, err := eval.RetrievalFloat(context.Background(), rows, x, eval.ByClass(queries, all), eval.Options{})
	if err != nil || len(all) != 600 {
		t.Fatal(err, len(all))
	}
	float := value(t, r, "float-euclidean", 0)
	if float.UnseenMAP != want.MAP || float.UnseenChance != want.Prior || want.Prior > 0.25 {
		t.Errorf("float search has %v by chance %v, want %v by %v", float.UnseenMAP, float.UnseenChance, want.MAP, want.Prior)
	}
	for _, row := range r.Rows {
		if row.UnseenMAP < 0.5*row.UnseenChance || row.UnseenChance != want.Prior {
			t.Errorf("%s has %v by chance %v", rowName(&row), row.UnseenMAP, row.UnseenChance)
		}
	}
	if random := value(t, r, "random", 32); math.Abs(random.UnseenMAP-random.UnseenChance) > 0.03 {
		t.Errorf("random codes have %v by chance %v", random.UnseenMAP, random.UnseenChance)
	}
}

// Of items at one distance, a search shows first those whose vectors are nearest.
func TestTiesOfSearchesGoByVectors(t *testing.T) {
	d := clusterData()
	r := quickRun(t, d, func(o *Options) { o.Rank = eval.ByHamming })
	items := parted(t, d, small()).New
	apart := func(q, item int) (sum float64) {
		for j, v := range items.X.Row(item) {
			gap := float64(v) - float64(d.Queries.X.Row(q)[j])
			sum += gap * gap
		}
		return sum
	}
	tied := 0
	for _, s := range value(t, r, "lsh", 8).Searches {
		for k := range len(s.Items) - 1 {
			a, b := s.Items[k], s.Items[k+1]
			if s.Distances[k] > s.Distances[k+1] || s.Distances[k] == s.Distances[k+1] && apart(s.Query, a) > apart(s.Query, b) {
				t.Errorf("query %d: item %d comes before item %d", s.Query, a, b)
			}
			if s.Distances[k] == s.Distances[k+1] {
				tied++
			}
		}
	}
	if tied < 20 {
		t.Errorf("%d ties: this test cannot fail", tied)
	}
}

// Confusions against their definition: each item is as likely among the first ten as there is room for its distance.
func TestConfusionsCountTiesFairly(t *testing.T) {
	d := clusterData()
	var m *model.Model
	r := quickRun(t, d, func(o *Options) {
		o.Each = func(_ string, bits int, made *model.Model) {
			if bits == 8 && m == nil {
				m = made
			}
		}
	})
	items := parted(t, d, small()).New
	queries, codes := encode(t, m, d.Queries), encode(t, m, items)
	found, total := map[[2]string]float64{}, map[string]float64{}
	distance := make([]uint16, codes.Len())
	for q, class := range d.Queries.Labels.Class {
		own := d.Queries.Labels.Names[class]
		total[own] += 10
		codes.Distances(distance, queries.Row(q))
		for i, a := range distance {
			nearer, tied := 0, 0
			for _, b := range distance {
				if b < a {
					nearer++
				} else if b == a {
					tied++
				}
			}
			other := items.Labels.Names[items.Labels.Class[i]]
			found[[2]string{own, other}] += min(1, max(0, float64(10-nearer)/float64(tied)))
		}
	}
	list := value(t, r, "lsh", 8).Confusions
	if len(list) != mostConfusions {
		t.Fatalf("%d confusions", len(list))
	}
	for i, c := range list {
		if want := found[[2]string{c.Query, c.Found}] / total[c.Query]; math.Abs(c.Share-want) > 1e-12 || c.Query == c.Found {
			t.Errorf("%s finds %s with %v, want %v", c.Query, c.Found, c.Share, want)
		}
		if i > 0 && c.Share > list[i-1].Share {
			t.Error("the confusions are not in order")
		}
	}
}

// The figure for half of the trees is that of a model whose trees were cut by hand, and few trees are not halved. The
// columns that a model adds stay, and the trees of one round, which hold bits of its leaf values, stay together.
func TestHalfOfTheTrees(t *testing.T) {
	if testing.Short() {
		t.Skip("runs in full, without the race detector, with the documents")
	}
	for name, o := range map[string]train.Options{
		"paper":           {Effort: fasthash.Paper},
		"linear columns":  {Effort: fasthash.Paper, LinearColumns: fasthash.LinearScores},
		"logistic, added": {LinearColumns: fasthash.KernelScores, Boost: string(boost.Logistic), LeafBits: 2},
	} {
		t.Run(name, func(t *testing.T) { testHalfOfTheTrees(t, o) })
	}
}

func testHalfOfTheTrees(t *testing.T, fast train.Options) {
	d := &Data{Name: "clusters", Base: clusters(1, 300, 6), New: clusters(3, 120, 6), Queries: clusters(2, 60, 6)}
	o := small()
	fast.Rounds, fast.Depth = 20, 1
	o.Methods, o.Bits, o.Unseen, o.Train = []string{"fasthash"}, []int{8}, -1, fast
	perRound := max(1, fast.LeafBits)
	var m *model.Model
	o.Each = func(name string, _ int, made *model.Model) {
		if name == "fasthash" {
			m = made
		}
	}
	row := run(t, d, o).Find("fasthash", 8)
	whole, ok := m.Encoder.(*model.Binned)
	var maps []model.Map
	if fast.LinearColumns != "" {
		var mapped *model.Mapped
		if mapped, ok = m.Encoder.(*model.Mapped); ok {
			whole, maps = mapped.Encoder.(*model.Binned), mapped.Maps
		}
	}
	if !ok {
		t.Fatalf("the model encodes by %T", m.Encoder)
	}
	cut := &model.Binned{Quantizer: whole.Quantizer}
	for _, f := range whole.Functions {
		e := f.(*model.Ensemble)
		half := &model.Ensemble{Depth: 1}
		for q := range 10 * perRound {
			half.Feature, half.Bin = append(half.Feature, e.Feature[q]), append(half.Bin, e.Bin[q])
			half.Leaf, half.Weight = append(half.Leaf, e.Leaf[q]), append(half.Weight, e.Weight[q])
		}
		cut.Functions = append(cut.Functions, half)
	}
	code := func(p *Part) hamming.Codes {
		c, err := (&model.Model{Encoder: model.Compose(cut, maps...)}).Encode(t.Context(), p.X, 1)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	truth, err := eval.TruthOf(d.Queries.Data, d.New.Data)
	if err != nil {
		t.Fatal(err)
	}
	want, err := eval.Retrieval(t.Context(), code(d.Queries), code(d.New), truth, eval.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if row.HalfTreesMAP != want.MAP || row.HalfTreesMAP == row.MAP {
		t.Errorf("half of the trees have MAP %v, want %v; all have %v", row.HalfTreesMAP, want.MAP, row.MAP)
	}
	o.Train.Rounds = 19
	if row := run(t, d, o).Find("fasthash", 8); row.HalfTreesMAP != 0 {
		t.Errorf("half of 19 trees have MAP %v", row.HalfTreesMAP)
	}
}

// Where training itself stopped early, the second half of the trees says nothing about still more of them.
func TestTreesThatStoppedEarlyAreEnough(t *testing.T) {
	of := func(options string) treeCount {
		return treeCountOf(&model.Model{Info: model.Info{Runs: []model.Run{{Options: []byte(options)}}}})
	}
	ensembles := func(trees ...int) (list []*model.Ensemble) {
		for _, n := range trees {
			list = append(list, &model.Ensemble{Depth: 1, Weight: make([]int32, n)})
		}
		return list
	}
	for _, c := range []struct {
		options string
		trees   []int
		want    bool
	}{
		{`{"trees":{"rounds":100,"early_stop":10,"leaf_bits":2}}`, []int{150, 120, 200}, true},
		{`{"trees":{"rounds":100,"early_stop":10,"leaf_bits":2}}`, []int{150, 200, 200}, false},
		{`{"trees":{"rounds":100,"early_stop":10}}`, []int{100, 100, 100}, false},
		{`{"trees":{"rounds":100,"leaf_bits":2}}`, []int{150, 120, 200}, false},
		{`{"trees":{"rounds":100}}`, []int{50, 60, 100}, false},
		{`{}`, []int{50, 60}, false},
	} {
		if got := of(c.options).settled(ensembles(c.trees...)); got != c.want {
			t.Errorf("%s with %v trees: settled %v", c.options, c.trees, got)
		}
	}
	if treeCountOf(&model.Model{}).LeafBits != 1 {
		t.Error("a model without options has no trees in a round")
	}
}
