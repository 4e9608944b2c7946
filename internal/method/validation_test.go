package method

import (
	"bytes"
	"context"
	"math"
	"testing"

	"hashgrove/internal/eval"
	"hashgrove/internal/fasthash"
	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
	"hashgrove/internal/testkit/methodtest"
	"hashgrove/internal/vectors"
)

func hashed(t *testing.T, src vectors.Source) *supervision.Data {
	t.Helper()
	d, err := supervision.Scan(context.Background(), src, supervision.ScanOptions{Digest: true, Hashes: true})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// few is a training of a moment.
func few(bits int) Options {
	o := Options{Bits: bits}
	o.FastHash.Trees.Rounds = 3
	return o
}

func trained(t *testing.T, name string, d *supervision.Data, o Options) *model.Model {
	t.Helper()
	m, err := Train(context.Background(), name, d, o)
	if err != nil {
		t.Fatal(name, err)
	}
	return m
}

// rowsOf is the codes of some rows.
func rowsOf(codes hamming.Codes, rows []int) hamming.Codes {
	out := hamming.NewCodes(len(rows), codes.Bits)
	for i, r := range rows {
		copy(out.Row(i), codes.Row(r))
	}
	return out
}

// meanMAP is the definition: the mean of one ranking after the other, the query itself left out of a base that has it. It
// is by margins unless there are none.
func meanMAP(
	t *testing.T, codes hamming.Codes, margins vectors.Matrix, queries, base []int, similar func(a, b int) bool,
) float64 {
	sum, n := 0.0, 0
	for _, q := range queries {
		var others []int
		for _, b := range base {
			if b != q {
				others = append(others, b)
			}
		}
		truth := eval.Truth{Queries: 1, Base: len(others), Mark: func(_ int, mark []uint8) {
			for i, b := range others {
				if mark[i] = eval.Irrelevant; similar(q, b) {
					mark[i] = eval.Relevant
				}
			}
		}}
		query, found := rowsOf(codes, []int{q}), rowsOf(codes, others)
		r, err := eval.Retrieval(context.Background(), query, found, truth, eval.Options{})
		if margins.Rows > 0 {
			r, err = eval.RetrievalMargins(context.Background(), query, found, margins.Slice(q, q+1), truth, eval.Options{})
		}
		if err != nil {
			t.Fatal(err)
		}
		if r.Judged > 0 {
			sum, n = sum+r.MAP, n+1
		}
	}
	return sum / float64(n)
}

// TestRowsHeldOut: the model is that of the other rows, knows them alone, and its figures are those of the definition.
func TestRowsHeldOut(t *testing.T) {
	x, class := methodtest.ClusterMatrix(1, 300, 6, 3)
	d := hashed(t, vectors.WithLabels(x, methodtest.ClassNames(class)))
	similar := func(a, b int) bool { return class[a] == class[b] }
	keep, held, err := d.Split(0.2, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	var queries, learned []int
	for i := range keep {
		if keep[i] == held[i] {
			t.Fatal("a row is in both parts or in none")
		}
		if held[i] {
			queries = append(queries, i)
		} else {
			learned = append(learned, i)
		}
	}
	var sample []int
	for i := range queries {
		sample = append(sample, learned[i*len(learned)/len(queries)])
	}
	for _, name := range []string{FastHash, "lsh", "sdh"} {
		o := few(6)
		direct := trained(t, name, d.Only(keep), o)
		o.Validation = 0.2
		m := trained(t, name, d, o)
		if m.Fingerprint() != direct.Fingerprint() {
			t.Errorf("%s: not the model of the other rows", name)
		}
		if share, rows := m.Info.Sketch.Share(d.Only(keep).Hashes); share != 1 || rows != len(learned) {
			t.Errorf("%s: knows %v of %d learned rows", name, share, rows)
		}
		if share, rows := m.Info.Sketch.Share(d.Only(held).Hashes); share > 0 || rows != len(queries) {
			t.Errorf("%s: %v of %d rows held out are said to be learned", name, share, rows)
		}
		codes, err := m.Encode(context.Background(), x, 0)
		if err != nil {
			t.Fatal(err)
		}
		margins, err := m.Margins(context.Background(), x, 0)
		if err != nil {
			t.Fatal(err)
		}
		n, l := m.Info.NewItems, m.Info.LearnedItems
		if n == nil || l == nil || n.Rows != len(queries) || l.Rows != len(queries) {
			t.Fatalf("%s: figures %+v and %+v of %d rows", name, n, l, len(queries))
		}
		for _, c := range []struct {
			got  *model.Figures
			base []int
		}{{n, queries}, {l, sample}} {
			want := meanMAP(t, codes, vectors.Matrix{}, queries, c.base, similar)
			if math.Abs(c.got.MAP-want) > 1e-12 {
				t.Errorf("%s: MAP %v, by definition %v", name, c.got.MAP, want)
			}
			want = meanMAP(t, codes, margins, queries, c.base, similar)
			if math.Abs(c.got.Margins.MAP-want) > 1e-12 {
				t.Errorf("%s: by margins %+v, by definition MAP %v", name, c.got.Margins, want)
			}
		}
	}
}

// TestGrownFigures: a model that is grown holds the same rows out and ends as the one that was trained at once. Rows that
// the first bits learned from give no figures.
func TestGrownFigures(t *testing.T) {
	d := hashed(t, methodtest.Classed(1, 300, 6, 3))
	o := few(6)
	o.Validation = 0.2
	whole := trained(t, FastHash, d, o)
	o.Bits = 3
	first := trained(t, FastHash, d, o)
	o.Bits, o.Run = 6, fasthash.Run{Grow: first}
	var a, b bytes.Buffer
	if err := model.Write(&a, whole); err != nil {
		t.Fatal(err)
	}
	if err := model.Write(&b, trained(t, FastHash, d, o)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("growing gives another model")
	}
	if p := whole.Prefix(3).Info; p.NewItems != nil || p.LearnedItems != nil {
		t.Error("a shorter model has the figures of the longer")
	}
	o.Run.Grow = trained(t, FastHash, d, few(3))
	if m := trained(t, FastHash, d, o); m.Info.NewItems != nil {
		t.Errorf("figures of new items, %+v, from rows that the first bits learned from", m.Info.NewItems)
	}
}

// TestGrownModelsKnowAllTheirRows: also those of the bits they began with.
func TestGrownModelsKnowAllTheirRows(t *testing.T) {
	ctx := context.Background()
	o := Options{Bits: 2}
	o.FastHash.Trees.Rounds = 2
	var both []uint64
	for seed := range uint64(2) {
		x, class := methodtest.ClusterMatrix(seed+1, 60, 6, 3)
		d, err := supervision.Scan(ctx, vectors.WithLabels(x, methodtest.ClassNames(class)), supervision.ScanOptions{Hashes: true})
		if err != nil {
			t.Fatal(err)
		}
		m, err := Train(ctx, FastHash, d, o)
		if err != nil {
			t.Fatal(err)
		}
		o.Bits, o.Run = 4, fasthash.Run{Grow: m}
		both = append(both, d.Hashes...)
		if share, rows := m.Info.Sketch.Share(both); share != 1 || rows != len(both) {
			t.Errorf("knows %v of %d rows", share, rows)
		}
	}
}
