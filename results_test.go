package hashgrove_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hashgrove/x/paper"
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
	for _, script := range regexp.MustCompile("`(x/bench/[a-z]+\\.sh)`").FindAllStringSubmatch(index, -1) {
		if _, err := os.Stat(script[1]); err != nil {
			t.Error(err)
		}
	}
}

// TestDocsNameRealTests checks that every test that a document names exists: a promise is worth its tests.
func TestDocsNameRealTests(t *testing.T) {
	declared := map[string]bool{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		for _, found := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`).FindAllStringSubmatch(readText(t, name), -1) {
			declared[found[1]] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, file := range documents(t) {
		for _, found := range regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w*)`").FindAllStringSubmatch(readText(t, file), -1) {
			if seen++; !declared[found[1]] {
				t.Errorf("%s names %s, which does not exist", file, found[1])
			}
		}
	}
	if seen < 40 {
		t.Errorf("the documents name %d tests", seen)
	}
}

// TestLinksOfDocsResolve checks every relative link of the documents, and the headings that links point to.
func TestLinksOfDocsResolve(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:\s]*)(#[^)]*)?\)`)
	seen := 0
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
			seen++
		}
	}
	if seen < 100 {
		t.Errorf("only %d links: is the pattern still right?", seen)
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

// TestPromisesNameRealTests checks that every test in the tables of docs/promises.md and the pages below it is in the package named beside it.
func TestPromisesNameRealTests(t *testing.T) {
	pages, err := filepath.Glob("docs/promises/*.md")
	if pages = append(pages, "docs/promises.md"); err != nil || len(pages) < 6 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	row := regexp.MustCompile("(?m)^\\| (`(?:Test|Fuzz)[^|]*) \\| ([^|]*) \\|")
	seen := 0
	for _, page := range pages {
		for _, found := range row.FindAllStringSubmatch(readText(t, page), -1) {
			for name := range strings.SplitSeq(found[1], ", ") {
				for folder := range strings.SplitSeq(found[2], ", ") {
					if !hasTest(t, folder, strings.Trim(name, "`")) {
						t.Errorf("%s: %s has no test %s", page, folder, name)
					}
					seen++
				}
			}
		}
	}
	if seen < 40 {
		t.Errorf("only %d tests: is the pattern still right?", seen)
	}
}

func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.Contains(readText(t, file), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
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
