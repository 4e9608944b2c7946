package hashgrove_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hashgrove"
	"hashgrove/api"
)

// TestLinksOfDocsResolve checks every relative link of the documents, and the headings that links point to.
func TestLinksOfDocsResolve(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:\s]*)(#[^)]*)?\)`)
	for _, file := range documents(t) {
		for _, found := range link.FindAllStringSubmatch(readText(t, file), -1) {
			target := file
			if found[1] != "" {
				target = filepath.Join(filepath.Dir(file), found[1])
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %v", file, err)
			} else if found[2] != "" && !anchors(t, target)[found[2]] {
				t.Errorf("%s: %s has no heading %s", file, target, found[2])
			}
		}
	}
}

// TestDocsNameRealFunctions looks for every function that a document names with its file, as in "train.go:Train".
func TestDocsNameRealFunctions(t *testing.T) {
	named := regexp.MustCompile("`([a-z][a-z0-9_/]*\\.go):(\\w+)`")
	for _, file := range documents(t) {
		for _, found := range named.FindAllStringSubmatch(readText(t, file), -1) {
			if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + found[2] + `[(\[]`).MatchString(readText(t, found[1])) {
				t.Errorf("%s: %s has no function %s", file, found[1], found[2])
			}
		}
	}
}

// TestDefaultsAreTheSameInPythonAndHTTP: other languages repeat the defaults that Go has.
func TestDefaultsAreTheSameInPythonAndHTTP(t *testing.T) {
	d := hashgrove.Defaults()
	for file, texts := range map[string][]string{
		"client/python/hashgrove/estimator.py": {
			fmt.Sprintf("self, bits: int = %d, effort: str = %q, method: str = %q,", d.Bits, d.Effort, d.Method),
			fmt.Sprintf("min_shared: int = %d,", d.MinShared), fmt.Sprintf("0 if self.min_shared == %d else", d.MinShared),
		},
		"server/openapi.json": {
			fmt.Sprintf(`"default": %d`, api.DefaultK), fmt.Sprintf(`"enum": ["auto", "hamming", "margins", "expected"], "default": %q`, api.Auto),
		},
	} {
		for _, text := range texts {
			if !strings.Contains(readText(t, file), text) {
				t.Errorf("%s does not have %s", file, text)
			}
		}
	}
}

// anchors are what links to the headings of a document look like.
func anchors(t *testing.T, path string) map[string]bool {
	found := map[string]bool{}
	for line := range strings.Lines(readText(t, path)) {
		if heading := strings.TrimLeft(line, "#"); heading != line && strings.HasPrefix(heading, " ") {
			name := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), "")
			found["#"+strings.ReplaceAll(name, " ", "-")] = true
		}
	}
	return found
}

// documents are the Markdown files of the repository.
func documents(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "paper/results/*.md", "x/*/README.md", "x/*/results/*.md"} {
		files = append(files, glob(t, pattern)...)
	}
	return files
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func readText(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
