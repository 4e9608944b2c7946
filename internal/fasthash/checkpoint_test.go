package fasthash

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"hashgrove/internal/fileio/fileiotest"
	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// FuzzCheckpoint: any bytes as the file of a bit are an error, or a bit that is saved and read again as the same.
func FuzzCheckpoint(f *testing.F) {
	dir := f.TempDir()
	q := vectors.Quantizer{Lo: []float32{0, 0, 0}, Hi: []float32{1, 1, 1}}
	x := vectors.NewColumns(70, q)
	function := &model.Ensemble{Depth: 2, Feature: []uint32{0, 1, 2}, Bin: []uint8{3, 9, 255}, Leaf: []uint64{0b0110}, Weight: []int32{7}}
	c := &checkpoint{folder: dir, identity: []byte(`{"bits":8,"seed":1}`)}
	if err := c.save(Bit{Bit: 1, Function: function}); err != nil {
		f.Fatal(err)
	}
	b, err := os.ReadFile(c.path(1))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:len(b)/2])
	f.Add(bytes.Replace(b, []byte(`"seed":1`), []byte(`"seed":2`), 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, b := range [][]byte{b, fileiotest.Reseal(b)} {
			if err := os.WriteFile(c.path(1), b, 0o600); err != nil {
				t.Fatal(err)
			}
			bit, err := c.read(1, x)
			if err != nil {
				continue
			}
			if bit.Bit != 1 || bit.Function.Check(x.Dim()) != nil {
				t.Fatalf("read %+v", bit)
			}
			if err := c.save(bit); err != nil {
				t.Fatal(err)
			}
			again, err := c.read(1, x)
			if err != nil || !bytes.Equal(model.AppendFunction(nil, again.Function), model.AppendFunction(nil, bit.Function)) {
				t.Fatalf("saved and read again: %v", err)
			}
		}
		// However it is damaged, loading takes the bits before it, or says that they are of another training.
		if err := os.WriteFile(c.path(1), b, 0o600); err != nil {
			t.Fatal(err)
		}
		done, dropped, err := c.load(x, 1, 8)
		if err == nil && len(done)+dropped != 1 || errors.Is(err, hamming.ErrDamaged) {
			t.Fatalf("%d bits, %d dropped, %v", len(done), dropped, err)
		}
	})
}
