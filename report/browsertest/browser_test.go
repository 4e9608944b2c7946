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
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser is a page in a headless browser. It records every complaint of the browser and every request to the network.
type browser struct {
	*testing.T
	ctx  context.Context
	mu   sync.Mutex
	seen []string
}

// startBrowser starts a browser, or skips the test where there is none. CI=true or HASHGROVE_BROWSER=required turns
// the skip into a failure.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	if testing.Short() && os.Getenv("HASHGROVE_BROWSER") != "required" {
		t.Skip("starts a browser")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		const what = "no chromium on this machine (make setup installs it on Debian)"
		if os.Getenv("CI") == "true" || os.Getenv("HASHGROVE_BROWSER") == "required" {
			t.Fatal(what)
		}
		t.Skip(what)
	}
	profile, err := os.MkdirTemp("", "hashgrove-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // not TempDir: children of the browser may write for a moment after it has ended
		for range 50 {
			if err = os.RemoveAll(profile); err == nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Error(err)
	})
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.DisableGPU, chromedp.UserDataDir(profile))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // the sandbox refuses to run as root
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 90*time.Second)
	t.Cleanup(cancel)
	b := &browser{T: t, ctx: ctx}
	chromedp.ListenTarget(ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventConsoleAPICalled:
			b.seen = append(b.seen, "console: "+string(e.Type))
		case *runtime.EventExceptionThrown:
			b.seen = append(b.seen, "exception: "+e.ExceptionDetails.Error())
		case *log.EventEntryAdded:
			b.seen = append(b.seen, "log: "+e.Entry.Text)
		case *network.EventRequestWillBeSent:
			if u := e.Request.URL; !strings.HasPrefix(u, "data:") && !strings.HasPrefix(u, "file:") {
				b.seen = append(b.seen, "request: "+u)
			}
		}
	})
	b.run(network.Enable(), log.Enable(), runtime.Enable())
	return b
}

func (b *browser) run(actions ...chromedp.Action) {
	b.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.Fatal(err)
	}
}

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
	write.Dir = ".."
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
func (b *browser) load(html []byte) {
	b.Helper()
	file := filepath.Join(b.TempDir(), "report.html")
	if err := os.WriteFile(file, html, 0o666); err != nil {
		b.Fatal(err)
	}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(file)}
	b.run(chromedp.Navigate(u.String()), chromedp.WaitReady("body"))
}

func (b *browser) troubles() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.seen...)
}

// media sets the width of the screen, the colour scheme and the medium.
func (b *browser) media(width int, scheme, medium string) {
	b.Helper()
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
	b.run(emulation.SetDeviceMetricsOverride(int64(width), 800, 1, width < 500),
		emulation.SetEmulatedMedia().WithMedia(medium).WithFeatures(features))
}

func (b *browser) text(script string) string {
	b.Helper()
	var s string
	b.run(chromedp.Evaluate(script, &s))
	return s
}

func (b *browser) number(script string) float64 {
	b.Helper()
	var v float64
	b.run(chromedp.Evaluate(script, &v))
	return v
}

// shot keeps a screenshot of the whole page in the folder of HASHGROVE_SHOTS, for people to look at.
func (b *browser) shot(name string) {
	b.Helper()
	var png []byte
	b.run(chromedp.FullScreenshot(&png, 100))
	if len(png) < 20_000 {
		b.Errorf("the screenshot %s has only %d bytes: is the page empty?", name, len(png))
	}
	b.keep(name+".png", png)
}

func (b *browser) keep(name string, content []byte) {
	b.Helper()
	folder := os.Getenv("HASHGROVE_SHOTS")
	if folder == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(folder, name), content, 0o666); err != nil {
		b.Fatal(err)
	}
}

func TestPageInBrowser(t *testing.T) {
	b := startBrowser(t)
	b.load(samplePage(t, "large"))

	backgrounds := map[string]string{}
	for _, look := range []struct {
		name, scheme, medium string
		width                int
	}{
		{"light", "light", "screen", 1280}, {"dark", "dark", "screen", 1280},
		{"phone", "light", "screen", 360}, {"phone-dark", "dark", "screen", 360}, {"print", "dark", "print", 720},
	} {
		b.media(look.width, look.scheme, look.medium)
		if wide := b.number(`document.documentElement.scrollWidth`); wide > float64(look.width) {
			t.Errorf("%s: the page is %v pixels wide on a screen of %d: %s", look.name, wide, look.width, b.text(widest))
		}
		backgrounds[look.name] = b.text(`getComputedStyle(document.documentElement).backgroundColor`)
		b.shot(look.name)
	}
	if backgrounds["light"] != "rgb(255, 255, 255)" || backgrounds["dark"] == backgrounds["light"] {
		t.Errorf("dark mode does not change the background: %v", backgrounds)
	}
	if backgrounds["print"] != backgrounds["light"] {
		t.Errorf("print has the background %s: it should be paper, even in dark mode", backgrounds["print"])
	}
	b.media(360, "light", "screen")
	if size := b.number(smallest); size < 8.5 {
		t.Errorf("the smallest text of a plot on a phone has %.1f pixels", size)
	}
	b.media(1280, "light", "screen")
	if outside := b.text(clipped); outside != "" {
		t.Errorf("text sticks out of its plot: %s", outside)
	}

	b.checkAccessibility()
	b.checkPrint()
	for _, trouble := range b.troubles() {
		t.Errorf("the browser reports %s", trouble)
	}
}

// The scripts belong to the test: the page itself has none.
const (
	widest = `[...document.querySelectorAll('body *')]
		.filter(e => e.getBoundingClientRect().right > innerWidth+1 && !e.closest('.scroll'))
		.slice(0, 3).map(e => e.outerHTML.slice(0, 80)).join(' ')`
	// Letters shrink with the viewBox, so their size on the screen is the font size times the scale.
	smallest = `Math.min(...[...document.querySelectorAll('svg text')]
		.map(e => parseFloat(e.getAttribute('font-size')) * e.getScreenCTM().a))`
	clipped = `[...document.querySelectorAll('svg text')].filter(e => {
			const a = e.getBoundingClientRect(), b = e.closest('svg').getBoundingClientRect();
			return a.right > b.right+1 || a.left < b.left-1 || a.bottom > b.bottom+1 || a.top < b.top-1
		}).map(e => e.textContent).join(' | ')`
	headingLevels = `[...document.querySelectorAll('h1,h2,h3,h4')].map(h => h.tagName[1]).join('')`
)

// checkAccessibility checks the names and structure that a screen reader gets.
func (b *browser) checkAccessibility() {
	b.Helper()
	var nodes []*accessibility.Node
	b.run(chromedp.ActionFunc(func(ctx context.Context) (err error) {
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
		"heading": 12, "table": 3, "image": 80, "columnheader": 15, "rowheader": 60, "main": 1, "navigation": 1, "list": 5,
	} {
		if count[role] < least {
			b.Errorf("the accessibility tree has %d of %s, want %d or more; all: %v", count[role], role, least, count)
		}
	}
	levels := b.text(headingLevels)
	if levels[0] != '1' || strings.Contains(levels, "13") || strings.Count(levels, "1") != 1 {
		b.Errorf("the headings have levels %s: level 1 should come first and once, and no level be skipped", levels)
	}
}

// checkPrint prints the page to a PDF and checks its length.
func (b *browser) checkPrint() {
	b.Helper()
	b.media(1280, "dark", "") // the medium of its own choice
	var pdf []byte
	b.run(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		print := cdppage.PrintToPDF().WithPreferCSSPageSize(false).WithPaperWidth(8.27).WithPaperHeight(11.69)
		pdf, _, err = print.WithMarginTop(0.5).WithMarginBottom(0.5).Do(ctx)
		return err
	}))
	pages := strings.Count(string(pdf), "/Type /Page\n") + strings.Count(string(pdf), "/Type /Page ")
	if pages < 2 || pages > 12 {
		b.Errorf("the report prints on %d pages", pages)
	}
	b.keep("report.pdf", pdf)
}

// TestBrowserSeesTrouble checks that the test above can fail: requests and console errors of a page are noticed.
func TestBrowserSeesTrouble(t *testing.T) {
	b := startBrowser(t)
	b.load([]byte(`<!DOCTYPE html><title>x</title>
		<img src="http://127.0.0.1:1/x.png" alt=""><script>console.error("no")</script>`))
	for range 50 {
		seen := strings.Join(b.troubles(), "\n")
		if strings.Contains(seen, "request: http://127.0.0.1:1/x.png") && strings.Contains(seen, "console: error") {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("an outside picture and a console error went by unseen: %v", b.troubles())
}

// TestHostileNamesRunNoScript opens a page whose every text tries to break out.
func TestHostileNamesRunNoScript(t *testing.T) {
	b := startBrowser(t)
	b.load(samplePage(t, "hostile"))
	if title := b.text(`document.title`); !strings.Contains(title, "<script>") {
		t.Errorf("the title is %q: hostile text should be shown as it is", title)
	}
	if n := b.number(`document.querySelectorAll('script,iframe,object,[onerror],[onload]').length`); n != 0 {
		t.Errorf("%v elements came out of text", n)
	}
	for _, trouble := range b.troubles() {
		t.Errorf("the browser reports %s", trouble)
	}
}
