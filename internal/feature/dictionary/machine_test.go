package dictionary

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"testing"

	"hashgrove/internal/feature"
	"hashgrove/internal/picture"
)

// TestEveryMachineAgrees checks digests of everything that features compute, which must be the same on all kinds of
// machines, with and without assembly.
func TestEveryMachineAgrees(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var pictures []picture.Picture
	for range 3 {
		// Integers only: the pictures must not depend on the machine either.
		p := picture.Picture{Width: 32, Height: 32, Channels: 3, Pix: make([]uint8, 3072)}
		for i := range p.Pix {
			p.Pix[i] = uint8(i*i>>7 + i>>3 + rng.IntN(60))
		}
		pictures = append(pictures, p)
	}
	learn := func(o options) feature.Extractor {
		c, err := Learn(context.Background(), o, pictures, 2, nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, c := range []struct {
		name, want string
		e          feature.Extractor
	}{
		{"GIST-320", "d726485f66982e0d", named("gist320")},
		{"OMP-1", "a90235d8d198b9cf", learn(options{Words: 30, Patches: 3000, Iterations: 3, Patch: 6, Norm: feature.NoNorm})},
		{"OMP-1, scaled", "8b6c6051c102449d", learn(options{Words: 30, Patches: 3000, Iterations: 3})},
		{"K-SVD", "6c54fdf67f79f1ff", learn(options{Words: 30, Patches: 500, Iterations: 2, Sparsity: 3, Sides: feature.Split, Patch: 6, Norm: feature.NoNorm})},
	} {
		h := sha256.New()
		h.Write(feature.Append(nil, c.e))
		if err := binary.Write(h, binary.LittleEndian, extract(t, c.e, pictures, 2).Data); err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(h.Sum(nil)[:8]); got != c.want {
			t.Errorf("%s: digest %s, want %s", c.name, got, c.want)
		}
	}
}

func named(name string) feature.Extractor {
	e, err := feature.Named(name, picture.Shape{Width: 32, Height: 32, Channels: 3})
	if err != nil {
		panic(err)
	}
	return e
}
