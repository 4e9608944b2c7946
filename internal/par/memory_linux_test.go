package par

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

func TestMemory(t *testing.T) {
	if got := Memory(); got < PeakMemory() {
		t.Errorf("%d bytes of memory, and this process has held %d", got, PeakMemory())
	}
	for text, want := range map[string]int64{"max\n": math.MaxInt64, "1048576\n": 1 << 20, "-1": math.MaxInt64} {
		name := filepath.Join(t.TempDir(), "limit")
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := limitIn(name); got != want {
			t.Errorf("%q is a limit of %d, want %d", text, got, want)
		}
	}
	if got := limitIn("nowhere"); got != math.MaxInt64 {
		t.Errorf("no file is a limit of %d", got)
	}
}
