package server

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestDocsStateTheLimits: the numbers in the documents are those of the program.
func TestDocsStateTheLimits(t *testing.T) {
	l := Limits{}.withDefaults()
	mib := func(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }
	thousands := func(n int) string { return fmt.Sprintf("%d,%03d", n/1000, n%1000) }
	for file, numbers := range map[string][]string{
		"../docs/promises.md": {
			fmt.Sprintf("| %s; %s; %s |", thousands(l.K), thousands(l.Batch), thousands(l.Hits)),
			fmt.Sprintf("| %s; %s; %d KiB |", mib(l.Body), mib(l.Bodies), l.Header>>10),
			fmt.Sprintf("| twice the cores; %d; %.0f s |", l.Waiting, l.Wait.Seconds()),
			fmt.Sprintf("| %s bytes; %d |", thousands(l.FilterBytes), l.FilterDepth),
			fmt.Sprintf("| %.0f s; %.0f s; %.0f min |", l.ReadTime.Seconds(), l.WriteTime.Seconds(), l.IdleTime.Minutes()),
			fmt.Sprintf("| connections; collections created over HTTP | %s; %s |", thousands(l.Connections), thousands(l.Created)),
			"| an upload to try | " + mib(l.Upload) + " on disk",
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
