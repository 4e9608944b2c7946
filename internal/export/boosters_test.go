package export_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/export"
	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// boosterGolden returns rows and the margins that a library gives them: random rows, real ones, those with a value at every
// threshold and one step to either side, and those with zeros, tiny and huge values. XGBoost 3.5 and LightGBM 4.6 made
// the files in testdata/boosters.
func boosterGolden(t testing.TB, path string) (x vectors.Matrix, margins []float64) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var head struct{ Rows, Cols, Outputs, Size uint32 }
	in := bytes.NewReader(b)
	if err := binary.Read(in, binary.LittleEndian, &head); err != nil {
		t.Fatal(err)
	}
	x = vectors.Matrix{Rows: int(head.Rows), Cols: int(head.Cols), Data: make([]float32, head.Rows*head.Cols)}
	margins = make([]float64, head.Rows*head.Outputs)
	single := make([]float32, len(margins))
	err = binary.Read(in, binary.LittleEndian, x.Data)
	if err == nil && head.Size == 8 {
		err = binary.Read(in, binary.LittleEndian, margins)
	} else if err == nil {
		err = binary.Read(in, binary.LittleEndian, single)
		for i, v := range single {
			margins[i] = float64(v)
		}
	}
	if err != nil || in.Len() > 0 {
		t.Fatalf("%s: %v, %d bytes left", path, err, in.Len())
	}
	return x, margins
}

// sameAsLibrary compares codes and margins of a model with the margins of the library, to the last digit.
func sameAsLibrary(t *testing.T, name string, m *model.Model, x vectors.Matrix, want []float64) {
	t.Helper()
	codes, err := m.Encode(ctx, x, 2)
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.Margins(ctx, x, 2)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Data) != len(want) {
		t.Fatalf("%s: %d margins, want %d", name, len(got.Data), len(want))
	}
	for i, w := range want {
		if r, k := i/got.Cols, i%got.Cols; got.Data[i] != float32(w) || codes.Bit(r, k) != (w > 0) {
			t.Fatalf("%s: row %d %v, output %d: margin %v and bit %v, want %v", name, r, x.Row(r), k, got.Data[i],
				codes.Bit(r, k), w)
		}
	}
}

func TestBoostersKeepTheirMargins(t *testing.T) {
	files, _ := filepath.Glob("testdata/boosters/*.golden")
	if len(files) < 14 {
		t.Fatalf("only %v", files)
	}
	for _, golden := range files {
		name := strings.TrimSuffix(golden, ".golden")
		path := name + ".json"
		if strings.Contains(name, "lgb-") {
			path = name + ".txt"
		}
		m, doubts, err := export.ReadBoosters(path)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, d := range doubts {
			t.Logf("%s: %s", path, d)
		}
		x, want := boosterGolden(t, golden)
		sameAsLibrary(t, path, m, x, want)
		var b bytes.Buffer
		if err := model.Write(&b, m); err != nil {
			t.Fatal(err)
		}
		back, err := model.Read(&b)
		if err != nil || back.Fingerprint() != m.Fingerprint() {
			t.Fatalf("%s: written and read again: %v", path, err)
		}
		sameAsLibrary(t, path+" from its model file", back, x, want)
	}
}

func TestBoostersAreJoinedBitByBit(t *testing.T) {
	names := []string{"xgb-logistic", "xgb-multilabel", "xgb-raw"}
	var paths []string
	for _, name := range names {
		paths = append(paths, filepath.Join("testdata", "boosters", name+".json"))
	}
	m, _, err := export.ReadBoosters(paths...)
	if err != nil {
		t.Fatal(err)
	}
	x, _ := boosterGolden(t, "testdata/boosters/xgb-softprob.golden")
	all, err := m.Margins(ctx, x, 1)
	if err != nil {
		t.Fatal(err)
	}
	bit := 0
	for _, path := range paths {
		one, _, err := export.ReadBoosters(path)
		if err != nil {
			t.Fatal(err)
		}
		own, err := one.Margins(ctx, x, 1)
		if err != nil {
			t.Fatal(err)
		}
		for k := range own.Cols {
			for r := range x.Rows {
				if own.Data[r*own.Cols+k] != all.Data[r*all.Cols+bit] {
					t.Fatalf("%s: output %d is not bit %d", path, k, bit)
				}
			}
			bit++
		}
	}
	if bit != 5 || m.Encoder.Bits() != 5 || m.Info.Method != "xgboost" {
		t.Errorf("%d bits, %d in the model of method %s", bit, m.Encoder.Bits(), m.Info.Method)
	}
	for _, other := range []string{"lgb-binary.txt", "nowhere.json"} {
		if _, _, err := export.ReadBoosters(paths[0], filepath.Join("testdata", "boosters", other)); err == nil || !strings.Contains(err.Error(), other) {
			t.Errorf("with %s: %v", other, err)
		}
	}
	if _, _, err := export.ReadBoosters(); err == nil {
		t.Error("no boosters became a model")
	}
}

func TestBoostersThatAreRefused(t *testing.T) {
	for name, says := range map[string]string{
		"xgb-dart.json": "gbtree", "xgb-linear.json": `"gblinear"`, "xgb-poisson.json": `"count:poisson"`,
		"xgb-vector.json": "one_output_per_tree", "xgb-categories.json": "categories", "xgb-binary.ubj": "UBJSON",
		"lgb-zero-missing.txt": "zero_as_missing", "lgb-linear.txt": "linear_tree", "lgb-categories.txt": "categories",
	} {
		_, _, err := export.ReadBoosters(filepath.Join("testdata", "boosters", "refused-"+name))
		if !errors.Is(err, export.ErrBooster) || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	xgb, err := os.ReadFile("testdata/boosters/xgb-raw.json")
	if err != nil {
		t.Fatal(err)
	}
	lgb, err := os.ReadFile("testdata/boosters/lgb-binary.txt")
	if err != nil {
		t.Fatal(err)
	}
	change := func(b []byte, old, by string) string {
		if !bytes.Contains(b, []byte(old)) {
			t.Fatalf("there is no %q", old)
		}
		return strings.Replace(string(b), old, by, 1)
	}
	for what, text := range map[string]string{
		"nothing": "", "other text": "trees\n", "empty JSON": "{}", "a list": "[]", "half": string(xgb[:len(xgb)/2]),
		"a circle":           change(xgb, `"left_children":[1,`, `"left_children":[0,`),
		"a child too far":    change(xgb, `"left_children":[1,`, `"left_children":[999,`),
		"lists of all sizes": change(xgb, `"left_children":[1,`, `"left_children":[1,1,`),
		"a column too far":   change(xgb, `"num_feature":"8","num_target"`, `"num_feature":"1","num_target"`),
		"no columns":         change(xgb, `"num_feature":"8","num_target"`, `"num_feature":"","num_target"`),
		"a billion outputs":  change(xgb, `"num_target":"1"`, `"num_target":"1000000000"`),
		"an output too many": change(xgb, `"num_target":"1"`, `"num_target":"2"`),
		"a base score":       change(xgb, `"base_score":"[`, `"base_score":"[NaN,`),
		"no end":             change(lgb, "end of trees", ""),
		"fewer leaves":       change(lgb, "num_leaves=12", "num_leaves=11"),
		"two billion leaves": change(lgb, "num_leaves=12", "num_leaves=2000000000"),
		"minus leaves":       change(lgb, "num_leaves=12", "num_leaves=-12"),
		"no outputs":         change(lgb, "num_tree_per_iteration=1", "num_tree_per_iteration=0"),
		"too few trees":      change(lgb, "num_tree_per_iteration=1", "num_tree_per_iteration=4"),
		"fewer columns":      change(lgb, "max_feature_idx=7", "max_feature_idx=1"),
		"a leaf of NaN":      change(lgb, "leaf_value=", "leaf_value=nan "),
		"many lines":         change(lgb, "num_class=1", manyLines()+"num_class=1"),
	} {
		if _, _, err := export.ReadBooster(strings.NewReader(text)); !errors.Is(err, export.ErrBooster) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// FuzzReadBooster: any text gives an error or a model that encodes.
func FuzzReadBooster(f *testing.F) {
	for _, name := range []string{"xgb-stump.json", "lgb-constant.txt", "xgb-raw.json", "lgb-onevsall.txt", "refused-lgb-categories.txt"} {
		b, err := os.ReadFile(filepath.Join("testdata", "boosters", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, _, err := export.ReadBooster(bytes.NewReader(b))
		if err != nil || m.Dim() > 1000 {
			return
		}
		x := vectors.Matrix{Rows: 9, Cols: m.Dim(), Data: make([]float32, 9*m.Dim())}
		for i := range x.Data {
			x.Data[i] = float32(math.Sin(float64(i))) * 100
		}
		if _, err := m.Encode(ctx, x, 1); err != nil {
			t.Error(err)
		}
	})
}

// manyLines returns more lines than the head of a model has.
func manyLines() string {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, "a%d=1\n", i)
	}
	return b.String()
}

// TestMarginsOfTheLibrarySettleTheBase moves the base of a booster by a digit, as another C library would.
func TestMarginsOfTheLibrarySettleTheBase(t *testing.T) {
	x, want := boosterGolden(t, "testdata/boosters/xgb-multilabel.golden")
	m, _, err := export.ReadBoosters("testdata/boosters/xgb-multilabel.json")
	if err != nil {
		t.Fatal(err)
	}
	margins := vectors.Matrix{Rows: x.Rows, Cols: 3}
	for _, v := range want {
		margins.Data = append(margins.Data, float32(v))
	}
	right := m.Fingerprint()
	if moved, err := export.MatchMargins(ctx, m, x, margins); moved != 0 || err != nil || m.Fingerprint() != right {
		t.Errorf("%d bases moved: %v", moved, err)
	}
	outputs := slices.Clone(m.Encoder.(*model.Boosted).Outputs)
	outputs[1].Base = float64(math.Nextafter32(float32(outputs[1].Base), 9))
	outputs[2].Base = float64(math.Nextafter32(float32(outputs[2].Base), -9))
	m.Encoder = &model.Boosted{Columns: 8, Outputs: outputs}
	if moved, err := export.MatchMargins(ctx, m, x, margins); moved != 2 || err != nil || m.Fingerprint() != right {
		t.Errorf("%d bases moved: %v", moved, err)
	}
	margins.Data[100]++
	if _, err := export.MatchMargins(ctx, m, x, margins); !errors.Is(err, export.ErrMargins) || !strings.Contains(err.Error(), "row 33, bit 1") {
		t.Errorf("another margin: %v", err)
	}
	margins.Cols = 2
	if _, err := export.MatchMargins(ctx, m, x, margins); !errors.Is(err, export.ErrMargins) {
		t.Errorf("other bits: %v", err)
	}
}
