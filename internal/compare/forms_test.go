package compare

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// quickRun is a comparison without FastHash, in milliseconds.
func quickRun(t *testing.T, d *Data, change func(*Options)) *Result {
	t.Helper()
	o := small()
	o.Methods = []string{"lsh"}
	if change != nil {
		change(&o)
	}
	return run(t, d, o)
}

// tagged gives every row the tags of its class and a random one.
func tagged(p *Part) *Part {
	p.Tags = &supervision.Tags{Start: []int{0}, Names: []string{"z"}}
	for k := range p.Labels.Names {
		p.Tags.Names = append(p.Tags.Names, fmt.Sprint("x", k), fmt.Sprint("y", k))
	}
	for i, c := range p.Labels.Class {
		if i%3 == 0 {
			p.Tags.Tag = append(p.Tags.Tag, 0)
		}
		p.Tags.Tag = append(p.Tags.Tag, 1+2*c, 2+2*c)
		p.Tags.Start = append(p.Tags.Start, len(p.Tags.Tag))
	}
	p.Labels = nil
	return p
}

// Tags that say the same as classes give the same rows, less what only classes have.
func TestTags(t *testing.T) {
	data := func() *Data { // shares are set aside by class, where there are classes
		return &Data{Name: "clusters", Base: clusters(1, 480, 6), New: clusters(3, 120, 6), Queries: clusters(2, 90, 6)}
	}
	classes := quickRun(t, data(), func(o *Options) { o.Methods = []string{"fasthash", "lsh"} })
	d := data()
	d.Base, d.New, d.Queries = tagged(d.Base), tagged(d.New), tagged(d.Queries)
	balanced := false // classes count as they are, tags so that similar pairs weigh as much as others
	tags := quickRun(t, d, func(o *Options) {
		o.Methods = []string{"fasthash", "lsh"}
		o.Each = func(method string, _ int, m *model.Model) {
			if method == "fasthash" {
				balanced = !strings.Contains(string(m.Info.Runs[0].Options), `"similar_weight":1,`)
			}
		}
	})
	if !balanced {
		t.Error("similar pairs of tags weigh no more than dissimilar ones")
	}
	if d.Base.MinShared != 2 || tags.Data.Classes != 0 || !message.NamesInOrder(tags.Data.Similar, "2; tags") ||
		len(tags.Data.HeldOut) != 0 {
		t.Errorf("%+v, shared %d", tags.Data, d.Base.MinShared)
	}
	for _, name := range []string{"lsh", "float-cosine"} {
		a, b := value(t, classes, name, 0), value(t, tags, name, 0)
		if a.MAP != b.MAP || b.UnseenMAP != 0 {
			t.Errorf("%s: MAP %v with classes, %v with tags", name, a.MAP, b.MAP)
		}
	}
	if fast := value(t, tags, "fasthash", 0); fast.MAP < 0.9 {
		t.Errorf("FastHash has MAP %v with tags", fast.MAP)
	}
	value(t, tags, "classifier-onehot", 0)
}

func TestReadAndSplit(t *testing.T) {
	ctx := context.Background()
	src := clusters(4, 200, 4)
	labels := make([]string, 200)
	for i, c := range src.Labels.Class {
		labels[i] = src.Labels.Names[c]
	}
	all, err := Read(ctx, vectors.WithLabels(src.X, labels), nil)
	if err != nil {
		t.Fatal(err)
	}
	base, queries, err := all.Split(0, 1)
	if err != nil {
		t.Fatal(err)
	}
	if base.X.Rows != 180 || queries.X.Rows != 20 {
		t.Errorf("%d and %d rows", base.X.Rows, queries.X.Rows)
	}
	labelOf := map[float32]string{}
	for i, name := range labels {
		labelOf[src.X.Row(i)[3]] = name
	}
	for _, p := range []*Part{base, queries} {
		for i, c := range p.Labels.Class {
			if p.Labels.Names[c] != labelOf[p.X.Row(i)[3]] {
				t.Fatalf("row %d has another label", i)
			}
		}
	}
	other, _, err := all.Split(0, 2)
	if err != nil || slices.Equal(other.X.Data, base.X.Data) {
		t.Errorf("another seed gave the same split (%v)", err)
	}
	if _, _, err := all.Split(1.5, 1); err == nil {
		t.Error("a share of 1.5 was split off")
	}
	if p, err := Read(ctx, src.X, nil); err != nil || p.Labels != nil || p.X.Rows != 200 {
		t.Errorf("rows without labels: %v", err)
	}
	x := vectors.Matrix{Rows: 50_000, Cols: 1, Data: make([]float32, 50_000)}
	large := &Part{Data: &supervision.Data{Source: x, Rows: 50_000}, X: x}
	large.Tags = &supervision.Tags{Start: make([]int, 50_001)}
	if _, queries, err := large.Split(0, 1); err != nil || queries.X.Rows != 2000 {
		t.Errorf("%v", err)
	}
	// The source of a part yields what was read.
	again, err := Read(ctx, all, nil)
	if err != nil || !slices.Equal(again.X.Data, all.X.Data) {
		t.Errorf("a part read again is another (%v)", err)
	}
}

// Doubts that matter only to training are not raised about queries.
func TestWarningsAboutQueries(t *testing.T) {
	table := func(n int, constant bool) vectors.Table {
		p := clusters(5, n, 4)
		out := vectors.Table{X: p.X}
		for i, c := range p.Labels.Class {
			out.Labels = append(out.Labels, p.Labels.Names[c])
			if constant {
				out.X.Row(i)[2] = 7
			}
		}
		return out
	}
	for _, c := range []struct {
		base, queries bool // have a constant column
		warnings      int  // of the base
	}{{false, true, 0}, {true, false, 1}} {
		base, err := Read(context.Background(), table(200, c.base), nil)
		if err != nil {
			t.Fatal(err)
		}
		queries, err := Read(context.Background(), table(40, c.queries), nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.queries && len(queries.TrainingWarnings) != 1 {
			t.Errorf("the queries have the warnings %q", queries.Warnings)
		}
		queries.Warnings = append(queries.Warnings, "a page is missing")
		s := &comparison{data: &Data{Base: base, Queries: queries}}
		got, want := s.warnings(nil), append(slices.Clone(base.Warnings), "queries: a page is missing")
		if !slices.Equal(got, want) || len(base.Warnings) != c.warnings {
			t.Errorf("warnings %q, want %q", got, want)
		}
	}
}
