package export_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hashgrove"
	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
	"hashgrove/internal/model/inside"
	"hashgrove/internal/testkit/needs"
	"hashgrove/internal/vectors"
)

var ctx = context.Background()

// trained returns a small model with the given options, over columns of very different ranges.
func trained(t *testing.T, missing bool, o hashgrove.Options) *model.Model {
	t.Helper()
	r := rand.New(rand.NewPCG(9, 9))
	rows, labels := make([][]float32, 300), make([]int, 300)
	for i := range rows {
		labels[i] = i % 3
		rows[i] = []float32{
			float32(r.NormFloat64()) + float32(3*labels[i]), float32(r.IntN(256)) / 8, float32(r.NormFloat64() * 1e-20),
			float32(r.NormFloat64() * 1e20), float32(labels[i]) + r.Float32(), -r.Float32(),
		}
		if missing && i%7 == 0 {
			rows[i][i%6] = float32(math.NaN())
		}
	}
	d := hashgrove.Rows(rows, labels)
	if missing {
		d = d.WithMissing()
	}
	m, err := hashgrove.Train(ctx, d, o)
	if err != nil {
		t.Fatal(err)
	}
	return inside.Model(m)
}

// hardRows returns rows at random, and rows exactly at, one step below and one step above every threshold of the trees.
func hardRows(t *testing.T, m *model.Model) vectors.Matrix {
	t.Helper()
	x := vectors.Matrix{Cols: m.Encoder.Dim()}
	r := rand.New(rand.NewPCG(1, 2))
	add := func(row []float32) {
		x.Rows++
		x.Data = append(x.Data, row...)
	}
	random := func() []float32 {
		row := make([]float32, x.Cols)
		for j := range row {
			row[j] = float32(r.NormFloat64() * math.Pow(10, float64(r.IntN(44)-22)))
		}
		return row
	}
	for range 500 {
		add(random())
	}
	b, _, ok := model.Behind(m.Encoder)
	if !ok {
		return x
	}
	seen := map[[2]int]bool{}
	for _, f := range b.Functions {
		e, ok := f.(*model.Ensemble)
		if !ok {
			break
		}
		for i, j := range e.Feature {
			if key := [2]int{int(j), int(e.Bin[i])}; e.Bin[i] == 255 || int(j) >= x.Cols || seen[key] {
				continue
			} else {
				seen[key] = true
			}
			edge := b.Quantizer.Scale(int(j)).Edge(e.Bin[i])
			for _, v := range []float32{
				edge, math.Nextafter32(edge, float32(math.Inf(-1))), math.Nextafter32(edge, float32(math.Inf(1))),
			} {
				if math.IsInf(float64(v), 0) {
					continue
				}
				row := random()
				row[j] = v
				add(row)
			}
		}
	}
	if b.Quantizer.Missing {
		for j := range x.Cols {
			row := random()
			row[j] = float32(math.NaN())
			add(row)
		}
	}
	return x
}

// packed returns the codes of the model itself.
func packed(t *testing.T, m *model.Model, x vectors.Matrix) []byte {
	t.Helper()
	codes, err := m.Encode(ctx, x, 0)
	if err != nil {
		t.Fatal(err)
	}
	var b []byte
	for i := range codes.Len() {
		b = codes.AppendBytes(b, i)
	}
	return b
}

// models returns the models whose bits every form must reproduce.
func models(t *testing.T) map[string]*model.Model {
	plain := hashgrove.Options{Bits: 11, Effort: "paper", Trees: hashgrove.TreeOptions{Rounds: 7, Depth: 3}}
	deep := hashgrove.Options{Bits: 5, Trees: hashgrove.TreeOptions{Rounds: 9, Depth: 7}, FastHash: hashgrove.FastHashOptions{LinearColumns: "off"}}
	return map[string]*model.Model{
		"plain": trained(t, false, plain), "deep": trained(t, false, deep), "missing": trained(t, true, plain),
	}
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
}

func compareCodes(t *testing.T, got, want []byte, x vectors.Matrix) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d bytes of codes, want %d", len(got), len(want))
	}
	size := len(want) / x.Rows
	for i := range x.Rows {
		if a, b := got[i*size:(i+1)*size], want[i*size:(i+1)*size]; !bytes.Equal(a, b) {
			t.Fatalf("row %d, %v: %x, want %x", i, x.Row(i), a, b)
		}
	}
}

func randomCodes(n, bits int) hamming.Codes {
	r := rand.New(rand.NewPCG(4, 4))
	c := hamming.NewCodes(n, bits)
	for i := range n {
		for k := range bits {
			c.SetBit(i, k, r.IntN(2) == 1)
		}
	}
	return c
}

func TestFAISSFilesComeBack(t *testing.T) {
	for _, bits := range []int{1, 8, 13, 64, 100, 256} {
		c := randomCodes(37, bits)
		for _, ids := range [][]int64{nil, make([]int64, 37)} {
			var want []string
			for i := range ids {
				ids[i] = int64(i*i) - 5
				want = append(want, fmt.Sprint(ids[i]))
			}
			var b bytes.Buffer
			if err := c.WriteFAISS(&b, ids); err != nil {
				t.Fatal(err)
			}
			r, err := hamming.NewReader(&b)
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.All()
			if err != nil || got.Codes.Bits != (bits+7)/8*8 || !slices.Equal(got.Codes.Prefix(bits).Data, c.Data) || !slices.Equal(got.IDs, want) {
				t.Fatalf("%d bits: %+v, %v", bits, got, err)
			}
		}
	}
}

// pythonWithFAISS returns a Python that has FAISS.
func pythonWithFAISS(t *testing.T) string {
	t.Helper()
	needs.Check(t, "runs FAISS")
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", "import faiss").Run() == nil {
			return name
		}
	}
	needs.Skip(t, needs.FAISS, "no Python with faiss: \"make setup\" installs the package python3-faiss")
	return ""
}

// TestFAISSReadsOurFiles has FAISS itself read and search them.
func TestFAISSReadsOurFiles(t *testing.T) {
	python := pythonWithFAISS(t)
	c := randomCodes(200, 64)
	ids := make([]int64, 200)
	for i := range ids {
		ids[i] = int64(1000 + i)
	}
	path := filepath.Join(t.TempDir(), "codes.faiss")
	var b bytes.Buffer
	if err := c.WriteFAISS(&b, ids); err != nil {
		t.Fatal(err)
	}
	write(t, path, b.Bytes())
	query := hex.EncodeToString(c.AppendBytes(nil, 17))
	out, err := exec.Command(python, "-c", `import faiss, numpy, sys
i = faiss.read_index_binary(sys.argv[1])
d, n = i.search(numpy.frombuffer(bytes.fromhex(sys.argv[2]), "uint8").reshape(1, -1), 1)
print(i.ntotal, i.d, d[0][0], n[0][0])
faiss.write_index_binary(i, sys.argv[1] + ".back")`, path, query).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "200 64 0 1017" {
		t.Fatalf("%v: %s", err, out)
	}
	back, err := os.ReadFile(path + ".back")
	if err != nil || !bytes.Equal(back, b.Bytes()) {
		t.Errorf("FAISS writes the index in other bytes: %v", err)
	}
}

// ordinaryRows returns rows of values of similar size.
func ordinaryRows(n int) vectors.Matrix {
	r := rand.New(rand.NewPCG(8, uint64(n)))
	x := vectors.Matrix{Rows: n, Cols: 10}
	for i := range n {
		for j := range x.Cols {
			v := r.NormFloat64()
			if j%3 == i%3 {
				v += 1.5
			}
			x.Data = append(x.Data, float32(v))
		}
	}
	return x
}

// ordinary returns a model of such rows.
func ordinary(t *testing.T, o hashgrove.Options) *model.Model {
	t.Helper()
	x := ordinaryRows(600)
	rows, labels := make([][]float32, x.Rows), make([]int, x.Rows)
	for i := range rows {
		rows[i], labels[i] = x.Row(i), i%3
	}
	m, err := hashgrove.Train(ctx, hashgrove.Rows(rows, labels), o)
	if err != nil {
		t.Fatal(err)
	}
	return inside.Model(m)
}

func itoa(n int) string { return fmt.Sprint(n) }
