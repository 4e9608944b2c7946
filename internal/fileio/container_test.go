package fileio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/fileio/fileiotest"
	"hashgrove/internal/testkit/budgettest"
	"hashgrove/internal/testkit/needs"
)

type piece struct {
	tag     string
	payload []byte
}

var pieces = []piece{{"head", []byte("abc")}, {"data", nil}, {"data", bytes.Repeat([]byte{7}, 100)}}

func written(t testing.TB, version uint32, ps []piece) []byte {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, Model, version)
	for _, p := range ps {
		if err := w.Section(p.tag, p.payload); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func readAll(b []byte) ([]piece, error) {
	r, err := NewReader(bytes.NewReader(b), Model, 3)
	if err != nil {
		return nil, err
	}
	var ps []piece
	for {
		tag, _, err := r.Next()
		if err == io.EOF {
			return ps, nil
		}
		if err != nil {
			return nil, err
		}
		p, err := r.Payload(1000)
		if err != nil {
			return nil, err
		}
		ps = append(ps, piece{tag, slices.Clone(p)})
	}
}

func TestRoundTrip(t *testing.T) {
	b := written(t, 3, pieces)
	got, err := readAll(b)
	if err != nil || len(got) != len(pieces) {
		t.Fatalf("%d sections, %v", len(got), err)
	}
	for i, p := range pieces {
		if got[i].tag != p.tag || !bytes.Equal(got[i].payload, p.payload) {
			t.Errorf("section %d is %v", i, got[i])
		}
	}
}

// TestDamage flips every bit of every byte, cuts the file everywhere, and adds a byte.
func TestDamage(t *testing.T) {
	b := written(t, 3, pieces)
	check := func(what string, at int, damaged []byte) {
		_, err := readAll(damaged)
		if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrKind) {
			t.Errorf("%s at %d: %v", what, at, err)
		}
	}
	for at := range b {
		for bit := range 8 {
			c := slices.Clone(b)
			c[at] ^= 1 << bit
			check("flip", at, c)
		}
		check("cut", at, b[:at])
	}
	check("more", len(b), append(slices.Clone(b), 0))
}

// TestOrder moves, drops and repeats whole sections, whose own checksums stay correct.
func TestOrder(t *testing.T) {
	b := written(t, 1, []piece{{"aaaa", []byte("1")}, {"aaaa", []byte("2")}})
	head, one, two, end := b[:16], b[16:33], b[33:50], b[50:]
	for name, parts := range map[string][][]byte{
		"swapped":  {head, two, one, end},
		"dropped":  {head, one, end},
		"repeated": {head, one, one, two, end},
		"no end":   {head, one, two},
	} {
		if _, err := readAll(bytes.Join(parts, nil)); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestKindOf tells kinds by whole and by cut heads, and by files.
func TestKindOf(t *testing.T) {
	b := written(t, 1, nil)
	for n := range b {
		if k, ok := kindOf(b[:n]); ok != (n >= 4) || ok && k != Model {
			t.Errorf("%d bytes: %v, %v", n, k, ok)
		}
	}
	path := filepath.Join(t.TempDir(), "file")
	if _, _, err := FileKind(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is missing: %v", err)
	}
	for content, want := range map[string]Kind{"": 0, "PK": 0, "\x89HGC\r": Codes, string(b): Model, "\x89HGM\n\x1a\n\n": 0} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if k, ok, err := FileKind(path); err != nil || ok != (want != 0) || ok && k != want {
			t.Errorf("%q: %v, %v, %v", content, k, ok, err)
		}
	}
}

func TestKindAndVersion(t *testing.T) {
	b := written(t, 4, nil)
	if _, err := NewReader(bytes.NewReader(b), Model, 3); !errors.Is(err, ErrVersion) {
		t.Errorf("newer version: %v", err)
	}
	if _, err := NewReader(bytes.NewReader(b), Codes, 4); !errors.Is(err, ErrKind) ||
		!strings.Contains(err.Error(), Model.String()) || !strings.Contains(err.Error(), Codes.String()) {
		t.Errorf("other kind: %v", err)
	}
	for _, s := range []string{"", "PK\x03\x04", "{\"a\": 1}", "\x93NUMPY\x01\x00"} {
		if _, err := NewReader(strings.NewReader(s), Model, 4); !errors.Is(err, ErrKind) {
			t.Errorf("%q: %v", s, err)
		}
	}
	if _, err := readAll(written(t, 0, nil)); !errors.Is(err, ErrDamaged) {
		t.Errorf("version 0: %v", err)
	}
}

// TestClaims reads short files whose sections claim to be huge.
func TestClaims(t *testing.T) {
	for _, claim := range []uint64{101, 4 << 30, 1 << 60, 1<<64 - 1} {
		b := binary.LittleEndian.AppendUint64(append(written(t, 1, nil)[:16], "data"...), claim)
		b = append(b, make([]byte, 100)...)
		b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[16:], castagnoli))
		budgettest.Within(t, budgettest.MiB, func() {
			r, err := NewReader(bytes.NewReader(b), Model, 1)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.Expect("data", math.MaxInt); !errors.Is(err, ErrDamaged) {
				t.Errorf("claim %d: %v", claim, err)
			}
		})
	}
}

func put(path, text string, fail error) error {
	return WriteFile(path, func(w io.Writer) error {
		_, _ = io.WriteString(w, text)
		return fail
	})
}

func TestWriteFileIsAllOrNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.bin")
	check := func(want string) {
		t.Helper()
		got, _ := os.ReadFile(path)
		if left, _ := filepath.Glob(path + "*"); string(got) != want || len(left) > 1 || want == "" && left != nil {
			t.Errorf("%d bytes, want %d, and %v", len(got), len(want), left)
		}
	}
	large := func(s string) string { return strings.Repeat(s, 1<<17) } // more than the buffer
	full := errors.New("no space left")
	if err := put(path, large("a"), full); err != full {
		t.Error(err)
	}
	check("")
	if err := errors.Join(put(path, large("b"), nil), os.Chmod(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := put(path, large("c"), full); err != full {
		t.Error(err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = WriteFile(path, func(w io.Writer) error { panic("slip") })
	}()
	check(large("b"))
	if err := put(path, large("d"), nil); err != nil {
		t.Fatal(err)
	}
	check(large("d"))
	if st, _ := os.Stat(path); runtime.GOOS != "windows" && st.Mode().Perm() != 0o600 {
		t.Errorf("a private file got mode %v", st.Mode())
	}
}

func TestCreateWhereItCannot(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "no", "such.bin")} {
		_, err := Create(path)
		if pe := new(os.PathError); !errors.As(err, &pe) || pe.Path != path {
			t.Errorf("%s: %v", path, err)
		}
	}
	if runtime.GOOS != "windows" {
		if err := put(os.DevNull, "x", nil); err != nil {
			t.Error(err)
		}
		if st, err := os.Stat(os.DevNull); err != nil || st.Mode().IsRegular() {
			t.Fatalf("the null device was replaced: %v %v", st, err)
		}
	}
}

// TestLinksAreFollowed: the target of a link is written, whether it exists or not, and the link stays.
func TestLinksAreFollowed(t *testing.T) {
	dir := t.TempDir()
	real, link, second := filepath.Join(dir, "real"), filepath.Join(dir, "link"), filepath.Join(dir, "second")
	if err := errors.Join(os.Symlink("real", link), os.Symlink(link, second)); err != nil {
		needs.Skip(t, needs.Links, err)
	}
	for _, content := range []string{"new", "newer"} {
		err := put(second, content, nil)
		b, e := os.ReadFile(real)
		if err != nil || e != nil || string(b) != content {
			t.Fatalf("%q, %v, %v", b, err, e)
		}
		for _, l := range []string{link, second} {
			if info, err := os.Lstat(l); err != nil || info.Mode()&fs.ModeSymlink == 0 {
				t.Errorf("%s is no link any more: %v", filepath.Base(l), err)
			}
		}
	}
	circle := filepath.Join(dir, "circle")
	if err := os.Symlink("circle", circle); err != nil {
		t.Fatal(err)
	}
	if got := Target(circle); filepath.Base(got) != "circle" {
		t.Errorf("a circle leads to %s", got)
	}
}

func TestWriteAtAndAbort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.Write([]byte("abcdef"))
	_, err = f.WriteAt([]byte("X"), 1)
	_, _ = f.Write([]byte("g"))
	if err := errors.Join(err, f.Commit()); err != nil {
		t.Fatal(err)
	}
	f.Abort() // after Commit: nothing
	if got, _ := os.ReadFile(path); string(got) != "aXcdefg" {
		t.Errorf("%q", got)
	}
}

// FuzzSections: any bytes are an error, or sections that are written back unchanged.
func FuzzSections(f *testing.F) {
	for i, ps := range [][]piece{nil, pieces, {{"info", []byte("{}")}, {"next", make([]byte, 900)}}} {
		b := written(f, uint32(1+i), ps)
		f.Add(b)
		f.Add(b[:len(b)-3])
		f.Add(append(bytes.Clone(b), 0))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		ps, err := readAll(b)
		if err != nil {
			ps, err = readAll(fileiotest.Reseal(b))
			b = fileiotest.Reseal(b)
		}
		if err != nil {
			if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrKind) && !errors.Is(err, ErrVersion) {
				t.Fatalf("an error without a type: %v", err)
			}
			return
		}
		if again := written(t, binary.LittleEndian.Uint32(b[8:]), ps); !bytes.Equal(again, b) {
			t.Fatalf("%x became %x", b, again)
		}
	})
}
