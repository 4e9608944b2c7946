package export_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hashgrove"
	"hashgrove/internal/export"
	"hashgrove/internal/fasthash"
	"hashgrove/internal/method"
	"hashgrove/internal/model"
	"hashgrove/internal/picture"
	"hashgrove/internal/testkit/needs"
	"hashgrove/internal/vectors"
)

// A sourceCase is a model and rows for which its source must give the same codes.
type sourceCase struct {
	model *model.Model
	rows  vectors.Matrix
}

// sourceCases returns models of every kind.
func sourceCases(t *testing.T) map[string]sourceCase {
	t.Helper()
	cases := map[string]sourceCase{}
	for name, m := range models(t) {
		cases[name] = sourceCase{m, hardRows(t, m)}
	}
	for name, o := range map[string]hashgrove.Options{
		"default":        {Bits: 16, Rounds: 20},
		"linear columns": {Bits: 16, Rounds: 20, LinearColumns: "linear"},
		"kernel columns": {Bits: 16, Rounds: 20, LinearColumns: "kernel"},
		"linear scores":  {Bits: 16, Learner: "scores", LinearColumns: "linear"},
		"kernel scores":  {Bits: 16, Learner: "scores", LinearColumns: "kernel"},
		"hyperplanes":    {Bits: 9, Effort: fasthash.Paper, Learner: "linear"},
		"detail":         {Bits: 13, Rounds: 20, DetailBits: 5, LinearColumns: "kernel"},
	} {
		m := ordinary(t, o)
		cases[name] = sourceCase{m, ordinaryRows(2000)}
	}
	gaps := trained(t, true, hashgrove.Options{Bits: 13, Rounds: 9, DetailBits: 5, LinearColumns: "kernel"})
	cases["gaps and detail"] = sourceCase{gaps, hardRows(t, gaps)}
	for _, name := range method.Names() {
		if name == "fasthash" || testing.Short() {
			continue
		}
		d, _ := method.Describe(name)
		o := hashgrove.Options{Bits: 8, Method: name}
		if d.AnyBits {
			o.Bits = 3
		}
		cases["method "+name] = sourceCase{ordinary(t, o), ordinaryRows(500)}
	}
	return cases
}

// exactCases returns models whose bits compare values behind maps with themselves and with the next float32, so that
// an error in the last digit of any of them changes a code.
func exactCases() map[string]sourceCase {
	rng := rand.New(rand.NewPCG(3, 7))
	floats := func(n int, size float64) []float32 {
		list := make([]float32, n)
		for i := range list {
			list[i] = float32(rng.NormFloat64() * size)
		}
		return list
	}
	matrix := func(rows, cols int, size float64) vectors.Matrix {
		return vectors.Matrix{Rows: rows, Cols: cols, Data: floats(rows*cols, size)}
	}
	var curves model.Curves
	curves.Cols = 9
	for k := range 12 {
		x := floats(2+k, 1)
		slices.Sort(x)
		curves.Curves = append(curves.Curves, model.Curve{Column: k % 9, X: x, Y: floats(len(x), 3)})
	}
	anchors := matrix(40, 70, 1)
	cases := map[string]sourceCase{}
	for name, c := range map[string]struct {
		cols int
		maps []model.Map
	}{
		"affine": {1100, []model.Map{&model.Affine{Weight: matrix(33, 1100, 0.1), Mean: floats(1100, 1),
			Scale: floats(1100, 2), Bias: floats(33, 1)}}},
		"product":   {30, []model.Map{&model.Affine{Weight: matrix(9, 30, 1e-30)}}},
		"unit":      {20, []model.Map{&model.Affine{Weight: matrix(15, 20, 1), Unit: true}}},
		"scale":     {20, []model.Map{&model.Affine{Weight: vectors.Matrix{Rows: 20, Cols: 20}, Scale: floats(20, 1)}}},
		"kernel":    {70, []model.Map{&model.Kernel{Anchors: anchors, Width: 90, Mean: floats(40, 0.1)}}},
		"distances": {70, []model.Map{&model.Kernel{Anchors: anchors}}},
		"graph":     {70, []model.Map{&model.Kernel{Anchors: anchors, Width: 30, Nearest: 5}}},
		"bytes":     {70, []model.Map{model.NewByteKernel(anchors, 90, 0.02)}},
		"curves":    {9, []model.Map{&curves}},
		"shares":    {15, []model.Map{&model.Winner{Cols: 15, Soft: true}}},
		"winner":    {15, []model.Map{&model.Winner{Cols: 15}}},
		"extension": {70, []model.Map{&model.Extension{Maps: []model.Map{
			&model.Affine{Weight: matrix(25, 70, 0.3), Mean: floats(70, 1)},
			model.NewByteKernel(matrix(50, 25, 2), 40, 0.05), &model.Affine{Weight: matrix(7, 50, 1), Bias: floats(7, 1)},
		}}}},
	} {
		x := matrix(200, c.cols, 1)
		for j := range c.cols {
			x.Row(0)[j], x.Row(1)[j], x.Row(2)[j] = 0, anchors.Data[j%70], float32(math.Pow(10, float64(j%70)-32))
		}
		cases["exact "+name] = exactCase(rng, x, c.maps)
	}
	return cases
}

func exactCase(rng *rand.Rand, x vectors.Matrix, maps []model.Map) sourceCase {
	y, err := model.Transform(ctx, 1, x, maps...)
	if err != nil {
		panic(err)
	}
	e := &model.Projection{}
	for range 200 {
		i, j := rng.IntN(y.Rows), rng.IntN(y.Cols)
		axis := make([]float32, y.Cols)
		axis[j] = 1
		v := y.Row(i)[j]
		e.Weight = append(append(e.Weight, axis...), axis...)
		e.Threshold = append(e.Threshold, v, math.Nextafter32(v, math.MaxFloat32))
	}
	return sourceCase{&model.Model{Encoder: model.Compose(e, maps...)}, x}
}

// boosted returns boosters with sums of either precision.
func boosted(double bool) sourceCase {
	rng := rand.New(rand.NewPCG(5, 5))
	e := &model.Boosted{Columns: 4, Double: double}
	for range 9 {
		b := model.Booster{Base: float64(float32(rng.NormFloat64()))}
		for range 20 {
			split := func(value float64) model.Node {
				return model.Node{Column: rng.Int32N(4), Value: float64(float32(value))}
			}
			leaf := func() model.Node { return model.Node{Column: -1, Value: float64(float32(rng.NormFloat64()))} }
			t := []model.Node{split(rng.NormFloat64()), leaf(), split(math.Inf(1)), leaf(), leaf()}
			t[0].Right, t[2].Right = 2, 4
			b.Trees = append(b.Trees, t)
		}
		e.Outputs = append(e.Outputs, b)
	}
	x := vectors.Matrix{Rows: 300, Cols: 4}
	for range 1200 {
		x.Data = append(x.Data, float32(rng.NormFloat64()))
	}
	return sourceCase{&model.Model{Encoder: e}, x}
}

func allSourceCases(t *testing.T) map[string]sourceCase {
	cases := sourceCases(t)
	maps.Copy(cases, exactCases())
	cases["boosters"], cases["wide boosters"] = boosted(false), boosted(true)
	for name, c := range cases {
		if err := c.model.Encoder.Check(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return cases
}

func sourceOf(t *testing.T, m *model.Model, to export.Language) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := export.WriteSource(&b, m, to); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestSourcesEncodeAsTheModel compiles the generated files and feeds them.
func TestSourcesEncodeAsTheModel(t *testing.T) {
	cases := allSourceCases(t)
	t.Run("go", func(t *testing.T) { encodeInGo(t, cases) })
	t.Run("c", func(t *testing.T) { encodeInC(t, cases) })
}

// encodeInGo compiles all files into one program.
func encodeInGo(t *testing.T, cases map[string]sourceCase) {
	names := slices.Sorted(maps.Keys(cases))
	folder := t.TempDir()
	write(t, filepath.Join(folder, "go.mod"), []byte("module device\n\ngo 1.22\n"))
	var imports, choices strings.Builder
	for i, name := range names {
		to := filepath.Join(folder, fmt.Sprintf("e%d", i))
		if err := os.Mkdir(to, 0o777); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(to, "encoder.go"), sourceOf(t, cases[name].model, export.Go))
		fmt.Fprintf(&imports, "\te%d \"device/e%d\"\n", i, i)
		fmt.Fprintf(&choices, `	case "%d":
		var x [e%d.Dim]float32
		var code [e%d.Bytes]byte
		for binary.Read(in, binary.LittleEndian, &x) == nil {
			e%d.Encode(&code, &x)
			out.Write(code[:])
		}
`, i, i, i, i)
	}
	write(t, filepath.Join(folder, "main.go"), []byte(`package main

import (
	"bufio"
	"encoding/binary"
	"os"

`+imports.String()+`)

func main() {
	in, out := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	defer out.Flush()
	switch os.Args[1] {
`+choices.String()+`	}
}
`))
	program := filepath.Join(folder, "encoders")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = folder
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for i, name := range names {
		t.Run(name, func(t *testing.T) {
			c := cases[name]
			compareOutput(t, exec.Command(program, itoa(i)), c.rows, packed(t, c.model, c.rows))
		})
	}
}

// encodeInC compiles strictly, and with all that an optimiser may do: contract sums and products
// where the pragmas do not forbid it, and use every instruction of the processor.
func encodeInC(t *testing.T, cases map[string]sourceCase) {
	gcc := needs.Program(t, needs.Compiler, "gcc")
	for name, c := range cases {
		folder := t.TempDir()
		write(t, filepath.Join(folder, "encoder.c"), sourceOf(t, c.model, export.C))
		write(t, filepath.Join(folder, "main.c"), []byte(`#include <stdio.h>
#include "encoder.c"
int main(void) {
  float x[HASHGROVE_DIM];
  uint8_t code[HASHGROVE_BYTES];
  while (fread(x, sizeof(float), HASHGROVE_DIM, stdin) == HASHGROVE_DIM) {
    hashgrove_encode(code, x);
    fwrite(code, 1, HASHGROVE_BYTES, stdout);
  }
  return 0;
}
`))
		want := packed(t, c.model, c.rows)
		for flags, list := range map[string][]string{
			"strict":    {"-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic"},
			"optimised": {"-O3", "-march=native", "-ffp-contract=fast"},
		} {
			t.Run(name+"/"+flags, func(t *testing.T) {
				program := filepath.Join(folder, flags)
				args := append(list, "-o", program, filepath.Join(folder, "main.c"), "-lm")
				if out, err := exec.Command(gcc, args...).CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				compareOutput(t, exec.Command(program), c.rows, want)
			})
		}
	}
}

func TestModelsOfPicturesAreRefused(t *testing.T) {
	m := trained(t, false, hashgrove.Options{Bits: 4, Rounds: 3, LinearColumns: "off"})
	mirrored := &model.Model{Encoder: m.Encoder, Pictures: &picture.Preparation{Averaged: true}}
	for _, to := range []export.Language{export.Go, export.C} {
		if err := export.WriteSource(&bytes.Buffer{}, mirrored, to); !errors.Is(err, export.ErrEncoder) {
			t.Errorf("the source of scores that are added to those of mirror images: %v", err)
		}
	}
	if err := export.WriteONNX(&bytes.Buffer{}, mirrored); !errors.Is(err, export.ErrEncoder) {
		t.Errorf("the graph of the same: %v", err)
	}
}
