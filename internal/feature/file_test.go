package feature

import (
	"bytes"
	"errors"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hashgrove/internal/picture"
	"hashgrove/internal/section"
	"hashgrove/internal/vectors"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden are small extractors of all kinds. Their files are opened forever.
func golden(t testing.TB) map[string]Extractor {
	gist, err := NewGIST(GISTOptions{Size: 16, Orientations: []int{3, 2}, Blocks: 2})
	if err != nil {
		t.Fatal(err)
	}
	book := randomBook(rand.New(rand.NewPCG(1, 2)), 3, 2, 3)
	book.Sides, book.Pool, book.Levels = Split, MaxPool, 2
	book.Made = CodebookOptions{Words: 3, Patch: 2, Seed: 7, Threshold: 0.25}.WithDefaults()
	return map[string]Extractor{"pixels": &Pixels{4, 3, 3}, "gist": gist, "codebook": book}
}

// goldenSaved are small files of what came with version 2.
func goldenSaved(t testing.TB) map[string]Saved {
	book := randomBook(rand.New(rand.NewPCG(1, 3)), 2, 2, 1)
	book.Levels, book.Norm = 1, SumNorm
	book.Made = CodebookOptions{Words: 2, Patch: 2, Seed: 7}.WithDefaults()
	usual := golden(t)["gist"]
	bins := vectors.Quantizer{Lo: make([]float32, usual.Dim()), Hi: make([]float32, usual.Dim())}
	for j := range bins.Hi {
		bins.Lo[j], bins.Hi[j] = -float32(j), 1/float32(j+1)
	}
	return map[string]Saved{
		"scaled":  {Extractor: book},
		"bytes":   {Extractor: usual, Bins: bins},
		"scaled8": {Extractor: book, Bins: vectors.Quantizer{Lo: []float32{0, 0}, Hi: []float32{0.5, 1}}},
	}
}

func TestGoldenFilesOfVersion2(t *testing.T) {
	for name, s := range goldenSaved(t) {
		path := filepath.Join("testdata", name+".v2.hgf")
		if *update {
			if err := s.WriteFile(path); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ReadSavedFile(path)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var again bytes.Buffer
		if err := got.Write(&again); err != nil || !bytes.Equal(again.Bytes(), want) {
			t.Errorf("%s is not written as it was read (%v)", name, err)
		}
		if Fingerprint(got.Extractor) != Fingerprint(s.Extractor) || !slices.Equal(got.Bins.Lo, s.Bins.Lo) || !slices.Equal(got.Bins.Hi, s.Bins.Hi) {
			t.Errorf("%s is not read as it was written", name)
		}
		if book, ok := got.Extractor.(*Codebook); ok && (book.Norm != SumNorm || book.Made != s.Extractor.(*Codebook).Made) {
			t.Errorf("%s: learned with %+v", name, book.Made)
		}
		for n := range want {
			bad := bytes.Clone(want)
			bad[n] ^= 0x10
			if _, err := ReadSaved(bytes.NewReader(bad)); err == nil {
				t.Fatalf("%s with byte %d flipped is accepted", name, n)
			}
			if _, err := ReadSaved(bytes.NewReader(want[:n])); err == nil {
				t.Fatalf("%s cut after %d bytes is accepted", name, n)
			}
		}
	}
}

// TestBinsThatDoNotFit are refused when they are written and when they are read.
func TestBinsThatDoNotFit(t *testing.T) {
	pixels := &Pixels{2, 1, 1}
	for name, bins := range map[string]vectors.Quantizer{
		"one of two columns": {Lo: []float32{0}, Hi: []float32{1}},
		"no range":           {Lo: []float32{0, 1}, Hi: []float32{1, 1}},
	} {
		if err := (Saved{pixels, bins}).Write(new(bytes.Buffer)); err == nil {
			t.Errorf("%s is written", name)
		}
	}
	plain := Append(nil, pixels)
	for name, bins := range map[string][]byte{
		"none, as in version 1": nil,
		"one of two columns":    put(nil, 0, 1),
		"no range":              put(nil, 0, 0, 1, 0),
		"not whole":             make([]byte, 12),
		"too many":              put(nil, 0, 0, 0, 1, 1, 1),
	} {
		var b bytes.Buffer
		w := section.NewWriter(&b, section.Features, 2)
		_ = w.Section("feat", plain)
		_ = w.Section("made", nil)
		_ = w.Section("bins", bins)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadSaved(&b); !errors.Is(err, section.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func written(t testing.TB, e Extractor) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, e); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestGoldenFiles(t *testing.T) {
	for name, e := range golden(t) {
		path := filepath.Join("testdata", name+".v1.hgf")
		if *update {
			if err := WriteFile(path, e); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(written(t, e), want) {
			t.Errorf("%s is written in another way than before", name)
		}
		got, err := ReadFile(path)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if Fingerprint(got) != Fingerprint(e) || !bytes.Equal(written(t, got), want) || got.Kind() != name || got.Dim() != e.Dim() {
			t.Errorf("%s is not read as it was written", name)
		}
	}
}

func TestDamageIsNoticed(t *testing.T) {
	for name, e := range golden(t) {
		whole := written(t, e)
		for n := range whole {
			if _, err := Read(bytes.NewReader(whole[:n])); !errors.Is(err, section.ErrDamaged) && !errors.Is(err, section.ErrKind) {
				t.Fatalf("%s cut after %d bytes: %v", name, n, err)
			}
			for _, flip := range []byte{1, 0x80} {
				bad := bytes.Clone(whole)
				bad[n] ^= flip
				if _, err := Read(bytes.NewReader(bad)); err == nil {
					t.Fatalf("%s with byte %d flipped is accepted", name, n)
				}
			}
		}
		if _, err := Read(bytes.NewReader(append(whole, 0))); !errors.Is(err, section.ErrDamaged) {
			t.Errorf("%s with a byte more: %v", name, err)
		}
	}
}

func TestFilesOfOtherContents(t *testing.T) {
	book := golden(t)["codebook"]
	for name, sections := range map[string][][]byte{
		"no extractor":             {nil, nil},
		"unknown kind":             {{9}, nil},
		"pixels that were learned": {Append(nil, &Pixels{1, 1, 1}), []byte("{}")},
		"codebook without origin":  {Append(nil, book), nil},
		"origin in other words":    {Append(nil, book), []byte("{}")},
		"too long":                 {append(Append(nil, book), 0), nil},
		"huge claim":               {put([]byte{codebookTag}, 16, 3, 1, 8, 0, 0, 0, 0x41200000, MaxWords), nil},
		"many orientations":        {put([]byte{gistTag}, 32, 4, math.MinInt32), nil},
	} {
		var b bytes.Buffer
		w := section.NewWriter(&b, section.Features, 1)
		_ = w.Section("feat", sections[0])
		_ = w.Section("made", sections[1])
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(&b); !errors.Is(err, section.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := Write(new(bytes.Buffer), new(Codebook)); err == nil {
		t.Error("an empty codebook is written")
	}
}

// FuzzReadCodebook: any bytes give an error, or an extractor that passes Check and is written as the same bytes.
func FuzzReadCodebook(f *testing.F) {
	for _, e := range golden(f) {
		f.Add(written(f, e))
	}
	for _, s := range goldenSaved(f) {
		var b bytes.Buffer
		if err := s.Write(&b); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ReadSaved(bytes.NewReader(b))
		if err != nil {
			return
		}
		if err := s.Extractor.Check(); err != nil {
			t.Fatalf("read, but %v", err)
		}
		var again bytes.Buffer
		if err := s.Write(&again); err != nil || !bytes.Equal(again.Bytes(), b) {
			t.Errorf("written in another way than it was read (%v)", err)
		}
	})
}

// FuzzParse is the same for canonical bytes, which no checksum guards from a mutation.
func FuzzParse(f *testing.F) {
	for _, e := range golden(f) {
		f.Add(Append(nil, e))
	}
	f.Add(Append(nil, goldenSaved(f)["scaled"].Extractor))
	rng := rand.New(rand.NewPCG(3, 4))
	small := noise(rng, 16, 16, 3)
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := Parse(b)
		if err != nil {
			return
		}
		if !bytes.Equal(Append(nil, e), b) {
			t.Error("other canonical bytes than those it came from")
		}
		book, ok := e.(*Codebook)
		if !ok || book.Dim() > 1<<12 || book.Patch > 16 || book.Channels != 3 {
			return
		}
		for i, v := range extract(t, book, []picture.Picture{small}, 1).Data {
			if v-v != 0 {
				t.Fatalf("value %d is %v", i, v)
			}
		}
	})
}
