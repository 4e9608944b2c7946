package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestRankIsShown looks at the table, the page and the explanation of a search by margins.
func TestRankIsShown(t *testing.T) {
	indexed(t)
	line := "items.hgi new.csv --label category --id-column sku --row 0 -k 4 --rank margins"
	out := succeed(t, shellWords("search "+line+" --explain --report page.html")...)
	r := searched(t, line+" --explain").Results[0]
	last := r.Hits[len(r.Hits)-1]
	var weigh []int
	for _, bit := range r.Why.Differ {
		weigh = append(weigh, r.Why.Bits[bit].Weight)
	}
	weights := strings.Trim(fmt.Sprint(weigh), "[]") // "" where the first hit has the code of the query
	for _, want := range []string{"margin_distance", weights, fmt.Sprint(*last.MarginDistance)} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	told, ties := false, []string{fmt.Sprint(r.Tied), fmt.Sprint(*last.MarginDistance), fmt.Sprint(r.TiedHits)}
	for text := range strings.Lines(out) {
		told = told || slices.Equal(numbers(text), ties)
	}
	if tied := r.Tied > r.TiedHits; told != tied {
		t.Errorf("%d items tie, and %d of them are hits:\n%s", r.Tied, r.TiedHits, out)
	}
	if page := string(read(t, "page.html")); !strings.Contains(page, "sixteenths") {
		t.Error("the page does not say what the distances are")
	}
	sum := 0
	for _, w := range weigh {
		sum += w
	}
	if len(weigh) != len(r.Why.Differ) || sum != *r.Hits[0].MarginDistance {
		t.Errorf("weights %v of %v for a margin distance of %d", weigh, r.Why.Differ, *r.Hits[0].MarginDistance)
	}
	csv := succeed(t, shellWords("search "+line+" --to csv --fields id,margin_distance")...)
	if want := fmt.Sprintf("id,margin_distance\n%s,%d\n", r.Hits[0].ID, *r.Hits[0].MarginDistance); !strings.HasPrefix(csv, want) {
		t.Errorf("%q, want %q first", csv, want)
	}
}
