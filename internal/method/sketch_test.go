package method_test

import (
	"context"
	"testing"

	"hashgrove/internal/fasthash"
	"hashgrove/internal/method"
	"hashgrove/internal/supervision"
	"hashgrove/internal/testkit/methodtest"
	"hashgrove/internal/vectors"
)

// shortHashes is the hashes of rows in the given classes.
func shortHashes(x vectors.Matrix, class []int32, in func(c int32) bool) (h []uint64) {
	vectors.HashRows(x, func(i int, hash vectors.RowHash) {
		if in(class[i]) {
			h = append(h, hash.Short())
		}
	})
	return h
}

// TestModelsKnowTheirRows: whatever the method, with PCA in front or without, the model knows the rows as it was given
// them, and none of a class that was held out.
func TestModelsKnowTheirRows(t *testing.T) {
	ctx := context.Background()
	x, class := methodtest.ClusterMatrix(1, 120, 6, 3)
	src := vectors.WithLabels(x, methodtest.ClassNames(class))
	d, err := supervision.Scan(ctx, src, supervision.ScanOptions{Hashes: true})
	if err != nil {
		t.Fatal(err)
	}
	learned := shortHashes(x, class, func(c int32) bool { return c != 1 })
	held := shortHashes(x, class, func(c int32) bool { return c == 1 })
	for _, name := range []string{method.FastHash, "lsh", "cca-itq", "pca-itq"} {
		for _, pca := range []int{0, 4} {
			o := method.Options{Bits: 4, PCA: pca, HoldOut: []string{"1"}}
			o.FastHash.Trees.Rounds = 2
			m, err := method.Train(ctx, name, d, o)
			if err != nil {
				t.Fatal(name, err)
			}
			if share, rows := m.Info.Sketch.Share(learned); share != 1 || rows != len(learned) {
				t.Errorf("%s: knows %v of %d learned rows", name, share, rows)
			}
			if share, rows := m.Info.Sketch.Share(held); share != 0 || rows != len(held) {
				t.Errorf("%s: knows %v of %d rows that were held out", name, share, rows)
			}
		}
	}
}

// TestGrownModelsKnowAllTheirRows: also those of the bits they began with.
func TestGrownModelsKnowAllTheirRows(t *testing.T) {
	ctx := context.Background()
	o := method.Options{Bits: 2}
	o.FastHash.Trees.Rounds = 2
	var both []uint64
	for seed := range uint64(2) {
		x, class := methodtest.ClusterMatrix(seed+1, 60, 6, 3)
		d, err := supervision.Scan(ctx, vectors.WithLabels(x, methodtest.ClassNames(class)), supervision.ScanOptions{Hashes: true})
		if err != nil {
			t.Fatal(err)
		}
		m, err := method.Train(ctx, method.FastHash, d, o)
		if err != nil {
			t.Fatal(err)
		}
		o.Bits, o.Run = 4, fasthash.Run{Grow: m}
		both = append(both, d.Hashes...)
		if share, rows := m.Info.Sketch.Share(both); share != 1 || rows != len(both) {
			t.Errorf("knows %v of %d rows", share, rows)
		}
	}
}
