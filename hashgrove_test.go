package hashgrove

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hashgrove/api"
	_ "hashgrove/format/parquet"
	_ "hashgrove/format/pictures"
	"hashgrove/internal/fasthash"
	"hashgrove/internal/fasthash/columns"
	"hashgrove/internal/index"
	"hashgrove/internal/supervision"
)

// clouds draws vectors around a centre for each of four classes.
func clouds(seed uint64, rows int) (x [][]float32, names []string) {
	rng := rand.New(rand.NewPCG(seed, 1))
	for range rows {
		class := rng.IntN(4)
		row := make([]float32, 8)
		for j := range row {
			row[j] = float32(rng.NormFloat64())
			if j%4 == class {
				row[j] += 5
			}
		}
		x, names = append(x, row), append(names, string(rune('a'+class)))
	}
	return x, names
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// trained is the model of a training that has no error.
func trained(t *testing.T) func(*Training, error) *Model {
	return func(made *Training, err error) *Model {
		t.Helper()
		return must[*Training](t)(made, err).Model
	}
}

// quick is a training of a moment.
var quick = Options{Bits: 16, Trees: TreeOptions{Rounds: 10}}

func TestWholeJob(t *testing.T) {
	ctx, path := context.Background(), filepath.Join(t.TempDir(), "shop.hgm")
	x, labels := clouds(1, 300)
	o := quick
	o.Validation = -1
	m := trained(t)(Train(ctx, Rows(x, labels), o))
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	loaded := must[*Model](t)(LoadModel(path))
	if loaded.Fingerprint() != m.Fingerprint() || loaded.Bits() != 16 || loaded.Dim() != 8 {
		t.Fatal("another model came back from the file")
	}
	info := loaded.model.Info
	if info.Method != "fasthash" || len(info.Runs) != 1 || info.Runs[0].Rows != 300 || info.Runs[0].Data == "" || len(info.Classes) != 4 {
		t.Errorf("the model does not say what made it: %+v", info)
	}
	query, names := clouds(2, 40)
	for _, c := range []struct {
		x    [][]float32
		want float64
	}{{x, 1}, {query, 0}, {slices.Concat(x[:10], query[:30]), 0.25}} {
		if share, ok := loaded.LearnedShare(c.x); !ok || share != c.want {
			t.Errorf("%v of the vectors are said to be learned, %v; really %v", share, ok, c.want)
		}
	}
	codes := must[[]Code](t)(loaded.EncodeAll(ctx, query))
	ix := must[*Index](t)(NewIndex(ctx, loaded, Rows(x, labels)))
	right := 0
	for i, q := range query {
		code := must[Code](t)(loaded.Encode(q))
		if !slices.Equal(code, codes[i]) || must[int](t)(code.Distance(codes[i])) != 0 || len(code.String()) != 4 {
			t.Fatalf("query %d has the code %v alone and %v among others", i, code, codes[i])
		}
		hits := must[[]api.Hit](t)(api.Nearest(ctx, ix, q, 5))
		byCode := find(t, ix, api.Query{PackedCode: code}, api.Options{K: new(5)})
		if len(hits) != 5 || hits[0].ID != byCode[0].ID {
			t.Fatalf("%+v by vector, %+v by code", hits, byCode)
		}
		if hits[0].Label == names[i] {
			right++
		}
	}
	if right < 36 {
		t.Errorf("%d of 40 queries find their own class first", right)
	}
	why := must[*api.Why](t)(ix.Explain(ctx, api.Query{Vector: x[9]}, "17"))
	if why.ID != "17" || len(why.Bits) != 16 || len(why.Agree)+len(why.Differ) != 16 {
		t.Errorf("%+v", why)
	}
	if _, err := loaded.EncodeImage(image.NewGray(image.Rect(0, 0, 12, 8))); err == nil {
		t.Error("a model of vectors encodes a picture")
	}
}

// TestSupervision learns the same from class names, class numbers, tags and pairs.
func TestSupervision(t *testing.T) {
	ctx := context.Background()
	x, labels := clouds(1, 200)
	var numbers []int
	var tags [][]string
	var pairs []Pair
	for i, name := range labels {
		numbers = append(numbers, int(name[0]))
		tags = append(tags, []string{name, "also " + name})
		for j := range i {
			y := int8(-1)
			if labels[j] == name {
				y = 1
			}
			pairs = append(pairs, Pair{A: int32(j), B: int32(i), Y: y})
		}
	}
	want := trained(t)(Train(ctx, Rows(x, labels), quick)).Fingerprint()
	for name, d := range map[string]*Data{"numbers": Rows(x, numbers), "tags": Tagged(x, tags), "pairs": Paired(x, pairs)} {
		m := trained(t)(Train(ctx, d, quick))
		if name == "numbers" && m.Fingerprint() != want {
			t.Error("numbers of classes give another model than their names")
		}
		ix := must[*Index](t)(NewIndex(ctx, m, Rows(x, labels)))
		hits := must[[]api.Hit](t)(api.Nearest(ctx, ix, x[7], 3))
		if hits[1].Label != labels[7] {
			t.Errorf("%s: %+v", name, hits)
		}
	}
	for _, name := range Methods() {
		o := Options{Bits: 8, Trees: TreeOptions{Rounds: 5}}.For(name)
		if m, err := Train(ctx, Rows(x, labels), o); err != nil || m.model.Info.Method != name {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEffortAndLinearColumns: both reach the model, and are the default where not set.
func TestEffortAndLinearColumns(t *testing.T) {
	ctx := context.Background()
	x, labels := clouds(1, 300)
	for _, c := range []struct {
		o      Options
		effort fasthash.Effort
		added  int
		linear string
	}{
		{Options{}, fasthash.Normal, 0, "%"},
		{Options{Effort: fasthash.Paper}, fasthash.Paper, 0, ""},
		{Options{Effort: fasthash.Paper, FastHash: FastHashOptions{LinearColumns: columns.Linear}}, fasthash.Paper, 4, columns.Linear},
		{Options{Effort: fasthash.Quick, FastHash: FastHashOptions{LinearColumns: columns.Kernel}}, fasthash.Quick, 8, columns.Kernel},
	} {
		c.o.Bits, c.o.Trees.Rounds = 4, 10
		m := trained(t)(Train(ctx, Rows(x, labels), c.o)).model
		var chosen fasthash.Options
		if err := json.Unmarshal(m.Info.Runs[0].Options, &chosen); err != nil {
			t.Fatal(err)
		}
		if chosen.Effort != c.effort || len(m.Info.Added) != c.added || !strings.Contains(m.Info.Linear, c.linear) {
			t.Errorf("%+v: effort %s, %d columns: %q", c.o, chosen.Effort, len(m.Info.Added), m.Info.Linear)
		}
	}
}

// TestBadInput: everything that is wrong is an error that says where, never a panic and never accepted.
func TestBadInput(t *testing.T) {
	ctx := context.Background()
	x, labels := clouds(1, 30)
	with := func(change func(x [][]float32)) [][]float32 {
		copied := make([][]float32, len(x))
		for i := range x {
			copied[i] = slices.Clone(x[i])
		}
		change(copied)
		return copied
	}
	nan := with(func(x [][]float32) { x[3][2] = float32(math.NaN()) })
	inf := with(func(x [][]float32) { x[29][7] = float32(math.Inf(-1)) })
	ragged := with(func(x [][]float32) { x[4] = x[4][:5] })
	for name, c := range map[string]struct {
		d    *Data
		want []string
	}{
		"nan":          {Rows(nan, labels), []string{"row 3", "column 2", "NaN"}},
		"infinite":     {Rows(inf, labels), []string{"row 29", "column 7", "Inf"}},
		"ragged":       {Rows(ragged, labels), []string{"row 4", "5 values", "8"}},
		"few labels":   {Rows(x, labels[:29]), []string{"29 labels", "30 rows"}},
		"many labels":  {Rows(x[:29], labels), []string{"30 labels", "29 rows"}},
		"empty label":  {Rows(x[:2], []string{"a", ""}), []string{"row 1", "label"}},
		"few tags":     {Tagged(x, make([][]string, 3)), []string{"3", "tags", "30 rows"}},
		"few ids":      {Rows(x, labels).WithIDs([]string{"1"}), []string{"1 ids", "30 rows"}},
		"same ids":     {Rows(x[:2], labels[:2]).WithIDs([]string{"p", "p"}), []string{"rows 1 and 2", `"p"`}},
		"one class":    {Rows(x, make([]int, 30)), []string{`label "0"`, "two classes"}},
		"own classes":  {Rows(x[:3], []int{1, 2, 3}), []string{"own"}},
		"no rows":      {Rows(nil, []string{}), []string{"no rows"}},
		"no values":    {Rows([][]float32{{}, {}}, []int{1, 2}), []string{"no values"}},
		"no labels":    {Vectors(x), []string{"labels", "tags", "pairs"}},
		"pair outside": {Paired(x, []Pair{{A: 1, B: 30, Y: 1}}), []string{"pair 0", "30"}},
		"no far pair":  {Paired(x, []Pair{{A: 1, B: 2, Y: 1}}), []string{"dissimilar"}},
	} {
		_, err := Train(ctx, c.d, quick)
		if err == nil {
			t.Errorf("%s was accepted", name)
			continue
		}
		if errors.Is(err, supervision.ErrNone) != (name == "no labels") {
			t.Errorf("%s: %v", name, err)
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "--") {
				t.Errorf("%s: %q does not say %q, or names a flag", name, err, want)
			}
		}
	}
	m := trained(t)(Train(ctx, Rows(x, labels), quick))
	for _, bad := range [][]float32{nil, x[0][:7], nan[3]} {
		if _, err := m.Encode(bad); err == nil {
			t.Errorf("%v was encoded", bad)
		}
		if _, err := m.EncodeAll(ctx, [][]float32{x[0], bad}); err == nil {
			t.Errorf("%v was encoded among others", bad)
		}
	}
	if _, err := NewIndex(ctx, m, Vectors(nan)); err == nil || !strings.Contains(err.Error(), "row 3") {
		t.Errorf("an index of NaN: %v", err)
	}
	if _, err := Train(ctx, Rows(x, labels), Options{Bits: -4}); err == nil {
		t.Error("codes of -4 bits")
	}
	if _, err := Train(ctx, Rows(x, labels), Options{Method: "magic"}); err == nil || !strings.Contains(err.Error(), "fasthash") {
		t.Errorf("the method magic: %v", err)
	}
}

// TestDurableIndex changes an index in a file and finds all of it again.
func TestDurableIndex(t *testing.T) {
	ctx, path := context.Background(), filepath.Join(t.TempDir(), "shop.hgi")
	x, labels := clouds(1, 100)
	m := trained(t)(Train(ctx, Rows(x, labels), quick))
	var ids []string
	var about []map[string]any
	for i := range x {
		ids = append(ids, "item-"+strconv.Itoa(i))
		about = append(about, map[string]any{"price": i, "brand": "b" + strconv.Itoa(i%3)})
	}
	ix := must[*Index](t)(CreateIndex(ctx, path, m, Rows(x[:90], labels[:90]).WithIDs(ids[:90]).WithAttributes(about[:90])))
	if err := ix.Add(ctx, Rows(x[80:], labels[80:]).WithIDs(ids[80:])); err == nil || ix.Len() != 90 {
		t.Errorf("ids that are there were added: %v", err)
	}
	if err := ix.Upsert(ctx, Rows(x[80:], labels[80:]).WithIDs(ids[80:]).WithAttributes(about[80:])); err != nil {
		t.Fatal(err)
	}
	if n, err := ix.Delete(ctx, "item-5", "nobody"); n != 1 || err != nil {
		t.Errorf("%d deleted, %v", n, err)
	}
	if n, err := ix.DeleteWhere(ctx, `brand = "b2" and price >= 90`); n != 3 || err != nil {
		t.Errorf("%d deleted, %v", n, err)
	}
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	ix = must[*Index](t)(OpenIndex(ctx, path))
	defer ix.Close()
	if ix.Len() != 96 || ix.Model().Fingerprint() != m.Fingerprint() {
		t.Errorf("%d items", ix.Len())
	}
	hits := find(t, ix, api.Query{Vector: x[0]}, api.Options{Radius: new(16), Where: `brand = "b1" and price < 30`})
	if len(hits) != 10 {
		t.Errorf("%d hits", len(hits))
	}
	for _, h := range hits {
		if h.Attributes["brand"] != "b1" || h.Attributes["price"].(float64) >= 30 {
			t.Errorf("%+v", h)
		}
	}
	if h, err := ix.Get("item-7"); err != nil || h.Label != labels[7] {
		t.Errorf("%+v", h)
	}
	if hits := find(t, ix, api.Query{ID: "item-7"}, api.Options{K: new(100)}); len(hits) != 96 || hits[0].Distance != 0 {
		t.Errorf("%d hits by id", len(hits))
	}
}

// TestOpenFile learns the same from a file as from memory.
func TestOpenFile(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	x, labels := clouds(1, 120)
	var b bytes.Buffer
	b.WriteString("sku,kind,a,b,c,d,e,f,g,h\n")
	for i, row := range x {
		b.WriteString("s" + strconv.Itoa(i) + "," + labels[i])
		for _, v := range row {
			b.WriteString("," + strconv.FormatFloat(float64(v), 'g', -1, 32))
		}
		b.WriteString("\n")
	}
	path := filepath.Join(dir, "items.csv")
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	d := must[*Data](t)(OpenData(path, Columns{Label: "kind", ID: "sku"}))
	m := trained(t)(Train(ctx, d, quick))
	if m.Fingerprint() != trained(t)(Train(ctx, Rows(x, labels), quick)).Fingerprint() {
		t.Error("a file gives another model than memory")
	}
	if names := m.model.Info.Features; len(names) != 8 || names[0] != "a" {
		t.Errorf("columns %q", names)
	}
	ix := must[*Index](t)(NewIndex(ctx, m, d))
	if hits := find(t, ix, api.Query{ID: "s7"}, api.Options{K: new(1), Where: `label = "` + labels[7] + `"`}); len(hits) != 1 {
		t.Errorf("%+v", hits)
	}
	listed := filepath.Join(dir, "pairs.csv")
	if err := os.WriteFile(listed, []byte("s0,s1,1\ns0,s2,-1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	pairs := []Pair{{A: 0, B: 1, Y: 1}, {A: 0, B: 2, Y: -1}}
	d = must[*Data](t)(OpenFiles(Files{Paths: []string{path}, Pairs: listed}, Columns{Label: "kind", ID: "sku"}))
	if trained(t)(Train(ctx, d, quick)).Fingerprint() != trained(t)(Train(ctx, Paired(x, pairs), quick)).Fingerprint() {
		t.Error("pairs in a file give another model than pairs in memory")
	}
	d = must[*Data](t)(OpenData(path, Columns{Label: "kind", ID: "sku"}))
	if _, err := Train(ctx, d.WithPairsFile(filepath.Join(dir, "none.csv")), quick); err == nil {
		t.Error("a file of pairs that is not there was accepted")
	}
	nowhere := filepath.Join(dir, "nowhere.csv")
	if _, err := OpenData(nowhere, Columns{}); err == nil || !strings.HasPrefix(err.Error(), nowhere+": ") {
		t.Error(err)
	}
}

// TestPicturesInMemoryAndFolders learns the same from both, and gives a picture alone the code it has among others.
func TestPicturesInMemoryAndFolders(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	var pictures []image.Image
	var labels []string
	rng := rand.New(rand.NewPCG(3, 3))
	for i := range 60 {
		// Wide pictures: stripes across, or stripes down.
		img := image.NewGray(image.Rect(0, 0, 48, 32))
		for p := range img.Pix {
			x, y := p%48, p/48
			stripe := []int{x / 4, y / 4}[i%2]
			img.Pix[p] = uint8(stripe%2*180 + rng.IntN(60))
		}
		label := []string{"down", "across"}[i%2]
		pictures, labels = append(pictures, img), append(labels, label)
		path := filepath.Join(dir, label, fmt.Sprintf("%02d.png", i))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := png.Encode(&b, img); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	folder := must[*Data](t)(OpenData(dir, Columns{}))
	for _, p := range []PictureOptions{
		{Size: 16}, {Size: 16, Squash: true, Grey: true}, {Features: "gist320"}, {Features: "gist320", Mirror: true},
	} {
		o := quick
		o.Pictures = p
		m := trained(t)(Train(ctx, Images(pictures, labels), o))
		fromFolder := trained(t)(Train(ctx, folder, o))
		if got, want := fromFolder.model.Pictures, m.model.Pictures; *got != *want || want.Mirrored != p.Mirror || want.Squash != p.Squash {
			t.Errorf("%+v: prepared as %v in memory and %v in a folder", p, want, got)
		}
		path := filepath.Join(t.TempDir(), "m.hgm")
		if err := m.Save(path); err != nil {
			t.Fatal(err)
		}
		m = must[*Model](t)(LoadModel(path))
		ix := must[*Index](t)(NewIndex(ctx, m, Images(pictures, labels)))
		for i, img := range pictures[:10] {
			item, _ := ix.items.Snapshot().Get(index.Int(int64(i)))
			if code := must[Code](t)(m.EncodeImage(img)); !slices.Equal(code, pack(item.Code, m.Bits())) {
				t.Fatalf("%+v: picture %d has the code %v alone and another in the index", p, i, code)
			}
			if hits := find(t, ix, api.Query{PackedCode: must[Code](t)(m.EncodeImage(img))}, api.Options{K: new(3)}); hits[2].Label != labels[i] {
				t.Errorf("%+v: %+v", p, hits)
			}
		}
		if files := must[*Index](t)(NewIndex(ctx, m, folder)); files.Len() != 60 {
			t.Errorf("%d items from the folder", files.Len())
		}
	}
	for name, c := range map[string]struct {
		d *Data
		p PictureOptions
	}{
		"mirror alone":   {Images(pictures, labels), PictureOptions{Mirror: true}},
		"vectors":        {Rows([][]float32{{1}, {2}}, []int{1, 2}), PictureOptions{Features: "gist320"}},
		"no features":    {Images(pictures, labels), PictureOptions{Features: "magic"}},
		"nil":            {Images([]image.Image{nil, pictures[0]}, labels[:2]), PictureOptions{}},
		"few labels":     {Images(pictures, labels[:3]), PictureOptions{}},
		"enormous":       {Images(pictures, labels), PictureOptions{Size: 1 << 20}},
		"empty pictures": {Images([]image.Image{image.NewGray(image.Rect(0, 0, 0, 0)), pictures[0]}, labels[:2]), PictureOptions{}},
	} {
		o := quick
		o.Pictures = c.p
		if _, err := Train(ctx, c.d, o); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
