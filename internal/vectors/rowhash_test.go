package vectors

import (
	"fmt"
	"math"
	"testing"
)

// TestRowHashIsTheDocumentedOne: the hash is that of
// hashlib.sha256(numpy.array([0, 1, -2.5], "<f4").tobytes()).hexdigest()[:32].
func TestRowHashIsTheDocumentedOne(t *testing.T) {
	negative := float32(math.Copysign(0, -1))
	x := Matrix{Rows: 4, Cols: 3, Data: []float32{0, 1, -2.5, negative, 1, -2.5, 1, 0, -2.5, 0, 1, -2.4999998}}
	var all []RowHash
	HashRows(x, 0, func(_ int, h RowHash) { all = append(all, h) })
	const want = "4356516ed57de986ba8080c557e88568"
	if got := fmt.Sprintf("%x", all[0][:]); got != want {
		t.Errorf("hash %s instead of %s", got, want)
	}
	if all[0].Short() != 0x4356516ed57de986 {
		t.Errorf("short hash %x", all[0].Short())
	}
	if all[1] != all[0] {
		t.Error("-0 and 0 have different hashes")
	}
	if all[2] == all[0] || all[3] == all[0] {
		t.Error("other rows have the same hash")
	}
}
