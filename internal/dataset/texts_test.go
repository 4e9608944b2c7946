package dataset

import (
	"fmt"
	"testing"
)

// TestTexts keeps as many different texts as one, two and four bytes can tell apart.
func TestTexts(t *testing.T) {
	for _, kinds := range []int{1, 2, 255, 256, 257, 65_535, 65_536, 65_537, 70_000} {
		var list texts
		if list.len() != 0 {
			t.Errorf("an empty list of %d", list.len())
		}
		name := func(i int) string { return fmt.Sprint("class ", (i*7919)%kinds) }
		n := max(kinds*5/4, 300)
		for i := range n {
			list.add(name(i))
		}
		if list.len() != n || len(list.names) != kinds {
			t.Errorf("%d texts of %d kinds instead of %d of %d", list.len(), len(list.names), n, kinds)
		}
		for i := range n {
			if list.text(i) != name(i) {
				t.Fatalf("%d kinds: text %d is %s instead of %s", kinds, i, list.text(i), name(i))
			}
		}
		list.add("")
		list.add("")
		if list.trim(n + 1); list.len() != n+1 {
			t.Errorf("%d texts after leaving out one", list.len())
		}
		if list.trim(0); list.len() != n {
			t.Errorf("%d texts without the empty ones, not %d", list.len(), n)
		}
	}
}
