package dataset

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/hamming"
)

// TestDocsStateTheLimits: the numbers in the documents are those of the program.
func TestDocsStateTheLimits(t *testing.T) {
	mib := func(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }
	group := func(n int) string { // with commas
		text := fmt.Sprint(n)
		for at := len(text) - 3; at > 0; at -= 3 {
			text = text[:at] + "," + text[at:]
		}
		return text
	}
	for file, lines := range map[string][][]string{ // what the rows of their tables must name
		"../../docs/promises.md": {
			{"CSV", mib(maxLine), group(maxFields)},
			{"fvecs", group(maxDim)},
			{"labels", mib(heldBytes), fmt.Sprint(heldFactor, " ")},
			{"JSON", group(madeValues), fmt.Sprint(madeFactor, " ")},
			{"gzip", fmt.Sprint(gzipFactor), "zstd", group(zstdFactor)},
			{"code file", group(hamming.MaxBits)},
			{"tar", mib(pictureBytes), fmt.Sprint(pictureFactor, " ")},
		},
	} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, facts := range lines {
			if !slices.ContainsFunc(strings.Split(string(b), "\n"), func(line string) bool {
				// Every number once, so that one cannot stand for two.
				for _, fact := range facts {
					if !strings.Contains(line, fact) {
						return false
					}
					line = strings.Replace(line, fact, "", 1)
				}
				return strings.HasPrefix(line, "|")
			}) {
				t.Errorf("no table of %s has a row with %q", file, facts)
			}
		}
	}
}
