package feature

import (
	"bytes"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"hashgrove/internal/section"
	"hashgrove/picture"
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
		"many orientations":        {put([]byte{gistTag}, 32, 4, 1<<31), nil},
	} {
		var b bytes.Buffer
		w := section.NewWriter(&b, section.Features, version)
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
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := Read(bytes.NewReader(b))
		if err != nil {
			return
		}
		if err := e.Check(); err != nil {
			t.Fatalf("read, but %v", err)
		}
		if !bytes.Equal(written(t, e), b) {
			t.Error("written in another way than it was read")
		}
	})
}

// FuzzParse is the same for canonical bytes, which no checksum guards from a mutation.
func FuzzParse(f *testing.F) {
	for _, e := range golden(f) {
		f.Add(Append(nil, e))
	}
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
