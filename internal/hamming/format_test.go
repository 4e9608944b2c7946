package hamming

import (
	"bytes"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/fileio"
	"hashgrove/internal/fileio/fileiotest"
	"hashgrove/internal/testkit/budgettest"
)

// write writes codes in groups of the given size.
func write(t testing.TB, f Format, h Header, c Codes, ids []string, group int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, f, h)
	if err != nil {
		t.Fatal(err)
	}
	for lo := 0; lo < c.Len(); lo += group {
		hi := min(lo+group, c.Len())
		var some []string
		if ids != nil {
			some = ids[lo:hi]
		}
		if err := w.Write(Codes{c.Bits, c.Words, c.Data[lo*c.Words : hi*c.Words]}, some); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func read(b []byte) (*Table, error) {
	r, err := NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return r.All()
}

func someIDs(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("item,%d\n\"é\"", i)
	}
	return ids
}

func TestCodeFileRoundTrip(t *testing.T) {
	mark := [32]byte{1, 2, 31: 3}
	for _, bits := range []int{1, 8, 13, 64, 100, 4096} {
		for _, n := range []int{0, 1, 57, codesPerSection(bits) + 1} {
			if n*bits > 1<<20 {
				continue
			}
			c := random(n, bits, 5)
			for _, ids := range [][]string{nil, someIDs(n)} {
				h := Header{Bits: bits, Fingerprint: mark}
				b := write(t, HGC, h, c, ids, n+1)
				if other := write(t, HGC, h, c, ids, max(1, n/3)); !bytes.Equal(b, other) {
					t.Errorf("%d bits, %d codes: the file depends on the grouping", bits, n)
				}
				got, err := read(b)
				if err != nil {
					t.Fatal(err)
				}
				if got.Codes.Bits != bits || got.Fingerprint != mark || !slices.Equal(got.Codes.Data, c.Data) || !slices.Equal(got.IDs, ids) {
					t.Errorf("%d bits, %d codes did not come back", bits, n)
				}
			}
		}
	}
}

func TestFullSections(t *testing.T) {
	c := NewCodes(2*codesPerSection(4096)+1, 4096)
	c.SetBit(2, 7, true)
	c.SetBit(c.Len()-1, 4095, true)
	if got, err := read(write(t, HGC, Header{Bits: 4096}, c, nil, 1000)); err != nil || !slices.Equal(got.Codes.Data, c.Data) {
		t.Errorf("did not come back: %v", err)
	}
}

func TestLongIDsEndASection(t *testing.T) {
	c := random(40, 8, 1)
	ids := make([]string, 40)
	for i := range ids {
		ids[i] = strings.Repeat("x", MaxID-i)
	}
	got, err := read(write(t, HGC, Header{Bits: 8}, c, ids, 7))
	if err != nil || !slices.Equal(got.IDs, ids) || !slices.Equal(got.Codes.Data, c.Data) {
		t.Errorf("did not come back: %v", err)
	}
	w, _ := NewWriter(io.Discard, HGC, Header{Bits: 8})
	if err := w.Write(random(1, 8, 1), []string{strings.Repeat("x", MaxID+1)}); err == nil {
		t.Error("an id was too long and taken")
	}
}

// TestCodeFileDamage flips every bit and cuts everywhere.
func TestCodeFileDamage(t *testing.T) {
	b := write(t, HGC, Header{Bits: 13, Fingerprint: [32]byte{9}}, random(5, 13, 1), []string{"a", "", "c", "dd", "e"}, 2)
	for at := range b {
		for bit := range 8 {
			c := slices.Clone(b)
			c[at] ^= 1 << bit
			if _, err := read(c); !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrKind) {
				t.Errorf("bit %d of byte %d flipped: %v", bit, at, err)
			}
		}
		if _, err := read(b[:at]); !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrKind) {
			t.Errorf("cut at %d: %v", at, err)
		}
	}
	if _, err := read(append(slices.Clone(b), 0)); !errors.Is(err, ErrDamaged) {
		t.Errorf("a byte more: %v", err)
	}
}

type piece struct {
	tag     string
	payload string
}

// hostile returns code files with correct checksums and wrong contents.
func hostile() map[string][]piece {
	head := func(bits, ids string) piece { return piece{"head", bits + ids + strings.Repeat("\x01", 32)} }
	bits8, plain := "\x08\x00\x00\x00", "\x00"
	part := func(first string) piece {
		return piece{"part", strings.Repeat("\x01", 8) + first + strings.Repeat("\x01", 16)}
	}
	count := func(n byte) piece { return piece{"tail", string([]byte{n, 0, 0, 0, 0, 0, 0, 0})} }
	return map[string][]piece{
		"nothing":               {},
		"no tail":               {head(bits8, plain), {"code", "a"}},
		"two heads":             {head(bits8, plain), head(bits8, plain), count(0)},
		"codes after the tail":  {head(bits8, plain), count(0), {"code", "a"}},
		"unknown section":       {head(bits8, plain), {"what", "a"}, count(0)},
		"2^32-1 bits":           {head("\xff\xff\xff\xff", plain), count(0)},
		"4097 bits":             {head("\x01\x10\x00\x00", plain), count(0)},
		"flag 2":                {head(bits8, "\x02"), count(0)},
		"short head":            {{"head", bits8}, count(0)},
		"count too large":       {head(bits8, plain), {"code", "a"}, {"tail", "\xff\xff\xff\xff\xff\xff\xff\x0f"}},
		"count too small":       {head(bits8, plain), {"code", "ab"}, count(1)},
		"empty codes":           {head(bits8, plain), {"code", ""}, count(0)},
		"half a code":           {head("\x10\x00\x00\x00", plain), {"code", "abc"}, count(1)},
		"short section inside":  {head(bits8, plain), {"code", "a"}, {"code", "b"}, count(2)},
		"bits beyond the code":  {head("\x07\x00\x00\x00", plain), {"code", "\x01"}, count(1)},
		"ids missing":           {head(bits8, "\x01"), {"code", "a"}, count(1)},
		"ids not announced":     {head(bits8, plain), {"code", "a"}, {"ids ", "\x00\x00\x00\x00"}, count(1)},
		"too few ids":           {head(bits8, "\x01"), {"code", "ab"}, {"ids ", "\x00\x00\x00\x00"}, count(2)},
		"id of 4 GB":            {head(bits8, "\x01"), {"code", "a"}, {"ids ", "\xff\xff\xff\xff"}, count(1)},
		"id beyond the section": {head(bits8, "\x01"), {"code", "a"}, {"ids ", "\x02\x00\x00\x00x"}, count(1)},
		"torn id":               {head(bits8, "\x01"), {"code", "a"}, {"ids ", "\x00\x00\x00\x00\x00"}, count(1)},
		"ids and no codes":      {head(bits8, "\x01"), count(0)},
		"rows from 2^63 on":     {head(bits8, plain), part("\x00\x00\x00\x00\x00\x00\x00\x80"), count(0)},
		"short part":            {head(bits8, plain), {"part", "\x01\x00\x00\x00"}, count(0)},
		"two parts":             {head(bits8, plain), part("\x01\x00\x00\x00\x00\x00\x00\x00"), part("\x01\x00\x00\x00\x00\x00\x00\x00"), count(0)},
	}
}

func assemble(ps []piece) []byte {
	version := uint32(1)
	if len(ps) > 1 && ps[0].tag == "head" && ps[1].tag == "part" {
		version = 2
	}
	return assembleVersion(version, ps)
}

func assembleVersion(version uint32, ps []piece) []byte {
	var b bytes.Buffer
	w := fileio.NewWriter(&b, fileio.Codes, version)
	for _, p := range ps {
		_ = w.Section(p.tag, []byte(p.payload))
	}
	_ = w.Close()
	return b.Bytes()
}

func TestHostileCodeFiles(t *testing.T) {
	for name, ps := range hostile() {
		b := assemble(ps)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := read(b); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20+10*uint64(len(b)) {
			t.Errorf("%s: %d bytes allocated for a file of %d", name, n, len(b))
		}
	}
}

// TestCodesStayWithinTheirBudget: code files are read in sections, one in memory at a time.
func TestCodesStayWithinTheirBudget(t *testing.T) {
	b := write(t, HGC, Header{Bits: 8}, NewCodes(4<<20, 8), nil, 4<<20)
	budgettest.Peak(t, 32*budgettest.MiB, func() {
		r, err := NewReader(bytes.NewReader(b))
		for err == nil {
			_, _, err = r.Next()
		}
		if err != io.EOF {
			t.Error(err)
		}
	})
}

func TestTextFormats(t *testing.T) {
	c := NewCodes(3, 12)
	c.SetBit(0, 0, true)
	c.SetBit(1, 11, true)
	c.SetBit(2, 7, true)
	if got := write(t, Hex, Header{Bits: 12}, c, nil, 2); string(got) != "8000\n0010\n0100\n" {
		t.Errorf("hex: %q", got)
	}
	if got := write(t, Raw, Header{Bits: 12}, c, []string{"a", "b", "c"}, 2); string(got) != "\x80\x00\x00\x10\x01\x00" {
		t.Errorf("raw: %q", got)
	}
	if got := write(t, CSV, Header{Bits: 12}, c, nil, 2); string(got) != "id,code\n0,8000\n1,0010\n2,0100\n" {
		t.Errorf("csv: %q", got)
	}
	want := `{"row":0,"code":"8000"}` + "\n" + `{"row":1,"code":"0010"}` + "\n" + `{"row":2,"code":"0100"}` + "\n"
	if got := write(t, JSONLines, Header{Bits: 12}, c, nil, 1); string(got) != want {
		t.Errorf("jsonl: %q", got)
	}
	var b bytes.Buffer // which has all lines after a Flush
	w, err := NewWriter(&b, JSONLines, Header{Bits: 12})
	if err == nil {
		err = errors.Join(w.Flush(), w.Write(c.Prefix(12), []string{`a"b`, "<é>", "c"}), w.Flush())
	}
	want = `{"row":0,"id":"a\"b","code":"8000"}` + "\n" + `{"row":1,"id":"<é>","code":"0010"}` + "\n"
	if err != nil || !strings.HasPrefix(b.String(), want) {
		t.Errorf("%v, %q", err, b.String())
	}
	ids := []string{"plain", "a \"b\", c", "two\nlines"}
	lines, err := csv.NewReader(bytes.NewReader(write(t, CSV, Header{Bits: 12}, c, ids, 1))).ReadAll()
	if err != nil || len(lines) != 4 {
		t.Fatal(lines, err)
	}
	for i, id := range ids {
		if lines[i+1][0] != id || lines[i+1][1] != hex.EncodeToString(c.AppendBytes(nil, i)) {
			t.Errorf("csv line %v", lines[i+1])
		}
	}
}

func TestNPY(t *testing.T) {
	for _, bits := range []int{8, 13, 64, 4096} {
		c := random(300, bits, 2)
		b := write(t, NPY, Header{Bits: bits, Rows: 300}, c, nil, 7)
		want := fmt.Sprintf("\x93NUMPY\x01\x00v\x00{'descr': '|u1', 'fortran_order': False, 'shape': (300, %d), }", c.Bytes())
		if len(b) != 128+300*c.Bytes() || !strings.HasPrefix(string(b), want) || b[127] != '\n' {
			t.Fatalf("header %q", b[:128])
		}
		// In a file the number of rows may be filled in last.
		path := filepath.Join(t.TempDir(), "codes.npy")
		if err := writeFile(path, NPY, Header{Bits: bits}, c); err != nil {
			t.Fatal(err)
		}
		if patched, _ := os.ReadFile(path); !bytes.Equal(patched, b) {
			t.Error("the patched file differs")
		}
	}
	w, _ := NewWriter(io.Discard, NPY, Header{Bits: 8})
	if err := w.Write(random(1, 8, 1), nil); err == nil {
		t.Error("a stream without a number of rows was taken")
	}
}

func TestWriterRefuses(t *testing.T) {
	if _, err := NewWriter(io.Discard, "zip", Header{Bits: 8}); err == nil {
		t.Error("an unknown format was taken")
	}
	for _, bits := range []int{0, -1, MaxBits + 1} {
		if _, err := NewWriter(io.Discard, HGC, Header{Bits: bits}); err == nil {
			t.Errorf("%d bits were taken", bits)
		}
	}
	w, _ := NewWriter(io.Discard, Raw, Header{Bits: 8, Rows: 2})
	if err := w.Write(random(3, 8, 1), nil); err == nil {
		t.Error("more codes than announced were taken")
	}
	w, _ = NewWriter(io.Discard, CSV, Header{Bits: 8})
	if err := errors.Join(w.Write(random(1, 8, 1), []string{"a"}), w.Write(random(1, 8, 1), nil)); err == nil {
		t.Error("a code without an id was taken")
	}
}

// writeFile writes codes to a file.
func writeFile(path string, f Format, h Header, c Codes) error {
	return fileio.WriteFile(path, func(to io.Writer) error {
		w, err := NewWriter(to, f, h)
		if err != nil {
			return err
		}
		return errors.Join(w.Write(c, nil), w.Close())
	})
}

func TestFilesThatAreNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "codes.hgc")
	if err := writeFile(path, HGC, Header{Bits: 8, Rows: 5}, random(2, 8, 1)); err == nil {
		t.Error("a short file was made")
	}
	if _, err := ReadFile(path); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	_ = os.WriteFile(path, []byte("id,code\n"), 0o600)
	if _, err := ReadFile(path); !errors.Is(err, ErrKind) || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
}

func TestFormatOf(t *testing.T) {
	for path, want := range map[string]Format{"a.hgc": HGC, "a.NPY": NPY, "x/a.bin": Raw, "a.hex": Hex, "a.txt": Hex, "a.b.csv": CSV, "a.jsonl": JSONLines, "a": "", "a.parquet": ""} {
		if got, err := FormatOf(path); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
}

// FuzzReadCodes: any bytes give an error, or codes that make the same file again.
func FuzzReadCodes(f *testing.F) {
	f.Add(write(f, HGC, Header{Bits: 13}, random(5, 13, 1), []string{"a", "", "c", "dd", "e"}, 2))
	f.Add(write(f, HGC, Header{Bits: 64}, random(3, 64, 1), nil, 2))
	f.Add([]byte("IBxF\x08\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01\x01\x00\x00\x00" +
		"\x01\x00\x00\x00\x00\x00\x00\x00\x55"))
	for _, ps := range hostile() {
		if b := assemble(ps); len(b) < 1000 {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		b = fileiotest.Reseal(b)
		got, err := read(b)
		if err != nil {
			return
		}
		if isFAISS(b[:4]) {
			return
		}
		if b[8] > codeVersion {
			return // which is not written any more
		}
		if again := write(t, HGC, Header{Bits: got.Codes.Bits, Fingerprint: got.Fingerprint}, got.Codes, got.IDs, 3); !bytes.Equal(again, b) {
			t.Errorf("%x became %x", b, again)
		}
	})
}
