package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"strings"
	"testing"

	"hashgrove/internal/testkit/budgettest"
)

// TestClaimsOfFilesAreNotBelieved: files of a hundred bytes ended `index build` and `index add` with a stack trace, or
// took gigabytes; so did a number of threads.
func TestClaimsOfFilesAreNotBelieved(t *testing.T) {
	t.Chdir(t.TempDir())
	packed := func(head string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write([]byte(head))
		_ = z.Close()
		return b.String()
	}
	npy := fmt.Sprintf("%-117s\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (562949953421311, 2), }")
	var rows strings.Builder
	for i := range 40 {
		fmt.Fprintf(&rows, "%d,%d,%c\n", i%7, i%5, 'a'+i%2)
	}
	for name, content := range map[string]string{
		"train.csv": "x,y,label\n" + rows.String(), "good.csv": "x,y\n1,2\n3,4\n",
		"claim.npy.gz": packed("\x93NUMPY\x01\x00\x76\x00" + npy),
		"claim-idx.gz": packed("\x00\x00\x08\x02\xff\xff\xff\xff\x00\x00\x00\x02"),
	} {
		if err := os.WriteFile(name, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	succeed(t, strings.Fields("train train.csv --bits 8 --rounds 5 -o m.hgm")...)
	succeed(t, strings.Fields("index build -o i.hgi -m m.hgm good.csv")...)
	for _, r := range []refusal{
		{"index build -o j.hgi -m m.hgm claim.npy.gz", 1, nil, "claim.npy.gz 562949953421311"},
		{"index build -o j.hgi -m m.hgm claim-idx.gz --format idx", 1, nil, "claim-idx.gz 4294967295"},
		{"index add i.hgi claim.npy.gz", 1, nil, "claim.npy.gz 562949953421311"},
		{"encode -m m.hgm claim.npy.gz --to hex -o -", 1, nil, "claim.npy.gz 562949953421311"},
	} {
		budgettest.Peak(t, 256*budgettest.MiB, func() { r.try(t) })
	}
	budgettest.Peak(t, 256*budgettest.MiB, func() {
		succeed(t, strings.Fields("--threads 2000000000 encode -m m.hgm good.csv --to hex -o -")...)
	})
}
