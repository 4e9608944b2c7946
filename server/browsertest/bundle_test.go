package browsertest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTryAFolder chooses a folder with a folder of pictures for each class, as it lies on disk.
func TestTryAFolder(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	top := filepath.Join(t.TempDir(), "my shäpes")
	write := func(name string, content []byte) {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 80 {
		shape := shapes[i%4]
		picture, err := encoded(drawn(shape, random))
		if err != nil {
			t.Fatal(err)
		}
		write(fmt.Sprintf("%s/photo %d.png", shape, i), picture)
	}
	write(".DS_Store", []byte("nothing"))
	write("notes.txt", []byte("not a picture"))
	v := visit(t, serveWorkshop(t), "#/try")
	v.read("h2", "Choose files")
	v.pick("#try-folder", top)
	v.read("h2", "my shäpes.zip")
	v.read("p", "80 pictures in 4 classes")
	for _, shape := range shapes {
		v.read(".chips", shape)
	}
	v.choose("#try-bits", "16")
	v.press("button", "Train and compare")
	v.patiently("h2", "my shäpes.zip is ready")
	v.end()
}

// TestTrySeveralFiles: tables with the same columns are joined, labels go with their vectors, and what does not belong
// together is said without an upload.
func TestTrySeveralFiles(t *testing.T) {
	v := visit(t, serveWorkshop(t), "#/try")
	v.read("h2", "Choose files")
	lines := bytes.SplitAfter(stones(400), []byte("\n"))
	head, first, second := lines[0], bytes.Join(lines[:201], nil), bytes.Join(lines[201:], nil)
	second = bytes.TrimSuffix(append(bytes.Clone(head), second...), []byte("\n"))
	other := []byte("id,other,stone\n1,2,flint\n")
	matrix := npy("<f4", "False", 60, 2, make([]float32, 120))
	labels := []byte(strings.Repeat("up\ndown\n", 30))
	for _, c := range []struct {
		names    []string
		contents [][]byte
		problem  string
	}{
		{[]string{"a.csv", "b.csv"}, [][]byte{first, other}, "b.csv has other columns than a.csv."},
		{[]string{"a.csv", "b.jsonl"}, [][]byte{first, []byte("{}\n")}, "a.csv and b.jsonl are files of different kinds."},
		{[]string{"a.csv", "b.txt"}, [][]byte{first, labels}, "2 files: choose one"},
		{[]string{"a.png", "b.png"}, [][]byte{first, labels}, "Pictures need a folder for each class"},
		{[]string{"x.npy", "labels.txt"}, [][]byte{matrix, []byte("up\n")}, "60"},
	} {
		v.pick("#try-file", files(t, c.names, c.contents)...)
		v.read(".drop .problem", c.problem)
	}
	v.pick("#try-file", files(t, []string{"one.csv", "two.csv"}, [][]byte{first, second})...)
	v.read("p", "400 rows and 6 columns")
	v.press("button", "Remove the upload")
	v.read("h2", "Choose files")
	v.pick("#try-file", files(t, []string{"x.npy", "labels.txt"}, [][]byte{matrix, labels})...)
	v.read("h2", "x.npy")
	v.read("p", "60 rows")
	v.see(`!document.querySelector('button.main[type=submit]').disabled`)
	v.Forgive("status of 400")
	v.end()
}
