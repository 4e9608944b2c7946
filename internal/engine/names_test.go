package engine_test

import (
	"context"
	"errors"
	"testing"

	"hashgrove/api"
	"hashgrove/internal/engine"
	"hashgrove/internal/engine/enginetest"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// forgiving is an engine that takes filters on names that no item has, as databases do.
type forgiving struct{ *enginetest.Memory }

func (f forgiving) Read(ctx context.Context, filter index.Filter, take func(*index.Batch) error) error {
	err := f.Memory.Read(ctx, filter, take)
	if unknown := new(index.FilterError); errors.As(err, &unknown) {
		return nil
	}
	return err
}

// TestFiltersOnUnknownNames: a filter on a name that no item has is refused; an empty table takes any.
func TestFiltersOnUnknownNames(t *testing.T) {
	ctx, e := t.Context(), forgiving{enginetest.NewMemory()}
	if _, err := e.Prepare(ctx, engine.Space{Bits: 8, Fingerprint: hamming.Fingerprint{1}}); err != nil {
		t.Fatal(err)
	}
	check := func(where string) error {
		f, err := index.Parse(where)
		if err != nil {
			t.Fatal(err)
		}
		return engine.CheckNames(ctx, e, f)
	}
	if err := check("price < 3"); err != nil {
		t.Errorf("without items: %v", err)
	}
	b := index.NewBatch(8)
	b.Fingerprint = hamming.Fingerprint{1}
	b.Append(index.Item{
		ID: index.Int(1), Code: []uint64{0}, Label: "x", Attributes: map[string]index.Value{"price": index.Number(2)},
	})
	if err := e.Write(ctx, b); err != nil {
		t.Fatal(err)
	}
	for where, known := range map[string]bool{
		"": true, "price < 3": true, `label = "y"`: true, "id = 1": true, "has price": true, "prize < 3": false,
		"not prize = 3": false, `tag = "a"`: false, "price < 3 or has prize": false,
	} {
		if err := check(where); known != (err == nil) || err != nil && !errors.Is(err, api.ErrFilter) {
			t.Errorf("%s: %v", where, err)
		}
	}
}
