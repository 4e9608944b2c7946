package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	foreign "hashgrove/internal/export"
)

// testFolder is the folder of the tests, which later change to others.
var testFolder, _ = os.Getwd()

// boosters puts boosters of XGBoost and LightGBM into the working folder.
func boosters(t *testing.T) {
	t.Helper()
	for to, from := range map[string]string{
		"bit-0.json": "xgb-logistic.json", "bit-1.json": "xgb-raw.json", "booster.txt": "lgb-multiclass.txt",
		"dart.json": "refused-xgb-dart.json", "unsure.json": "xgb-logistic-exact.json",
	} {
		write(t, to, string(read(t, filepath.Join(testFolder, "..", "..", "internal", "export", "testdata", "boosters", from))))
	}
	write(t, "rows.csv", "0.1,0.5,0.9,0,1e6,0.2,0.3,0.4\n0,0,0,0,0,0,0,0\n1,1,1,1,1,1,1,1\n0.3,0.2,0.1,0,-5,1e-36,0,9\n")
	write(t, "margins.csv", marginsOfRows)
}

// TestImportedBoosters takes boosters through the verbs that a model goes through.
func TestImportedBoosters(t *testing.T) {
	t.Chdir(t.TempDir())
	boosters(t)
	do := func(line string) string { t.Helper(); return succeed(t, shellWords(line)...) }
	if out := do("import bit-0.json bit-1.json bit-0.json -o m.hgm"); lacks(out, "m.hgm: 3 8 17 xgboost") != "" {
		t.Errorf("import says %s", out)
	}
	do("import booster.txt --json -o c.hgm")
	do("verify m.hgm")
	if out := do("info m.hgm"); lacks(out, "xgboost boosted 8") != "" {
		t.Errorf("info says %s", out)
	}
	do("encode rows.csv -m m.hgm -o rows.hgc")
	do("index build rows.csv -m m.hgm -o rows.hgi")
	do("search rows.hgi rows.csv --row 0 --margins")
	do("search rows.hgi rows.csv --row 0 --rank margins --explain")
	if out := do("import bit-0.json bit-1.json --check rows.csv --margins margins.csv -o checked.hgm --json"); !strings.Contains(out, `"checked_rows": 4`) {
		t.Errorf("import --check says %s", out)
	}
	write(t, "wrong.csv", strings.Replace(string(read(t, "margins.csv")), "0.", "7.", 1))
	if o := try(t, "import", "unsure.json", "-o", "u.hgm"); o.code != 0 || lacks(o.err, "warning: base_score --check --margins") != "" {
		t.Errorf("a base score near a middle: %+v", o)
	}
	if o := try(t, "export", "m.hgm", "-o", "m.c"); o.code != 0 {
		t.Errorf("boosters in C: %+v", o)
	}
	for _, r := range []refusal{
		{"import dart.json -o x.hgm", 1, foreign.ErrBooster, "dart.json weights"},
		{"import bit-0.json booster.txt -o x.hgm", 1, nil, "bit-0.json booster.txt"},
		{"import bit-0.json bit-1.json --check rows.csv --margins wrong.csv -o x.hgm", 1, foreign.ErrMargins, "--check rows.csv"},
		{"import bit-0.json --check rows.csv --margins margins.csv -o x.hgm", 1, nil, "--check rows.csv 4 2 4 1"},
		{"import bit-0.json --check rows.csv -o x.hgm", 2, "missing-flag", "--check --margins"},
		{"import bit-0.json", 2, "missing-flag", "import -o"},
		{"import -o x.hgm", 2, "wrong-arguments", "import -o"},
		{"import bit-0.json -o m.hgm", 1, fs.ErrExist, "m.hgm --force"},
		{"import rows.csv -o x.hgm", 1, foreign.ErrBooster, "rows.csv JSON XGBoost LightGBM"},
		{"export m.hgm -o m.onnx", 1, foreign.ErrEncoder, "boosted"},
		{"import nowhere.json -o x.hgm", 1, fs.ErrNotExist, "nowhere.json"},
	} {
		r.try(t)
	}
}

// marginsOfRows is what XGBoost 3.5 predicts for rows.csv with bit-0.json and bit-1.json.
const marginsOfRows = `1.5678863525390625,0.551289975643158
-0.8194680213928223,0.12054502964019775
-1.3887436389923096,-0.19168272614479065
-1.1103531122207642,0.12054502964019775
`
