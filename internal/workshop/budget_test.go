package workshop

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"testing"

	"hashgrove/internal/fault"
	"hashgrove/internal/testkit/budgettest"
)

// unpack lists an archive and unpacks it.
func unpack(t *testing.T, b []byte, o Options) error {
	t.Helper()
	list, err := listArchive(bytes.NewReader(b), int64(len(b)), o)
	if err == nil {
		_, err = unpackArchive(t.Context(), list, t.TempDir(), o)
	}
	return err
}

// TestZipsStayWithinTheirBudget: archives that list, claim or stand for far more than they have.
func TestZipsStayWithinTheirBudget(t *testing.T) {
	o := Options{MaxPictures: 5000, MaxUnpacked: 8 << 20, MaxPixels: 1_000_000}
	write := func(n int, entry func(z *zip.Writer, i int) (io.Writer, error), content []byte) []byte {
		var out bytes.Buffer
		z := zip.NewWriter(&out)
		for i := range n {
			w, err := entry(z, i)
			if err == nil {
				_, err = w.Write(content)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	raw := func(name string) func(z *zip.Writer, i int) (io.Writer, error) {
		return func(z *zip.Writer, i int) (io.Writer, error) {
			return z.CreateRaw(&zip.FileHeader{Name: fmt.Sprintf(name, i)})
		}
	}
	packed := func(z *zip.Writer, i int) (io.Writer, error) { return z.Create(fmt.Sprintf("a/%d.png", i)) }
	picture := append(stripes(true, 1), make([]byte, 1<<20-300)...)
	claimed := write(3, packed, stripes(true, 1))
	end := bytes.LastIndex(claimed, []byte("PK\x05\x06"))
	binary.LittleEndian.PutUint16(claimed[end+8:], 65534) // entries
	binary.LittleEndian.PutUint16(claimed[end+10:], 65534)
	for name, c := range map[string]struct {
		content []byte
		want    fault.Code
	}{
		"many names":       {write(200_000, raw("%d"), nil), "too-many-files"},
		"many pictures":    {write(5001, raw("a/%d.png"), nil), "too-many-pictures"},
		"one long name":    {write(60, raw(strings.Repeat("a", 65000)+"/%d.png"), nil), "too-many-files"},
		"more in all":      {write(9, packed, picture), "too-much"},
		"one for all":      {overlapping(write(40, packed, picture[:1<<19])), "too-much"},
		"claims 65534":     {claimed, ""},
		"cut in the list":  {claimed[:end-20], "unreadable-zip"},
		"nothing but ends": {bytes.Repeat(claimed[end:], 1000), "unreadable-zip"},
	} {
		budgettest.Within(t, 96*budgettest.MiB, func() {
			err := unpack(t, c.content, o)
			if c.want == "" && err != nil && !fault.Is(err, "unreadable-zip") || c.want != "" && !fault.Is(err, c.want) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// overlapping lets all entries of a list lead to the first one.
func overlapping(b []byte) []byte {
	for at := range b[:len(b)-46] {
		if string(b[at:at+4]) == "PK\x01\x02" {
			binary.LittleEndian.PutUint32(b[at+42:], 0)
		}
	}
	return b
}

// TestFoldersOfLikeNames: classes whose names a file system cannot tell apart took time in the square of their number.
func TestFoldersOfLikeNames(t *testing.T) {
	budgettest.Within(t, 64*budgettest.MiB, func() {
		taken, seen := map[string]int{}, map[string]bool{}
		for i := range 20_000 {
			class := strings.Repeat("x", longestClass) + fmt.Sprint(i)
			if i%3 == 0 {
				class = fmt.Sprintf("%s (%d)", strings.Repeat("X", longestClass), i) // the same to begin with
			}
			name := strings.ToLower(folderName(class, taken))
			if seen[name] {
				t.Fatalf("%s is the folder of two classes", name)
			}
			seen[name] = true
		}
	})
	taken := map[string]int{}
	for i, want := range []string{"a", "a (2)", "A (3)", "a (2) (2)", "a (4)", "class", "class (2)"} {
		if got := folderName([]string{"a", "a", "A", "a (2)", "a", "..", ""}[i], taken); got != want {
			t.Errorf("class %d has the folder %s, not %s", i+1, got, want)
		}
	}
}
