package browsertest

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// samplePage returns a sample page of package compare, whose tests write them: the samples and the page belong to that
// package, and a browser does not belong among its dependencies.
func samplePage(t *testing.T, name string) []byte {
	t.Helper()
	pages, err := samplePages()
	if err != nil {
		t.Fatal(err)
	}
	return pages[name]
}

// reports is the folder of package compare; other tests work in a folder of their own.
var reports, _ = filepath.Abs(filepath.Join("..", "..", "internal", "compare"))

var samplePages = sync.OnceValues(func() (map[string][]byte, error) {
	folder, err := os.MkdirTemp("", "hashgrove-pages-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	write := exec.Command("go", "test", "-count=1", "-run=^TestWriteSamplePages$", ".")
	write.Dir = reports
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
func load(b *browserPage, html []byte) {
	b.Helper()
	file := filepath.Join(b.TempDir(), "report.html")
	if err := os.WriteFile(file, html, 0o666); err != nil {
		b.Fatal(err)
	}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(file)}
	b.Do(chromedp.Navigate(u.String()), chromedp.WaitReady("body"))
}

func TestPageInBrowser(t *testing.T) {
	b := openPage(t)
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
			t.Errorf("%s: the page is %v pixels wide on a screen of %d: %s", look.name, wide, look.width, b.String(widest))
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

	b.CheckAxe("a report")
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
)

// TestHostileNamesRunNoScript opens a page whose every text tries to break out.
func TestHostileNamesRunNoScript(t *testing.T) {
	b := openPage(t)
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
