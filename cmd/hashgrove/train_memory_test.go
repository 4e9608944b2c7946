package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// manyRows writes as many rows of 8 bytes as --memory 178MB cannot hold, and their labels.
func manyRows(t *testing.T) (rows int) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("files are not mapped here")
	}
	t.Chdir(t.TempDir())
	byteRows(t, 160_000, 8)
	return 160_000
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
	"--effort", "quick", "--linear-columns", "off", "--candidate-bits", "2"}

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
	if !strings.Contains(out.err, "mapped files of up to") {
		t.Errorf("it does not say that it maps files: %s", out.err)
	}
	if text := r.Memory.String(); !strings.Contains(text, "mapped files: ") {
		t.Errorf("the report does not say that files were mapped: %s", text)
	}
	out = try(t, append(manyRowsArgs, "--memory", "1GB", "--json", "-o", "enough.hgm")...)
	if out.code != 0 || !strings.Contains(out.err, "all rows fit in memory") {
		t.Errorf("with enough memory: %s", out.err)
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
		args []string
		code int
		want string
	}{
		{[]string{"--memory", "100MB"}, 1, "fixed 101 MB + cache 67 MB"},
		{[]string{"--memory", "178MB", "--linear-columns", "linear"}, 1, "--linear-columns off"},
		{[]string{"--memory", "178MB", "--early-stop", "5"}, 1, "early stopping: it needs all rows in memory"},
		{[]string{"--memory", "178MB", "--cross-fit", "2"}, 1, "cross-fitting: it needs all rows in memory"},
		{[]string{"--memory", "5MB"}, 2, "nothing can be learned in less than"},
		{[]string{"--memory", "much"}, 2, "give a size such as"},
		{[]string{"--memory", "-1GB"}, 2, "give a size such as"},
		{[]string{"--memory", "nanGB"}, 2, "give a size such as"},
		{[]string{"--memory", "178MB", "--features", "gist"}, 2, "cannot be combined"},
	} {
		out := try(t, append(append(manyRowsArgs, "-o", "none.hgm"), c.args...)...)
		if out.code != c.code || !strings.Contains(out.err, c.want) {
			t.Errorf("%v: %d, %s", c.args, out.code, out.err)
		}
	}
	out := try(t, "train", "rows.npy", "--labels", "labels.txt", "--method", "ksh", "--memory", "178MB", "-o", "none.hgm")
	if out.code != 2 || !strings.Contains(out.err, "--memory does not apply to the method ksh") {
		t.Errorf("another method: %d, %s", out.code, out.err)
	}
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	out = try(t, append(manyRowsArgs, "--memory", "178MB", "-o", "none.hgm")...)
	if out.code != 1 || !strings.Contains(out.err, "missing") {
		t.Errorf("a folder that is not there: %d, %s", out.code, out.err)
	}
	t.Setenv("TMPDIR", "")
	if err := os.Truncate("rows.npy", 5_000_000); err != nil {
		t.Fatal(err)
	}
	out = try(t, append(manyRowsArgs, "--memory", "178MB", "-o", "none.hgm")...)
	if out.code != 1 || !strings.Contains(out.err, "rows.npy") {
		t.Errorf("a file that is cut off: %d, %s", out.code, out.err)
	}
	noneLeft(t, ".", "rows.npy", "labels.txt")
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
	for !bytes.Contains(read(t, "said.txt"), []byte("learning 2 bits")) {
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
