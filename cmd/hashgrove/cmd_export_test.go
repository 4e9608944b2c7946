package main

import (
	"io/fs"
	"strings"
	"testing"

	"hashgrove/internal/hamming"
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
			refusal{strings.Join(args, " "), 1, nil, from + " --no-ids"}.try(t)
			args = append(args, "--no-ids")
		}
		succeed(t, args...)
		got, err := hamming.ReadFile(from + ".faiss")
		if err != nil || got.Codes.Len() != codes.Codes.Len() || got.Codes.Bits != codes.Codes.Bits {
			t.Errorf("%s: %+v, %v", from, got, err)
		}
	}
	succeed(t, "export", "items.hgm", "-o", "items.onnx")
	for _, r := range []refusal{
		{"export items.hgm -o items.xyz", 2, "bad-flag-value", "--to onnx faiss"},
		{"export items.hgm", 2, "missing-flag", "-o"},
		{"export items.hgm -o items.faiss", 1, nil, "items.hgm"},
		{"export items.csv -o x.onnx", 1, hamming.ErrKind, "items.csv"},
		{"export items.hgm -o items.onnx", 1, fs.ErrExist, "items.onnx"},
		{"export nowhere -o x.onnx", 1, fs.ErrNotExist, "nowhere"},
	} {
		r.try(t)
	}
}
