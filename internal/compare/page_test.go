package compare

import (
	"bytes"
	"html"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"hashgrove/internal/eval"
	"hashgrove/internal/message"
	"hashgrove/internal/testkit/needs"
)

// shown returns a result with one of everything.
func shown() *Result {
	r := &Result{
		Version: "v0.1.0",
		Data: Dataset{Name: "shop.npy", Base: 6000, Learned: 4800, New: 1200, Queries: 1000, Dim: 784, Classes: 2,
			Similar: "same class", HeldOut: []string{"hat"}},
		Scale:    "columns as they are",
		Advice:   []Advice{{Text: "Use FastHash with 32 bits."}, {Text: "It needs a 784th of the memory."}},
		Warnings: []string{"the base has only 12 distinct codes"},
		Rows: []eval.Row{
			invented("fasthash", 16, 0.71), invented("fasthash", 32, 0.75), invented("lsh", 16, 0.30), invented("lsh", 32, 0.35),
			invented("random", 32, 0.1), invented("classifier-onehot", 10, 0.6), invented("float-euclidean", 784*32, 0.42),
			{Method: "ksh", Kind: eval.KindMethod, Bits: 32, Error: "out of luck"},
		},
	}
	r.Rows[1].Recommended, r.Rows[0].Supervised, r.Rows[1].Supervised = true, true, true
	r.Rows[4].Kind, r.Rows[5].Kind, r.Rows[6].Kind = eval.KindFloor, eval.KindReference, eval.KindReference
	r.Rows[2].LearnedItems.MAP = 0.99 // LSH knows them by heart, and stays behind
	return r
}

// invented returns a row of a given MAP.
func invented(name string, bits int, quality float64) eval.Row {
	r := eval.Row{
		Method: name, Kind: eval.KindMethod, Bits: bits, UnseenMAP: quality / 2, UnseenChance: 0.123,
		Figures:      eval.Figures{MAP: quality, Precision: quality + 0.05, PRArea: quality - 0.04},
		LearnedItems: &eval.Items{Figures: eval.Figures{MAP: min(1, quality+0.2)}},
		TrainSeconds: 40 * quality * quality, EncodeMicroseconds: 90 * quality, Bytes: bits / 8,
	}
	return r
}

// many returns a result with as many methods and lengths as people compare.
func many() *Result {
	r := shown()
	r.Rows = nil
	for _, name := range append(Names(), random, sign, hashed, oneHot, euclidean) {
		for i, bits := range []int{16, 32, 64, 128} {
			row := invented(name, bits, 0.3+0.04*float64(i)+0.01*float64(len(name)))
			row.Recommended = name == "fasthash" && bits == 64
			switch name {
			case random, sign:
				row.Kind = eval.KindFloor
			case hashed, oneHot, euclidean:
				row.Kind = eval.KindReference
			}
			r.Rows = append(r.Rows, row)
		}
	}
	return r
}

// hostile returns a result with a break-out in every string.
func hostile() *Result {
	r := shown()
	poison(reflect.ValueOf(r).Elem(), `</title></style></svg><script>document.title="owned"</script><img src=x onerror="alert(1)">'"`)
	return r
}

// poison appends to every string below v.
func poison(v reflect.Value, evil string) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() && v.Len() > 0 && v.Type() != reflect.TypeFor[eval.Kind]() { // any other kind is refused
			v.SetString(v.String() + evil)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			poison(v.Field(i), evil)
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i), evil)
		}
	}
}

func render(t *testing.T, r *Result) string {
	t.Helper()
	heading := "Comparison on " + r.Data.Name
	var b bytes.Buffer
	if err := r.Write(&b, heading, "hashgrove compare "+r.Data.Name); err != nil {
		t.Fatal(err)
	}
	return b.String()
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

func TestHostileTextStaysText(t *testing.T) {
	page := render(t, hostile())
	for _, bad := range []string{"<script", "<img src=x", "onerror=\"", "</style></svg>", "ZgotmplZ"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if n := strings.Count(page, "&lt;script&gt;"); n < 25 {
		t.Errorf("the hostile text is shown %d times: it has vanished somewhere", n)
	}
}

// TestWriteSamplePages writes the pages that the tests in server/browsertest open, into the folder that HASHGROVE_PAGES names.
func TestWriteSamplePages(t *testing.T) {
	folder := os.Getenv("HASHGROVE_PAGES")
	if folder == "" {
		needs.Skip(t, needs.Input, "HASHGROVE_PAGES names no folder")
	}
	for name, r := range map[string]*Result{"large": many(), "hostile": hostile()} {
		if err := os.WriteFile(filepath.Join(folder, name+".html"), []byte(render(t, r)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPage: a page says what a result holds, has every plot once, with a name for screen readers, and fetches nothing.
func TestPage(t *testing.T) {
	page := render(t, shown())
	for _, bad := range []string{"http:", "https:", "//cdn", "<link", "<script", "@import", "url("} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	for _, c := range []struct{ place, from, to, facts string }{
		{"head", "<header>", "</header>", "shop.npy; 1000; 6000; 4800; 1200 new; same class"},
		{"summary", `id="summary"`, "</section>", "FastHash; 784th; 12; plot-overview; new; 32 bits; FastHash; reference"},
		{"columns", "<thead>", "</thead>", "method; bits; MAP; by Hamming; precision; nearest; learned; unseen; encode; bytes"},
		{"rows", "<tbody>", "</tbody>", `FastHash</th>; 16; "pick"; ★; 0.750; 0.950; LSH; 0.990; ▽; △; KSH; failed`},
		{"plot", `id="plots"`, "</section>", "plot-lengths; FastHash; bits"},
		{"terms", `id="reading"`, "</section>", "1200 new; 4800; hat; 0.123; Columns"},
		{"foot", "<footer>", "</footer>", "KSH; out of luck; hashgrove compare; v0.1.0"},
	} {
		if part := between(t, page, c.from, c.to); !message.NamesInOrder(part, c.facts) {
			t.Errorf("the %s lack %q: %s", c.place, c.facts, part)
		}
	}
	plain := shown()
	plain.Data.New, plain.Rows, plain.Warnings = 0, plain.Rows[3:4], nil
	page = render(t, plain)
	for _, missing := range []string{"new items", "learned</th>", `plot-lengths"`, `class="warnings"`} {
		if strings.Contains(page, missing) {
			t.Errorf("the page of one row of learned items has %q", missing)
		}
	}
}

// TestManyMethodsStayReadable: the curves show eight at most, among them the advised one and the marks.
func TestManyMethodsStayReadable(t *testing.T) {
	curves := between(t, render(t, many()), `<figure id="plot-lengths">`, "</svg>")
	described := between(t, curves, "<desc", "</desc>")
	drawn := 0
	for _, name := range append(Names(), random, sign, hashed, oneHot, euclidean) {
		if strings.Contains(described, html.EscapeString(title(name))+": ") {
			drawn++
		}
	}
	if drawn != 8 || !strings.Contains(described, "FastHash") {
		t.Errorf("the curves describe %d methods: %s", drawn, described)
	}
}

// TestDoNotHash: the advised row may be the search without codes.
func TestDoNotHash(t *testing.T) {
	r := shown()
	r.Rows[1].Recommended, r.Rows[6].Recommended = false, true
	if page := render(t, r); !message.NamesInOrder(between(t, page, `class="pick"`, "</tr>"), "Euclidean; ★; △") {
		t.Error("the advised row is not the one without codes")
	}
}
