package dataset

import (
	"context"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"hashgrove/internal/supervision"
)

// TestMissingValues: where values may be missing, every format has its way to say so, and infinite values stay bad.
func TestMissingValues(t *testing.T) {
	nan, one := float32(math.NaN()), float32(1)
	type optional struct {
		A *float32 `parquet:"a,optional"`
		B float64  `parquet:"b"`
	}
	type list struct {
		V []*float32 `parquet:"v,list"`
	}
	asked := Spec{Missing: true}
	runCases(t, []formatCase{
		{"csv", "a.csv", "a,b,c\n1,,x\nNaN,2,y\nNA,null,\n3,x,z\n4,1e999,z\n", Spec{Missing: true, Label: "c"},
			`csv -1x2; names a,b; 1 NaN label x; NaN 2 label y; NaN NaN label ; bad: not-a-number at:a.csv:4:b:5 "x"; bad: out-of-range at:a.csv:5:b:6 "1e999" float32`},
		{"csv unasked", "a.csv", "a,b\n1,2\nNA,3\n", Spec{}, `csv -1x2; names a,b; 1 2; bad: not-a-number at:a.csv:2:a:3 "NA"`},
		{"csv, other spellings", "a.csv", "a,b\n-1,2\nn/a,-\n#N/A,N/A\n", Spec{Missing: true}, `csv -1x2; names a,b; -1 2; NaN NaN; NaN NaN`},
		{"npy", "a.npy", setNpy([]float32{1, nan}, []float32{2, 3}), asked, "npy 2x2; 1 NaN; 2 3"},
		{"json lists", "a.jsonl", "[1,null]\n[null,null]\n[1,nul]\n[1,\"x\"]\n", asked,
			`jsonl -1x-1; 1 NaN; NaN NaN; bad: bad-json at:a.jsonl:3::3 "]" 7; bad: not-a-number at:a.jsonl:4::4 "\"x\"" 2`},
		{"json keys", "a.jsonl", `{"e0":null,"e1":2}` + "\n" + `{"e1":3}` + "\n" + `{"e0":nullx,"e1":3}` + "\n", Spec{Missing: true, Vector: "e*"},
			`jsonl -1x2; names e0,e1; NaN 2; NaN 3; bad: bad-json at:a.jsonl:3::3 "x,\"e1\":3}" 11`},
		{"parquet", "a", parquetOf([]optional{{&one, 1}, {nil, 2}, {nil, 1e300}}), asked,
			"parquet 3x2; names a,b; 1 1; NaN 2; bad: out-of-range at:a:3:b float32"},
		{"parquet lists", "a", parquetOf([]list{{[]*float32{&one, nil}}, {[]*float32{nil, &one}}}), asked, "parquet 2x-1; 1 NaN; NaN 1"},
	})
	path := fileOf(t, t.TempDir(), "a.csv", "a,b,c\n1,,x\n2,2,y\n,3,y\n")
	s, err := Open(Spec{Paths: []string{path}, Label: "c", Missing: true})
	if err != nil {
		t.Fatal(err)
	}
	d, err := supervision.Scan(context.Background(), s, supervision.ScanOptions{Digest: true, Hashes: true})
	if err != nil || !d.Missing || d.Rows != 3 || d.Ranges.Missing[0] != 1 || d.Ranges.Missing[1] != 1 {
		t.Errorf("%+v, %v", d, err)
	}
	for content, want := range map[string]string{
		"a,b,c\n1,inf,x\n": "not-finite set:SkipBad at:a.csv:1:b", "a,b,c\n1,,x\n": "no-value set:Missing at:a.csv:1:b:2",
	} {
		path := fileOf(t, t.TempDir(), "a.csv", content)
		s, err := Open(Spec{Paths: []string{path}, Label: "c", Missing: strings.Contains(content, "inf")})
		if err == nil {
			_, err = supervision.Scan(context.Background(), s, supervision.ScanOptions{})
		}
		setWant(t, filepath.Dir(path), err, want)
	}
}
