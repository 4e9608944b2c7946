package model

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"hashgrove/internal/fault"
	"hashgrove/internal/vectors"
)

func TestBoostersFollowTheDefinition(t *testing.T) {
	eachKernel(t, func(t *testing.T) {
		for depth := range 12 {
			for _, trees := range []int{1, 5, 31} {
				for _, double := range []bool{false, true} {
					rng := rand.New(rand.NewPCG(uint64(depth), uint64(trees)))
					e := randomBoosted(rng, 1+rng.IntN(70/trees), 1+rng.IntN(40), depth, max(1, trees>>max(0, depth-5)), double)
					x := randomRows(rng, e, 17+rng.IntN(400)>>max(0, depth-5))
					checkCodes(t, e, x)
					checkMargins(t, e, x)
				}
			}
		}
	})
}

func TestBoostersThatAreNotWhole(t *testing.T) {
	good := func() *Boosted {
		return &Boosted{Columns: 2, Outputs: []Booster{{Trees: [][]Node{{{0, 2, 0.5}, {-1, 0, 1}, {-1, 0, -1}}}}}}
	}
	if err := good().Check(); err != nil {
		t.Fatal(err)
	}
	leaf := Node{-1, 0, 1}
	for want, spoil := range map[string]func(e *Boosted){ // code and what the message has to name
		"right-child 0 1 2":         func(e *Boosted) { e.Outputs[0].Trees[0][0].Right = 1 },
		"no-such-column 0 2":        func(e *Boosted) { e.Outputs[0].Trees[0][0].Column = 2 },
		"split-value 0 0.1":         func(e *Boosted) { e.Outputs[0].Trees[0][0].Value = 0.1 },
		"leaf-value 1 0.1":          func(e *Boosted) { e.Outputs[0].Trees[0][1].Value = 0.1 },
		"base-value 0.1":            func(e *Boosted) { e.Outputs[0].Base = 0.1 },
		"nodes-missing":             func(e *Boosted) { e.Outputs[0].Trees[0] = e.Outputs[0].Trees[0][:2] },
		"node-unreached 3 4":        func(e *Boosted) { e.Outputs[0].Trees[0] = append(e.Outputs[0].Trees[0], leaf) },
		"node-count 0":              func(e *Boosted) { e.Outputs[0].Trees[0] = nil },
		"tree-count 0":              func(e *Boosted) { e.Outputs[0].Trees = nil },
		"bits-out-of-range 0":       func(e *Boosted) { e.Outputs = nil },
		"dimensions-out-of-range 0": func(e *Boosted) { e.Columns = 0 },
	} {
		e := good()
		spoil(e)
		facts := strings.Fields(want)
		if d := fault.Differs(e.Check(), fault.Code(facts[0]), facts[1:]...); d != "" {
			t.Error(d)
		}
	}
	m := &Model{Encoder: good()}
	if _, err := m.EncodeRow([]float32{0, hardNaN()}); err == nil {
		t.Error("a missing value was encoded")
	}
	if _, err := m.Encode(context.Background(), randomRows(rand.New(rand.NewPCG(1, 1)), good(), 3), 1); err != nil {
		t.Error(err)
	}
}

func hardNaN() float32 {
	zero := float32(0)
	return zero / zero
}

func BenchmarkBoosted(b *testing.B) {
	for _, shape := range []struct {
		name         string
		dim, d, bins int
	}{{"digits", 64, 6, 16}, {"wide", 784, 6, 200}} {
		rng := rand.New(rand.NewPCG(1, 1))
		e := &Boosted{Columns: shape.dim}
		var grow func(t []Node, left int) []Node
		grow = func(t []Node, left int) []Node {
			if left == 0 {
				return append(t, Node{Column: -1, Value: float64(float32(rng.NormFloat64()))})
			}
			at := len(t)
			t = append(t, Node{Column: int32(rng.IntN(shape.dim)), Value: float64(rng.IntN(shape.bins)) + 0.5})
			t = grow(t, left-1)
			t[at].Right = int32(len(t))
			return grow(t, left-1)
		}
		for range 16 {
			out := Booster{}
			for range 100 {
				out.Trees = append(out.Trees, grow(nil, shape.d))
			}
			e.Outputs = append(e.Outputs, out)
		}
		x := vectors.Matrix{Rows: 1024, Cols: shape.dim, Data: make([]float32, 1024*shape.dim)}
		for i := range x.Data {
			x.Data[i] = float32(rng.IntN(shape.bins))
		}
		m := &Model{Encoder: e}
		b.Run(shape.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := m.Encode(context.Background(), x, 1); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1024/1600, "ns/row-tree")
		})
	}
}
