package par

import "testing"

// TestAnySize takes arrays of any size and type, at any place.
func TestAnySize(t *testing.T) {
	for _, n := range []int{0, 1, 1000, pageSize - 1, pageSize, 2*pageSize - 1, 2 * pageSize, 5*pageSize + 3} {
		s := MakeLarge[[3]byte](n)
		if len(s) != n {
			t.Errorf("%d values instead of %d", len(s), n)
		}
		for i := range s {
			s[i][2] = byte(i)
		}
		OnLargePages(s[min(n, 7):])
		for i := range s {
			if s[i] != [3]byte{2: byte(i)} {
				t.Fatalf("value %d of %d is %v", i, n, s[i])
			}
		}
	}
}
