package hashgrove_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"strings"
	"testing"
)

// TestPublicTypesAreNotInternal: what a program of another module can name, it can read about. No exported name is, or
// mentions, a type of an internal package.
func TestPublicTypesAreNotInternal(t *testing.T) {
	var public []string
	for path := range strings.FieldsSeq(output(t, "go", "list", "./...")) {
		if !strings.Contains(path, "/internal/") && !isCommand(path) {
			public = append(public, path)
		}
	}
	files := map[string]string{}
	exports := append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}, public...)
	for line := range strings.Lines(output(t, "go", exports...)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[path] = file
	}
	from := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(files[path])
	})
	count := 0
	for _, path := range public {
		p, err := from.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range p.Scope().Names() {
			if object := p.Scope().Lookup(name); object.Exported() {
				count++
				if _, isVar := object.(*types.Var); isVar {
					t.Errorf("%s.%s is a variable, which any program can change", path, name)
				}
				for place, at := range mentioned(object) {
					if strings.Contains(at, "/internal/") {
						t.Errorf("%s: %s mentions %s, which nobody else can name", path, place, at)
					}
				}
			}
		}
	}
	if count < 100 {
		t.Errorf("only %d exported names were found", count)
	}
}

// isCommand reports whether a package belongs to a program.
func isCommand(path string) bool {
	top, _, _ := strings.Cut(strings.TrimPrefix(path, "hashgrove/"), "/")
	return top == "cmd" || top == "x" || top == "paper" || strings.HasSuffix(path, "test")
}

// mentioned returns the packages of the types that an exported object mentions, by place.
func mentioned(object types.Object) map[string]string {
	found := map[string]string{}
	see := func(place string, t types.Type) {
		eachNamed(t, func(name *types.TypeName) {
			if name.Pkg() != nil {
				found[place+" with "+name.Name()] = name.Pkg().Path()
			}
		})
	}
	name, isType := object.(*types.TypeName)
	if !isType {
		see(object.Name(), object.Type())
		return found
	}
	if name.IsAlias() {
		see(name.Name(), name.Type())
		return found
	}
	see(name.Name(), name.Type().Underlying())
	methods := types.NewMethodSet(types.NewPointer(name.Type()))
	for m := range methods.Methods() {
		if m.Obj().Exported() {
			see(name.Name()+"."+m.Obj().Name(), m.Obj().Type())
		}
	}
	return found
}

// eachNamed visits the named types that a type is made of. It does not look into those: they are visited themselves if
// they are exported.
func eachNamed(t types.Type, visit func(*types.TypeName)) {
	switch t := t.(type) {
	case *types.Alias:
		visit(t.Obj())
		eachNamed(t.Rhs(), visit)
	case *types.Named:
		visit(t.Obj())
		for arg := range t.TypeArgs().Types() {
			eachNamed(arg, visit)
		}
	case *types.Map:
		eachNamed(t.Key(), visit)
		eachNamed(t.Elem(), visit)
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels
		eachNamed(t.Elem(), visit)
	case *types.Signature:
		eachNamed(t.Params(), visit)
		eachNamed(t.Results(), visit)
	case *types.Tuple:
		for v := range t.Variables() {
			eachNamed(v.Type(), visit)
		}
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() {
				eachNamed(f.Type(), visit)
			}
		}
	case *types.Interface:
		for m := range t.Methods() {
			if m.Exported() {
				eachNamed(m.Type(), visit)
			}
		}
		for e := range t.EmbeddedTypes() {
			eachNamed(e, visit)
		}
	}
}

// TestEveryFieldIsExplained: go doc alone says what a field is for.
func TestEveryFieldIsExplained(t *testing.T) {
	for _, path := range glob(t, "*.go") {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || !spec.Name.IsExported() {
				return true
			}
			if fields, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range fields.Fields.List {
					if len(f.Names) > 0 && f.Names[0].IsExported() && f.Doc == nil && f.Comment == nil {
						t.Errorf("%s: %s.%s has no comment", path, spec.Name, f.Names[0])
					}
				}
			}
			return false
		})
	}
}
