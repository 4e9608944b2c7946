package fashion

import "testing"

func TestPartsAreBalanced(t *testing.T) {
	for _, c := range []struct {
		part Part
		each int
	}{{Train(), 600}, {Query(), 100}} {
		var count [10]int
		for _, class := range c.part.Class {
			count[class]++
		}
		for class, n := range count {
			if n != c.each {
				t.Errorf("class %s has %d pictures, want %d", Names[class], n, c.each)
			}
		}
		if c.part.X.Rows != 10*c.each || c.part.X.Cols != Dim {
			t.Errorf("%d x %d pictures", c.part.X.Rows, c.part.X.Cols)
		}
	}
}
