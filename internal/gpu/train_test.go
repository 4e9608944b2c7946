//go:build (linux || darwin) && (amd64 || arm64)

package gpu_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hashgrove"
	"hashgrove/internal/fasthash"
	"hashgrove/internal/fasthash/columns"
	"hashgrove/internal/gpu"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/model/inside"
	"hashgrove/internal/vectors"
)

// table makes labelled rows of clouds that overlap.
func table(rows, columns, classes int) vectors.Table {
	rng := rand.New(rand.NewPCG(1, 2))
	t := vectors.Table{X: vectors.Matrix{Rows: rows, Cols: columns, Data: make([]float32, rows*columns)}}
	for i := range rows {
		class := rng.IntN(classes)
		t.Labels = append(t.Labels, strconv.Itoa(class))
		for j := range columns {
			t.X.Row(i)[j] = float32((class*(j+3))%7) + 4*rng.Float32()
		}
	}
	return t
}

// TestModelsAreTheSame trains on the device and on the cores, with everything around the trees, and compares the files.
func TestModelsAreTheSame(t *testing.T) {
	gpu.Ready(t)
	for name, o := range map[string]hashgrove.Options{
		"normal":     {Bits: 6, Trees: hashgrove.TreeOptions{Rounds: 12}},
		"paper":      {Bits: 6, Effort: fasthash.Paper, Trees: hashgrove.TreeOptions{Rounds: 12}},
		"best":       {Bits: 3, Effort: fasthash.Best, Trees: hashgrove.TreeOptions{Rounds: 9}, FastHash: hashgrove.FastHashOptions{Learner: "trees"}},
		"columns":    {Bits: 4, Trees: hashgrove.TreeOptions{Rounds: 10}, FastHash: hashgrove.FastHashOptions{LinearColumns: columns.Kernel}},
		"two-step":   {Bits: 4, Trees: hashgrove.TreeOptions{Rounds: 8}, FastHash: hashgrove.FastHashOptions{Order: "tsh"}},
		"candidates": {Bits: 4, Trees: hashgrove.TreeOptions{Rounds: 8, NodeFeatures: 5, RowShare: 0.7}, FastHash: hashgrove.FastHashOptions{Candidates: 4}},
		"tsh-trees":  {Bits: 3, Method: "tsh-trees", Trees: hashgrove.TreeOptions{Rounds: 5}},
		"detail":     {Bits: 3, DetailBits: 8, Trees: hashgrove.TreeOptions{Rounds: 6}},
	} {
		t.Run(name, func(t *testing.T) {
			var files [2][]byte
			for i, device := range []string{gpu.CPU, gpu.GPU} {
				o.Device = device
				made, err := hashgrove.Train(t.Context(), inside.NewData(table(900, 14, 5)).(*hashgrove.Data), o)
				if err != nil {
					t.Fatal(err)
				}
				if used := made.Report.Device != ""; used != (device == gpu.GPU) {
					t.Errorf("%s: the report names the device %q", device, made.Report.Device)
				}
				files[i] = encoded(t, made.Model)
			}
			if !bytes.Equal(files[0], files[1]) {
				t.Error("the models differ")
			}
		})
	}
}

// TestResumeElsewhere begins on the cores, goes on on the device, and ends with the same model.
func TestResumeElsewhere(t *testing.T) {
	gpu.Ready(t)
	data := inside.NewData(table(500, 8, 3)).(*hashgrove.Data)
	o := hashgrove.Options{Bits: 4, Effort: fasthash.Paper, Device: gpu.CPU, Trees: hashgrove.TreeOptions{Rounds: 8}}
	whole, err := hashgrove.Train(t.Context(), data, o)
	if err != nil {
		t.Fatal(err)
	}
	first := o
	first.Bits = 2
	half, err := hashgrove.Train(t.Context(), data, first)
	if err != nil {
		t.Fatal(err)
	}
	o.Grow, o.Device = half.Model, gpu.GPU
	grown, err := hashgrove.Train(t.Context(), data, o)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(encoded(t, grown.Model), encoded(t, whole.Model)) {
		t.Error("the grown model differs")
	}
}

func encoded(t *testing.T, m *hashgrove.Model) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := model.Write(&b, inside.Model(m)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestNoGPU asks for a GPU where there is none, and for none.
func TestNoGPU(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	data := inside.NewData(table(300, 4, 3)).(*hashgrove.Data)
	o := hashgrove.Options{Bits: 2, Device: gpu.GPU, Trees: hashgrove.TreeOptions{Rounds: 2}}
	o.FastHash.Learner = "linear"
	if _, err := hashgrove.Train(t.Context(), data, o); !slices.Contains(message.Codes(err), "no-gpu") {
		t.Errorf("nothing needs it, but it was asked for: %v", err)
	}
	o.FastHash.Learner = ""
	if _, err := hashgrove.Train(t.Context(), data, o); !slices.Contains(message.Codes(err), "no-gpu") ||
		!strings.Contains(err.Error(), gpu.Program) {
		t.Errorf("%v", err)
	}
	o.Device = "abacus"
	if _, err := hashgrove.Train(t.Context(), data, o); err == nil || !strings.Contains(err.Error(), "auto, cpu or gpu") {
		t.Errorf("%v", err)
	}
	for _, device := range []string{"", gpu.Auto, gpu.CPU} {
		o.Device = device
		made, err := hashgrove.Train(t.Context(), data, o)
		if err != nil || made.Report.Device != "" {
			t.Errorf("%q: %v", device, err)
		}
	}
}
