package export_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"hashgrove"
	"hashgrove/internal/export"
	"hashgrove/internal/fasthash"
	"hashgrove/internal/model"
	"hashgrove/internal/testkit/needs"
	"hashgrove/internal/vectors"
)

// onnxRuntime returns the folder of onnxruntime-node, or skips the test. Versions before 1.22 lack TreeEnsemble.
func onnxRuntime(t testing.TB) string {
	t.Helper()
	needs.Check(t, "needs an ONNX runtime")
	return needs.Package(t, needs.ONNX)
}

const runScript = `const ort = require(process.argv[1]), fs = require("fs");
(async () => {
  const [model, rows, dim, out] = process.argv.slice(2);
  const s = await ort.InferenceSession.create(model, {intraOpNumThreads: 1});
  const b = fs.readFileSync(rows), x = new Float32Array(b.buffer, b.byteOffset, b.length / 4);
  const r = await s.run({x: new ort.Tensor("float32", x, [x.length / dim, +dim])});
  fs.writeFileSync(out + ".codes", Buffer.from(r.codes.data));
  fs.writeFileSync(out + ".margins", Buffer.from(r.margins.data.buffer, r.margins.data.byteOffset, r.margins.data.byteLength));
})().catch(e => { console.error(e); process.exit(1); });`

// inRuntime runs a graph in the runtime.
func inRuntime(t *testing.T, folder string, m *model.Model, x vectors.Matrix) (codes []byte, margins []float32) {
	t.Helper()
	var b bytes.Buffer
	if err := export.WriteONNX(&b, m); err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	graph, rows := filepath.Join(work, "model.onnx"), filepath.Join(work, "rows")
	write(t, graph, b.Bytes())
	write(t, rows, vectors.Bytes(x.Data))
	cmd := exec.Command("node", "-e", runScript, "--", folder, graph, rows, itoa(x.Cols), rows)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	codes, err := os.ReadFile(rows + ".codes")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(rows + ".margins")
	if err != nil {
		t.Fatal(err)
	}
	for ; len(raw) >= 4; raw = raw[4:] {
		margins = append(margins, math.Float32frombits(binary.LittleEndian.Uint32(raw)))
	}
	return codes, margins
}

// TestGraphsEncodeAsTheModel compares codes and margins bit by bit.
func TestGraphsEncodeAsTheModel(t *testing.T) {
	folder := onnxRuntime(t)
	all := models(t)
	svm := hashgrove.Options{Bits: 9, Effort: fasthash.Paper, FastHash: hashgrove.FastHashOptions{Learner: "linear"}}
	all["hyperplanes"] = trained(t, false, svm)
	for name, m := range all {
		t.Run(name, func(t *testing.T) {
			x := hardRows(t, m)
			codes, margins := inRuntime(t, folder, m, x)
			compareCodes(t, codes, packed(t, m, x), x)
			want, err := m.Margins(ctx, x, 0)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range want.Data {
				if margins[i] != v {
					t.Fatalf("margin %d is %v, want %v", i, margins[i], v)
				}
			}
		})
	}
}

// TestGraphsOfSumsAgreeNearly counts the bits that differ where the graph adds real numbers in another order.
func TestGraphsOfSumsAgreeNearly(t *testing.T) {
	folder := onnxRuntime(t)
	for name, o := range map[string]hashgrove.Options{
		"linear columns": {Bits: 16, Trees: hashgrove.TreeOptions{Rounds: 20}, FastHash: hashgrove.FastHashOptions{LinearColumns: "linear"}},
		"kernel columns": {Bits: 16, Trees: hashgrove.TreeOptions{Rounds: 20}, FastHash: hashgrove.FastHashOptions{LinearColumns: "kernel"}},
		"itq":            {Bits: 4, Method: "pca-itq"},
		"ksh":            {Bits: 16, Method: "ksh"},
		"detail":         {Bits: 13, DetailBits: 4, Trees: hashgrove.TreeOptions{Rounds: 20}},
	} {
		t.Run(name, func(t *testing.T) {
			m := ordinary(t, o)
			x := ordinaryRows(2000)
			codes, _ := inRuntime(t, folder, m, x)
			want, differ := packed(t, m, x), 0
			for i := range want {
				differ += bits.OnesCount8(codes[i] ^ want[i])
			}
			share := float64(differ) / float64(8*len(want))
			if t.Logf("%d of %d bits differ", differ, 8*len(want)); share > 1e-4 {
				t.Errorf("a share of %g of the bits differ", share)
			}
		})
	}
}

// TestGraphsOfBytesAgreeNearly: the distances of a kernel of bytes are exact, also far off and between two steps, and the
// Gaussians agree up to their last digits.
func TestGraphsOfBytesAgreeNearly(t *testing.T) {
	folder := onnxRuntime(t)
	a, x := ordinaryRows(50), ordinaryRows(400)
	for i := range x.Data {
		switch i % 7 {
		case 0:
			x.Data[i] *= 100
		case 1:
			x.Data[i] = (float32(i%200) - 99.5) / 16
		}
	}
	identity := &model.Projection{Weight: make([]float32, a.Rows*a.Rows), Threshold: make([]float32, a.Rows)}
	for k := range a.Rows {
		identity.Weight[k*a.Rows+k] = 1
	}
	m := &model.Model{Encoder: model.Compose(identity, model.NewByteGaussian(a, 2000, 1.0/16))}
	_, got := inRuntime(t, folder, m, x)
	want, err := m.Margins(ctx, x, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range want.Data {
		if d := math.Abs(float64(got[i]) - float64(v)); d > 1e-5 {
			t.Fatalf("value %d is %g, want %g", i, got[i], v)
		}
	}
}
