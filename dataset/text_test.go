package dataset

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
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
		{"vector by range", "a.csv", "9,1,2,3\n", Spec{Vector: "2-4", ID: "1"}, "csv -1x3; 1 2 3 id 9"},
		{"pandas index", "a.csv", ",0,1\n0,0.5,1.5\n1,2.5,3.5\n", Spec{}, "csv -1x2; names 0,1; 0.5 1.5 id 0; 2.5 3.5 id 1"},
		{"pandas columns", "a.csv", "0,1,2\n0.5,1.5,1\n", Spec{}, "csv -1x3; names 0,1,2; 0.5 1.5 1"},
		{"counting is no head", "a.csv", "0,1,2\n3,4,5\n", Spec{}, "csv -1x3; 0 1 2; 3 4 5"},
		{"BOM, CRLF, blank lines, spaces", "a.csv", "\ufeffa, b\r\n\r\n1, 2\r\n 3 ,4\r\n\r\n", Spec{}, "csv -1x2; names a,b; 1 2; 3 4"},
		{"semicolons", "a.csv", "a;b\n1;2\n", Spec{}, "csv -1x2; names a,b; 1 2"},
		{"quotes", "a.csv", "label,a\n\"x, \"\"y\"\"\nz\",1\n\"\",\"2\"\n", Spec{}, "csv -1x1; names a; 1 label x, \"y\"; z; 2 label "},
		{"quote inside", "a.csv", "label,a\n5\" pipe,1\nq,2\n", Spec{}, "csv -1x1; names a; 1 label 5\" pipe; 2 label q"},
		{"list in brackets", "a.csv", "id,v\na,\"[1, 2.5,3]\"\nb,\"[4,5,6]\"\n", Spec{}, "csv -1x-1; 1 2.5 3 id a; 4 5 6 id b"},
		{"list of spaces", "a.tsv", "v\tlabel\n1 2\tx\n3  4\ty\n", Spec{}, "tsv -1x-1; 1 2 label x; 3 4 label y"},
		{"list of semicolons", "a.csv", "1;2,x\n3;4,y\n", Spec{Label: "2"}, "csv -1x-1; 1 2 label x; 3 4 label y"},
		{"ragged list", "a.csv", "\"[1,2]\"\n\"[1]\"\n\"[]\"\n\"[1,,2]\"\n\"[1,]\"\n\"[3,4]\"\n", Spec{},
			`csv -1x-1; 1 2; bad: a.csv: row 2: 1 values instead of 2 (line 2); bad: a.csv: row 3: a vector without values (line 3); bad: a.csv: row 4, column 1: "" is not a number (line 4); bad: a.csv: row 5, column 1: "[1,]" is not a number (line 5); 3 4`},
		{"bad rows", "a.csv", "a,b\n1,2\nx,4\n5,\n1e39,7\n8,9,10\n11\n0x1,1\n1_0,1\n12,13\n", Spec{},
			`csv -1x2; names a,b; 1 2; bad: a.csv: row 2, column a: "x" is not a number (line 3); bad: a.csv: row 3, column b: an empty field instead of a number (line 4); ` +
				`bad: a.csv: row 4, column a: "1e39" is beyond the range of float32 (line 5); bad: a.csv: row 5: 3 fields instead of 2 (line 6); bad: a.csv: row 6: 1 field instead of 2 (line 7); ` +
				`bad: a.csv: row 7, column a: "0x1" is not a number (line 8); bad: a.csv: row 8, column a: "1_0" is not a number (line 9); 12 13`},
		{"first row bad, no head", "a.csv", "x,1\n2,3\n4,5\n", Spec{}, `csv -1x2; bad: a.csv: row 1, column 1: "x" is not a number (line 1); 2 3; 4 5`},
		{"decimal comma", "a.csv", "a;b\n1,5;2,5\n", Spec{}, "error: a.csv: has no column of numbers; a number has a decimal point, no comma"},
		{"NaN is told later", "a.csv", "1,nan\n-inf,2\n", Spec{}, "csv -1x2; 1 NaN; -Inf 2"},
		{"no such column", "a.csv", "a,b\n1,2\n", Spec{Label: "c"}, `error: a.csv: has no column "c"; it has a, b`},
		{"no such number", "a.csv", "1,2\n", Spec{Label: "3"}, `error: a.csv: has no column "3": it has no header, so columns are called 1 to 2`},
		{"no numbers", "a.csv", "a,b\nx,y\n", Spec{}, "error: a.csv: has no column of numbers; a number has a decimal point, no comma"},
		{"only blank lines", "a.csv", "\n\n", Spec{}, "error: a.csv: has no rows"},
		{"open quote", "a.csv", "1,\"2\n3,4\n", Spec{}, "error: a.csv: line 1: a quoted field does not end"},
		{"head only", "a.csv", "a,label\n", Spec{}, "csv -1x1; names a"},
	})
}

func TestJSONLines(t *testing.T) {
	deep := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	runCases(t, []formatCase{
		{"objects", "a.jsonl", `{"vector": [1, -2.5e1], "label": "cat", "id": 9007199254740993, "tags": ["a", "b c", 3]}` + "\n" + `{"id":"x","tags":"a, b","label":3,"vector":[0,0]}`, Spec{},
			"jsonl -1x-1; 1 -25 label cat tags a/b c/3 id 9007199254740993; 0 0 label 3 tags a/b id x"},
		{"other usual key", "a.jsonl", `{"embedding":[1],"x":5}` + "\n", Spec{}, "jsonl -1x-1; 1"},
		{"nested", "a.jsonl", `{"a":{"b":{"v":[1,2]},"k":true},"a.b":[7]}` + "\n", Spec{Vector: "a.b.v", Label: "a.k"}, "jsonl -1x-1; 1 2 label true"},
		{"escapes", "a.jsonl", `{"v\u0065ctor":[1],"label":"\u00e9\"\ud83d\ude00"}` + "\n", Spec{}, "jsonl -1x-1; 1 label é\"😀"},
		{"lists", "a.jsonl", "[1,2]\r\n\r\n[ 3 , 4 ]\r\n", Spec{}, "jsonl -1x-1; 1 2; 3 4"},
		{"null is nothing", "a.jsonl", `{"vector":[1],"label":null,"tags":null,"id":null}` + "\n", Spec{}, "jsonl -1x-1; 1"},
		{"bad values", "a.jsonl", "[1,2]\n[1,null]\n[1,\"NaN\"]\n[1,1e999]\n[1,NaN]\n[1]\n[]\n[1,[2]]\n[01,2]\n[1,2,]\n[1 2]\n[1,2]x\n[3,4]\n", Spec{},
			`jsonl -1x-1; 1 2; bad: a.jsonl: row 2: "null" instead of a number at place 2 (line 2); bad: a.jsonl: row 3: "\"NaN\"" instead of a number at place 2 (line 3); ` +
				`bad: a.jsonl: row 4: 1e999 at place 2 is beyond the range of float32 (line 4); bad: a.jsonl: row 5: the JSON cannot be read from character 4: "NaN]" (line 5); ` +
				`bad: a.jsonl: row 6: 1 values instead of 2 (line 6); bad: a.jsonl: row 7: a vector without values (line 7); bad: a.jsonl: row 8: "[2]" instead of a number at place 2 (line 8); ` +
				`bad: a.jsonl: row 9: the JSON cannot be read from character 3: "1,2]" (line 9); bad: a.jsonl: row 10: the JSON cannot be read from character 6: "]" (line 10); ` +
				`bad: a.jsonl: row 11: the JSON cannot be read from character 4: "2]" (line 11); bad: a.jsonl: row 12: the JSON cannot be read from character 6: "x" (line 12); 3 4`},
		{"bad objects", "a.jsonl", `{"vector":[1]}` + "\n" + `{"vector":7}` + "\n" + `{"vector":[1],"vector":[2]}` + "\n" + `{"label":"x"}` + "\n" + `{"vector":[null]}` + "\n" + `{"vector":[1],"o":` + deep + "}\n", Spec{},
			`jsonl -1x-1; 1; bad: a.jsonl: row 2, column vector: 7 instead of a list of numbers (line 2); bad: a.jsonl: row 3, column vector: the key twice (line 3); ` +
				`bad: a.jsonl: row 4, column vector: no vector (line 4); bad: a.jsonl: row 5, column vector: "null" instead of a number at place 1 (line 5); bad: a.jsonl: row 6: the JSON is nested deeper than 64 (line 6)`},
		{"label is a list", "a.jsonl", `{"vector":[1],"label":["a"]}` + "\n", Spec{}, `jsonl -1x-1; bad: a.jsonl: row 1, column label: "[\"a\"]" instead of a string or a number (line 1)`},
		{"which", "a.jsonl", `{"a":[1],"b":{"c":[2]}}` + "\n", Spec{}, "error: a.jsonl: which key holds the vector? The first row has a, b, b.c: name one"},
	})
}

func TestLibSVM(t *testing.T) {
	runCases(t, []formatCase{
		{"plain", "a.svm", "+1 1:0.5 3:-2 # a comment\n-1 qid:7 2:1\n\n3\n", Spec{}, "libsvm 3x3; 0.5 0 -2 label +1; 0 1 0 label -1; 0 0 0 label 3"},
		{"from zero", "a.svm", "1 0:5\n0 2:1\n", Spec{}, "libsvm 2x3; 5 0 0 label 1; 0 0 1 label 0"},
		{"tags", "a.svm", "1,3 1:5\n2 1:1\n 1:4\n", Spec{}, "libsvm 3x1; 5 tags 1/3; 1 tags 2; 4 tags "},
		{"dimensions given", "a.svm", "1 1:5\n", Spec{Vector: "4"}, "libsvm 1x4; 5 0 0 0 label 1"},
		{"bad rows", "a.svm", "1 1:5 3:1\n1 2:1 1:1\n1 2:x\n1 99999999:1\n1 b:1\n1 2:\n1 2\n1 1:1 1:1\n2 2:1\n", Spec{},
			`libsvm 9x3; 5 0 1 label 1; bad: a.svm: row 2, column 1: the index is not greater than the one before (line 2); bad: a.svm: row 3, column 2: "x" is not a number (line 3); ` +
				`bad: a.svm: row 4, column 99999999: an index beyond the 3 dimensions (line 4); bad: a.svm: row 5: "b:1" instead of index:value (line 5); bad: a.svm: row 6, column 2: "" is not a number (line 6); ` +
				`bad: a.svm: row 7: "2" instead of index:value (line 7); bad: a.svm: row 8, column 1: the index is not greater than the one before (line 8); 0 1 0 label 2`},
		{"no dimensions", "a.svm", "1 1:5\n", Spec{Vector: "x"}, `error: a.svm: a LibSVM file has no column "x": give the number of dimensions instead`},
		{"nothing", "a.svm", "# nothing\n", Spec{}, "error: a.svm: has no rows of the form label index:value"},
	})
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
		{"y.csv", "a,b\n5,6\n", "error: y.csv: has 2 columns and none is called label or id: give a file with one value per line"},
		{"y.csv", "label,b\n5,6\n7\n", "error: y.csv: line 3: 1 field instead of 2"},
		{"y.jsonl", "\"a\\n\"\n5\ntrue\n", "a\n|5|true"},
		{"y.jsonl", "[5]\n", `error: y.jsonl: line 1: "[5]" instead of a string or a number`},
		{"y.txt.gz", gzipped("a\nb\n"), "a|b"},
		{"y.txt.zst", zstded("a\nb\n"), "a|b"},
		{"y-idx1-ubyte.gz", gzipped("\x00\x00\x08\x01\x00\x00\x00\x03\x07\x00\xff"), "7|0|255"},
		{"y.npy", npyOf("<f4", false, "3,", float32s(3, 0.1, -2)), "3|0.1|-2"},
		{"y.npy", npyOf("<f4", false, "2, 1", float32s(3, 4)), "3|4"},
		{"y.npy", npyOf("|b1", false, "2,", "\x00\x01"), "false|true"},
		{"y.npy", npyOf("|S0", false, "2,", ""), ""},
		{"y.npy", npyOf("<f4", false, "1, 2", float32s(3, 4)), "error: y.npy: has 2 values per row, but should have one"},
		{"y.npy", npyOf("<f4", false, "3,", float32s(3, 4)), "error: y.npy: is cut off: 2 of 3 rows are there"},
		{"y.bin", "\x01\x02", "error: y.bin: is neither text nor npy nor IDX: a file with one value per row is expected"},
		{"y.txt", "", ""},
	} {
		dir := t.TempDir()
		values, err := readValues(fileOf(t, dir, c.file, c.content))
		got := strings.Join(values, "|")
		if err != nil {
			got = "error: " + strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), "")
		}
		if got != c.want {
			t.Errorf("%s %q: read %q, want %q", c.file, c.content, got, c.want)
		}
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
		{"t.jsonl", "[\"a b\"\n", "error: t.jsonl: line 1: a JSON list of tags cannot be read"},
		{"t.txt", "0 1 1\n0 0 0\n", "1/2|"},
		{"t.txt", "0 1\n1 0\n", "0/1|1/0"},
		{"t.csv.gz", gzipped("1,0,0,1\n0,1,0,0\n"), "0/3|1"},
		{"t.npy", npyOf("|u1", false, "2, 3", "\x01\x00\x01\x00\x00\x00"), "0/2|"},
		{"t.npy", npyOf("|u1", true, "2, 3", "\x01\x00\x01\x00\x00\x00"), "0/1|"},
		{"t.npy", npyOf("|S3", false, "2,", "a,bc\x00\x00"), "a/b|c"},
		{"t.npy", npyOf("|u1", false, "1, 3", "\x01\x02\x00"), "error: t.npy: row 1: a matrix of tags holds 2; it may hold only 0 and 1"},
		{"t.bin", "\x00", "error: t.bin: is neither text nor npy: a file with one line of tags per row is expected"},
	} {
		dir := t.TempDir()
		rows, err := readTagLines(fileOf(t, dir, c.file, c.content))
		var texts []string
		for _, r := range rows {
			texts = append(texts, strings.Join(r, "/"))
		}
		got := strings.Join(texts, "|")
		if err != nil {
			got = "error: " + strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), "")
		}
		if got != c.want {
			t.Errorf("%s %q: read %q, want %q", c.file, c.content, got, c.want)
		}
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
	fuzzFormat(f, "csv", Spec{Label: "1"}, Spec{Vector: "2-3", Tags: "1"}, Spec{Vector: "a..b,?", ID: "1"})
}

func FuzzLibSVM(f *testing.F) {
	f.Add([]byte("+1 1:0.5 3:-2 # c\n-1 qid:7 2:1\n"))
	f.Add([]byte("1,3 0:5\n 1:4\n"))
	fuzzFormat(f, "libsvm")
}

// FuzzJSONL also compares what counts as JSON with the standard library.
func FuzzJSONL(f *testing.F) {
	f.Add([]byte(`{"vector":[1,-2.5e-3],"label":"cat","id":9007199254740993,"tags":["a",3],"o":{"p":[null,true,"\u00e9"]}}`))
	f.Add([]byte("[1,2]\n[3,4]\n"))
	f.Add([]byte(`{"id":1,"x":2,"o":{"p":3}}` + "\n" + `{"x":2,"o":{"p":-3},"id":1}` + "\n[1,2]\n"))
	dir := f.TempDir()
	n := 0
	f.Fuzz(func(t *testing.T, content []byte) {
		s := jsonScanner{b: content}
		err := s.skip(0)
		if s.space(); err == nil && s.i == len(s.b) && !json.Valid(content) {
			t.Errorf("%q is no JSON", content)
		}
		if json.Valid(content) && err != nil && err != error(errTooDeep) {
			t.Errorf("%q is JSON: %v", content, err)
		}
		n++
		path := fileOf(t, dir, fmt.Sprintf("a%d.jsonl", n%4), string(content))
		for _, c := range []Spec{{}, {Vector: "o.p", Label: "id"}, {Vector: "o.*,id"}, {Known: &Columns{Vector: []string{"id", "x"}}}} {
			checkFile(t, path, "jsonl", c)
		}
		_, _ = readValues(path)
		_, _ = readTagLines(path)
	})
}

func TestTagsAreKeptOnce(t *testing.T) {
	seen := interner{}
	tags := seen.appendTags(nil, "a,b,,a", ',')
	if !slices.Equal(tags, []string{"a", "b", "a"}) || len(seen) != 2 {
		t.Errorf("tags %q, kept %d", tags, len(seen))
	}
}
