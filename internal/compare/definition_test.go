package compare

import (
	"context"
	"testing"

	"hashgrove/internal/eval"
	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
)

func truthOf(t *testing.T, queries, items *Part) eval.Truth {
	t.Helper()
	truth, err := eval.TruthOf(queries.Data, items.Data)
	if err != nil {
		t.Fatal(err)
	}
	return truth
}

// parted is the data with the new items set apart as a run does.
func parted(t *testing.T, d *Data, o Options) *Data {
	t.Helper()
	out, err := d.parts(o.NewShare, o.Seed)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func encode(t *testing.T, m *model.Model, p *Part) hamming.Codes {
	t.Helper()
	c, err := m.Encode(context.Background(), p.X, 0)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// judged is what the codes of a model are worth in some items.
func judged(t *testing.T, queries hamming.Codes, m *model.Model, d *Data, items *Part) *eval.Report {
	t.Helper()
	truth := truthOf(t, d.Queries, items)
	o := eval.Options{OfClass: nearestOf(t, d, items, truth), Detail: m.DetailBits()}
	r, err := eval.Retrieval(context.Background(), queries, encode(t, m, items), truth, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// nearestOf finds the nearest items of the class of each query.
func nearestOf(t *testing.T, d *Data, items *Part, truth eval.Truth) *eval.OfClass {
	t.Helper()
	near, err := eval.FindOfClass(context.Background(), d.Queries.X, items.X, truth, 1)
	if err != nil {
		t.Fatal(err)
	}
	return near
}
