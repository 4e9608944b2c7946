package report_test

import (
	"bytes"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hashgrove/eval"
	"hashgrove/internal/needs"
	"hashgrove/report"
)

var update = flag.Bool("update", false, "write the golden files anew")

func render(t *testing.T, d report.Data) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := report.Write(&b, d); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestGoldenPage(t *testing.T) {
	got := render(t, small())
	file := filepath.Join("testdata", "small.golden")
	if *update {
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
		for i := range min(len(g), len(w)) {
			if g[i] != w[i] {
				t.Fatalf("line %d differs (go test -update, then look at the difference):\n got %s\nwant %s", i+1, g[i], w[i])
			}
		}
		t.Fatalf("%d lines, want %d", len(g), len(w))
	}
	if again := render(t, small()); !bytes.Equal(again, got) {
		t.Error("the same data give another page")
	}
}

// hostile is the small report with a break-out in every string.
func hostile() report.Data {
	d := small()
	const evil = `</title></style></svg><script>document.title="owned"</script><img src=x onerror="alert(1)">'"`
	poison(reflect.ValueOf(&d).Elem(), evil)
	return d
}

// poison appends to every string below v.
func poison(v reflect.Value, evil string) {
	switch v.Kind() {
	case reflect.String:
		if v.Type() != reflect.TypeFor[eval.Kind]() { // any other kind is refused
			v.SetString(v.String() + evil)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				poison(v.Field(i), evil)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i), evil)
		}
	}
}

func TestHostileTextStaysText(t *testing.T) {
	page := string(render(t, hostile()))
	for _, bad := range []string{"<script", "<img src=x", "onerror=\"", "</style></svg>", "ZgotmplZ"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if n := strings.Count(page, "&lt;script&gt;"); n < 50 {
		t.Errorf("the hostile text is shown %d times: it has vanished somewhere", n)
	}
}

// TestWriteSamplePages writes the pages that the tests in browsertest open, into the folder that HASHGROVE_PAGES names.
func TestWriteSamplePages(t *testing.T) {
	folder := os.Getenv("HASHGROVE_PAGES")
	if folder == "" {
		needs.Skip(t, needs.Input, "HASHGROVE_PAGES names no folder")
	}
	for name, d := range map[string]report.Data{"large": large(t), "hostile": hostile()} {
		if err := report.WriteFile(filepath.Join(folder, name+".html"), d); err != nil {
			t.Fatal(err)
		}
	}
	c := conformance()
	poison(reflect.ValueOf(&c).Elem(), `<script>alert(1)</script><img src=x onerror="alert(2)">`)
	if err := report.WriteConformanceFile(filepath.Join(folder, "conformance.html"), c); err != nil {
		t.Fatal(err)
	}
}

// TestPageIsSelfContained looks for anything that a browser would fetch.
func TestPageIsSelfContained(t *testing.T) {
	page := string(render(t, small()))
	for _, bad := range []string{"http:", "https:", "//cdn", "<link", "<script", "@import", "url("} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
}

func TestPageLeavesOutWhatIsMissing(t *testing.T) {
	page := string(render(t, report.Data{Title: "Bare", Rows: []eval.Row{{Method: "LSH", Kind: eval.KindMethod, Bits: 16, MAP: 0.5}}}))
	for _, section := range []string{
		`id="plots"`, `id="classes"`, `id="searches"`, `id="confusions"`, "Made by this command",
		"Encoding <span", "Mind that",
	} {
		if strings.Contains(page, section) {
			t.Errorf("a report of one number has the section %s", section)
		}
	}
	if !strings.Contains(page, "0.500") {
		t.Error("the number itself is missing")
	}
}

func TestTableOrderAndMarks(t *testing.T) {
	page := string(render(t, small()))
	place := -1
	for _, text := range []string{
		`rowgroup">16 bits`, `row">FastHash</th>`, `row">LSH`,
		`rowgroup">32 bits`, "★ advised", `row">LSH`, "▽ floor",
		`rowgroup">Without codes`, "△ reference",
	} {
		at := strings.Index(page[place+1:], text)
		if at < 0 {
			t.Fatalf("%q is missing or out of order", text)
		}
		place += 1 + at
	}
	if n := strings.Count(page, "the base has only 12"); n != 1 {
		t.Errorf("a warning given twice is shown %d times", n)
	}
	if !strings.Contains(page, "<b>0.750<span class=\"hidden\"> (best)</span></b> <small>0.730–0.770</small>") {
		t.Error("the best MAP is not marked, or its bounds are missing")
	}
}

func TestBadDataIsRefused(t *testing.T) {
	for _, c := range []struct {
		want   string
		damage func(*report.Data)
	}{
		{"no title", func(d *report.Data) { d.Title = "" }},
		{"no results", func(d *report.Data) { d.Rows = nil }},
		{"result 2 (LSH, 32 bits): MAP is NaN", func(d *report.Data) { d.Rows[1].MAP = math.NaN() }},
		{"precision@100 is 1.5", func(d *report.Data) { d.Rows[0].Precision100 = 1.5 }},
		{"training time is -1", func(d *report.Data) { d.Rows[0].TrainSeconds = -1 }},
		{"2 results are recommended", func(d *report.Data) { d.Rows[0].Recommended = true }},
		{`kind "nine"`, func(d *report.Data) { d.Rows[0].Kind = "nine" }},
		{"search 1: the query: the picture 3 is not a PNG", func(d *report.Data) {
			d.Searches[0].Query.PNG = []byte("GIF89a")
		}},
		{"search 1, result 1: the picture 17 has 300000 bytes", func(d *report.Data) {
			d.Searches[0].Hits[0].PNG = make([]byte, 300000)
		}},
	} {
		d := small()
		c.damage(&d)
		var b bytes.Buffer
		if err := report.Write(&b, d); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want an error with %q", err, c.want)
		}
		if b.Len() > 0 {
			t.Errorf("%s: half a page was written", c.want)
		}
	}
}

func TestWriteFileReplacesWhole(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := report.WriteFile(file, report.Data{}); err == nil {
		t.Error("an empty report was written")
	}
	if b, _ := os.ReadFile(file); string(b) != "old" {
		t.Error("a refused report damaged the file that was there")
	}
	if err := report.WriteFile(file, small()); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(b, render(t, small())) {
		t.Errorf("the file is not the page: %v", err)
	}
	if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestPlotsAreInOrder checks that the page has every plot once, each with a drawing and a name for screen readers.
func TestPlotsAreInOrder(t *testing.T) {
	page := string(render(t, small()))
	if n := strings.Count(page, "<svg "); n != 8 {
		t.Errorf("the page has %d plots, want 8", n)
	}
	for _, title := range []string{
		"Mean average precision at 32 bits", "Precision and recall at 32 bits", "Precision of the first results at 32 bits",
		"What more bits bring", "Training time and what it buys at 32 bits", "The objective, bit by bit",
		"Items that share a code at 32 bits", "Balance of the bits at 32 bits",
	} {
		_, rest, found := strings.Cut(page, "<h3>"+title+"</h3>")
		if !found {
			t.Fatalf("the plot %q is missing or out of order", title)
		}
		page = rest
		drawing, _, _ := strings.Cut(page, "</svg>")
		if !strings.Contains(drawing, ">"+title+"</title>") || len(drawing) < 1000 {
			t.Errorf("the plot %q has a drawing of %d bytes, or one with another name", title, len(drawing))
		}
	}
}

// One code length has nothing to say about more bits, whatever the lengths of floors and ceilings are.
func TestOneLengthHasNoPlotOfLengths(t *testing.T) {
	d := small()
	d.Rows = slices.DeleteFunc(d.Rows, func(r eval.Row) bool { return r.Kind == eval.KindMethod && r.Bits != 32 })
	floor := result("Sign", 784, 0.4)
	floor.Kind = eval.KindFloor
	d.Rows = append(d.Rows, floor)
	if page := string(render(t, d)); strings.Contains(page, "What more bits bring") {
		t.Error("codes of 32 bits alone have a plot by code length")
	}
}

func TestCodeLengthOfComparison(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*report.Data)
		heading string
	}{
		{"of the recommended", func(*report.Data) {}, "at 32 bits"},
		{"as told", func(d *report.Data) { d.Bits = 16 }, "at 16 bits"},
		{"of most results", func(d *report.Data) {
			d.Rows[3].Recommended = false
			d.Rows = append(d.Rows, result("SDH", 16, 0.5), result("ITQ", 16, 0.4))
		}, "at 16 bits"},
		{"the longer of two", func(d *report.Data) {
			d.Rows = append(d.Rows[:3], result("SDH", 32, 0.5))
		}, "at 32 bits"},
	} {
		d := small()
		c.change(&d)
		if page := string(render(t, d)); !strings.Contains(page, "<h3>Mean average precision "+c.heading) {
			t.Errorf("%s: the overview is not %s", c.name, c.heading)
		}
	}
}

// TestManyMethodsStayReadable: the curves show eight at most, among them the advised one and the marks.
func TestManyMethodsStayReadable(t *testing.T) {
	d := large(t)
	page := string(render(t, d))
	at := strings.Index(page, "Precision and recall at 64 bits")
	curve := page[at : at+strings.Index(page[at:], "</svg>")]
	if n := strings.Count(curve, ": from "); n != 8 {
		t.Errorf("the curves describe %d methods", n)
	}
	for _, name := range []string{"FastHash", "random codes"} {
		if !strings.Contains(curve, name) {
			t.Errorf("%s is not in the curves", name)
		}
	}
	if !strings.Contains(page, "Only in the table and the overview: ") {
		t.Error("the page does not say what the curves leave out")
	}
}

// TestManyClassesFold: hundreds of classes are there, but folded.
func TestManyClassesFold(t *testing.T) {
	d := small()
	d.Rows[3].PerClass = nil
	for i := range 397 {
		name := "class " + string(rune('A'+i%26)) + string(rune('a'+i/26))
		d.Rows[3].PerClass = append(d.Rows[3].PerClass, eval.Class{Name: name, MAP: float64(i%50) / 50})
	}
	page := string(render(t, d))
	if !strings.Contains(page, "<summary>377 more classes</summary>") || strings.Count(page, "class=\"bar\"") != 397+1 {
		t.Errorf("397 classes are not 20 and 377")
	}
}

// TestDoNotHash: the advised result may be the search without codes.
func TestDoNotHash(t *testing.T) {
	d := small()
	d.Rows[3].Recommended, d.Rows[5].Recommended = false, true
	page := string(render(t, d))
	if !strings.Contains(page, "<dt>MAP of float, Euclidean</dt><dd>0.420</dd></div>") {
		t.Error("the tiles do not show the advised search, or compare it with itself")
	}
	if at := strings.Index(page, "★ advised"); at < strings.Index(page, `rowgroup">Without codes`) {
		t.Error("the advised row is not the one without codes")
	}
}

// withNew is the small report as a comparison with new items leaves it: learned items stand beside them.
func withNew() report.Data {
	d := small()
	d.Dataset.Learned, d.Dataset.New = 4800, 1200
	for i := range d.Rows {
		r := &d.Rows[i]
		r.NewItems = &eval.Items{MAP: r.MAP}
		r.LearnedItems = &eval.Items{MAP: min(1, r.MAP+0.2)}
		r.ReachablePrecision, r.UnseenChance = r.MAP, 0.123
	}
	return d
}

// TestNewItemsLead: the page says which items the numbers are about, and has those of learned items beside them.
func TestNewItemsLead(t *testing.T) {
	d := withNew()
	d.Rows[1].LearnedItems.MAP = 0.99 // LSH knows them by heart, and stays behind
	page := string(render(t, d))
	for _, want := range []string{
		"<dt>New</dt><dd>1,200</dd>", "<dt>MAP of FastHash, 32 bits, new items</dt><dd>0.750</dd>",
		"<dt>MAP, learned items</dt><dd>0.950</dd>", `MAP of learned <span class="unit">items</span>`, "0.910",
		"Mean average precision for new items at 32 bits", "1,200 items were kept from training, and 4,800 were learned from",
		"searching in all items; chance would be 0.123", "its nearest new items",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Index(page, `row">FastHash <span`) > strings.LastIndex(page, `row">LSH`) {
		t.Error("LSH comes first for what it knows by heart")
	}
	if page := string(render(t, small())); strings.Contains(page, "new items") || strings.Contains(page, "MAP of learned") {
		t.Error("a page without new items speaks of them")
	}
}

// TestReferencesAreInTheCharts: a classifier's answer has a length of its own, and is compared all the same.
func TestReferencesAreInTheCharts(t *testing.T) {
	d := small()
	answer, chance := supervised(result("Classifier, one-hot", 10, 0.6)), supervised(result("Classifier, probabilities", 0, 0.8))
	answer.Kind, chance.Kind, chance.PRCurve = eval.KindReference, eval.KindReference, answer.PRCurve
	d.Rows = append(d.Rows, answer, chance)
	page := string(render(t, d))
	overview, rest, _ := strings.Cut(page, "</svg>")
	if !strings.Contains(overview, "Classifier, one-hot") || !strings.Contains(overview, "reference: no code of this length") {
		t.Error("the overview lacks the answer of the classifier")
	}
	at := strings.Index(rest, "Precision and recall at 32 bits")
	curves := rest[at : at+strings.Index(rest[at:], "</svg>")]
	if !strings.Contains(curves, "Classifier, probabilities") || strings.Contains(page, "ceiling") {
		t.Error("the curves lack the classifier, or something is called a ceiling")
	}
}

// TestWithoutLabels: the page is about the recall of float neighbours, and says nothing of MAP.
func TestWithoutLabels(t *testing.T) {
	d := small()
	for i := range d.Rows {
		r := &d.Rows[i]
		*r = eval.Row{
			Method: r.Method, Kind: r.Kind, Bits: r.Bits, Bytes: r.Bytes, Recommended: r.Recommended, TrainSeconds: 1 + float64(i),
			NeighbourRecall100: 0.9 - 0.1*float64(i), NeighbourRecall10: 0.1,
		}
	}
	page := string(render(t, d))
	for _, want := range []string{
		"Recall of float neighbours at 32 bits", "best recall@100 first", "<dt>recall@100 of FastHash, 32 bits</dt><dd>0.600</dd>",
		`Recall of <span class="unit">neighbours</span>`, "among the nearest by their vectors",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	d.RecallRank = 10
	page = string(render(t, d))
	for _, want := range []string{"best recall@10 first", "<dt>recall@10 of FastHash, 32 bits</dt><dd>0.100</dd>", "nearest 10 codes", "among the first 10 items"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of a small base lacks %q", want)
		}
	}
	if d.RecallRank = 50; report.Write(io.Discard, d) == nil {
		t.Error("a rank that is not measured passes")
	}
	if strings.Contains(page, `<th scope="col">MAP`) || strings.Contains(page, "Mean average precision at") {
		t.Error("the page has a column or a plot of MAP")
	}
}

// TestItemsWithoutPictures: they are shown by what is known of them.
func TestItemsWithoutPictures(t *testing.T) {
	page := string(render(t, small()))
	if !strings.Contains(page, `<div class="nopicture"><b>coat</b> <span>18</span></div>`) {
		t.Error("an item without a picture lacks its label or its name")
	}
}

// A ranking by margins has a column and an explanation, and neither where nobody measured it.
func TestMarginsHaveAColumn(t *testing.T) {
	d := small()
	if page := string(render(t, d)); strings.Contains(page, "margins") {
		t.Error("the page speaks of margins that were not measured")
	}
	d.Rows[2].Margins = eval.MarginItems{MAP: 0.7391}
	page := string(render(t, d))
	for _, want := range []string{"<dt>MAP by margins</dt>", "0.739", "MAP by"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	d.Rows[2].Margins.MAP = 1.5
	if err := report.Write(io.Discard, d); err == nil || !strings.Contains(err.Error(), "MAP by margins is 1.5") {
		t.Errorf("error %v", err)
	}
}
