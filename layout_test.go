package hashgrove_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// These tests hold what no linter knows; the rest is in .golangci.yml.

// pipeline is the order of the packages: each may import those before it, never those after it.
var pipeline = strings.Fields(`
	api client internal/machine internal/fault internal/par internal/pages internal/section internal/fasthash/maxflow
	internal/numeric/gemm internal/numeric/portable internal/hamming internal/vectors internal/fasthash/affinity internal/supervision
	internal/picture internal/picture/gallery internal/dataset internal/numeric/linalg internal/fashion internal/feature
	internal/feature/dictionary internal/fasthash/inference internal/model internal/fasthash/boost internal/fasthash/svm
	internal/index internal/atlas internal/store internal/items internal/search internal/engine internal/engine/enginetest internal/export internal/eval
	internal/testkit/methodtest internal/fasthash internal/numeric/solve internal/method internal/train method internal/plot internal/report
	internal/trial internal/compare x/paper server internal/workshop . internal/worker cmd/hashgrove`)

func TestImportsRunDownThePipeline(t *testing.T) {
	for line := range strings.Lines(output(t, "go", "list", "-f", "{{.ImportPath}}{{range .Imports}} {{.}}{{end}}", "./...")) {
		imports := strings.Fields(line)
		own := slices.Index(pipeline, folderOf(imports[0]))
		for _, imported := range imports[1:] {
			if at := slices.Index(pipeline, folderOf(imported)); own >= 0 && at > own {
				t.Errorf("%s imports %s, which comes after it", imports[0], imported)
			}
		}
	}
}

// folderOf is the folder of a package of this module.
func folderOf(path string) string {
	if path == "hashgrove" {
		return "."
	}
	return strings.TrimPrefix(path, "hashgrove/")
}

// TestWhatPackagesLink keeps what encodes and searches free of what reads files and learns, databases out of all but the
// command, and the workshop out of a command that is built without training.
func TestWhatPackagesLink(t *testing.T) {
	const (
		learners = `fasthash(/(inference|boost|svm))?|method|feature/dictionary|numeric/linalg`
		readers  = `supervision|fasthash/affinity|dataset|picture/gallery`
		formats  = `^(image/(jpeg|png|gif)|golang\.org/x/image|github\.com/(parquet-go|klauspost/compress))`
		engines  = `^github\.com/jackc/|^hashgrove/internal/engine`
	)
	serving := formats + `|` + engines + `|^hashgrove/internal/(` + learners + `|` + readers + `)$`
	for folder, unwanted := range map[string]string{
		"internal/model": serving,
		"internal/store": serving,
		"internal/index": serving + `|^hashgrove/internal/(model|feature|picture|vectors)$`,
		"server":         engines + `|^hashgrove(/x/paper|/internal/compare|/internal/(` + learners + `))?$`,
		".":              engines,
	} {
		for linked := range strings.FieldsSeq(output(t, "go", "list", "-deps", "./"+folder)) {
			if regexp.MustCompile(unwanted).MatchString(linked) {
				t.Errorf("%s links %s", folder, linked)
			}
		}
	}
	for tags, want := range map[string]bool{"": true, "notrain": false} {
		linked := strings.Fields(output(t, "go", "list", "-deps", "-tags", tags, "./cmd/hashgrove"))
		if got := slices.Contains(linked, "hashgrove/internal/workshop"); got != want {
			t.Errorf("with the tags %q the command links the workshop: %v", tags, got)
		}
	}
}

// TestTheHouseStaysSmall bounds what a newcomer sees: exported functions, methods, types and values, and folders.
func TestTheHouseStaysSmall(t *testing.T) {
	names := 0
	for _, folder := range []string{".", "api", "client", "server"} {
		files, _ := filepath.Glob(filepath.Join(folder, "*.go"))
		example := false
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(name, "_test.go") {
				ast.FileExports(file)
				for _, d := range file.Decls {
					if d, ok := d.(*ast.GenDecl); ok && d.Tok != token.IMPORT {
						names += len(d.Specs)
					} else if !ok {
						names++
					}
				}
			}
			example = example || slices.ContainsFunc(file.Decls, func(d ast.Decl) bool {
				f, ok := d.(*ast.FuncDecl)
				return ok && strings.HasPrefix(f.Name.Name, "Example")
			})
		}
		if !example && folder != "api" { // which is types alone
			t.Errorf("%s has no example", folder)
		}
	}
	if t.Logf("%d exported names", names); names > 300 || names < 20 {
		t.Errorf("%d exported names, at most 300", names)
	}
	folders := map[string]bool{}
	for name := range strings.FieldsSeq(output(t, "git", "ls-files", "[a-z]*/*")) {
		folder, _, _ := strings.Cut(name, "/")
		folders[folder] = true
	}
	if len(folders) > 14 || len(folders) < 5 {
		t.Errorf("%d folders, at most 14: %v", len(folders), folders)
	}
}

// TestSlowTestsAreChecked: what make test leaves out by name, make check runs in the packages that have it.
func TestSlowTestsAreChecked(t *testing.T) {
	targets := output(t, "make", "-n", "unit", "slow")
	left := regexp.MustCompile(`-skip '\^Test\(([^)]+)\)\$'`).FindStringSubmatch(targets)
	run := regexp.MustCompile(`-run '\^Test\(([^)]+)\)\$' (.*)`).FindStringSubmatch(targets)
	if left == nil || run == nil || left[1] != run[1] {
		t.Fatalf("make test leaves out %q, and make check runs %q", left, run)
	}
	modules := strings.Fields(output(t, "make", "-s", "modules"))
	for name := range strings.SplitSeq(left[1], "|") {
		for file := range strings.FieldsSeq(output(t, "git", "grep", "-l", "^func Test"+name+"(", "--", "*_test.go")) {
			folder := path.Dir(file)
			if !slices.Contains(modules, folder) && !slices.Contains(strings.Fields(run[2]), strings.TrimSuffix("./"+folder, "/.")) {
				t.Errorf("make check does not run Test%s of %s", name, folder)
			}
		}
	}
}

// TestSkipsCanBeRequired: a test that lacks something says so with package needs, so that CI can require the thing. A
// plain skip is the first line under an if that holds only with -short, without HASHGROVE_LONG or on some systems.
func TestSkipsCanBeRequired(t *testing.T) {
	skip := regexp.MustCompile(`(\w+)\.Skip(f|Now)?\b`)
	asked := regexp.MustCompile(`\bif .*(testing\.Short\(\)|HASHGROVE_LONG|runtime\.GO(OS|ARCH))`)
	for name := range strings.FieldsSeq(output(t, "git", "ls-files", "*_test.go", ":!internal/testkit/needs")) {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // it was deleted
		}
		before := ""
		for line := range strings.Lines(string(b)) {
			if m := skip.FindStringSubmatch(line); m != nil && m[1] != "needs" && len(m[1]) == 1 && !asked.MatchString(before+line) {
				t.Errorf("%s: %s cannot be required: use package needs", name, strings.TrimSpace(line))
			}
			before = line
		}
	}
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
		for _, name := range regexp.MustCompile(`\w+(/[\w.]+)+`).FindAllString(cells[4], -1) {
			if _, err := os.Stat(name); err != nil {
				t.Errorf("docs/paper.md names the file %s: %v", name, err)
			}
		}
		for _, m := range regexp.MustCompile("`(\\w+)\\.([\\w.]+)`").FindAllStringSubmatch(cells[3], -1) {
			pattern := `^(func|type|[[:space:]]*)[[:space:]]*(\([^)]*\)[[:space:]]*)?` + m[2][strings.LastIndex(m[2], ".")+1:] + `\b`
			if found, _ := exec.Command("git", "grep", "-lE", pattern, "--", "*/"+m[1]+"/*.go").Output(); len(found) == 0 {
				t.Errorf("docs/paper.md names %s.%s, which nothing declares", m[1], m[2])
			}
		}
	}
	if rows < 15 {
		t.Errorf("docs/paper.md has %d rows", rows)
	}
}

// TestNothingIsFused looks at the program for arm64, where the compiler makes one instruction of x*y + z: its last bit is
// another than on amd64, and models would be too. The remedy is float64(x*y) + z, which rounds the product. The compiler
// looks through variables, and takes a division by a power of two for a product.
func TestNothingIsFused(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles everything for arm64")
	}
	program := filepath.Join(t.TempDir(), "hashgrove")
	output(t, "env", "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0", "go", "build", "-o", program, "./cmd/hashgrove")
	listing := output(t, "go", "tool", "objdump", "-s", `^hashgrove[./]`, program)
	fused := regexp.MustCompile(`(?m)^\s*(\S+:\d+)\s.*\sFN?M(?:ADD|SUB)[SD]\s`)
	for _, m := range fused.FindAllStringSubmatch(listing, -1) {
		if !strings.HasPrefix(m[1], "fma_arm64.go:") { // products of matrices are defined by such an instruction
			t.Errorf("%s: a product is fused with a sum on arm64: round it with a conversion, as in float64(x*y) + z", m[1])
		}
	}
	if !strings.Contains(listing, "FMULD ") || !fused.MatchString("  a.go:7\t0x78\t1f000821\tFMADDS F0, F2, F1, F1\t") {
		t.Error("this test looks for the wrong instructions")
	}
}

// output is what a program prints.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		t.Fatalf("%s %s: %v", name, strings.Join(args, " "), err)
	}
	return string(out)
}
