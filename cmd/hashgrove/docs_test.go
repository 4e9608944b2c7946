package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hashgrove/internal/dataset/fashion"
	"hashgrove/internal/testkit/needs"
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

// runSession runs every hashgrove line of a document's console blocks, in order, in the present folder. A search that
// finds nothing counts as a mistake of the document.
func runSession(t *testing.T, sessions []string) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	ran := 0
	for _, session := range sessions {
		for line := range strings.Lines(session) {
			line, _, _ = strings.Cut(strings.TrimSpace(line), "#")
			words := shellWords(line)
			if len(words) > 2 && words[0] == "$" && piped(t, words[1:]) {
				ran++
			} else if len(words) > 2 && words[0] == "$" && words[1] == "hashgrove" {
				if out := runExample(t, words[2:]...); strings.Contains(out, "nothing found") {
					t.Errorf("%s: nothing was found", line)
				}
				ran++
			}
		}
	}
	if ran < 5 {
		t.Errorf("the document has %d hashgrove lines", ran)
	}
}

// runExample is succeed, but a service is stopped again, and a demo, which takes longer than all that follows it, is not
// run: its flags are checked, and what it would leave is there, with few pictures.
func runExample(t *testing.T, args ...string) string {
	t.Helper()
	switch args[0] {
	case "serve": // until it is stopped; TestServeSession serves the demo
		if len(args) > 1 {
			serveOnce(t, args)
		}
		return ""
	case "demo":
		cmd, rest, err := (&app{}).root().Find(args)
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err != nil {
			t.Fatalf("hashgrove %s: %v", strings.Join(args, " "), err)
		}
		fewPictures(t, cmd.Flag("output").Value.String())
		return ""
	}
	return succeed(t, args...)
}

// fewPictures writes the first pictures of the demo to files of their names: as many as make every example find something.
func fewPictures(t *testing.T, folder string) {
	t.Helper()
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range fashion.Files {
		z, err := gzip.NewReader(bytes.NewReader(fashion.File(name)))
		if err != nil {
			t.Fatal(err)
		}
		rows, head, size := 600, 16, fashion.Dim
		if strings.HasPrefix(name, "query") {
			rows = 200
		}
		if strings.Contains(name, "labels") {
			head, size = 8, 1
		}
		b := make([]byte, head+rows*size)
		if _, err := io.ReadFull(z, b); err != nil {
			t.Fatal(err)
		}
		binary.BigEndian.PutUint32(b[4:], uint32(rows))
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, err = w.Write(b)
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(folder, name), packed.String())
	}
}

// TestReadmeSession runs the README's session on a small table.
func TestReadmeSession(t *testing.T) {
	sessions := blocks(t, "../../README.md", "console")
	shop(t)
	runSession(t, sessions)
}

// TestGuideSession runs the commands of the guide, page after page in one folder. They begin with the demo.
func TestGuideSession(t *testing.T) {
	needs.Check(t, "the guide's session takes seconds")
	var sessions []string
	for _, page := range []string{"train", "search", "pictures"} {
		found := blocks(t, "../../docs/"+page+".md", "console")
		if len(found) == 0 {
			t.Errorf("%s.md has no commands", page)
		}
		sessions = append(sessions, found...)
	}
	t.Chdir(t.TempDir())
	var pairs strings.Builder
	for i := range 400 {
		fmt.Fprintf(&pairs, "%d,%d,%s\n", i, (i*7+1)%600, []string{"similar", "dissimilar"}[i%2])
	}
	write(t, "judged.csv", pairs.String()) // which people make
	runSession(t, sessions)
}

// TestProgramsOfDocs checks that the programs of README and guide are those that example_test.go compiles and runs.
func TestProgramsOfDocs(t *testing.T) {
	example := squeeze(string(read(t, "../../example_test.go")))
	for _, path := range []string{"../../README.md", "../../docs/search.md"} {
		programs := blocks(t, path, "go")
		if len(programs) != 1 {
			t.Errorf("%s has %d programs, want 1", path, len(programs))
		}
		for _, program := range programs {
			if !strings.Contains(example, squeeze(program)) {
				t.Errorf("the program of %s is not in example_test.go", path)
			}
		}
	}
}

// squeeze makes texts equal that differ in white space only.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// TestDocsNameRealFlags checks every --flag in README and docs against the verbs.
func TestDocsNameRealFlags(t *testing.T) {
	known := map[string]bool{
		"help": true,
	}
	for _, name := range []string{"system-site-packages", "no-index", "pre", "find-links"} { // of venv and pip
		known[name] = true
	}
	root := (&app{}).root()
	for _, cmd := range verbs(root) {
		for _, line := range strings.Fields(cmd.UsageString()) {
			if name, ok := strings.CutPrefix(line, "--"); ok {
				known[strings.Trim(name, ".,;:")] = true
			}
		}
	}
	files := []string{"../../README.md", "../../CONTRIBUTING.md", "../../SECURITY.md"}
	for _, pattern := range []string{"../../docs/*.md", "../../docs/*/*.md"} {
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

// script runs a script in a shell, in which hashgrove is the program under test.
func script(t *testing.T, text string, env ...string) {
	t.Helper()
	shell := needs.Program(t, needs.Shell, "sh")
	self, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "hashgrove")); err != nil {
		needs.Skip(t, needs.Links, err)
	}
	cmd := exec.Command(shell, "-ec", text)
	cmd.Env = append(os.Environ(), "HASHGROVE_TEST_AS_COMMAND=1", "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.Env = append(cmd.Env, env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s with %v: %v\n%s", text, env, err, out)
	}
}

// TestScalePage runs what docs/scale.md shows for one machine: the session, the script of a scheduler once for every file,
// and the filter. TestEngines runs the rest.
func TestScalePage(t *testing.T) {
	const page = "../../docs/scale.md"
	sessions, scripts := blocks(t, page, "console"), blocks(t, page, "sh")
	if len(scripts) != 1 {
		t.Fatalf("%d scripts", len(scripts))
	}
	shop(t)
	succeed(t, shellWords("train vectors.npy --labels classes.txt --bits 8 --rounds 3 -o items.hgm")...)
	succeed(t, shellWords("encode vectors.npy -m items.hgm -o whole.npy")...)
	for i := 1; i <= 2; i++ {
		write(t, fmt.Sprintf("part-%d.npy", i), string(read(t, "vectors.npy")))
	}
	runSession(t, sessions)
	check := func(what, got, want string) {
		t.Helper()
		if !bytes.Equal(read(t, got), read(t, want)) {
			t.Errorf("%s: %s is not %s", what, got, want)
		}
	}
	check("the filter", "codes.npy", "whole.npy")
	for i := 1; i <= 2; i++ {
		codes := fmt.Sprintf("part-%d.hgc", i)
		want := read(t, codes) // of the session: a job may be submitted again
		script(t, scripts[0], fmt.Sprint("SLURM_ARRAY_TASK_ID=", i), "SLURM_CPUS_PER_TASK=1")
		if !bytes.Equal(read(t, codes), want) {
			t.Errorf("Slurm made other codes of part %d", i)
		}
	}

	filter := shellWords("encode - --quiet --format jsonl -m items.hgm --to jsonl -o -")
	row := `{"id":"a","vector":[` + strings.Repeat("1,", 11) + `1]}` + "\n"
	for rows := range 3 { // a partition may be empty
		o := feed(t, strings.NewReader(strings.Repeat(row, rows)), filter...)
		if o.code != 0 || strings.Count(o.out, `"id":"a","code":"`) != rows || strings.Count(o.out, "\n") != rows {
			t.Errorf("%d rows through the pipe: %+v", rows, o)
		}
	}
}
