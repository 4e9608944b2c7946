package hashgrove_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hashgrove"
	"hashgrove/internal/dataset"
	"hashgrove/internal/fasthash"
	"hashgrove/internal/message"
	"hashgrove/internal/method"
	"hashgrove/internal/model"
	"hashgrove/internal/model/inside"
	"hashgrove/internal/picture"
	"hashgrove/internal/vectors"
)

// shop writes a table of rows in three classes.
func shop(t *testing.T, rows int) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	text := &strings.Builder{}
	text.WriteString("sku,kind,a,b,c,d\n")
	for i := range rows {
		fmt.Fprintf(text, "s%d,k%d", i, i%3)
		for j := range 4 {
			fmt.Fprintf(text, ",%.4f", rng.NormFloat64()+float64(3*((i+j)%3)))
		}
		text.WriteString("\n")
	}
	path := filepath.Join(t.TempDir(), "shop.csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t *testing.T, spec dataset.Spec) *dataset.Set {
	t.Helper()
	set, err := dataset.Open(spec)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// counted counts the passes over a source.
type counted struct {
	vectors.Source
	passes *int
}

func (c counted) Chunks(ctx context.Context) iter.Seq2[vectors.Chunk, error] {
	return func(yield func(vectors.Chunk, error) bool) {
		*c.passes++
		c.Source.Chunks(ctx)(yield)
	}
}

// countedPictures counts the passes over pictures.
type countedPictures struct {
	picture.Source
	passes *int
}

func (c countedPictures) Chunks(ctx context.Context) iter.Seq2[vectors.Chunk, error] {
	return picture.Pixels(ctx, c)
}

func (c countedPictures) Pictures(ctx context.Context) iter.Seq2[picture.Chunk, error] {
	return func(yield func(picture.Chunk, error) bool) {
		*c.passes++
		c.Source.Pictures(ctx)(yield)
	}
}

// TestSourcesAreReadOnce: with default effort, whatever is chosen, tried and judged, files are read once.
func TestSourcesAreReadOnce(t *testing.T) {
	table := open(t, dataset.Spec{Paths: []string{shop(t, 600)}, Label: "kind", ID: "sku"})
	folder := t.TempDir()
	for i := range 12 {
		img := image.NewGray(image.Rect(0, 0, 8, 8))
		for p := range img.Pix {
			img.Pix[p] = uint8(40*(i%2)*(p%3) + 7*i + p)
		}
		path := filepath.Join(folder, []string{"dark", "light"}[i%2], fmt.Sprint(i, ".png"))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(png.Encode(f, img), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	pictures, _ := open(t, dataset.Spec{Paths: []string{folder}, Size: 8}).AsPictures()
	passes := 0
	gist := hashgrove.Options{Bits: 4, Pictures: hashgrove.PictureOptions{Features: "pixels", Mirror: true}, Trees: hashgrove.TreeOptions{Rounds: 5}}
	for name, c := range map[string]struct {
		src vectors.Source
		o   hashgrove.Options
	}{
		"csv":        {counted{table, &passes}, hashgrove.Options{Bits: 4, Trees: hashgrove.TreeOptions{Rounds: 5}}},
		"csv, ksh":   {counted{table, &passes}, hashgrove.Options{Bits: 4, Method: "ksh", Other: hashgrove.OtherOptions{Anchors: 20}}},
		"csv, files": {counted{table, &passes}, hashgrove.Options{Bits: 4, Memory: 300e6, Trees: hashgrove.TreeOptions{Rounds: 5}, FastHash: hashgrove.FastHashOptions{LinearColumns: "off"}}},
		"pixels":     {countedPictures{pictures, &passes}, hashgrove.Options{Bits: 4, Trees: hashgrove.TreeOptions{Rounds: 5}}},
		"features":   {countedPictures{pictures, &passes}, gist},
	} {
		passes = 0
		if _, err := hashgrove.Train(t.Context(), inside.NewData(c.src).(*hashgrove.Data), c.o); err != nil || passes != 1 {
			t.Errorf("%s: %d passes, %v", name, passes, err)
		}
	}
}

// TestOptionsThatCannotBeMeant: every option is for some methods, and says so for the others.
func TestOptionsThatCannotBeMeant(t *testing.T) {
	for want, o := range map[string]hashgrove.Options{
		"wrong-method rounds lsh":               {Method: "lsh", Trees: hashgrove.TreeOptions{Rounds: 5}},
		"wrong-method effort ksh":               {Method: "ksh", Effort: fasthash.Quick},
		"wrong-method resume sdh":               {Method: "sdh", Checkpoint: hashgrove.Checkpoint{Resume: true}},
		"wrong-method linear-columns tsh-trees": {Method: "tsh-trees", Trees: hashgrove.TreeOptions{Rounds: 3}, FastHash: hashgrove.FastHashOptions{LinearColumns: "off"}},
		"wrong-method anchors fasthash":         {Other: hashgrove.OtherOptions{Anchors: 5}},
		"wrong-method anchors mine":             {Custom: nothing{}, Method: "mine", Other: hashgrove.OtherOptions{Anchors: 5}},
		"no-such-method magic":                  {Method: "magic"},
		"no-such-effort effort most":            {Effort: "most"},
		"bad-flag-value validation 1":           {Validation: 1},
		"bad-flag-value balance 9:x":            {FastHash: hashgrove.FastHashOptions{Balance: "9:x"}},
		"conflicting-flags resume restart":      {Checkpoint: hashgrove.Checkpoint{Resume: true, Restart: true}},
		"too-small memory":                      {Memory: 5},
		"missing-flag mirror features":          {Pictures: hashgrove.PictureOptions{Mirror: true}},
	} {
		facts := strings.Fields(want)
		err := o.Check()
		if d := message.Differs(err, message.Code(facts[0]), facts[1:]...); d != "" {
			t.Errorf("%s: %s", want, d)
			continue
		}
		e, ok := errors.AsType[*hashgrove.OptionError](err)
		if !ok || string(e.Code) != facts[0] || strings.Contains(e.Error(), "--") ||
			facts[0] != "no-such-method" && !strings.Contains(e.Flags(), "--"+facts[1]) &&
				!strings.Contains(e.Flags(), "--set "+strings.ReplaceAll(facts[1], "-", "_")) {
			t.Errorf("%s: %v, with flags %q", want, err, e.Flags())
		}
	}
	for _, name := range method.Names() {
		o := hashgrove.Options{Trees: hashgrove.TreeOptions{Rounds: 5}, FastHash: hashgrove.FastHashOptions{LinearColumns: "off"}, Other: hashgrove.OtherOptions{Anchors: 9}}.For(name)
		if err := o.Check(); err != nil || (o.Trees.Rounds == 5) != (name == "fasthash" || name == "tsh-trees") {
			t.Errorf("%s: %v of %+v", name, err, o)
		}
	}
}

// TestOptionsInJSON: the names are those of the flags, and zero is something else than nothing.
func TestOptionsInJSON(t *testing.T) {
	var o hashgrove.Options
	text := `{"bits":8,"effort":"quick","validation":-1,"candidate_bits":3,"pictures":{"features":"gist320"}}`
	if err := json.Unmarshal([]byte(text), &o); err != nil || o.Check() != nil {
		t.Fatal(err, o.Check())
	}
	if o.Bits != 8 || o.Validation != -1 || o.FastHash.Candidates != 3 {
		t.Errorf("%+v", o)
	}
	if again, err := json.Marshal(o); err != nil || len(again) != len(text) {
		t.Errorf("%s, %v", again, err)
	}
}

// nothing is a method that learns nothing.
type nothing struct{}

func (nothing) Train(context.Context, *hashgrove.TrainingRows) ([]hashgrove.Hyperplane, error) {
	return nil, errors.New("nothing was learned")
}

// TestTrainingSaysWhatItChose: the report and the steps have the same notes, zero is not the default, and what was
// written can be read.
func TestTrainingSaysWhatItChose(t *testing.T) {
	set := open(t, dataset.Spec{Paths: []string{shop(t, 400)}, Label: "kind", ID: "sku"})
	output := filepath.Join(t.TempDir(), "m.hgm")
	var rows, bits int
	var notes []hashgrove.Note
	o := hashgrove.Options{Bits: 6, Trees: hashgrove.TreeOptions{Rounds: 5}, Progress: func(p hashgrove.Progress) {
		rows, bits = max(rows, p.Rows), max(bits, p.Bit)
		if p.Note != nil {
			notes = append(notes, *p.Note)
		}
	}}
	o.Checkpoint.Folder = output + ".ckpt"
	made, err := hashgrove.Train(t.Context(), inside.NewData(set).(*hashgrove.Data), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Save(output); err != nil {
		t.Fatal(err)
	}
	if rows != 400 || bits != 6 || len(notes) == 0 || fmt.Sprint(notes) != fmt.Sprint(made.Report.Notes) {
		t.Errorf("%d rows, %d bits, notes %v, in the report %v", rows, bits, notes, made.Report.Notes)
	}
	if made.Report.HeldOut != 0.05 || made.Report.NewItems == nil || made.Report.LearnedItems == nil || made.Report.LearnedRows != 380 ||
		made.Report.Rows != 400 || made.Report.Total <= 0 || made.Report.Learning <= 0 || made.Report.Method != "fasthash" {
		t.Errorf("%+v", made.Report)
	}
	saved, err := model.ReadFile(output)
	if err != nil || saved.Fingerprint() != inside.Model(made).Fingerprint() || saved.Info.Label != "kind" ||
		strings.Join(saved.Info.Features, "") != "abcd" {
		t.Errorf("%v, %+v", err, saved.Info)
	}
	if _, err := os.Stat(output + ".ckpt"); err == nil {
		t.Error("the checkpoint is still there")
	}
	all, err := hashgrove.Train(t.Context(), inside.NewData(set).(*hashgrove.Data), hashgrove.Options{Bits: 6, Validation: -1, Trees: hashgrove.TreeOptions{Rounds: 5}})
	if err != nil || all.Report.LearnedRows != 400 || all.Report.NewItems != nil {
		t.Errorf("from all rows: %v, %+v", err, all.Report)
	}
}

// TestCopiesAreTold: rows that occur twice make the figures for new items look better, and the report says so.
func TestCopiesAreTold(t *testing.T) {
	path := shop(t, 400)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSpace(string(b)), "\n")
	for _, copies := range []int{0, 5} {
		text := strings.Join(lines, "") + "\n"
		for i := range copies {
			_, rest, _ := strings.Cut(lines[1+i], ",")
			text += fmt.Sprintf("copy-%d,%s", i, rest)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		set := open(t, dataset.Spec{Paths: []string{path}, Label: "kind", ID: "sku"})
		made, err := hashgrove.Train(t.Context(), inside.NewData(set).(*hashgrove.Data), hashgrove.Options{Bits: 2, Trees: hashgrove.TreeOptions{Rounds: 2}})
		if err != nil {
			t.Fatal(err)
		}
		told := slices.ContainsFunc(made.Report.Notes, func(n hashgrove.Note) bool {
			return n.Code == "copies" && n.Doubt && strings.Contains(n.Text, fmt.Sprint(copies, " of the 405 rows"))
		})
		if told != (copies > 0) {
			t.Errorf("%d copies: %v", copies, made.Report.Notes)
		}
	}
}

// TestCodesThatTellNothingAreDoubted: the report says so where codes collapse, or find what chance finds.
func TestCodesThatTellNothingAreDoubted(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		code          string
		bits, classes int
		noise         float64
	}{{"", 8, 4, 0.1}, {"near-chance", 8, 4, 100}, {"one-code", 1, 2, 0}, {"few-codes", 2, 12, 0.1}} {
		x, labels := make([][]float32, 600), make([]string, 600)
		for i := range x {
			class := i % c.classes
			labels[i] = string(rune('a' + class))
			for j := range 12 {
				x[i] = append(x[i], float32(c.noise*rng.NormFloat64()))
				if j == class {
					x[i][j]++
				}
			}
			if c.code == "one-code" {
				x[i] = []float32{float32(min(i, 1))} // the first row alone differs
			}
		}
		made, err := hashgrove.Train(t.Context(), hashgrove.Rows(x, labels), hashgrove.Options{
			Bits: c.bits, Effort: "quick", Validation: 0.4, Trees: hashgrove.TreeOptions{Rounds: 5}})
		if err != nil {
			t.Fatal(err)
		}
		var codes []string
		for _, n := range made.Report.Notes {
			if n.Doubt {
				codes = append(codes, n.Code)
			}
		}
		if c.code == "" && len(codes) > 0 || c.code != "" && !slices.Contains(codes, c.code) {
			t.Errorf("want a doubt %q, got %q: %v", c.code, codes, made.Report.NewItems)
		}
	}
}
