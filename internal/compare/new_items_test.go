package compare

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/eval"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
	"hashgrove/internal/testkit/needs"
	"hashgrove/internal/vectors"
)

// noted is the note of a comparison that has a code; "" where it has none.
func noted(r *Result, code message.Code) string {
	for _, note := range r.notes {
		if message.Is(note, code) {
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
		if r.Data.New != c.added || r.Data.Learned != 600-c.added || !message.NamesInOrder(r.Title(), c.inTitle) ||
			strings.Contains(r.Title(), "learned") != (c.added > 0) {
			t.Errorf("share %v: %+v, %s", c.share, r.Data, r.Title())
		}
		for _, row := range r.Rows {
			if (row.LearnedItems.MAP == row.MAP) != (c.added == 0) {
				t.Errorf("share %v: %s has %v, and %v of learned items", c.share, rowName(&row), row.MAP, row.LearnedItems.MAP)
			}
		}
		head, _ := r.Table()
		if slices.Contains(head, "learned") != (c.added > 0) {
			t.Errorf("share %v: the table has %v", c.share, head)
		}
		doubt := noted(r, "no-new-items")
		if (doubt != "") != (c.added == 0) || doubt != "" && !slices.Contains(r.Warnings, doubt) {
			t.Errorf("share %v: the warnings are %q", c.share, r.Warnings)
		}
	}
	x := vectors.Matrix{Rows: 80_000, Cols: 1, Data: make([]float32, 80_000)}
	large := &Part{Data: &supervision.Data{Source: x, Rows: 80_000}, X: x}
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
	rows := func(parts ...*Part) (list []string) {
		for _, p := range parts {
			for i := range p.X.Rows {
				list = append(list, fmt.Sprint(p.X.Row(i)))
			}
		}
		slices.Sort(list)
		return list
	}
	if !slices.Equal(rows(d.Base, d.New, d.Queries), rows(all)) {
		t.Error("the parts do not have each row once")
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
		if (added != "") != (c.copied != "") || !message.NamesInOrder(added, c.copied) || (asked != "") != (c.repeated != "") ||
			!message.NamesInOrder(asked, c.repeated) {
			t.Errorf("%+v: the warnings are %q", c, r.Warnings)
		}
	}
}

// Nothing is learned or tuned on new items or queries: models, the scale of the columns and the classifier
// leave what is found among learned items as it is.
func TestNothingIsTunedOnNewItems(t *testing.T) {
	needs.Check(t, "takes seconds")
	scaled := func(p *Part, factor float32) *Part {
		for i := range p.X.Rows {
			for j := 8; j < 16; j++ { // noise
				p.X.Row(i)[j] *= factor
			}
		}
		return p
	}
	try := func(added, asked *Part) (*Result, []string) {
		var prints []string
		d := &Data{Name: "clusters", Base: scaled(clusters(1, 300, 6), 1000), New: added, Queries: asked}
		o := small()
		o.Methods, o.Bits, o.Unseen = []string{"fasthash", "sdh", "pca-itq", "lsh"}, []int{8}, -1
		o.Each = func(_ string, _ int, m *model.Model) { prints = append(prints, fmt.Sprint(m.Fingerprint())) }
		return run(t, d, o), prints
	}
	one, of := try(scaled(clusters(3, 90, 6), 1000), scaled(clusters(2, 60, 6), 1000))
	other, ofOther := try(scaled(clusters(4, 200, 6), 1), scaled(clusters(2, 60, 6), 1000))
	_, ofThird := try(scaled(clusters(4, 200, 6), 1), scaled(clusters(5, 100, 6), 1))
	if !slices.Equal(of, ofOther) || !slices.Equal(of, ofThird) || len(of) != 6 { // and two of the classifier
		t.Errorf("the models are %v, %v and %v", of, ofOther, ofThird)
	}
	if !one.Standardized || one.Scale != other.Scale {
		t.Errorf("%q and %q", one.Scale, other.Scale)
	}
	for i := range one.Rows {
		if a := &one.Rows[i]; a.Method != random {
			b := other.Find(a.Method, a.Bits)
			// Which ranking leads is about new items.
			a.LearnedItems.Ranked, b.LearnedItems.Ranked = eval.Figures{}, eval.Figures{}
			if *a.LearnedItems != *b.LearnedItems || a.MAP == b.MAP {
				t.Errorf("%s has %+v and %+v", rowName(a), a.LearnedItems, b.LearnedItems)
			}
		}
	}
}

// Bits of detail weigh less for queries of unseen classes too, with new items or without.
func TestUnseenKnowsDetail(t *testing.T) {
	p, half := clusters(1, 9, 2), &model.Projection{Weight: make([]float32, 16), Threshold: make([]float32, 1)}
	s := &comparison{data: &Data{Base: p}, unseen: &unseen{queries: p}}
	m := &model.Model{Encoder: &model.Detailed{Class: half, Detail: half}}
	if c, err := s.encodeUnseen(t.Context(), modelCoder(m)); err != nil || c.Detail != 1 || c.Base.Len() != 9 {
		t.Errorf("%d bits of detail in %d codes, %v", c.Detail, c.Base.Len(), err)
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
	want, err := eval.RetrievalFloat(context.Background(), rows, x, eval.Euclidean, eval.ByClass(queries, all), eval.Options{})
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
