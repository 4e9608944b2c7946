package hashgrove

import (
	"context"
	"image"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hashgrove/api"
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

// TestNothingPanics calls the library with nil, with what is empty, of a wrong length, negative or huge.
func TestNothingPanics(t *testing.T) {
	t.Chdir(t.TempDir()) // some of the calls write a file
	ctx := t.Context()
	x, labels := clouds(1, 30)
	made := must[*Training](t)(Train(ctx, Rows(x, labels), Options{Bits: 8, Trees: TreeOptions{Rounds: 2}}))
	ix := must[*Index](t)(NewIndex(ctx, made.Model, Rows(x, labels)))
	calls := map[string]any{
		"Train": Train, "LoadModel": LoadModel, "NewIndex": NewIndex, "CreateIndex": CreateIndex, "OpenIndex": OpenIndex,
		"OpenData": OpenData, "OpenFiles": OpenFiles, "From": From, "Vectors": Vectors, "Tagged": Tagged, "Paired": Paired,
		"Rows": Rows[string], "Images": Images[int], "Codes": Codes, "Describe": Describe, "Verify": Verify, "NewExport": NewExport,
		"FindDuplicates": FindDuplicates, "ReadChanges": ReadChanges, "ReadIDs": ReadIDs, "RestoreIndex": RestoreIndex,
		"OpenTable": OpenTable, "NewItems": NewItems, "HasCode": HasCode, "Setting": Setting, "FiguresText": FiguresText,
		"ItemsOf":     func(where string) (*Items, error) { return ItemsOf(ctx, nil, where) },
		"api.Nearest": func(x []float32, k int) ([]api.Hit, error) { return api.Nearest(ctx, nil, x, k) },
	}
	for name, v := range map[string]any{
		"Training": made, "Index": ix, "Data": Rows(x, labels), "nil Data": (*Data)(nil), "Codes": Codes([]Code{{1}}), "Code": Code{1},
		"Items": must[*Items](t)(ItemsOf(ctx, ix, "")), "Duplicates": must[*Duplicates](t)(ix.Duplicates(ctx, DuplicateOptions{})),
		"Options": &Options{Grow: &Model{}}, "IndexOptions": IndexOptions{}, "Report": &made.Report, "Inspection": &Inspection{},
	} {
		of := reflect.TypeOf(v)
		for m := range of.NumMethod() {
			calls[name+"."+of.Method(m).Name] = reflect.ValueOf(v).Method(m).Interface()
		}
	}
	for name, f := range calls {
		for _, odd := range []string{"nil", "short", "huge"} {
			func() {
				defer func() {
					if what := recover(); what != nil {
						t.Errorf("%s with %s arguments: %v", name, odd, what)
					}
				}()
				callOddly(ctx, reflect.ValueOf(f), odd)
			}()
		}
	}
}

// callOddly calls a function with odd arguments, and goes through the results that yield.
func callOddly(ctx context.Context, f reflect.Value, odd string) {
	var args []reflect.Value
	for in := range f.Type().Ins() {
		arg := reflect.Zero(in)
		switch kind := in.Kind(); {
		case in == reflect.TypeFor[context.Context]():
			arg = reflect.ValueOf(ctx)
		case in == reflect.TypeFor[io.Writer]():
			arg = reflect.ValueOf(io.Discard)
		case odd == "short" && kind == reflect.Slice:
			arg = reflect.MakeSlice(in, 3, 3)
		case odd == "short" && kind == reflect.Int:
			arg = reflect.ValueOf(-7)
		case odd == "short" && kind == reflect.String:
			arg = reflect.ValueOf("(").Convert(in)
		case odd == "huge" && kind == reflect.Int:
			arg = reflect.ValueOf(math.MaxInt)
		case odd == "huge" && kind == reflect.Pointer:
			arg = reflect.New(in.Elem())
		}
		args = append(args, arg)
	}
	call := f.Call
	if f.Type().IsVariadic() {
		call = f.CallSlice
	}
	for _, result := range call(args) {
		if result.Kind() == reflect.Func {
			each := func([]reflect.Value) []reflect.Value { return []reflect.Value{reflect.ValueOf(true)} }
			result.Call([]reflect.Value{reflect.MakeFunc(result.Type().In(0), each)})
		}
	}
}
