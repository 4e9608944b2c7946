package dataset

import (
	"fmt"
	"strings"
	"testing"
)

func TestCSV(t *testing.T) {
	runCases(t, []formatCase{
		{"plain", "a.csv", "1,2\n3,4\n", Spec{}, "csv -1x2; 1 2; 3 4"},
		{"head", "a.csv", "a,b\n1,2\n3,4", Spec{}, "csv -1x2; names a,b; 1 2; 3 4"},
		{"head, label by its usual name", "a.csv", "label,a\ncat,1\ndog,2\n", Spec{}, "csv -1x1; names a; 1 label cat; 2 label dog"},
		{"label by name", "a.csv", "a,kind\n1,7\n2,8\n", Spec{Label: "kind"}, "csv -1x1; names a; 1 label 7; 2 label 8"},
		{"label by number", "a.csv", "1,7\n2,8\n", Spec{Label: "2"}, "csv -1x1; 1 label 7; 2 label 8"},
		{"text columns are left out", "a.csv", "name,a,b\nAnn,1,2\nBob,3,4\n", Spec{}, "csv -1x2; names a,b; 1 2; 3 4"},
		{"id and tags", "a.csv", "id,tags,a\n007,red;blue sky,1\n18446744073709551616,,2\n", Spec{}, "csv -1x1; names a; 1 tags red/blue sky id 007; 2 tags  id 18446744073709551616"},
		{"coordinates", "a.csv", "x,y,z\n1,2,3\n", Spec{}, "csv -1x3; names x,y,z; 1 2 3"},
		{"vector by names", "a.csv", "a,b,c\n1,2,3\n", Spec{Vector: "c,a"}, "csv -1x2; names c,a; 3 1"},
		{"vector by range", "a.csv", "9,1,2,3\n", Spec{Vector: "2..4", ID: "1"}, "csv -1x3; 1 2 3 id 9"},
		{"pandas index", "a.csv", ",0,1\n0,0.5,1.5\n1,2.5,3.5\n", Spec{}, "csv -1x2; names 0,1; 0.5 1.5 id 0; 2.5 3.5 id 1"},
		{"pandas columns", "a.csv", "0,1,2\n0.5,1.5,1\n", Spec{}, "csv -1x3; names 0,1,2; 0.5 1.5 1"},
		{"counting is no head", "a.csv", "0,1,2\n3,4,5\n", Spec{}, "csv -1x3; 0 1 2; 3 4 5"},
		{"BOM, CRLF, blank lines, spaces", "a.csv", "\ufeffa, b\r\n\r\n1, 2\r\n 3 ,4\r\n\r\n", Spec{}, "csv -1x2; names a,b; 1 2; 3 4"},
		{"semicolons", "a.csv", "a;b\n1;2\n", Spec{}, "csv -1x2; names a,b; 1 2"},
		{"quotes", "a.csv", "label,a\n\"x, \"\"y\"\"\nz\",1\n\"\",\"2\"\n", Spec{}, "csv -1x1; names a; 1 label x, \"y\"\\nz; 2 label "},
		{"quote inside", "a.csv", "label,a\n5\" pipe,1\nq,2\n", Spec{}, "csv -1x1; names a; 1 label 5\" pipe; 2 label q"},
		{"list in brackets", "a.csv", "id,v\na,\"[1, 2.5,3]\"\nb,\"[4,5,6]\"\n", Spec{}, "csv -1x-1; 1 2.5 3 id a; 4 5 6 id b"},
		{"list of spaces", "a.tsv", "v\tlabel\n1 2\tx\n3  4\ty\n", Spec{}, "tsv -1x-1; 1 2 label x; 3 4 label y"},
		{"list of semicolons", "a.csv", "1;2,x\n3;4,y\n", Spec{Label: "2"}, "csv -1x-1; 1 2 label x; 3 4 label y"},
		{"ragged list", "a.csv", "\"[1,2]\"\n\"[1]\"\n\"[]\"\n\"[1,,2]\"\n\"[1,]\"\n\"[3,4]\"\n", Spec{},
			`csv -1x-1; 1 2; bad: wrong-dim at:a.csv:2::2 1 2; bad: no-values at:a.csv:3::3; bad: not-a-number at:a.csv:4:1:4 ""; bad: not-a-number at:a.csv:5:1:5 "[1,]"; 3 4`},
		{"bad rows", "a.csv", "a,b\n1,2\nx,4\n5,\n1e39,7\n8,9,10\n11\n0x1,1\n1_0,1\n12,13\n", Spec{},
			`csv -1x2; names a,b; 1 2; bad: not-a-number at:a.csv:2:a:3 "x"; bad: no-value at:a.csv:3:b:4; bad: out-of-range at:a.csv:4:a:5 "1e39" float32; bad: wrong-count at:a.csv:5::6 3 2; bad: wrong-count at:a.csv:6::7 1 2; bad: not-a-number at:a.csv:7:a:8 "0x1"; bad: not-a-number at:a.csv:8:a:9 "1_0"; 12 13`},
		{"first row bad, no head", "a.csv", "x,1\n2,3\n4,5\n", Spec{}, `csv -1x2; bad: not-a-number at:a.csv:1:1:1 "x"; 2 3; 4 5`},
		{"decimal comma", "a.csv", "a;b\n1,5;2,5\n", Spec{}, "error: no-numbers a.csv"},
		{"NaN is told later", "a.csv", "1,nan\n-inf,2\n", Spec{}, "csv -1x2; 1 NaN; -Inf 2"},
		{"no such column", "a.csv", "a,b\n1,2\n", Spec{Label: "c"}, `error: no-such-column a.csv "c" a b`},
		{"no such number", "a.csv", "1,2\n", Spec{Label: "3"}, `error: no-such-column a.csv "3" 1 2`},
		{"no numbers", "a.csv", "a,b\nx,y\n", Spec{}, "error: no-numbers a.csv"},
		{"only blank lines", "a.csv", "\n\n", Spec{}, "error: no-rows a.csv"},
		{"open quote", "a.csv", "1,\"2\n3,4\n", Spec{}, "error: open-quote a.csv 1"},
		{"head only", "a.csv", "a,label\n", Spec{}, "csv -1x1; names a"},
	})
}

func TestJSONLines(t *testing.T) {
	runCases(t, []formatCase{
		{"objects", "a.jsonl", `{"vector": [1, -2.5e1], "label": "cat", "id": 9007199254740993, "tags": ["a", "b c", 3]}` + "\n" + `{"id":"x","tags":"a, b","label":3,"vector":[0,0]}`, Spec{},
			"jsonl -1x-1; 1 -25 label cat tags a/b c/3 id 9007199254740993; 0 0 label 3 tags a/b id x"},
		{"other usual key", "a.jsonl", `{"embedding":[1],"x":5}` + "\n", Spec{}, "jsonl -1x-1; 1"},
		{"nested", "a.jsonl", `{"a":{"b":{"v":[1,2]},"k":true},"a.b":[7]}` + "\n", Spec{Vector: "a.b.v", Label: "a.k"}, "jsonl -1x-1; 1 2 label true"},
		{"escapes", "a.jsonl", `{"v\u0065ctor":[1],"label":"\u00e9\"\ud83d\ude00"}` + "\n", Spec{}, "jsonl -1x-1; 1 label é\"😀"},
		{"lists", "a.jsonl", "[1,2]\r\n\r\n[ 3 , 4 ]\r\n", Spec{}, "jsonl -1x-1; 1 2; 3 4"},
		{"null is nothing", "a.jsonl", `{"vector":[1],"label":null,"tags":null,"id":null}` + "\n", Spec{}, "jsonl -1x-1; 1"},
		{"bad values", "a.jsonl", "[1,2]\n[1,null]\n[1,\"NaN\"]\n[1,1e999]\n[1,NaN]\n[1]\n[]\n[1,[2]]\n[01,2]\n[1,2,]\n[1 2]\n[1,2]x\n[3,4]\n", Spec{},
			`jsonl -1x-1; 1 2; bad: not-a-number at:a.jsonl:2::2 "null" 2; bad: not-a-number at:a.jsonl:3::3 "\"NaN\"" 2; bad: out-of-range at:a.jsonl:4::4 1e999 2 float32; bad: bad-json at:a.jsonl:5::5 "NaN]" 4; bad: wrong-dim at:a.jsonl:6::6 1 2; bad: no-values at:a.jsonl:7::7; bad: not-a-number at:a.jsonl:8::8 "[2]" 2; bad: bad-json at:a.jsonl:9::9 "1,2]" 3; bad: bad-json at:a.jsonl:10::10 "]" 6; bad: bad-json at:a.jsonl:11::11 "2]" 4; bad: bad-json at:a.jsonl:12::12 "x" 6; 3 4`},
		{"bad objects", "a.jsonl", `{"vector":[1]}` + "\n" + `{"vector":7}` + "\n" + `{"vector":[1],"vector":[2]}` + "\n" + `{"label":"x"}` + "\n" + `{"vector":[null]}` + "\n", Spec{},
			`jsonl -1x-1; 1; bad: not-a-list at:a.jsonl:2:vector:2 7; bad: duplicate-key at:a.jsonl:3:vector:3; bad: no-vector at:a.jsonl:4:vector:4; bad: not-a-number at:a.jsonl:5:vector:5 "null" 1`},
		{"label is a list", "a.jsonl", `{"vector":[1],"label":["a"]}` + "\n", Spec{}, `jsonl -1x-1; bad: not-a-text at:a.jsonl:1:label:1 "[\"a\"]"`},
		{"which", "a.jsonl", `{"a":[1],"b":{"c":[2]}}` + "\n", Spec{}, "error: which-vector set:Vector a.jsonl a b b.c"},
	})
}

// checkTexts compares texts with those between bars, or an error with what refused takes behind "error: ".
func checkTexts(t *testing.T, dir, file string, texts []string, err error, want string) {
	t.Helper()
	if refusal, ok := strings.CutPrefix(want, "error: "); ok {
		setWant(t, dir, err, refusal)
	} else if got := strings.Join(texts, "|"); err != nil || got != want {
		t.Errorf("%s: read %q, %v, want %q", file, got, err, want)
	}
}

// readValues and readTagLines read a file with an entry per row.
func readValues(path string) ([]string, error) {
	_, texts, _, err := readSide(path, labelNoun, false)
	return texts, err
}

func readTagLines(path string) ([][]string, error) {
	in, texts, _, err := readSide(path, tagsNoun, false)
	if err != nil {
		return nil, err
	}
	return parseTags(in, texts)
}

func TestReadValues(t *testing.T) {
	for _, c := range []struct{ file, content, want string }{
		{"y.txt", "cat\ndog, big\r\n\n7\n\n", "cat|dog, big||7"},
		{"y.txt", "\ufeff3.0\n18446744073709551615\n", "3.0|18446744073709551615"},
		{"y.csv", "label\ncat\ndog\n", "cat|dog"},
		{"y.csv", "cat\ndog\n", "cat|dog"},
		{"y.csv", "kind\n1\n2\n", "1|2"},
		{"y.csv", "\"a, b\"\nc\n", "a, b|c"},
		{"y.csv", "id,other\n5,6\n", "5"},
		{"y.csv", "a,b\n5,6\n", "error: which-column y.csv 2 label id"},
		{"y.csv", "label,b\n5,6\n7\n", "error: wrong-count y.csv 3 1 2"},
		{"y.jsonl", "\"a\\n\"\n5\ntrue\n", "a\n|5|true"},
		{"y.jsonl", "[5]\n", `error: not-a-text y.jsonl 1 "[5]"`},
		{"y.txt.gz", gzipped("a\nb\n"), "a|b"},
		{"y.txt.zst", zstded("a\nb\n"), "a|b"},
		{"y-idx1-ubyte.gz", gzipped("\x00\x00\x08\x01\x00\x00\x00\x03\x07\x00\xff"), "7|0|255"},
		{"y.npy", npyOf("<f4", false, "3,", float32s(3, 0.1, -2)), "3|0.1|-2"},
		{"y.npy", npyOf("<f4", false, "2, 1", float32s(3, 4)), "3|4"},
		{"y.npy", npyOf("|b1", false, "2,", "\x00\x01"), "false|true"},
		{"y.npy", npyOf("|S0", false, "2,", ""), ""},
		{"y.npy", npyOf("<f4", false, "1, 2", float32s(3, 4)), "error: not-one-value y.npy 2"},
		{"y.npy", npyOf("<f4", false, "3,", float32s(3, 4)), "error: cut-off y.npy 2 3"},
		{"y.bin", "\x01\x02", "error: wrong-format y.bin npy IDX"},
		{"y.txt", "", ""},
	} {
		dir := t.TempDir()
		values, err := readValues(fileOf(t, dir, c.file, c.content))
		checkTexts(t, dir, c.file, values, err, c.want)
	}
}

func TestReadTagLines(t *testing.T) {
	for _, c := range []struct{ file, content, want string }{
		{"t.txt", "red, blue sky\n\nblue sky\n", "red/blue sky||blue sky"},
		{"t.txt", "red blue\n\n sky \n", "red/blue||sky"},
		{"t.txt", "a;b,c\nd\n", "a/b,c|d"},
		{"t.txt", "a|b;c\n", "a/b;c"},
		{"t.tsv", "a\tb|c\n", "a/b|c"},
		{"t.jsonl", "[\"a b\",3]\n\n[]\n", "a b/3||"},
		{"t.jsonl", "[\"a b\"\n", "error: json-ends t.jsonl 1"},
		{"t.txt", "0 1 1\n0 0 0\n", "1/2|"},
		{"t.txt", "0 1\n1 0\n", "0/1|1/0"},
		{"t.csv.gz", gzipped("1,0,0,1\n0,1,0,0\n"), "0/3|1"},
		{"t.npy", npyOf("|u1", false, "2, 3", "\x01\x00\x01\x00\x00\x00"), "0/2|"},
		{"t.npy", npyOf("|u1", true, "2, 3", "\x01\x00\x01\x00\x00\x00"), "0/1|"},
		{"t.npy", npyOf("|S3", false, "2,", "a,bc\x00\x00"), "a/b|c"},
		{"t.npy", npyOf("|u1", false, "1, 3", "\x01\x02\x00"), "error: bad-tags t.npy 1 2 0 1"},
		{"t.bin", "\x00", "error: wrong-format t.bin npy"},
	} {
		dir := t.TempDir()
		rows, err := readTagLines(fileOf(t, dir, c.file, c.content))
		var texts []string
		for _, r := range rows {
			texts = append(texts, strings.Join(r, "/"))
		}
		checkTexts(t, dir, c.file, texts, err, c.want)
	}
}

// TestLongLines reads lines longer than the buffer.
func TestLongLines(t *testing.T) {
	var numbers []string
	for i := range 60_000 {
		numbers = append(numbers, fmt.Sprint(i%1000+1000))
	}
	row := strings.Join(numbers, ",")
	dir := t.TempDir()
	for name, content := range map[string]string{
		"a.csv": row + "\n" + row + "\n", "a.jsonl": "[" + row + "]\n[" + row + "]\n",
		"b.csv": "\"[" + row + "]\"\n\"[" + row + "]\"\n"} {
		r, _, err := openFile(fileOf(t, dir, name, content), &Spec{})
		if err != nil {
			t.Fatal(err)
		}
		var rec record
		for range 2 {
			if err := r.next(&rec); err != nil || len(rec.vector) != len(numbers) || rec.vector[999] != 1999 || rec.vector[59_999] != 1999 {
				t.Errorf("%s: %d values, %v", name, len(rec.vector), err)
			}
		}
		r.Close()
	}
}

func FuzzCSV(f *testing.F) {
	f.Add([]byte("a,b,label\n1,2,\"x\"\"y\n\"\n3,4,z\n"))
	f.Add([]byte("\"[1, 2]\";x\n\"3 4\";y\n"))
	f.Add([]byte("\ufeffid,tags,v\r\n1,a|b,1e3\r\n"))
	fuzzFormat(f, []string{"csv"}, Spec{Label: "1"}, Spec{Vector: "2..3", Tags: "1"}, Spec{Vector: "a..b,?", ID: "1"})
}

func FuzzJSONL(f *testing.F) {
	f.Add([]byte(`{"vector":[1,-2.5e-3],"label":"cat","id":9007199254740993,"tags":["a",3],"o":{"p":[null,true,"\u00e9"]}}`))
	f.Add([]byte("[1,2]\n[3,4]\n"))
	f.Add([]byte(`{"id":1,"x":2,"o":{"p":3}}` + "\n" + `{"x":2,"o":{"p":-3},"id":1}` + "\n[1,2]\n"))
	fuzzFormat(f, []string{"jsonl"}, Spec{Vector: "o.p", Label: "id"}, Spec{Vector: "o.*,id"}, Spec{Known: &Columns{Vector: []string{"id", "x"}}})
}
