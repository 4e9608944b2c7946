package hashgrove_test

import (
	"bytes"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pipeline is the order of the packages: each may import those before it, never those after it.
var pipeline = []string{
	"hashgrove/api",
	"hashgrove/client", "hashgrove/internal/fault",
	"hashgrove/internal/par", "hashgrove/internal/pages", "hashgrove/internal/section", "hashgrove/internal/fasthash/maxflow",
	"hashgrove/internal/numeric/gemm", "hashgrove/internal/numeric/portable",
	"hashgrove/internal/hamming", "hashgrove/internal/vectors", "hashgrove/internal/fasthash/affinity", "hashgrove/internal/supervision", "hashgrove/internal/picture",
	"hashgrove/internal/picture/gallery", "hashgrove/internal/dataset", "hashgrove/internal/numeric/linalg", "hashgrove/internal/fashion",
	"hashgrove/internal/feature", "hashgrove/internal/feature/dictionary", "hashgrove/internal/fasthash/inference",
	"hashgrove/internal/model", "hashgrove/internal/fasthash/boost", "hashgrove/internal/fasthash/svm", "hashgrove/internal/index", "hashgrove/internal/atlas", "hashgrove/internal/store",
	"hashgrove/internal/engine", "hashgrove/internal/engine/enginetest", "hashgrove/internal/export", "hashgrove/internal/eval",
	"hashgrove/internal/testkit/methodtest", "hashgrove/internal/fasthash", "hashgrove/internal/numeric/solve", "hashgrove/internal/method",
	"hashgrove/internal/train", "hashgrove/method",
	"hashgrove/internal/plot", "hashgrove/internal/report", "hashgrove/internal/trial", "hashgrove/internal/compare",
	"hashgrove/internal/machine", "hashgrove/x/paper", "hashgrove/server", "hashgrove/internal/workshop",
	"hashgrove", "hashgrove/cmd/hashgrove",
}

func TestImportsRunDownThePipeline(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}}:{{range .Imports}} {{.}}{{end}}", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		name, imports, _ := strings.Cut(strings.TrimSpace(line), ":")
		own := slices.Index(pipeline, name)
		if own < 0 {
			if !strings.Contains(name, "/internal/") && !strings.HasPrefix(name, "hashgrove/x/") {
				t.Errorf("package %s has no place in the pipeline", name)
			}
			continue
		}
		for _, imported := range strings.Fields(imports) {
			if at := slices.Index(pipeline, imported); at > own {
				t.Errorf("%s imports %s, which comes after it", name, imported)
			}
		}
	}
}

// TestServingLinksNeitherReadersNorLearners keeps what encodes and searches free of what reads files and learns.
func TestServingLinksNeitherReadersNorLearners(t *testing.T) {
	trainers := []string{
		"hashgrove/internal/fasthash/inference", "hashgrove/internal/fasthash/boost", "hashgrove/internal/fasthash/svm", "hashgrove/internal/fasthash", "hashgrove/internal/method",
		"hashgrove/internal/feature/dictionary", "hashgrove/internal/numeric/linalg",
	}
	learners := append(slices.Clip(trainers), "hashgrove/internal/supervision", "hashgrove/internal/fasthash/affinity")
	readers := []string{
		"hashgrove/internal/dataset", "hashgrove/internal/picture/gallery", "image/jpeg", "image/png", "image/gif", "golang.org/x/image/",
		"github.com/parquet-go/", "github.com/klauspost/compress/",
	}
	for serving, others := range map[string][]string{
		"./internal/model": nil,
		"./internal/index": {"hashgrove/internal/model", "hashgrove/internal/feature", "hashgrove/internal/picture", "hashgrove/internal/vectors"},
		"./internal/store": nil,
	} {
		checkDependencies(t, serving, slices.Concat(learners, readers, others))
	}
	// The service reads pictures and vectors of items, but never learns; the front door has everything behind it.
	checkDependencies(t, "./server", append(trainers, "hashgrove", "hashgrove/internal/compare", "hashgrove/x/paper"))
}

// TestTrainingCanBeLeftOut checks that the tag notrain removes from the command what learns from uploads, and that it is
// there without the tag.
func TestTrainingCanBeLeftOut(t *testing.T) {
	for tags, want := range map[string]bool{"": true, "notrain": false} {
		out, err := exec.Command("go", "list", "-deps", "-tags", tags, "./cmd/hashgrove").Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(strings.Fields(string(out)), "hashgrove/internal/workshop"); got != want {
			t.Errorf("with the tags %q the command links the workshop: %v", tags, got)
		}
	}
}

// checkDependencies reports packages that another must not link; a name that ends with a slash stands for all below it.
func checkDependencies(t *testing.T, of string, unwanted []string) {
	t.Helper()
	out, err := exec.Command("go", "list", "-deps", of).Output()
	if err != nil {
		t.Fatal(err)
	}
	for linked := range strings.FieldsSeq(string(out)) {
		for _, name := range unwanted {
			if linked == name || strings.HasSuffix(name, "/") && strings.HasPrefix(linked, name) {
				t.Errorf("%s links %s", of, linked)
			}
		}
	}
}

// TestNothingElseUsesTheNetwork keeps connections to those packages whose purpose they are.
func TestNothingElseUsesTheNetwork(t *testing.T) {
	connected := []string{
		"hashgrove/client", "hashgrove/cmd/hashgrove", "hashgrove/internal/engine", "hashgrove/server", "hashgrove/internal/workshop",
		"hashgrove/internal/testkit/redistest",
	}
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}}:{{range .Imports}} {{.}}{{end}}", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		name, imports, _ := strings.Cut(strings.TrimSpace(line), ":")
		for _, imported := range strings.Fields(imports) {
			uses := imported == "net" || strings.HasPrefix(imported, "net/") && imported != "net/url"
			if uses && !slices.Contains(connected, name) {
				t.Errorf("%s imports %s", name, imported)
			}
		}
	}
}

// TestEnginesStayOutside keeps the clients of databases out of the library and the service: only package engine and the
// command have them.
func TestEnginesStayOutside(t *testing.T) {
	unwanted := []string{"github.com/jackc/", "hashgrove/internal/engine", "hashgrove/internal/engine/"}
	for _, of := range []string{".", "./server", "./internal/store", "./internal/index", "./client"} {
		checkDependencies(t, of, unwanted)
	}
	out, err := exec.Command("go", "list", "-deps", "./internal/engine").Output()
	if err != nil || !bytes.Contains(out, []byte("github.com/jackc/pgx/v5")) {
		t.Errorf("package engine does not link pgx, so this test looks for the wrong name: %v", err)
	}
}

// TestClientIsSmall keeps the client of the service free of everything but the standard library.
func TestClientIsSmall(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./client").Output()
	if err != nil {
		t.Fatal(err)
	}
	if linked := strings.Fields(string(out)); !slices.Equal(linked, []string{"hashgrove/client"}) {
		t.Errorf("the client links %v", linked)
	}
}

// TestFilesAreInShape checks what every Go file should be: not too long, named by a noun, one package comment each.
func TestFilesAreInShape(t *testing.T) {
	comments := map[string]int{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || isModule(name)) {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") {
			return err
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if lines := bytes.Count(b, []byte("\n")); lines > 600 {
			t.Errorf("%s has %d lines", name, lines)
		}
		if base := path.Base(name); slices.Contains([]string{"utils.go", "util.go", "helpers.go", "common.go", "misc.go"}, base) {
			t.Errorf("%s is not named by what is in it", name)
		}
		if strings.HasSuffix(name, "_test.go") || bytes.Contains(b, []byte("//go:build ignore")) {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, b, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			return err
		}
		comments[filepath.Dir(name)] += 0
		if f.Doc != nil {
			comments[filepath.Dir(name)]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir, n := range comments {
		if n != 1 {
			t.Errorf("package in %s has %d package comments, want 1", dir, n)
		}
	}
}

// isModule reports whether a folder is a module of its own, as the generators and the benchmarks are.
func isModule(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil
}

// TestDependenciesOfTestsStayOutside keeps what only browser tests need out of the library's go.mod, and checks that
// make tests every nested module.
func TestDependenciesOfTestsStayOutside(t *testing.T) {
	for _, file := range []string{"go.mod", "go.sum"} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(b, []byte("chromedp")) {
			t.Errorf("%s names chromedp, which only tests in a browser need", file)
		}
	}
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, modules, _ := strings.Cut(string(makefile), "\nMODULES = ")
	modules, _, _ = strings.Cut(modules, "\n")
	err = filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || name == "." {
			return err
		}
		if strings.ContainsAny(d.Name()[:1], "_.") {
			return fs.SkipDir // generators have no tests
		}
		own := "\n\tcd " + filepath.ToSlash(name) + " && $(GO) vet ./... && $(GO) test " // it has a target of its own
		if isModule(name) && !slices.Contains(strings.Fields(modules), filepath.ToSlash(name)) &&
			!strings.Contains(string(makefile), own) {
			t.Errorf("the module in %s is not among the MODULES of the Makefile", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestSlowTestsAreChecked: what make test leaves out by name, make check runs in the packages that have it.
func TestSlowTestsAreChecked(t *testing.T) {
	out, err := exec.Command("make", "-n", "unit", "slow").Output()
	if err != nil {
		t.Fatal(err)
	}
	left := regexp.MustCompile(`-skip '\^Test\(([^)]+)\)\$'`).FindSubmatch(out)
	run := regexp.MustCompile(`-run '\^Test\(([^)]+)\)\$' (.*)`).FindSubmatch(out)
	if left == nil || run == nil || !bytes.Equal(left[1], run[1]) {
		t.Fatalf("make test leaves out %q, and make check runs %q", left, run)
	}
	packages := strings.Fields(string(run[2]))
	for name := range strings.SplitSeq(string(left[1]), "|") {
		found, err := exec.Command("git", "grep", "-l", "^func Test"+name+"(", "--", "*_test.go").Output()
		if err != nil {
			t.Errorf("make test leaves out Test%s, which is nowhere: %v", name, err)
		}
		for file := range strings.FieldsSeq(string(found)) {
			folder := "./" + path.Dir(file)
			if own := slices.ContainsFunc(nested(t), func(m string) bool { return strings.HasPrefix(folder, "./"+m) }); own {
				continue
			}
			if !slices.Contains(packages, strings.TrimSuffix(folder, "/.")) {
				t.Errorf("make check does not run Test%s of %s", name, folder)
			}
		}
	}
}

// nested lists the modules of their own, which make check runs as a whole.
func nested(t *testing.T) []string {
	out, err := exec.Command("make", "-s", "modules").Output()
	if err != nil {
		t.Fatal(err)
	}
	return append(strings.Fields(string(out)), "x/beam")
}

// TestPaperMapIsTrue checks that every file and identifier named in docs/paper.md exists.
func TestPaperMapIsTrue(t *testing.T) {
	b, err := os.ReadFile("docs/paper.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(b)) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || strings.Contains(line, "---") || strings.Contains(line, "identifier") {
			continue
		}
		rows++
		dir := ""
		for _, name := range strings.Split(cells[4], ",") {
			name = strings.TrimSpace(name)
			if dir != "" && !strings.Contains(name, "/") {
				name = path.Join(dir, name)
			}
			dir = path.Dir(name)
			if _, err := os.Stat(name); err != nil {
				t.Errorf("docs/paper.md names the file %s: %v", name, err)
			}
		}
		for _, quoted := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[3], -1) {
			parts := strings.Split(quoted[1], ".")
			folder := folderOf(parts[0])
			if len(parts) > 1 && !declared(t, folder, parts[1:]) {
				t.Errorf("docs/paper.md names %s, which %s does not declare", quoted[1], folder)
			}
		}
	}
	if rows < 15 {
		t.Errorf("docs/paper.md has %d rows", rows)
	}
}

// folderOf finds the folder of a package by its name.
func folderOf(name string) string {
	for _, parent := range []string{"internal", "internal/fasthash"} {
		if folder := path.Join(parent, name); name != "hashgrove" && isFolder(folder) {
			return folder
		}
	}
	return "."
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// declared tells whether the package in the folder declares the name, or the method or field of it.
func declared(t *testing.T, folder string, name []string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	pattern := `(?m)^(func|type|\s*)\s*(\([^)]*\)\s*)?` + name[len(name)-1] + `\b`
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if regexp.MustCompile(pattern).Match(b) {
			return true
		}
	}
	return false
}

// TestEveryPublicPackageHasAnExample keeps a program that runs beside every package that others can import.
func TestEveryPublicPackageHasAnExample(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}\t{{.ImportPath}}", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		dir, path, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if strings.Contains(path, "/internal/") || strings.Contains(path, "/cmd/") || strings.Contains(path, "/x/") {
			continue
		}
		tests, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(tests, func(name string) bool {
			b, err := os.ReadFile(name)
			return err == nil && bytes.Contains(b, []byte("\nfunc Example"))
		}) {
			t.Errorf("package %s has no example", path)
		}
	}
}
