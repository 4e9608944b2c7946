package client_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hashgrove/internal/testkit/needs"
)

// pythonWithNumpy returns a Python that has numpy, or nothing.
func pythonWithNumpy() string {
	for _, name := range []string{"/usr/bin/python3", "python3"} {
		if exec.Command(name, "-c", "import numpy").Run() == nil {
			return name
		}
	}
	return ""
}

// TestPython runs the tests of the Python client against a real service.
func TestPython(t *testing.T) {
	needs.Check(t, "runs Python")
	python := pythonWithNumpy()
	if python == "" {
		needs.Skip(t, needs.Python, "the Python client is not tested: apt-get install python3 python3-numpy")
	}
	dir := t.TempDir()
	address, stop, err := start(dir, "a-secret-token")
	ok(t, err)
	defer stop()
	x, _ := rows(60)
	header := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", len(x), len(x[0]))
	header += strings.Repeat(" ", 128-10-len(header)-1) + "\n"
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), 0)
	b = append(b, header...)
	for _, row := range x {
		for _, v := range row {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
	}
	vectors := filepath.Join(dir, "vectors.npy")
	ok(t, os.WriteFile(vectors, b, 0o600))
	cmd := exec.Command(python, "-B", "-W", "error", "test_service.py", address, "a-secret-token", vectors)
	cmd.Dir = "python"
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("\nOK")) {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
