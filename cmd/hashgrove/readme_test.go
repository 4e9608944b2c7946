package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// blocks returns the fenced blocks of the given kind in a Markdown file.
func blocks(t *testing.T, path, kind string) []string {
	t.Helper()
	var found []string
	var block *strings.Builder
	for line := range strings.Lines(string(read(t, path))) {
		switch {
		case block == nil && strings.TrimSpace(line) == "```"+kind:
			block = &strings.Builder{}
		case block != nil && strings.TrimSpace(line) == "```":
			found = append(found, block.String())
			block = nil
		case block != nil:
			block.WriteString(line)
		}
	}
	return found
}

// TestReadmeSession runs every hashgrove line of the README, in order, in one folder.
func TestReadmeSession(t *testing.T) {
	if testing.Short() {
		t.Skip("the README's session takes seconds")
	}
	sessions := blocks(t, "../../README.md", "console")
	t.Chdir(t.TempDir())
	ran := 0
	for _, session := range sessions {
		for line := range strings.Lines(session) {
			line, _, _ = strings.Cut(strings.TrimSpace(line), "#")
			words := shellWords(line)
			if len(words) > 1 && words[0] == "$" && words[1] == "hashgrove" {
				succeed(t, words[2:]...)
				ran++
			}
		}
	}
	if ran < 5 {
		t.Errorf("the README has %d hashgrove lines", ran)
	}
}

// TestReadmeProgram checks that the README's program is the one that fasthash/example_test.go compiles and runs.
func TestReadmeProgram(t *testing.T) {
	programs := blocks(t, "../../README.md", "go")
	if len(programs) != 1 {
		t.Fatalf("the README has %d programs, want 1", len(programs))
	}
	example := squeeze(string(read(t, "../../fasthash/example_test.go")))
	if !strings.Contains(example, squeeze(programs[0])) {
		t.Error("the README's program is not in fasthash/example_test.go")
	}
}

// squeeze makes texts equal that differ in white space only.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// TestDocsNameRealFlags checks every --flag in README and docs against the verbs.
func TestDocsNameRealFlags(t *testing.T) {
	known := map[string]bool{"help": true}
	root := (&app{}).root()
	for _, cmd := range verbs(root) {
		for _, line := range strings.Fields(cmd.UsageString()) {
			if name, ok := strings.CutPrefix(line, "--"); ok {
				known[strings.Trim(name, ".,;:")] = true
			}
		}
	}
	files := []string{"../../README.md"}
	for _, pattern := range []string{"../../docs/*.md", "../../docs/results/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files: %v", pattern, len(found), err)
		}
		files = append(files, found...)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range strings.FieldsFunc(string(text), func(r rune) bool { return strings.ContainsRune(" \n\t`(),;:|=.", r) }) {
			if name, ok := strings.CutPrefix(word, "--"); ok && name != "" && strings.Trim(name, "-") != "" && !known[name] {
				t.Errorf("%s names the flag --%s, which no verb has", path, name)
			}
		}
	}
}
