package hashgrove

import (
	"context"
	"image"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/model/inside"
	"hashgrove/internal/vectors"
)

// TestDataNeverChanges: With* give changed copies, and what they are made of stays.
func TestDataNeverChanges(t *testing.T) {
	x, labels := clouds(1, 4)
	base := Vectors(x)
	a, b := base.WithIDs([]string{"a", "b", "c", "d"}), base.WithIDs([]string{"1", "2", "3", "4"})
	if a.table.IDs[0] != "a" || b.table.IDs[0] != "1" || base.table.IDs != nil {
		t.Errorf("ids %q, %q, %q", a.table.IDs, b.table.IDs, base.table.IDs)
	}
	full := base.WithLabels(labels).WithTags([][]string{{"x"}, nil, nil, nil}).WithPairs([]Pair{{A: 0, B: 1, Y: 1}}).
		WithMissing().WithAttributes([]map[string]any{{"price": 1}, {}, {}, {}})
	if full.table.Labels[3] != labels[3] || full.pairs == nil || !full.missing || full.Err() != nil {
		t.Errorf("%+v, %v", full, full.Err())
	}
	if base.table.Labels != nil || base.table.Tags != nil || base.pairs != nil || base.missing || base.attributes != nil {
		t.Errorf("the data changed: %+v", base)
	}
	few := base.WithLabels(labels[:2])
	if err := few.Err(); err == nil || base.Err() != nil || !strings.Contains(err.Error(), "2 labels") {
		t.Errorf("two labels of four rows: %v", err)
	}
	if err := From(nil).Err(); err == nil {
		t.Error("no source was accepted")
	}
	pictures := []image.Image{image.NewGray(image.Rect(0, 0, 4, 4)), image.NewGray(image.Rect(0, 0, 4, 4))}
	if d := Images(pictures, []int{7, 8}); d.Err() != nil || d.table.Labels[1] != "8" {
		t.Errorf("pictures with numbers: %+v", d)
	}
	if d := Images[string](pictures, nil); d.Err() != nil || d.table.Labels != nil {
		t.Errorf("pictures without labels: %+v", d)
	}
}

// TestSourcesOfTheCaller: rows that a program yields itself give the model of the same rows in memory.
func TestSourcesOfTheCaller(t *testing.T) {
	ctx := context.Background()
	x, labels := clouds(1, 60)
	table := vectors.Table{X: vectors.Matrix{Rows: len(x), Cols: len(x[0]), Data: slices.Concat(x...)}, Labels: labels}
	a, b := trained(t)(Train(ctx, inside.NewData(table).(*Data), quick)), trained(t)(Train(ctx, Rows(x, labels), quick))
	if a.Fingerprint() != b.Fingerprint() {
		t.Error("a source gives another model than memory")
	}
}

// TestModelsOfOthers: what is no model is an error, and a length that a model does not have is named.
func TestModelsOfOthers(t *testing.T) {
	x, labels := clouds(1, 30)
	m := trained(t)(Train(context.Background(), Rows(x, labels), Options{Bits: 4, Trees: TreeOptions{Rounds: 2}}))
	for bits, want := range map[int]string{0: "1 to 4", -1: "1 to 4", 5: "1 to 4"} {
		if _, err := m.Shorter(bits); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d bits: %v", bits, err)
		}
	}
}

// TestNothingPanics: what a caller may get wrong is an error.
func TestNothingPanics(t *testing.T) {
	ctx := t.Context()
	x, labels := clouds(1, 30)
	m := trained(t)(Train(ctx, Rows(x, labels), Options{Bits: 8, Trees: TreeOptions{Rounds: 2}}))
	ix := must[*Index](t)(NewIndex(ctx, m, nil))
	_, of := Train(ctx, nil, Options{})
	_, measured := m.Evaluate(ctx, nil, nil, EvalOptions{})
	_, searched := ix.Search(ctx, nil)
	_, apart := Code{1}.Distance(Code{1, 2})
	_, encoded := m.Encode(nil)
	_, coded := NewIndex(ctx, nil, nil)
	_, read := ix.Get("")
	for what, err := range map[string]error{
		"training": of, "measuring": measured, "searching": searched, "distance": apart, "encoding": encoded,
		"no model": coded, "no id": read, "adding": ix.Add(ctx, nil), "replacing": ix.Upsert(ctx, nil), "vectors": ix.SetVectors(ctx, nil),
	} {
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}
