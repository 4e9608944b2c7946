package hashgrove_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// The limits of code that fits on a screen. A tab counts as one column.
const (
	longestFunction = 80
	mostParameters  = 6
	widestLine      = 120
)

// TestFunctionsFitOnAScreen holds functions, parameter lists and lines to their limits. Assembly stubs have the parameters
// that the kernels want.
func TestFunctionsFitOnAScreen(t *testing.T) {
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && name != "." && strings.ContainsAny(d.Name()[:1], "_.") {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if bytes.HasPrefix(b, []byte("// Code generated")) {
			return nil
		}
		for i, line := range strings.Split(string(b), "\n") {
			if strings.HasPrefix(line, "//go:") {
				continue
			}
			if width := utf8.RuneCountInString(line); width > widestLine {
				t.Errorf("%s:%d: %d columns", name, i+1, width)
			}
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, b, 0)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			if lines := set.Position(f.End()).Line - set.Position(f.Pos()).Line + 1; lines > longestFunction {
				t.Errorf("%s: %s has %d lines", name, f.Name.Name, lines)
			}
			kernel := strings.HasPrefix(name, "internal/model/kernel") // twins of assembly
			if n := f.Type.Params.NumFields(); n > mostParameters && !kernel {
				t.Errorf("%s: %s has %d parameters", name, f.Name.Name, n)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestNamesSayWhatTheyReturn keeps functions from being named by a preposition or a word that says nothing alone.
func TestNamesSayWhatTheyReturn(t *testing.T) {
	bare := []string{
		"of", "or", "only", "to", "hand", "tell", "none", "calls", "way", "mark", "begin", "whole", "shorts", "with", "from",
		"by", "in", "on", "at", "as", "for", "than", "let", "make", "do", "go",
	}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && name != "." && strings.ContainsAny(d.Name()[:1], "_.") {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && slices.Contains(bare, f.Name.Name) {
				t.Errorf("%v: a function named %s", set.Position(f.Pos()), f.Name.Name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
