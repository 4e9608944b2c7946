package model

import (
	"bytes"
	"go/ast"
	source "go/parser"
	"go/token"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hashgrove/internal/fault"
	"hashgrove/internal/testkit/budgettest"
	"hashgrove/internal/vectors"
)

// largeModels is a model of every kind, and of every kind of map, of up to a few megabytes.
func largeModels(rng *rand.Rand) map[string]Encoder {
	const dim, bits, anchors = 256, 16, 2048
	all := map[string]Encoder{
		"trees": randomTrees(rng, 64, dim, 4, 200), "linear": randomHyperplanes(rng, bits, 1<<15),
		"projection": randomProjection(rng, bits, 1<<15, true),
	}
	all["detailed"] = &Detailed{Class: randomTrees(rng, 64, dim, 4, 200), Detail: randomProjection(rng, 64, dim, true)}
	curves := &Curves{Cols: dim}
	for i := range anchors {
		curves.Curves = append(curves.Curves, Curve{i % dim, []float32{-1, 0.5, 2}, []float32{3, -1, 4}})
	}
	for name, m := range map[string]Map{
		"affine": &Affine{Weight: randomMatrix(rng, anchors, dim)}, "kernel": &Kernel{Anchors: randomMatrix(rng, anchors, dim), Width: 4},
		"anchors": &Kernel{Anchors: randomMatrix(rng, anchors, dim), Nearest: anchors, Width: 3}, "curves": curves,
		"bytes":  NewByteKernel(randomMatrix(rng, anchors, dim), 4, 0.03),
		"winner": &Winner{Cols: anchors, Soft: true}, "extension": &Extension{Maps: []Map{&Affine{Weight: randomMatrix(rng, anchors, dim)}}},
	} {
		all["mapped: "+name] = Compose(randomProjection(rng, bits, m.Out(), false), m)
	}
	return all
}

// TestEveryKindStaysWithinItsBudget reads and uses a large model of every kind: what docs/promises.md says of all.
func TestEveryKindStaysWithinItsBudget(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 17))
	for name, e := range largeModels(rng) {
		t.Run(name, func(t *testing.T) {
			b := bytesOf(t, &Model{Encoder: e})
			budgettest.Within(t, budgettest.MiB+8*uint64(len(b)), func() {
				if _, err := Read(bytes.NewReader(b)); err != nil {
					t.Error(err)
				}
			})
			x := vectors.Matrix{Rows: 300, Cols: e.Dim()}
			x.Data = randomFloats(rng, x.Rows*x.Cols)
			budgettest.Peak(t, 256*budgettest.MiB+8*uint64(len(b)), func() { encodeAll(t, e, x, 2) })
		})
	}
}

// kinds are the kinds of encoders that the source of the package names.
func kinds(t *testing.T) []string {
	var names []string
	collect := func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Names) == 1 && len(v.Values) == 1 && strings.HasPrefix(v.Names[0].Name, "kind") {
			if text, ok := v.Values[0].(*ast.BasicLit); ok && text.Kind == token.STRING {
				name, _ := strconv.Unquote(text.Value)
				names = append(names, name)
			}
		}
		return true
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		f, err := source.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, collect)
	}
	return names
}

// TestEveryKindHasABudget: no kind of model, function or map is read before hostile files of it are held to a budget, and
// a large one is.
func TestEveryKindHasABudget(t *testing.T) {
	named := kinds(t)
	if !slices.Contains(named, kindTrees) || !slices.Contains(named, kindMapped) || len(named) < 4 {
		t.Fatalf("the kinds are %v: this test looks for the wrong names", named)
	}
	hostileKinds, functions, maps := map[string]bool{}, map[byte]bool{}, map[byte]bool{}
	for _, ps := range hostile() {
		kind := ""
		for _, p := range ps {
			switch {
			case p.tag == "head" && len(p.payload) > 1 && int(p.payload[0]) < len(p.payload):
				kind = string(p.payload[1 : 1+p.payload[0]])
				hostileKinds[kind] = true
			case p.tag == "bit " && len(p.payload) > 0 && (kind == kindTrees || kind == kindLinear):
				functions[p.payload[0]] = true
			case p.tag == "base" && len(p.payload) > 9 && kind == kindMapped: // the number of maps, the length of the first
				maps[p.payload[9]] = true
			}
		}
	}
	largeKinds, largeMaps := map[string]bool{}, map[byte]bool{}
	for _, e := range largeModels(rand.New(rand.NewPCG(5, 17))) {
		largeKinds[e.Kind()] = true
		if m, ok := e.(*Mapped); ok {
			largeMaps[m.Maps[0].appendTo(nil)[0]] = true
		}
	}
	for _, kind := range named {
		if !hostileKinds[kind] || !largeKinds[kind] {
			t.Errorf("models of kind %s: a hostile one %t, a large one %t", kind, hostileKinds[kind], largeKinds[kind])
		}
	}
	for tag := byte(1); tag < 255; tag++ {
		if _, err := ParseFunction([]byte{tag}); !fault.Is(err, "unknown-type") {
			if !functions[tag] {
				t.Errorf("functions of type %d: none is hostile", tag)
			}
		}
		if _, err := parseMap([]byte{tag}); !fault.Is(err, "unknown-type") {
			if !maps[tag] || !largeMaps[tag] {
				t.Errorf("maps of type %d: a hostile one %t, a large one %t", tag, maps[tag], largeMaps[tag])
			}
		}
	}
}
