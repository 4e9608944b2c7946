package compare

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hashgrove"
	"hashgrove/internal/eval"
	"hashgrove/internal/fasthash"
	"hashgrove/internal/message"
	"hashgrove/internal/method"
	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
	"hashgrove/internal/testkit/needs"
	"hashgrove/internal/vectors"
)

// clusters draws vectors around two centres for each class: a class is no ball, so labels help. A part of the columns
// is noise that is louder than the rest.
func clusters(seed uint64, n, classes int) *Part { return clustersAround(2, seed, n, classes) }

// clustersAround draws around more centres for each class: from three on, planes do not tell the classes apart.
func clustersAround(each int, seed uint64, n, classes int) *Part {
	const useful, noise = 8, 8
	centres, rng := rand.New(rand.NewPCG(7, 7)), rand.New(rand.NewPCG(seed, 1))
	centre := make([]float64, each*classes*useful)
	for i := range centre {
		centre[i] = 5 * centres.NormFloat64()
	}
	p := &Part{
		X:    vectors.Matrix{Rows: n, Cols: useful + noise, Data: make([]float32, 0, n*(useful+noise))},
		Data: &supervision.Data{Rows: n, Digest: sha256.Sum256(fmt.Append(nil, "clusters", seed, n, classes))},
	}
	p.Labels = &supervision.Labels{}
	for k := range classes {
		p.Labels.Names = append(p.Labels.Names, fmt.Sprintf("class %c", 'a'+k))
	}
	for range n {
		c := rng.IntN(each * classes)
		for j := range useful {
			p.X.Data = append(p.X.Data, float32(centre[c*useful+j]+2*rng.NormFloat64()))
		}
		for range noise {
			p.X.Data = append(p.X.Data, float32(10*rng.NormFloat64()))
		}
		p.Labels.Class = append(p.Labels.Class, int32(c%classes))
	}
	p.Source = p.X
	return p
}

func clusterData() *Data {
	return &Data{Name: "clusters", Base: clusters(1, 600, 6), Queries: clusters(2, 90, 6)}
}

// small is a comparison of a second, with few trees of the paper.
func small() Options {
	return Options{
		Methods: []string{"fasthash", "lsh"}, Bits: []int{8, 32}, Seed: 1,
		Train: hashgrove.Options{Effort: fasthash.Paper, Trees: hashgrove.TreeOptions{Rounds: 8, Depth: 3}},
	}
}

func run(t *testing.T, d *Data, o Options) *Result {
	t.Helper()
	r, err := Run(context.Background(), d, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func value(t *testing.T, r *Result, method string, bits int) *eval.Row {
	t.Helper()
	row := r.Find(method, bits)
	if row == nil || row.Error != "" {
		t.Fatalf("no row of %s at %d bits: %+v", method, bits, row)
	}
	return row
}

// The order that every comparison should show, with the marks around the methods: with few trees of the paper, and by
// default.
func TestOrder(t *testing.T) {
	needs.Check(t, "takes seconds")
	byDefault := small()
	byDefault.Train = hashgrove.Options{}
	for _, o := range []Options{small(), byDefault} {
		t.Run(string(o.Train.Effort), func(t *testing.T) { testOrder(t, o) })
	}
}

func testOrder(t *testing.T, o Options) {
	d := &Data{Name: "clusters", Base: clustersAround(3, 1, 600, 6), Queries: clustersAround(3, 2, 90, 6)}
	r := run(t, d, o)
	random, lsh, fast := value(t, r, "random", 32), value(t, r, "lsh", 32), value(t, r, "fasthash", 32)
	if !(random.MAP+0.03 < lsh.MAP && lsh.MAP+0.2 < fast.MAP && fast.MAP > 0.9) {
		t.Errorf("MAP of random codes %.3f, LSH %.3f, FastHash %.3f", random.MAP, lsh.MAP, fast.MAP)
	}
	var names []string
	for _, row := range r.Rows {
		names = append(names, fmt.Sprint(row.Method, " ", row.Bits))
		if row.Error != "" || !(row.MAPLow <= row.MAP && row.MAP <= row.MAPHigh && row.MAP > 0 && row.MAP <= 1) {
			t.Errorf("%s: MAP %v from %v to %v, error %q", rowName(&row), row.MAP, row.MAPLow, row.MAPHigh, row.Error)
		}
		if row.Precision == 0 || row.PRArea == 0 || row.UnseenMAP == 0 || row.Bytes != (row.Bits+7)/8 {
			t.Errorf("%s lacks a number: %+v", rowName(&row), row)
		}
		if row.PRCurve == nil {
			t.Errorf("%s lacks classes or curves", rowName(&row))
		}
		if learned := row.Kind == eval.KindMethod || strings.HasPrefix(row.Method,
			"classifier"); learned && (row.TrainSeconds <= 0 || row.EncodeMicroseconds <= 0) {
			t.Errorf("%s has no times", rowName(&row))
		}
	}
	want := []string{
		"fasthash 8", "fasthash 32", "lsh 8", "lsh 32", "random 8", "random 32", "sign 16",
		"classifier-float 192", "classifier-onehot 6", "classifier 8", "classifier 32", "float-euclidean 512", "float-cosine 512",
	}
	if !slices.Equal(names, want) {
		t.Errorf("the rows are %v", names)
	}
	if fast.TrainSeconds <= value(t, r, "fasthash", 8).TrainSeconds {
		t.Error("the shorter FastHash takes no less time than the longer")
	}
	if len(r.Data.HeldOut) != 2 || r.Data.Classes != 6 || r.Advice[0].Rule != "use" || !strings.Contains(r.Advice[0].Text, "FastHash") {
		t.Errorf("held out %v, advice %+v", r.Data.HeldOut, r.Advice)
	}
}

// untimed is the result as JSON without anything that was timed.
func untimed(t *testing.T, r *Result) string {
	t.Helper()
	c := *r
	c.Seconds, c.Advice = 0, nil
	c.Rows = slices.Clone(r.Rows)
	for i := range c.Rows {
		row := &c.Rows[i]
		row.TrainSeconds, row.EncodeMicroseconds = 0, 0
	}
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Everything but times is a function of data, options and seed.
func TestDeterminism(t *testing.T) {
	var first string
	for _, threads := range []int{1, 3} {
		o := small()
		o.Threads = threads
		r := run(t, clusterData(), o)
		if text := untimed(t, r); first == "" {
			first = text
		} else if text != first {
			t.Errorf("%d threads gave another result", threads)
		}
	}
	o := small()
	o.Seed = 2
	if untimed(t, run(t, clusterData(), o)) == first {
		t.Error("another seed gave the same result: this test cannot fail")
	}
}

// Codes are encoded again and again to see how long it takes, and random ones must be the same each time.
func TestRandomCodesStay(t *testing.T) {
	x, other, draw := clusters(1, 9, 2).X, clusters(2, 9, 2).X, (&comparison{}).randomCoder(64)
	first, _ := draw.code(t.Context(), x, 1)
	second, _ := draw.code(t.Context(), other, 1)
	if again, _ := draw.code(t.Context(), x, 1); !slices.Equal(first.Data, again.Data) || slices.Equal(first.Data, second.Data) {
		t.Errorf("%x, %x of others, and then %x", first.Data, second.Data, again.Data)
	}
}

// byMarginsOf judges a part of the items by margins, or by expected codes.
func byMarginsOf(t *testing.T, m *model.Model, d *Data, items *Part, expected bool) eval.Figures {
	t.Helper()
	margins, err := m.Margins(context.Background(), d.Queries.X, 1)
	if err != nil {
		t.Fatal(err)
	}
	truth, err := eval.TruthOf(d.Queries.Data, items.Data)
	if err != nil {
		t.Fatal(err)
	}
	if expected {
		if err := m.Expect(context.Background(), margins); err != nil {
			t.Fatal(err)
		}
	}
	r, err := eval.RetrievalMargins(context.Background(), encode(t, m, d.Queries), encode(t, m, items), margins, truth,
		eval.Options{OfClass: nearestOf(t, d, items, truth), Detail: m.DetailBits()})
	if err != nil {
		t.Fatal(err)
	}
	return r.Figures()
}

// The rows of FastHash and of other methods are those of models trained by themselves at that length.
func TestRowsAreThoseOfTheModels(t *testing.T) {
	d, o := clusterData(), small()
	o.Unseen, o.DetailBits = -1, 5
	models := map[string]*model.Model{}
	o.Each = func(method string, bits int, m *model.Model) { models[fmt.Sprint(method, bits)] = m }
	r, parts := run(t, d, o), parted(t, d, o)
	for _, name := range []string{"fasthash", "lsh", Detailed} {
		for _, bits := range o.Bits {
			m := models[fmt.Sprint(name, bits)]
			if m == nil || m.ClassBits() != bits || (m.DetailBits() > 0) != (name == Detailed) {
				t.Fatalf("no model of %s at %d bits", name, bits)
			}
			queries, got := encode(t, m, parts.Queries), value(t, r, name, bits)
			learned, added := judged(t, queries, m, parts, parts.Base), judged(t, queries, m, parts, parts.New)
			if got.MAP != added.MAP || got.UnseenMAP != 0 || got.Precision != added.ReachablePrecision {
				t.Errorf("%s at %d bits: MAP %v, want %v; unseen %v", name, bits, got.MAP, added.MAP, got.UnseenMAP)
			}
			ofLearned := *learned.Items()
			margins, expected := byMarginsOf(t, m, parts, parts.New, false), byMarginsOf(t, m, parts, parts.New, true)
			ranked := added.Figures()
			if usual := m.Rank(); got.Rank != eval.Ranking(usual) && got.Ranked.MAP <= got.Expected.MAP+costless {
				t.Errorf("%s at %d bits is ranked by %s, which is not clearly better than %s", name, bits, got.Rank, usual)
			}
			switch got.Rank {
			case eval.ByMargins:
				ranked, ofLearned.Ranked = margins, byMarginsOf(t, m, parts, parts.Base, false)
			case eval.ByExpected:
				ranked, ofLearned.Ranked = expected, byMarginsOf(t, m, parts, parts.Base, true)
			}
			if got.Ranked != ranked || got.Margins != margins || got.Expected != expected || *got.LearnedItems != ofLearned {
				t.Errorf("%s at %d bits: %+v by %s, want %+v; learned %+v, want %+v", name, bits, got.Ranked, got.Rank, ranked,
					*got.LearnedItems, ofLearned)
			}
			if got.Margins.MAP == got.MAP || len(got.RankedAP) != len(got.AP) {
				t.Errorf("%s at %d bits: MAP %v and %v by margins", name, bits, got.MAP, got.Margins.MAP)
			}
		}
	}
	o.Bits, o.Each = []int{8}, nil
	if short := run(t, d, o); value(t, short, "fasthash", 8).MAP != value(t, r, "fasthash", 8).MAP {
		t.Error("FastHash trained to 8 bits is not the prefix of the one trained to 32")
	}
}

// One method that fails is said in its row and loses no other.
func TestFailureStaysInItsRow(t *testing.T) {
	o := small()
	o.Methods = []string{"cca-itq", "pca-itq", "lsh"}
	o.Unseen = -1
	o.Each = func(method string, bits int, _ *model.Model) {
		if method == "cca-itq" && bits > 8 {
			panic("out of luck")
		}
	}
	r := run(t, clusterData(), o)
	bad := r.Find("cca-itq", 32)
	if bad == nil || bad.Error == "" || bad.MAP != 0 {
		t.Fatalf("the failed row is %+v", bad)
	}
	value(t, r, "cca-itq", 8)
	value(t, r, "pca-itq", 8)
	value(t, r, "lsh", 32)
	value(t, r, "float-cosine", 0)
	if len(r.Failures()) != 1 {
		t.Errorf("failures %v", r.Failures())
	}
	o.Each = func(method string, bits int, _ *model.Model) {
		if method == "lsh" {
			panic("index out of range\nstack")
		}
	}
	r = run(t, clusterData(), o)
	if got := r.Find("lsh", 8).Error; !message.NamesInOrder(got, "lsh; index out of range") || strings.Contains(got, "stack") {
		t.Errorf("a panic became %q", got)
	}
	value(t, r, "pca-itq", 8)
}

// TestTableFitsATerminal of 100 characters, with every column and the longest names.
func TestTableFitsATerminal(t *testing.T) {
	r := &Result{Data: Dataset{New: 1, HeldOut: []string{"a"}}}
	for _, name := range append(method.Names(), "fasthash-detail", "classifier-float", "float-euclidean") {
		r.Rows = append(r.Rows, eval.Row{Method: name, Recommended: true, Bits: 128, DetailBits: 64, Bytes: 10_000,
			Rank: "expected", TrainSeconds: 9999, LearnedItems: &eval.Items{}})
		r.Rows[len(r.Rows)-1].MAP = 0.5
	}
	head, rows := r.Table()
	width := 1
	for at, most := range head {
		for _, cells := range rows {
			most = cells[at] + most[min(len(most), len(cells[at])):]
		}
		width += len("| ") + len(most) + len(" ")
	}
	if width > 100 {
		t.Errorf("the table has %d characters: %q", width, head)
	}
}

// A method that cannot make as many bits makes as many as it can, once, and its row says so.
func TestBitsAreCapped(t *testing.T) {
	o := small() // 16 columns
	o.Methods, o.Bits = []string{"pca-itq", "lsh"}, []int{8, 24, 32, 64}
	r := run(t, clusterData(), o)
	var found []string
	for _, row := range r.Rows {
		if row.Error != "" {
			t.Errorf("%s: %s", rowName(&row), row.Error)
		}
		if row.Method == "pca-itq" {
			found = append(found, fmt.Sprint(row.Bits, " of ", row.CappedFrom))
		}
	}
	if want := []string{"8 of 0", "16 of 24"}; !slices.Equal(found, want) {
		t.Errorf("the rows are %v", found)
	}
	_, cells := r.Table()
	if !slices.ContainsFunc(cells, func(line []string) bool { return line[1] == "16 of 24" }) {
		t.Errorf("the table does not say what is capped: %v", cells)
	}
	o.Bits = []int{8, 16, 24}
	if r := run(t, clusterData(), o); r.Find("pca-itq", 24) != nil || value(t, r, "pca-itq", 16).CappedFrom != 0 {
		t.Error("16 bits that were asked for and 24 bits that are capped to them are two rows")
	}
}

// Where scales differ, float search and the methods see standardised columns, and the models take the vectors as they
// are.
func TestStandardisedColumns(t *testing.T) {
	scaled := func() *Data {
		d := clusterData()
		for _, p := range []*Part{d.Base, d.Queries} {
			for i := range p.X.Rows {
				for j := 8; j < 16; j++ { // noise
					p.X.Row(i)[j] *= 1000
				}
			}
		}
		return d
	}
	o := small()
	o.Methods, o.Unseen = []string{"fasthash", "lsh"}, -1
	models := map[string]*model.Model{}
	o.Each = func(method string, bits int, m *model.Model) { models[fmt.Sprint(method, bits)] = m }
	auto := run(t, scaled(), o)
	d := parted(t, scaled(), o)
	for _, name := range []string{"fasthash", "lsh"} {
		m := models[name+"32"]
		if got, want := value(t, auto, name, 32).MAP, judged(t, encode(t, m, d.Queries), m, d, d.New).MAP; got != want {
			t.Errorf("%s has MAP %v, and its model %v", name, got, want)
		}
	}
	o.Standardize = "off"
	off := run(t, scaled(), o)
	silent := *auto
	silent.Standardized = false
	if !auto.Standardized || auto.Scale == "" || auto.Title() == silent.Title() || off.Standardized {
		t.Errorf("standardised: %v for %q, and %v where it is off", auto.Standardized, auto.Scale, off.Standardized)
	}
	for _, name := range []string{"lsh", "float-euclidean", "float-cosine"} {
		if a, b := value(t, auto, name, 0).MAP, value(t, off, name, 0).MAP; a < b+0.01 {
			t.Errorf("%s has MAP %v standardised and %v as it is", name, a, b)
		}
	}
	if a, b := value(t, auto, "fasthash", 32).MAP, value(t, off, "fasthash", 32).MAP; a != b {
		t.Errorf("FastHash has MAP %v standardised and %v as it is", a, b)
	}
	if err := (Options{Standardize: "maybe"}).Check(); err == nil {
		t.Error("maybe is no way to standardise")
	}
}

func TestOptionsThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		change func(*Options)
		code   message.Code
		facts  string
	}{
		{func(o *Options) { o.Methods = []string{"fasthash", "magic"} },
			"no-such-method", `"magic"; fasthash; ` + Names()[len(Names())-1]},
		{func(o *Options) { o.Methods = []string{"lsh", "lsh"} }, "named-twice", "lsh"},
		{func(o *Options) { o.Bits = []int{0, 8} }, "bits-out-of-range", "0; 8; 1; 4096"},
		{func(o *Options) { o.Bits = []int{5000} }, "bits-out-of-range", "5000; 1; 4096"},
	} {
		o := small()
		c.change(&o)
		if d := message.Differs(o.Check(), c.code, strings.Split(c.facts, "; ")...); d != "" {
			t.Error(d)
		}
	}
	deep := small()
	deep.Train.Trees.Depth = 99
	if err := deep.Check(); err == nil || !strings.Contains(err.Error(), "depth") || !strings.Contains(err.Error(), "99") {
		t.Errorf("trees of depth 99: %v", err)
	}
	for _, c := range []struct {
		change func(*Data, *Options)
		code   message.Code
		facts  string
	}{
		{func(d *Data, o *Options) { o.Unseen = 5 }, "wrong-count", "5"},
		{func(d *Data, o *Options) { o.Unseen = 1 }, "wrong-count", "1"},
		{func(d *Data, o *Options) { d.Queries.X.Cols = 8 }, "wrong-dimension", "queries; 8; 16"},
		{func(d *Data, o *Options) {
			d.Queries.Labels = &supervision.Labels{Class: make([]int32, d.Queries.Rows), Names: []string{"frog"}}
		}, "no-shared-names", "class; queries; frog"},
		{func(d *Data, o *Options) { d.Queries.Labels = nil }, "labels-missing", "queries"},
		{func(d *Data, o *Options) { d.Base.Labels, d.Queries.Labels = nil, nil }, "no-supervision", ""},
		{func(d *Data, o *Options) { clear(d.Base.Labels.Class) }, "one-class", ""},
	} {
		d, o := clusterData(), small()
		c.change(d, &o)
		_, err := Run(context.Background(), d, o)
		if d := message.Differs(err, c.code, strings.Split(c.facts, "; ")...); d != "" {
			t.Error(d)
		}
	}
	o := Options{Methods: []string{"all"}, Bits: []int{16, 8, 16}}
	o, err := o.withDefaults()
	if err != nil || !slices.Equal(o.Methods, Names()) || !slices.Equal(o.Bits, []int{8, 16}) {
		t.Errorf("%v %v %v", o.Methods, o.Bits, err)
	}
	if o, err = (Options{}).withDefaults(); err != nil || len(o.Methods) < 5 || !slices.Equal(o.Bits,
		[]int{16, 32, 64, 128}) {
		t.Errorf("%v %v %v", o.Methods, o.Bits, err)
	}
}

// Every method that the registry knows runs in a comparison: its name, its options and its two trainings.
func TestAllMethods(t *testing.T) {
	needs.Check(t, "trains all methods")
	o := small()
	o.Methods, o.Bits = []string{"all"}, []int{8}
	o.Train.Trees.Rounds = 5
	r := run(t, &Data{Name: "clusters", Base: clusters(1, 300, 6), Queries: clusters(2, 60, 6)}, o)
	random := value(t, r, "random", 8)
	for _, name := range Names() {
		if row := value(t, r, name, 0); row.MAP < random.MAP-0.02 || row.UnseenMAP == 0 {
			t.Errorf("%s has MAP %.3f, random codes have %.3f; unseen %.3f", name, row.MAP, random.MAP, row.UnseenMAP)
		} else {
			t.Logf("%-14s MAP %.3f unseen %.3f, %.2f s", name, row.MAP, row.UnseenMAP, row.TrainSeconds)
		}
	}
}
