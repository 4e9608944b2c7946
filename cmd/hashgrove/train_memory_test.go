package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"hashgrove/internal/cli"
	"hashgrove/internal/fasthash"
)

// manyRows writes as many rows of 8 bytes as --memory 178MB cannot hold, and their labels.
func manyRows(t *testing.T) (rows int) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("files are not mapped here")
	}
	t.Chdir(t.TempDir())
	byteRows(t, 560_000, 8)
	return 560_000
}

// byteRows writes rows of bytes in five classes, and their labels.
func byteRows(t *testing.T, rows, columns int) {
	t.Helper()
	header := fmt.Sprintf("{'descr': '|u1', 'fortran_order': False, 'shape': (%d, %d), }", rows, columns)
	header += strings.Repeat(" ", 117-len(header)) + "\n"
	b := append([]byte("\x93NUMPY\x01\x00\x76\x00"), header...)
	var labels bytes.Buffer
	state := uint32(1)
	for i := range rows {
		class := i * 7 % 5
		fmt.Fprintln(&labels, class)
		for j := range columns {
			state = state*1664525 + 1013904223
			v := byte(state>>24) / 2
			if j%5 == class {
				v += 40
			}
			b = append(b, v)
		}
	}
	write(t, "rows.npy", string(b))
	write(t, "labels.txt", labels.String())
}

// wideRows writes rows of float32 values around five points.
func wideRows(t *testing.T, name string, rows, columns int) {
	t.Helper()
	header := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", rows, columns)
	header += strings.Repeat(" ", 117-len(header)) + "\n"
	b := append([]byte("\x93NUMPY\x01\x00\x76\x00"), header...)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range rows {
		for j := range columns {
			v := float32(rng.Uint32()>>8) / (1 << 24)
			if j%5 == i*7%5 {
				v += 0.5
			}
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
	}
	write(t, name, string(b))
}

var manyRowsArgs = []string{"train", "rows.npy", "--labels", "labels.txt", "--bits", "2", "--rounds", "2",
	"--effort", "quick", "--set", "linear_columns=off", "--set", "candidate_bits=2"}

// TestTrainWithLittleMemory gives the model that is trained in memory, says what it did, and leaves nothing behind.
func TestTrainWithLittleMemory(t *testing.T) {
	rows := manyRows(t)
	succeed(t, append(manyRowsArgs, "--quiet", "-o", "memory.hgm")...)
	var r trainReport
	out := try(t, append(manyRowsArgs, "--memory", "178MB", "--json", "-o", "files.hgm")...)
	if err := json.Unmarshal([]byte(out.out), &r); out.code != 0 || err != nil {
		t.Fatal(out.err, err)
	}
	if !bytes.Equal(read(t, "memory.hgm"), read(t, "files.hgm")) {
		t.Error("the models differ")
	}
	if m := r.Memory; m == nil || !m.Mapped || m.Budget != 178e6 || m.Files < int64(rows*8) || m.Estimate < m.Budget ||
		m.Least > m.Budget {
		t.Errorf("%+v", m)
	}
	for _, fact := range []string{fmt.Sprint(rows), "8 columns", cli.Size(r.Memory.Estimate), "178 MB"} {
		if !strings.Contains(out.err, fact) {
			t.Errorf("it does not say that it maps files because of %s: %s", fact, out.err)
		}
	}
	if text := r.Memory.String(); !strings.Contains(text, cli.Size(r.Memory.Files)) ||
		!strings.Contains(text, cli.Size(r.Memory.InMemory)) {
		t.Errorf("the report does not say how much was mapped: %s", text)
	}
	out = try(t, append(manyRowsArgs, "--memory", "1GB", "--json", "-o", "enough.hgm")...)
	r = trainReport{}
	err := json.Unmarshal([]byte(out.out), &r)
	if m := r.Memory; out.code != 0 || err != nil || m == nil || m.Mapped || m.String() != "" || m.Budget != 1e9 ||
		!strings.Contains(out.err, cli.Size(m.Estimate)) || !strings.Contains(out.err, "1 GB") {
		t.Errorf("with enough memory: %+v, %v, %s", m, err, out.err)
	}
	if !bytes.Equal(read(t, "memory.hgm"), read(t, "enough.hgm")) {
		t.Error("the models differ with enough memory")
	}
	noneLeft(t, ".", "rows.npy", "labels.txt", "memory.hgm", "files.hgm", "enough.hgm")
}

// noneLeft reports files in a folder other than those named.
func noneLeft(t *testing.T, folder string, but ...string) {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.Contains(" "+strings.Join(but, " ")+" ", " "+f.Name()+" ") {
			t.Errorf("%s is left in %s", f.Name(), folder)
		}
	}
}

// TestTrainWithTooLittleMemory says what is missing, and what cannot be done.
func TestTrainWithTooLittleMemory(t *testing.T) {
	manyRows(t)
	for _, c := range []struct {
		args, want string // see unlike
		is         error
	}{
		{"--memory 100MB", "1 not-enough-memory --memory 100MB 560000 8 101 67", nil},
		{"--memory 178MB --set linear_columns=linear", "1 - --memory linear_columns", fasthash.ErrNeedsMemory},
		{"--memory 178MB --set early_stop=5", "1 - --memory early stopping", fasthash.ErrNeedsMemory},
		{"--memory 5MB", "2 too-small --memory 5 67.1", nil},
		{"--memory much", "2 bad-flag-value --memory much", nil},
		{"--memory -1GB", "2 bad-flag-value --memory -1GB", nil},
		{"--memory nanGB", "2 bad-flag-value --memory nanGB", nil},
		{"--memory 178MB --features gist", "2 conflicting-flags --memory --features", nil},
	} {
		out := try(t, append(append(manyRowsArgs, "-o", "none.hgm"), strings.Fields(c.args)...)...)
		if d := out.unlike(c.want, c.is); d != "" {
			t.Errorf("%v: %s", c.args, d)
		}
	}
	out := try(t, "train", "rows.npy", "--labels", "labels.txt", "--method", "ksh", "--memory", "178MB", "-o", "none.hgm")
	if d := out.unlike("2 wrong-method --memory ksh"); d != "" {
		t.Errorf("another method: %s", d)
	}
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	out = try(t, append(manyRowsArgs, "--memory", "178MB", "-o", "none.hgm")...)
	if d := out.unlike("1 - missing", fs.ErrNotExist); d != "" {
		t.Errorf("a folder that is not there: %s", d)
	}
	t.Setenv("TMPDIR", "")
	for _, size := range []int64{5_000_000, 1_000_000} { // and 560000 rows of 8 bytes should be there
		if err := os.Truncate("rows.npy", size); err != nil {
			t.Fatal(err)
		}
		out = try(t, append(manyRowsArgs, "--memory", "178MB", "-o", "none.hgm")...)
		if d := out.unlike("1 - rows.npy 560000"); d != "" {
			t.Errorf("a file of %d bytes: %s", size, d)
		}
	}
	noneLeft(t, ".", "rows.npy", "labels.txt")
}

// TestSizesOfRefusalsAreEnough takes the size that a refusal for want of memory names, which must be enough: with
// linear columns, which need all rows in memory, and without.
func TestSizesOfRefusalsAreEnough(t *testing.T) {
	t.Chdir(t.TempDir())
	byteRows(t, 700, 8)
	all := []string{"train", "rows.npy", "--labels", "labels.txt", "--bits", "2", "--rounds", "2", "--quiet", "--force",
		"-o", "m.hgm"}
	size := regexp.MustCompile(`about ([\d.]+) ([MG]B) of memory`)
	for _, more := range [][]string{{"--set", "linear_columns=kernel"}, {"--set", "linear_columns=off"}} {
		out := try(t, append(all, append(more, "--memory", "70MB")...)...)
		named := size.FindStringSubmatch(out.err)
		if d := out.unlike("1 not-enough-memory --memory 70"); d != "" || named == nil {
			t.Errorf("%v: %s: %s", more, d, out.err)
			continue
		}
		if strings.Contains(out.err, " 0 MB") {
			t.Errorf("parts of nothing: %s", out.err)
		}
		succeed(t, append(all, append(more, "--memory", named[1]+named[2])...)...)
		if more[1] == "off" && named[1] > "110" {
			t.Errorf("700 rows of 8 bytes in memory are said to need %s %s", named[1], named[2])
		}
	}
	out := try(t, append(all, "--set", "linear_columns=kernel", "--memory", "175MB")...)
	if out.code == 0 {
		return // many threads or few need more or less than that
	}
	if size.FindString(out.err) == "" {
		t.Errorf("it does not say what linear columns need: %s", out.err)
	}
}

// TestKilledTrainingLeavesNoFiles kills a training with mapped files, which must be gone with it.
func TestKilledTrainingLeavesNoFiles(t *testing.T) {
	manyRows(t)
	folder := t.TempDir()
	cmd := command(append(manyRowsArgs, "--rounds", "2000", "--memory", "178MB", "-o", "killed.hgm")...)
	cmd.Env = append(cmd.Env, "TMPDIR="+folder)
	said, err := os.Create("said.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for !bytes.Contains(read(t, "said.txt"), []byte("2 bits")) {
		time.Sleep(10 * time.Millisecond)
		if cmd.ProcessState != nil {
			t.Fatal("it has ended")
		}
	}
	time.Sleep(200 * time.Millisecond) // most often in the middle of it; the test holds anyway
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	noneLeft(t, folder)
}

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{
		"8GB": 8e9, "8 gb": 8e9, "1.5g": 15e8, "512MiB": 512 << 20, "1TiB": 1 << 40, "2t": 2e12, "100000000": 1e8,
		"64kb": 64e3, "64KiB": 64 << 10, "7B": 7,
	} {
		if got, err := parseBytes(text); err != nil || got != want {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "GB", "x", "0", "-5MB", "1e300GB", "1PB", "1 2GB"} {
		if got, err := parseBytes(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}
