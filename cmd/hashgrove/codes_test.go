package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"hashgrove/internal/hamming"
)

// foreignCodes writes 50 codes of 64 bits, clustered, as the forms in which people have them, and returns them.
func foreignCodes(t *testing.T) hamming.Codes {
	t.Helper()
	t.Chdir(t.TempDir())
	rng := rand.New(rand.NewPCG(3, 9))
	codes := hamming.NewCodes(50, 64)
	var hexes, bits, lines strings.Builder
	hexes.WriteString("sku,phash,label,price\n")
	bits.WriteString("id\tcode\n")
	for i := range codes.Len() {
		codes.Data[i] = uint64(i%5)*0x123456789abcdef1 ^ 1<<rng.IntN(64)
		packed := hex.EncodeToString(codes.AppendBytes(nil, i))
		fmt.Fprintf(&hexes, "p%d,0x%s,c%d,%d\n", i, strings.ToUpper(packed), i%5, i)
		fmt.Fprintf(&bits, "p%d\t%064b\n", i, codes.Data[i])
		label := ""
		if i%2 == 1 {
			label = `,"label":"odd"`
		}
		fmt.Fprintf(&lines, `{"id":"p%d","code":"%s"%s}`+"\n", i, packed, label)
	}
	write(t, "hashes.csv", hexes.String())
	write(t, "bits.tsv", bits.String())
	write(t, "lines.jsonl", lines.String())
	var b bytes.Buffer
	w, err := hamming.NewWriter(&b, hamming.NPY, hamming.Header{Bits: 64, Rows: 50})
	if err := errors.Join(err, w.Write(codes, nil), w.Close()); err != nil {
		t.Fatal(err)
	}
	write(t, "codes.npy", b.String())
	return codes
}

// TestCodesFromElsewhere makes an index of codes in every form, and finds the same in each.
func TestCodesFromElsewhere(t *testing.T) {
	foreignCodes(t)
	if out := succeed(t, "info", "codes.npy"); !strings.Contains(out, "50 codes") {
		t.Errorf("codes of NumPy are described as %s", out)
	}
	var ids strings.Builder
	for i := range 50 {
		fmt.Fprintf(&ids, "p%d\n", i)
	}
	write(t, "ids.txt", ids.String())
	for i, line := range []string{
		"codes.npy --ids ids.txt", "hashes.csv --vector phash --id-column sku", "bits.tsv", "lines.jsonl", "0.parquet",
	} {
		index := fmt.Sprintf("%d.hgi", i)
		if r := indexReported(t, "index build --codes -o "+index+" "+line); r.Items != 50 || r.Bits != 64 {
			t.Errorf("%s: %+v", line, r)
		}
		succeed(t, "index", "export", index, "-o", fmt.Sprintf("%d.hgc", i))
		succeed(t, "index", "export", index, "-o", fmt.Sprintf("%d.parquet", i))
		if !bytes.Equal(read(t, fmt.Sprintf("%d.hgc", i)), read(t, "0.hgc")) {
			t.Errorf("%s: other codes or ids", line)
		}
	}
	succeed(t, shellWords("index build --codes hashes.csv --vector phash --id-column sku --attributes hashes.csv -o all.hgi")...)
	if f := searched(t, "all.hgi --id p7 --radius 2 --where 'price < 20 and label = \"c2\"'"); len(f.Results[0].Hits) != 4 {
		t.Errorf("a radius and a filter: %+v", f)
	}
	if f := searched(t, "all.hgi codes.npy --codes --row 3,4 -k 1"); len(f.Results) != 2 || f.Results[1].Hits[0].Distance != 0 {
		t.Errorf("codes as queries: %+v", f)
	}
	succeed(t, shellWords("index delete all.hgi --id p7")...)
	succeed(t, shellWords("index add all.hgi hashes.csv --codes --vector phash --id-column sku --upsert")...)
	if f := searched(t, "all.hgi --id p3 -k 1"); f.Results[0].Hits[0].Label != "c3" {
		t.Errorf("labels: %+v", f)
	}

	write(t, "vectors.csv", "a,b\n0.5,2\n")
	write(t, "wide.csv", "id,code\na,0123456789abcdef\nb,012345\n")
	write(t, "odd.csv", "id,code\na,0123456789abcdef\nb,0123456789abcdeg\n")
	write(t, "null.jsonl", `{"id":"a","code":"0123456789abcdef"}`+"\n"+`{"id":"b","code":null}`+"\n")
	write(t, "short.csv", "id,code\na,1f\nb,0\n")
	write(t, "byte.csv", "id,code\na,1f\nb,20\n")
	write(t, "tiny.csv", "id,code\na,1\nb,0\n")
	for _, r := range []refusal{
		{"search all.hgi vectors.csv", 1, nil, "all.hgi model vectors.csv --codes --code"},
		{"index build vectors.csv -o x.hgi", 2, nil, "vectors.csv model --codes"},
		{"index build vectors.csv --codes -o x.hgi", 1, nil, "vectors.csv a b code code_0"},
		{"index build wide.csv --codes -o x.hgi", 1, nil, "wide.csv row 2 line 3 012345 16 64"},
		{"index build odd.csv --codes -o x.hgi", 1, nil, "odd.csv row 2 0123456789abcdeg hexadecimal"},
		{"index build null.jsonl --codes -o x.hgi", 1, nil, "null.jsonl row 2 code"},
		{"index build short.csv --codes -o x.hgi", 1, nil, "short.csv row 2 0 2 8"},
		{"index build tiny.csv --codes -o x.hgi", 1, nil, "tiny.csv 1 8 4096"},
		{"index build codes.npy short.csv --codes -o x.hgi", 1, nil, "short.csv codes.npy 8 64"},
		{"index add all.hgi short.csv --codes", 1, nil, "short.csv"},
		{"eval --codes --base lines.jsonl --queries lines.jsonl", 2, nil, "lines.jsonl row 1 label"},
		{"eval --codes --base bits.tsv --queries bits.tsv", 2, nil, "labels tags"},
		{"eval --codes --base codes.npy --queries byte.csv", 2, nil, "64 8"},
		{"eval --codes --base codes.npy --queries codes.npy --rank margins", 2, nil, "--rank hamming"},
		{"eval --codes --base codes.npy --queries codes.npy --prefix 8", 2, nil, "--prefix --codes"},
		{"eval --codes --base codes.npy --queries codes.npy -m m.hgm", 2, nil, "--codes MODEL"},
	} {
		r.try(t)
	}
}

// TestEvalOfCodes: codes of a model that come as codes are as good as the model says.
func TestEvalOfCodes(t *testing.T) {
	shop(t)
	succeed(t, shellWords("train items.csv --label category --bits 12 --effort quick --rounds 2 -o m.hgm")...)
	succeed(t, shellWords("encode items.csv --label category --id-column sku -m m.hgm -o c.parquet")...)
	of := "--base items.csv --queries items.csv --label category --rank hamming --neighbours none"
	want := succeed(t, shellWords("eval -m m.hgm --json "+of)...)
	got := succeed(t, shellWords("eval --codes --base c.parquet --queries c.parquet --json")...)
	var a, b struct {
		Judged    int
		MAP       float64
		Precision map[string]float64
		Curve     []struct{ Precision, Recall float64 } `json:"pr_curve"`
	}
	if err := errors.Join(json.Unmarshal([]byte(want), &a), json.Unmarshal([]byte(got), &b)); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a, b) || a.MAP == 0 || len(a.Curve) == 0 {
		t.Errorf("as codes %+v, by the model %+v", b, a)
	}
}

// TestParquetOfCodes takes items through Parquet: the index built from the file is that which was exported.
func TestParquetOfCodes(t *testing.T) {
	for _, bits := range []int{12, 64, 72} {
		shop(t)
		succeed(t, shellWords(fmt.Sprintf("train items.csv --label category --bits %d --effort quick --rounds 2 -o m.hgm", bits))...)
		succeed(t, shellWords("index build items.csv --label category --id-column sku -m m.hgm -o a.hgi --attributes items.csv --attribute-columns f0")...)
		succeed(t, shellWords("index export a.hgi -o a.parquet")...)
		succeed(t, shellWords("index build a.parquet --codes --attributes a.parquet -o b.hgi")...)
		succeed(t, shellWords("encode items.csv --label category --id-column sku -m m.hgm -o c.parquet")...)
		succeed(t, shellWords("index build c.parquet --codes --attributes a.parquet -m m.hgm -o c.hgi")...)
		for _, name := range []string{"a", "b", "c"} {
			succeed(t, "index", "export", name+".hgi", "-o", name+".jsonl")
			succeed(t, "index", "export", name+".hgi", "-o", name+".hgc")
			for _, end := range []string{".jsonl", ".hgc"} { // the second has the fingerprint and the number of bits
				if !bytes.Equal(read(t, name+end), read(t, "a"+end)) {
					t.Errorf("%d bits: %s%s differs", bits, name, end)
				}
			}
		}
	}
}
