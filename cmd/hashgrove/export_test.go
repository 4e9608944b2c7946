package main

import (
	"bytes"
	"strings"
	"testing"

	foreign "hashgrove/export"
	"hashgrove/hamming"
)

func TestExportToOtherPrograms(t *testing.T) {
	serveShop(t)
	succeed(t, "encode", "items.csv", "--label", "category", "--id-column", "sku", "-m", "items.hgm", "-o", "items.hgc")
	succeed(t, "encode", "vectors.npy", "-m", "items.hgm", "-o", "rows.hgc")
	codes, err := hamming.ReadFile("items.hgc")
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{"items.hgc", "items.hgi", "rows.hgc"} {
		args := []string{"export", from, "-o", from + ".faiss"}
		if from != "rows.hgc" {
			if o := try(t, args...); o.code != 1 || !strings.Contains(o.err, "--no-ids") {
				t.Errorf("%s with texts as ids: %+v", from, o)
			}
			args = append(args, "--no-ids")
		}
		succeed(t, args...)
		got, _, err := foreign.ReadFAISS(bytes.NewReader(read(t, from+".faiss")))
		if err != nil || got.Len() != codes.Codes.Len() || got.Bits != codes.Codes.Bits {
			t.Errorf("%s: %d codes of %d bits, %v", from, got.Len(), got.Bits, err)
		}
	}
	succeed(t, "export", "items.hgm", "-o", "items.onnx")
	succeed(t, "export", "items.hgm", "-o", "items.c")
	if out := succeed(t, "export", "items.hgm", "--to", "go", "-o", "-"); !strings.Contains(out, "DO NOT EDIT") {
		t.Errorf("%.200s", out)
	}
	for _, args := range [][]string{
		{"export", "items.hgm", "-o", "items.xyz"}, {"export", "items.hgm"}, {"export", "items.hgm", "-o", "items.faiss"},
		{"export", "items.csv", "-o", "x.onnx"}, {"export", "items.hgm", "-o", "items.onnx"}, {"export", "nowhere", "-o", "x.c"},
	} {
		if o := try(t, args...); o.code == 0 || o.err == "" {
			t.Errorf("%v: %+v", args, o)
		}
	}
}
