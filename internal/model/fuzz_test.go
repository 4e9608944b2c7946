package model

import (
	"bytes"
	"encoding/hex"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/fileio/fileiotest"
	"hashgrove/internal/hamming"
	"hashgrove/internal/vectors"
)

// FuzzReadModel: any bytes give an error, or a model that passes Check, encodes, and is written back as it was.
// Checksums and fingerprint are made right first, else the fuzzer would see nothing but them.
func FuzzReadModel(f *testing.F) {
	all := samples()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if name != "deep" {
			f.Add(bytesOf(f, all[name]))
		}
	}
	bad := hostile()
	for _, name := range slices.Sorted(maps.Keys(bad)) {
		if b := assemble(bad[name]); len(b) < 1000 {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Read(bytes.NewReader(b))
		if err != nil {
			b = fileiotest.Reseal(b)
			m, err = Read(bytes.NewReader(b))
		}
		if err != nil {
			// The error tells the right fingerprint of functions that are otherwise fine.
			_, text, _ := strings.Cut(err.Error(), "hash functions ")
			if mark, _ := hex.DecodeString(text); len(mark) > 0 {
				copy(payload(b, "mark"), mark)
				b = fileiotest.Reseal(b)
				m, err = Read(bytes.NewReader(b))
			}
		}
		if err != nil {
			if !errors.Is(err, hamming.ErrDamaged) && !errors.Is(err, hamming.ErrKind) && !errors.Is(err, hamming.ErrVersion) {
				t.Fatalf("an error without a type: %v", err)
			}
			return
		}
		if err := m.Check(); err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(1, 1))
		checkCodes(t, m.Encoder, randomRows(rng, m.Encoder, 9)) // enough for a block
		again := bytesOf(t, m)
		m2, err := Read(bytes.NewReader(again))
		if err != nil || m2.Fingerprint() != m.Fingerprint() || !bytes.Equal(bytesOf(t, m2), again) {
			t.Fatalf("written back and read again: %v", err)
		}
		// JSON can say the same in many ways; with the info as we write it the whole file must be the same.
		if info := payload(again, "info"); bytes.Equal(info, payload(b, "info")) && !bytes.Equal(again, b) {
			t.Fatalf("%x became %x", b, again)
		}
	})
}

// FuzzParseMap: any bytes give an error, or a map that has these very bytes and gives finite values.
func FuzzParseMap(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 1))
	all := sampleMaps(rng)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f.Add(bytesOfMap(all[name]))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var m Map
		c := read(b)
		codeMap(c, &m, false)
		if c.end() != nil {
			return
		}
		if again := bytesOfMap(m); !bytes.Equal(again, b) {
			t.Fatalf("%x became %x", b, again)
		}
		if m.dim() > 1000 || m.Out() > 1000 {
			return
		}
		x := hardRows(rand.New(rand.NewPCG(3, 3)), m.dim(), 3)
		y := vectors.Matrix{Rows: 3, Cols: m.Out(), Data: make([]float32, 3*m.Out())}
		m.apply(y, x)
		if i := notFinite(y.Data); i >= 0 {
			t.Fatalf("%v became %v", x.Row(i/m.Out()), y.Row(i/m.Out()))
		}
		one := vectors.Matrix{Rows: 1, Cols: m.Out(), Data: make([]float32, m.Out())}
		for i := range x.Rows {
			m.apply(one, x.Slice(i, i+1))
			if !slices.Equal(one.Data, y.Row(i)) {
				t.Fatalf("row %d differs alone", i)
			}
		}
	})
}
