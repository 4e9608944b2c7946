package hashgrove

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"hashgrove/api"
)

// TestSavedIndex: an index in memory and its file hold the same items, and items by their codes are those by their
// vectors.
func TestSavedIndex(t *testing.T) {
	ctx := context.Background()
	x, labels := clouds(1, 60)
	m := trained(t)(Train(ctx, Rows(x, labels), quick))
	about := make([]map[string]any, len(x))
	for i := range about {
		about[i] = map[string]any{"price": i}
	}
	ix := must[*Index](t)(NewIndex(ctx, m, Rows(x, labels).WithAttributes(about)))
	all := listed(t, ix, "")
	codes := must[[]Code](t)(m.EncodeAll(ctx, x))
	named := make([]string, len(labels))
	for i := range named {
		named[i] = all[i].Label
	}
	coded := must[*Index](t)(NewIndex(ctx, m, Codes(codes).WithLabels(named).WithAttributes(about)))
	for name, from := range map[string]*Index{"vectors": ix, "codes": coded} {
		path := filepath.Join(t.TempDir(), name+".hgi")
		if err := from.Save(ctx, path); err != nil {
			t.Fatal(err)
		}
		if err := from.Save(ctx, path); err == nil {
			t.Error("it overwrote a file")
		}
		saved := must[*Index](t)(OpenIndex(ctx, path))
		same := func(a, b api.Item) bool {
			return a.ID == b.ID && a.Code == b.Code && a.Label == b.Label && a.Attributes["price"] == b.Attributes["price"]
		}
		if got := listed(t, saved, ""); !slices.EqualFunc(got, all, same) || saved.Model().Fingerprint() != m.Fingerprint() {
			t.Errorf("%s: %d items were saved and %d are there", name, len(all), len(got))
		}
		if err := saved.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Train(ctx, Codes(codes).WithLabels(named), quick); err == nil {
		t.Error("it learned from codes")
	}
	if err := ix.Upsert(ctx, Codes([]Code{codes[0][:1]}).WithIDs([]string{"short"})); err == nil && len(codes[0]) > 1 {
		t.Error("it took a code of another length")
	}
}
