package browsertest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"hashgrove/server/browsertest/chrome"
)

// samplePage returns a sample page of package report, whose tests write them: the samples and the page belong to that
// package, and a browser does not belong among its dependencies.
func samplePage(t *testing.T, name string) []byte {
	t.Helper()
	pages, err := samplePages()
	if err != nil {
		t.Fatal(err)
	}
	return pages[name]
}

var samplePages = sync.OnceValues(func() (map[string][]byte, error) {
	folder, err := os.MkdirTemp("", "hashgrove-pages-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	write := exec.Command("go", "test", "-count=1", "-run=^TestWriteSamplePages$", ".")
	write.Dir = filepath.Join("..", "..", "internal", "report")
	write.Env = append(os.Environ(), "HASHGROVE_PAGES="+folder)
	if output, err := write.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("writing the sample pages: %w\n%s", err, output)
	}
	pages := map[string][]byte{}
	for _, name := range []string{"large", "hostile"} {
		if pages[name], err = os.ReadFile(filepath.Join(folder, name+".html")); err != nil {
			return nil, err
		}
	}
	return pages, nil
})

// load opens a page from disk, which is how people open a report.
func load(b *chrome.Page, html []byte) {
	b.Helper()
	file := filepath.Join(b.TempDir(), "report.html")
	if err := os.WriteFile(file, html, 0o666); err != nil {
		b.Fatal(err)
	}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(file)}
	b.Do(chromedp.Navigate(u.String()), chromedp.WaitReady("body"))
}

func TestPageInBrowser(t *testing.T) {
	b := chrome.Start(t)
	load(b, samplePage(t, "large"))

	backgrounds := map[string]string{}
	for _, look := range []struct {
		name, scheme, medium string
		width                int
	}{
		{"light", "light", "screen", 1280}, {"dark", "dark", "screen", 1280},
		{"phone", "light", "screen", 360}, {"phone-dark", "dark", "screen", 360}, {"print", "dark", "print", 720},
	} {
		b.Media(look.width, look.scheme, look.medium)
		if wide := b.Number(`document.documentElement.scrollWidth`); wide > float64(look.width) {
			t.Errorf("%s: the page is %v pixels wide on a screen of %d: %s", look.name, wide, look.width, b.String(chrome.Widest))
		}
		backgrounds[look.name] = b.String(`getComputedStyle(document.documentElement).backgroundColor`)
		b.Shot(look.name)
	}
	if backgrounds["light"] != "rgb(255, 255, 255)" || backgrounds["dark"] == backgrounds["light"] {
		t.Errorf("dark mode does not change the background: %v", backgrounds)
	}
	if backgrounds["print"] != backgrounds["light"] {
		t.Errorf("print has the background %s: it should be paper, even in dark mode", backgrounds["print"])
	}
	b.Media(360, "light", "screen")
	if size := b.Number(smallest); size < 8.5 {
		t.Errorf("the smallest text of a plot on a phone has %.1f pixels", size)
	}
	b.Media(1280, "light", "screen")
	if outside := b.String(clipped); outside != "" {
		t.Errorf("text sticks out of its plot: %s", outside)
	}

	checkAccessibility(b)
	checkPrint(b)
	for _, trouble := range b.Troubles() {
		t.Errorf("the browser reports %s", trouble)
	}
}

// The scripts belong to the test: the page itself has none.
const (
	// Letters shrink with the viewBox, so their size on the screen is the font size times the scale.
	smallest = `Math.min(...[...document.querySelectorAll('svg text')]
		.map(e => parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().a))`
	clipped = `[...document.querySelectorAll('svg text')].filter(e => {
			const a = e.getBoundingClientRect(), b = e.closest('svg').getBoundingClientRect();
			return a.right > b.right+1 || a.left < b.left-1 || a.bottom > b.bottom+1 || a.top < b.top-1
		}).map(e => e.textContent).join(' | ')`
	headingLevels = `[...document.querySelectorAll('h1,h2,h3,h4')].map(h => h.tagName[1]).join('')`
)

// checkAccessibility checks the names and structure that a screen reader gets.
func checkAccessibility(b *chrome.Page) {
	b.Helper()
	var nodes []*accessibility.Node
	b.Do(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		nodes, err = accessibility.GetFullAXTree().Do(ctx)
		return err
	}))
	count := map[string]int{}
	for _, n := range nodes {
		if n.Ignored || n.Role == nil {
			continue
		}
		role := strings.ToLower(strings.Trim(string(n.Role.Value), `"`))
		name := ""
		if n.Name != nil {
			name = strings.Trim(string(n.Name.Value), `"`)
		}
		if role == "img" || role == "svgroot" {
			role = "image"
		}
		count[role]++
		switch role {
		case "heading", "table", "image", "link", "region", "navigation":
			if strings.TrimSpace(name) == "" {
				b.Errorf("a %s has no name for screen readers", role)
			}
		}
	}
	for role, least := range map[string]int{
		"heading": 12, "table": 3, "image": 4, "columnheader": 15, "rowheader": 60, "main": 1, "navigation": 1, "list": 5,
	} {
		if count[role] < least {
			b.Errorf("the accessibility tree has %d of %s, want %d or more; all: %v", count[role], role, least, count)
		}
	}
	levels := b.String(headingLevels)
	if levels[0] != '1' || strings.Contains(levels, "13") || strings.Count(levels, "1") != 1 {
		b.Errorf("the headings have levels %s: level 1 should come first and once, and no level be skipped", levels)
	}
}

// checkPrint prints the page to a PDF and checks its length.
func checkPrint(b *chrome.Page) {
	b.Helper()
	b.Media(1280, "dark", "") // the medium of its own choice
	var pdf []byte
	b.Do(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		print := cdppage.PrintToPDF().WithPreferCSSPageSize(false).WithPaperWidth(8.27).WithPaperHeight(11.69)
		pdf, _, err = print.WithMarginTop(0.5).WithMarginBottom(0.5).Do(ctx)
		return err
	}))
	pages := strings.Count(string(pdf), "/Type /Page\n") + strings.Count(string(pdf), "/Type /Page ")
	if pages < 2 || pages > 12 {
		b.Errorf("the report prints on %d pages", pages)
	}
	b.Keep("report.pdf", pdf)
}

// TestBrowserSeesTrouble checks that the test above can fail: requests and console errors of a page are noticed.
func TestBrowserSeesTrouble(t *testing.T) {
	b := chrome.Start(t)
	load(b, []byte(`<!DOCTYPE html><title>x</title>
		<img src="http://127.0.0.1:1/x.png" alt=""><script>console.error("no")</script>`))
	for range 1200 {
		seen := strings.Join(b.Troubles(), "\n")
		if strings.Contains(seen, "request: http://127.0.0.1:1/x.png") && strings.Contains(seen, "console: error") {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("an outside picture and a console error went by unseen: %v", b.Troubles())
}

// TestHostileNamesRunNoScript opens a page whose every text tries to break out.
func TestHostileNamesRunNoScript(t *testing.T) {
	b := chrome.Start(t)
	load(b, samplePage(t, "hostile"))
	if title := b.String(`document.title`); !strings.Contains(title, "<script>") {
		t.Errorf("the title is %q: hostile text should be shown as it is", title)
	}
	if n := b.Number(`document.querySelectorAll('script,iframe,object,[onerror],[onload]').length`); n != 0 {
		t.Errorf("%v elements came out of text", n)
	}
	for _, trouble := range b.Troubles() {
		t.Errorf("the browser reports %s", trouble)
	}
}
