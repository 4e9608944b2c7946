package hashgrove_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// platforms are those that "make release" makes programs for, and two where an int has 32 bits.
var platforms = []string{
	"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64", "linux/386", "linux/arm",
}

// TestTypesOnEveryPlatform checks all packages and their tests as the compiler would for another platform. It reads what
// they import from source and leaves the bodies of functions out there, which takes a few seconds where compiling takes
// minutes; "make release" compiles.
func TestTypesOnEveryPlatform(t *testing.T) {
	if testing.Short() {
		t.Skip("checks the types of everything for eight platforms")
	}
	read := source{set: token.NewFileSet(), whole: map[string]*ast.File{}, outlines: map[string]*ast.File{}}
	for _, platform := range platforms {
		t.Run(platform, func(t *testing.T) {
			system, processor, _ := strings.Cut(platform, "/")
			packages, err := listed(system, processor)
			if err != nil {
				t.Fatal(err)
			}
			own := 0
			for _, err := range read.check(packages, processor, &own) {
				t.Error(err)
			}
			if own < 60 {
				t.Errorf("only %d packages of this module were checked", own)
			}
		})
	}
}

// A package that does not fit is found: else the test above could not fail.
func TestTypesAreChecked(t *testing.T) {
	folder := t.TempDir()
	name := filepath.Join(folder, "a.go")
	text := "package a\n\nimport \"syscall\"\n\nvar A int = 1 << 40\n\nvar B = syscall.SIGUSR1\n"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for platform, want := range map[string]int{"linux/amd64": 0, "linux/386": 1, "windows/amd64": 1} {
		system, processor, _ := strings.Cut(platform, "/")
		packages, err := listed(system, processor, "syscall")
		if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, listedPackage{ImportPath: "a", Dir: folder, GoFiles: []string{"a.go"}, Module: &struct{ Main bool }{true}})
		read := source{set: token.NewFileSet(), whole: map[string]*ast.File{}, outlines: map[string]*ast.File{}}
		if found := read.check(packages, processor, new(int)); len(found) != want {
			t.Errorf("%s: %v", platform, found)
		}
	}
}

// listedPackage is what "go list" tells of a package, after those that it imports.
type listedPackage struct {
	ImportPath, Dir, Name string
	Standard              bool
	GoFiles               []string
	ImportMap             map[string]string
	Module                *struct{ Main bool }
	Error                 *struct{ Err string }
}

func listed(system, processor string, patterns ...string) ([]listedPackage, error) {
	args := append([]string{"list", "-deps", "-e", "-json=ImportPath,Dir,Name,Standard,GoFiles,ImportMap,Module,Error"}, patterns...)
	if patterns == nil {
		args = append(args, "-test", "./...")
	}
	c := exec.Command("go", args...)
	c.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0")
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	var packages []listedPackage
	for d := json.NewDecoder(out); ; {
		var p listedPackage
		switch err := d.Decode(&p); {
		case err == io.EOF:
			return packages, c.Wait()
		case err != nil:
			return nil, errors.Join(err, c.Wait())
		case p.Error != nil:
			return nil, errors.Join(fmt.Errorf("%s: %s", p.ImportPath, p.Error.Err), c.Wait())
		}
		packages = append(packages, p)
	}
}

// source has the files of packages, parsed once for all platforms: with and without the bodies of functions.
type source struct {
	set             *token.FileSet
	whole, outlines map[string]*ast.File
}

func (s *source) file(name string, whole bool) (*ast.File, error) {
	files := s.outlines
	if whole {
		files = s.whole
	}
	if f := files[name]; f != nil {
		return f, nil
	}
	f, err := parser.ParseFile(s.set, name, nil, parser.SkipObjectResolution)
	if err == nil && !whole {
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok {
				d.Body = nil
			}
		}
	}
	files[name] = f
	return f, err
}

// check returns the mistakes in packages of this module, and counts these.
func (s *source) check(packages []listedPackage, processor string, own *int) (mistakes []error) {
	done := map[string]*types.Package{"unsafe": types.Unsafe}
	for _, p := range packages {
		if p.ImportPath == "unsafe" || strings.HasSuffix(p.ImportPath, ".test") { // a main package that go test writes
			continue
		}
		ours := p.Module != nil && p.Module.Main
		var files []*ast.File
		for _, name := range p.GoFiles {
			f, err := s.file(filepath.Join(p.Dir, name), ours)
			if err != nil {
				return append(mistakes, err)
			}
			files = append(files, f)
		}
		config := types.Config{
			Importer: importerFunc(func(path string) (*types.Package, error) {
				if to, ok := p.ImportMap[path]; ok {
					path = to
				}
				if found := done[path]; found != nil {
					return found, nil
				}
				return nil, fmt.Errorf("%s is not among the packages", path)
			}),
			Sizes: types.SizesFor("gc", processor), IgnoreFuncBodies: !ours, FakeImportC: true,
			Error: func(err error) {
				if ours {
					mistakes = append(mistakes, err)
				}
			},
		}
		path, _, _ := strings.Cut(p.ImportPath, " ")
		done[p.ImportPath], _ = config.Check(path, s.set, files, nil)
		if ours {
			*own++
		}
	}
	return mistakes
}

type importerFunc func(path string) (*types.Package, error)

func (f importerFunc) Import(path string) (*types.Package, error) { return f(path) }
