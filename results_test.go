package hashgrove_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hashgrove/paper"
)

// TestResultsIndexIsComplete checks that the index of docs/results lists every page and figure, and that the commands
// it names exist.
func TestResultsIndexIsComplete(t *testing.T) {
	index := readText(t, "docs/results/README.md")
	files, err := filepath.Glob("docs/results/*")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d results: %v", len(files), err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		if name != "README.md" && !strings.Contains(index, "]("+name+")") {
			t.Errorf("the index does not list %s", name)
		}
	}
	for _, command := range regexp.MustCompile("`hashgrove experiment ([a-z0-9-]+)`").FindAllStringSubmatch(index, -1) {
		if _, err := paper.Find(command[1]); err != nil {
			t.Error(err)
		}
		page := readText(t, filepath.Join("docs", "results", command[1]+".md"))
		if !strings.Contains(page, command[0]) {
			t.Errorf("the page %s.md does not name its command", command[1])
		}
	}
	for _, script := range regexp.MustCompile("`(bench/[a-z]+\\.sh)`").FindAllStringSubmatch(index, -1) {
		if _, err := os.Stat(script[1]); err != nil {
			t.Error(err)
		}
	}
}

// TestLinksOfDocsResolve checks every relative link of the documents.
func TestLinksOfDocsResolve(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:\s]+)(#[^)]*)?\)`)
	for _, file := range documents(t) {
		for _, found := range link.FindAllStringSubmatch(readText(t, file), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), found[1])); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

// TestScaledNumbersSaySo checks that every line with a number that was scaled up from fewer trees or bits says so.
func TestScaledNumbersSaySo(t *testing.T) {
	scaled := regexp.MustCompile(`\b383 s\b|\b2,154\b|\b982 s\b|\b181 x`)
	seen := 0
	for _, file := range documents(t) {
		for line := range strings.Lines(readText(t, file)) {
			if !scaled.MatchString(line) {
				continue
			}
			seen++
			if !strings.Contains(line, "scaled") {
				t.Errorf("%s shows a number that was scaled up without saying so: %s", file, line)
			}
		}
	}
	if seen == 0 {
		t.Error("no document has such a number: is the pattern still right?")
	}
}

// documents are the Markdown files of the repository.
func documents(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	return files
}

func readText(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
