package workshop

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestDocsStateTheLimits: the numbers in the documents are those of the program.
func TestDocsStateTheLimits(t *testing.T) {
	o := Options{}.withDefaults()
	thousands := func(n int) string { return fmt.Sprintf("%d,%03d", n/1000, n%1000) }
	for file, numbers := range map[string][]string{
		"../../docs/promises.md": {
			fmt.Sprintf("%d MiB on disk", o.MaxBytes>>20), thousands(o.MaxRows) + " rows", thousands(o.MaxColumns) + " columns",
			"each of " + thousands(o.MaxPictures) + " pictures", fmt.Sprintf("%d MiB in all", o.MaxUnpacked>>20),
			fmt.Sprintf("a picture of %d MiB and %d million pixels", largestPicture>>20, o.MaxPixels/1_000_000),
			fmt.Sprintf("more than %d times its bytes", largestRatio), fmt.Sprintf("%.0f s and a second for every %d KiB", grace.Seconds(), slowest>>10),
			fmt.Sprintf("%.0f minutes to look at it", lookTime.Minutes()),
		},
	} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range numbers {
			if !strings.Contains(string(b), n) {
				t.Errorf("%s does not say %q", file, n)
			}
		}
	}
}
