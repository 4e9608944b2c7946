package report_test

import (
	"bytes"
	"html"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"hashgrove/internal/compare/report"
	"hashgrove/internal/eval"
	"hashgrove/internal/message"
	"hashgrove/internal/testkit/needs"
)

func render(t *testing.T, d report.Data) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := report.Write(&b, d); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// between returns the part of a page from one text to another.
func between(t *testing.T, page, from, to string) string {
	t.Helper()
	_, rest, found := strings.Cut(page, from)
	if !found {
		t.Fatalf("the page has no %s", from)
	}
	part, _, _ := strings.Cut(rest, to)
	return part
}

// drawn returns a plot of a page up to the end of its drawing.
func drawn(t *testing.T, page, name string) string {
	t.Helper()
	return between(t, page, `<figure id="plot-`+name+`">`, "</svg>")
}

// heading returns the first heading of a plot.
func heading(part string) string {
	_, rest, _ := strings.Cut(part, "<h3>")
	text, _, _ := strings.Cut(rest, "</h3>")
	return text
}

func TestSamePage(t *testing.T) {
	if !bytes.Equal(render(t, small()), render(t, small())) {
		t.Error("the same data give another page")
	}
}

// hostile returns the small report with a break-out in every string.
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
	if n := strings.Count(page, "&lt;script&gt;"); n < 30 {
		t.Errorf("the hostile text is shown %d times: it has vanished somewhere", n)
	}
}

// TestWriteSamplePages writes the pages that the tests in server/browsertest open, into the folder that HASHGROVE_PAGES names.
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
	page := string(render(t, report.Data{Title: "Bare", Rows: []eval.Row{{Method: "LSH", Kind: eval.KindMethod, Bits: 16, Figures: eval.Figures{MAP: 0.5}}}}))
	for _, section := range []string{
		`id="plots"`, "<pre", "µs/vector",
		`class="warnings"`,
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
	d := small()
	page := string(render(t, d))
	place := -1
	for _, text := range []string{
		`rowgroup">16 bits`, `row">FastHash</th>`, `row">LSH`,
		`rowgroup">32 bits`, `class="pick"`, "★", `row">LSH`, "▽",
		`rowgroup">`, "△",
	} {
		at := strings.Index(page[place+1:], text)
		if at < 0 {
			t.Fatalf("%q is missing or out of order", text)
		}
		place += 1 + at
	}
	if n := strings.Count(page, d.Warnings[0]); n != 1 {
		t.Errorf("a warning given twice is shown %d times", n)
	}
	best := regexp.MustCompile(`<b>0\.750<span class="hidden">[^<]+</span></b> <small>0\.730–0\.770</small>`)
	if !best.MatchString(page) {
		t.Error("the best MAP is not marked, or its bounds are missing")
	}
}

// TestPlotsAreInOrder checks that the page has every plot once, each with a drawing and a name for screen readers.
func TestPlotsAreInOrder(t *testing.T) {
	page := string(render(t, small()))
	if n := strings.Count(page, "<svg "); n != 3 {
		t.Errorf("the page has %d plots, want 3", n)
	}
	titles := map[string]bool{}
	for _, c := range []struct {
		name  string
		bits  bool   // the title names the code length
		label string // of an axis
	}{
		{"overview", true, "MAP"}, {"precision-recall", true, "recall"},
		{"lengths", false, "bits"},
	} {
		_, rest, found := strings.Cut(page, `<figure id="plot-`+c.name+`">`)
		if !found {
			t.Fatalf("the plot %q is missing or out of order", c.name)
		}
		page = rest
		drawing, _, _ := strings.Cut(page, "</svg>")
		title := heading(drawing)
		if !strings.Contains(drawing, ">"+title+"</title>") || !strings.Contains(drawing, c.label) || len(drawing) < 1000 {
			t.Errorf("the plot %q has a drawing of %d bytes, or one with another name", title, len(drawing))
		}
		if title == "" || titles[title] || strings.Contains(title, "32 bits") != c.bits {
			t.Errorf("the plot %s has the title %q", c.name, title)
		}
		titles[title] = true
	}
}

// TestManyMethodsStayReadable: the curves show eight at most, among them the advised one and the marks.
func TestManyMethodsStayReadable(t *testing.T) {
	d := large(t)
	page := string(render(t, d))
	curve := drawn(t, page, "precision-recall")
	described := between(t, curve, "<desc", "</desc>")
	shown, methods := 0, map[string]bool{}
	for _, r := range d.Rows {
		if !methods[r.Method] && strings.Contains(described, html.EscapeString(r.Method)+": ") {
			shown++
		}
		methods[r.Method] = true
	}
	if shown != 8 || !strings.Contains(heading(curve), "64 bits") {
		t.Errorf("the curves describe %d methods: %s", shown, heading(curve))
	}
	for _, name := range []string{"FastHash", "random codes"} {
		if !strings.Contains(curve, name) {
			t.Errorf("%s is not in the curves", name)
		}
	}
}

// TestDoNotHash: the advised result may be the search without codes.
func TestDoNotHash(t *testing.T) {
	d := small()
	d.Rows[3].Recommended, d.Rows[5].Recommended = false, true
	page := string(render(t, d))
	if strings.Index(page, `class="pick"`) < strings.LastIndex(page, `scope="rowgroup">`) {
		t.Error("the advised row is not the one without codes")
	}
}

// withNew returns the small report with figures for both new and training items.
func withNew() report.Data {
	d := small()
	d.Dataset.Learned, d.Dataset.New = 4800, 1200
	for i := range d.Rows {
		r := &d.Rows[i]
		r.LearnedItems = &eval.Items{Figures: eval.Figures{MAP: min(1, r.MAP+0.2)}}
		r.Precision, r.UnseenChance = r.MAP, 0.123
	}
	return d
}

// TestNewItemsLead: the page says which items the numbers are about, and has those of learned items beside them.
func TestNewItemsLead(t *testing.T) {
	d := withNew()
	d.Rows[1].LearnedItems.MAP = 0.99 // LSH knows them by heart, and stays behind
	page := string(render(t, d))
	for _, c := range []struct{ place, from, to, facts string }{
		{"facts", `<dl class="facts">`, "</dl>", "Learned; 4,800; New; 1,200"},
		{"columns", "<thead>", "</thead>", `MAP; learned; <span class="unit">items</span>`},
		{"rows", "<tbody>", "</table>", "0.910"},
		{"overview", `id="plot-overview"`, "</h3>", "new; 32 bits"},
		{"terms", `id="term-new"`, "</dd>", "1,200; 4,800"},
		{"terms", `id="term-unseen"`, "</dd>", "0.123"},
	} {
		if part := between(t, page, c.from, c.to); !message.NamesInOrder(part, c.facts) {
			t.Errorf("the %s lack %q: %s", c.place, c.facts, part)
		}
	}
	if strings.Index(page, `row">FastHash <span`) > strings.LastIndex(page, `row">LSH`) {
		t.Error("LSH comes first for what it knows by heart")
	}
	if page := string(render(t, small())); strings.Contains(page, "new items") ||
		strings.Contains(page, `id="term-new"`) || strings.Contains(between(t, page, "<thead>", "</thead>"), "learned") {
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
	if !strings.Contains(overview, "Classifier, one-hot") || !strings.Contains(overview, string(eval.KindReference)+": ") {
		t.Error("the overview lacks the answer of the classifier")
	}
	curves := drawn(t, rest, "precision-recall")
	if !strings.Contains(curves, "Classifier, probabilities") || strings.Contains(page, "ceiling") {
		t.Error("the curves lack the classifier, or something is called a ceiling")
	}
}
