package gallery

import (
	"slices"
	"testing"
)

func TestComparePaths(t *testing.T) {
	want := []string{"2.png", "10.png", "a/1", "a/b/1", "a/b/2", "a/b-c/0", "a-b/1"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, comparePaths)
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
