package dataset

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"hashgrove/hamming"
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
	for file, numbers := range map[string][]string{
		"../docs/limits.md": {
			"a line of at most " + mib(maxLine), "a row of at most " + group(maxFields) + " fields", "one row of up to " + group(maxDim) + " values",
			mib(heldBytes) + fmt.Sprintf(" and %d times the bytes", heldFactor), "at most " + group(madeValues) + " values in all",
			fmt.Sprintf("%d times the content", madeFactor), fmt.Sprintf("to a %dnd at most", gzipFactor), "to a " + group(zstdFactor) + "th",
			mib(pictureBytes) + fmt.Sprintf(" and %d times the bytes of the archive", pictureFactor),
		},
		"../SECURITY.md": {
			"| " + mib(maxLine) + "; " + group(maxFields) + " |", "| dimensions of a vector | " + group(maxDim) + " |",
			"| bits of a code | " + group(hamming.MaxBits) + " |", mib(heldBytes) + fmt.Sprintf(" and %d times its bytes", heldFactor),
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
