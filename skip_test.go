package hashgrove_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSkipsCanBeRequired keeps tests from being skipped in silence. A test that something is missing for says so with
// package needs, so that CI can require the thing. A plain Skip is left for what a run does not ask for: it stands under
// an if that holds only with -short, without HASHGROVE_LONG, or on some systems and processors. All modules are read.
func TestSkipsCanBeRequired(t *testing.T) {
	read := 0
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && name != "." &&
			(strings.ContainsAny(d.Name()[:1], "_.") || filepath.ToSlash(name) == "internal/testkit/needs") {
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
		if usesTesting(file) {
			read++
			for _, at := range silentSkips(file) {
				t.Errorf("%v: this skip cannot be required: use package needs", set.Position(at))
			}
		}
		return nil
	})
	if err != nil || read < 200 {
		t.Fatalf("%d files of tests: %v", read, err)
	}
}

// TestSilentSkipsAreFound checks that the check can fail.
func TestSilentSkipsAreFound(t *testing.T) {
	for body, want := range map[string]int{
		`t.Skip()`:                                                                       1,
		`t.SkipNow()`:                                                                    1,
		`give := t.Skipf; give("")`:                                                      1,
		`needs.Skip(t, needs.Ptrace, "")`:                                                0,
		`if testing.Short() { t.Skip() }`:                                                0,
		`if testing.Short() { for { if x { t.Skip() } } }`:                               1,
		`if testing.Short() && x { t.Skip() }`:                                           0,
		`if x && (y && runtime.GOOS != "linux") { t.Skip() }`:                            0,
		`if testing.Short() || x { t.Skip() }`:                                           1,
		`if !testing.Short() { t.Skip() }`:                                               1,
		`if testing.Short() { x() } else { t.Skip() }`:                                   1,
		`if os.Getenv("HASHGROVE_LONG") != "1" { t.Skipf("") }`:                          0,
		`if os.Getenv("HASHGROVE_OTHER") != "1" { t.Skip() }`:                            1,
		`if runtime.GOOS != "linux" || runtime.GOARCH == "386" { t.Skip() }`:             0,
		`if err != nil { t.Skip(err) }`:                                                  1,
		`if err != nil { if os.Getenv("CI") == "true" { t.Fatal(err) }; b.Skip(err) }`:   1,
		`t.Run("", func(t *testing.T) { if testing.Short() { t.Skip() }; f.SkipNow() })`: 1,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() {"+body+"\n}", 0)
		if err != nil {
			t.Fatal(body, err)
		}
		if found := silentSkips(file); len(found) != want {
			t.Errorf("%s: %d are found, want %d", body, len(found), want)
		}
	}
}

// usesTesting tells whether a file imports package testing; elsewhere Skip is something else.
func usesTesting(file *ast.File) bool {
	return slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"testing"` })
}

// silentSkips is where a file skips tests, or takes the function that does, other than with package needs or first thing
// under an if that may.
func silentSkips(file *ast.File) (found []token.Pos) {
	allowed := map[ast.Node]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			if len(n.Body.List) > 0 && askedFor(n.Cond) {
				if s, ok := n.Body.List[0].(*ast.ExprStmt); ok {
					if call, ok := s.X.(*ast.CallExpr); ok {
						allowed[call.Fun] = true
					}
				}
			}
		case *ast.SelectorExpr:
			of, _ := n.X.(*ast.Ident)
			skips := slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, n.Sel.Name)
			if skips && !allowed[n] && (of == nil || of.Name != "needs") {
				found = append(found, n.Pos())
			}
		}
		return true
	})
	return found
}

// askedFor tells whether a condition holds only in runs that are asked for less, or on some systems and processors.
func askedFor(cond ast.Expr) bool {
	switch e := cond.(type) {
	case *ast.ParenExpr:
		return askedFor(e.X)
	case *ast.CallExpr:
		return isCall(e, "testing", "Short", "")
	case *ast.BinaryExpr:
		switch e.Op {
		case token.LOR:
			return askedFor(e.X) && askedFor(e.Y)
		case token.LAND:
			return askedFor(e.X) || askedFor(e.Y)
		case token.EQL, token.NEQ:
			return isCall(e.X, "os", "Getenv", `"HASHGROVE_LONG"`) ||
				isName(e.X, "runtime", "GOOS") || isName(e.X, "runtime", "GOARCH")
		}
	}
	return false
}

// isCall tells whether an expression calls a function of a package with one literal, or none for "".
func isCall(e ast.Expr, pkg, name, argument string) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok || !isName(call.Fun, pkg, name) {
		return false
	}
	if argument == "" {
		return len(call.Args) == 0
	}
	literal, ok := call.Args[0].(*ast.BasicLit)
	return ok && literal.Value == argument
}

// isName tells whether an expression is a name of a package.
func isName(e ast.Expr, pkg, name string) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != name {
		return false
	}
	of, ok := s.X.(*ast.Ident)
	return ok && of.Name == pkg
}
