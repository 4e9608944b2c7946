package method

import (
	"testing"

	"hashgrove/internal/methodtest"
)

// TestEveryMethod runs the suite on all methods by name, and on one encoder of each type behind PCA.
func TestEveryMethod(t *testing.T) {
	// Classes that lie apart are parts of the anchor graph of their own, and AGH leaves out the vectors that tell them
	// apart.
	gain := map[string]float64{"agh": 0.15}
	for _, d := range methods {
		for _, pca := range []int{0, 18} {
			name := d.Name
			if pca > 0 {
				if name += " behind PCA"; d.Name != "lsh" && d.Name != "sdh" && d.Name != "tsh" {
					continue // a projection, a kernel and bins are enough
				}
			}
			t.Run(name, func(t *testing.T) {
				methodtest.Run(t, methodtest.Case{
					New: func(bits int, seed uint64, threads int) methodtest.Method {
						m, err := New(d.Name, Options{Bits: bits, Seed: seed, Threads: threads, PCA: pca, Anchors: 60})
						if err != nil {
							t.Fatal(err)
						}
						return m
					},
					Supervised: d.Supervised, AnyBits: d.AnyBits, Gain: gain[d.Name],
				})
			})
		}
	}
}

func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range methods {
		if d.Name == "" || d.Title == "" || d.Source == "" || seen[d.Name] {
			t.Errorf("%+v", d)
		}
		seen[d.Name] = true
	}
	if _, err := New("magic", Options{}); err == nil {
		t.Error("there is a method named magic")
	}
	if len(Names()) != len(methods) {
		t.Error("not every method has a name")
	}
}
