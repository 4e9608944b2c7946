package server_test

import "testing"

// TestBlankFiltersDeleteNothing: what a program sends that has no condition left.
func TestBlankFiltersDeleteNothing(t *testing.T) {
	w := newWorld(t, nil)
	for _, blank := range []string{"", " ", "\t\n"} {
		for _, dry := range []bool{false, true} {
			w.refused(400, "POST", "/v1/collections/shop/delete", map[string]any{"where": blank, "dry_run": dry})
		}
	}
	var a struct{ Deleted int }
	w.get(&a, "POST", "/v1/collections/shop/delete", map[string]any{"where": "has id"})
	if a.Deleted != worldRows {
		t.Errorf("%d deleted after blank filters, want all %d", a.Deleted, worldRows)
	}
}
