package report_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"hashgrove/internal/report"
)

func searchPage(t *testing.T, p report.SearchPage) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.WriteSearches(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// longNames is a search of pictures whose names are long, some of them without a place to break.
func longNames(t *testing.T) report.SearchPage {
	t.Helper()
	png := picture(t, make([]float32, 16))
	var hits []report.FoundItem
	for i := range 20 {
		name := fmt.Sprintf("%s/photographs_of_ships/%s_%04d.png", strings.Repeat("folder", i), strings.Repeat("S", i), i)
		hits = append(hits, report.FoundItem{
			Hit:     report.Hit{Picture: report.Picture{Name: name, Label: "sailing ship", PNG: png}, Distance: "12.25"},
			Details: []string{"camera " + strings.Repeat("X", 2*i)},
		})
	}
	query := report.Picture{Name: strings.Repeat("long", 20) + "/query_0001.png", Label: "sailing ship", PNG: png}
	return report.SearchPage{Title: "Long names", Searches: []report.Search{{Query: query, Hits: hits}}}
}

// TestLongNamesAreCut shows the end of a long name, and all of it in the title.
func TestLongNamesAreCut(t *testing.T) {
	p := longNames(t)
	text := searchPage(t, p)
	for _, hit := range p.Searches[0].Hits {
		short := hit.Name
		if len(short) > 32 {
			short = "…" + short[len(short)-31:]
		}
		if want := fmt.Sprintf(`title="%s">%s</small>`, hit.Name, short); !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
}

// TestSearchPage shows pictures where there are any, and else names; texts stay texts, and nothing is loaded.
func TestSearchPage(t *testing.T) {
	const evil = `<script>alert("x")</script>`
	png := picture(t, make([]float32, 16))
	found := func(name, label string, right bool, png []byte) report.FoundItem {
		return report.FoundItem{Hit: report.Hit{Picture: report.Picture{Name: name, Label: label, PNG: png}, Distance: "3", Right: right}, Details: []string{"price 12"}}
	}
	page := report.SearchPage{
		Title: "Searches in " + evil, Command: "hashgrove search " + evil, Notes: []string{evil},
		Searches: []report.Search{
			{Query: report.Picture{Name: "q1", Label: "cat", PNG: png}, Note: "9 items are at distance 3", Hits: []report.FoundItem{
				found("a", "cat", true, png), found(evil, "dog", false, nil),
			}},
			{Query: report.Picture{Name: "q2"}, Hits: []report.FoundItem{found("b", "", false, nil)}},
			{Query: report.Picture{Name: "q3"}},
		},
	}
	text := searchPage(t, page)
	for _, want := range []string{
		`data:image/png;base64,`, `<li class="right">`, `<li class="wrong">`, "price 12", page.Searches[0].Note,
		`class="nothing"`, `<div class="nopicture">b</div>`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(text, "<script") {
		t.Error("a text became a script")
	}
	if n := strings.Count(text, "<li>"); n != 1 {
		t.Errorf("%d hits without a verdict, want the one without labels", n)
	}
	if m := regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(text, -1); len(m) != 2 {
		t.Errorf("the page loads %v", m)
	}
	page.Searches[0].Query.PNG = []byte("no picture")
	if err := report.WriteSearches(&bytes.Buffer{}, page); err == nil {
		t.Error("bytes that are no PNG were taken")
	}
}
