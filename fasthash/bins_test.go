package fasthash

import (
	"testing"

	"hashgrove/vectors"
)

// TestBinsOfEfforts: the paper's effort has the paper's bins unless others are asked for, and filling in twice changes
// nothing.
func TestBinsOfEfforts(t *testing.T) {
	for _, c := range []struct {
		effort     Effort
		bins, want vectors.Binning
	}{
		{"", "", ""}, {Normal, vectors.Hybrid, ""}, {Normal, vectors.Linear, vectors.Linear},
		{Best, vectors.Quantile, vectors.Quantile}, {Paper, "", vectors.Linear}, {Paper, vectors.Hybrid, vectors.Hybrid},
	} {
		o := Options{Effort: c.effort, Bins: c.bins}
		for range 2 {
			var err error
			if o, err = o.ForData(1000, 10); err != nil || o.Bins != c.want {
				t.Errorf("effort %q, bins %q: %q, %v", c.effort, c.bins, o.Bins, err)
			}
		}
	}
	if _, err := (Options{Bins: "cubic"}).WithDefaults(); err == nil {
		t.Error("unknown bins are taken")
	}
}
