package report_test

import (
	"context"
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

// browser is a page in a headless browser that writes down everything it complains about or asks the network for.
type browser struct {
	*testing.T
	ctx  context.Context
	mu   sync.Mutex
	seen []string
}

// open starts a browser, or skips the test where there is none. CI=true or HASHGROVE_BROWSER=required turn the skip
// into a failure.
func open(t *testing.T) *browser {
	t.Helper()
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
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.DisableGPU, chromedp.UserDataDir(profile))
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

// media sets width, colour scheme and medium.
func (b *browser) media(width int, scheme, medium string) {
	b.Helper()
	b.run(emulation.SetDeviceMetricsOverride(int64(width), 800, 1, width < 500),
		emulation.SetEmulatedMedia().WithMedia(medium).WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
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
	if testing.Short() && os.Getenv("HASHGROVE_BROWSER") != "required" {
		t.Skip("starts a browser")
	}
	b := open(t)
	b.load(render(t, large(t)))

	backgrounds := map[string]string{}
	for _, look := range []struct {
		name, scheme, medium string
		width                int
	}{{"light", "light", "screen", 1280}, {"dark", "dark", "screen", 1280}, {"phone", "light", "screen", 360}, {"phone-dark", "dark", "screen", 360}, {"print", "dark", "print", 720}} {
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

	b.accessible()
	b.prints()
	for _, trouble := range b.troubles() {
		t.Errorf("the browser reports %s", trouble)
	}
}

// The scripts are the test's: the page itself has none.
const (
	widest = `[...document.querySelectorAll('body *')].filter(e=>e.getBoundingClientRect().right>innerWidth+1&&!e.closest('.scroll')).slice(0,3).map(e=>e.outerHTML.slice(0,80)).join(' ')`
	// Letters shrink with the viewBox, so their size on the screen is the font size times the scale.
	smallest = `Math.min(...[...document.querySelectorAll('svg text')].map(e=>parseFloat(e.getAttribute('font-size'))*e.getScreenCTM().a))`
	clipped  = `[...document.querySelectorAll('svg text')].filter(e=>{const a=e.getBoundingClientRect(),b=e.closest('svg').getBoundingClientRect();return a.right>b.right+1||a.left<b.left-1||a.bottom>b.bottom+1||a.top<b.top-1}).map(e=>e.textContent).join(' | ')`
)

// accessible checks what a screen reader is told.
func (b *browser) accessible() {
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
	for role, least := range map[string]int{"heading": 12, "table": 3, "image": 80, "columnheader": 15, "rowheader": 60, "main": 1, "navigation": 1, "list": 5} {
		if count[role] < least {
			b.Errorf("the accessibility tree has %d of %s, want %d or more; all: %v", count[role], role, least, count)
		}
	}
	if headings := b.text(`[...document.querySelectorAll('h1,h2,h3,h4')].map(h=>h.tagName[1]).join('')`); headings[0] != '1' || strings.Contains(headings, "13") || strings.Count(headings, "1") != 1 {
		b.Errorf("the headings have levels %s: one should be the first and none be jumped over", headings)
	}
}

// prints makes a PDF, which has to be short and whole.
func (b *browser) prints() {
	b.Helper()
	b.media(1280, "dark", "") // the medium of its own choice
	var pdf []byte
	b.run(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		pdf, _, err = cdppage.PrintToPDF().WithPreferCSSPageSize(false).WithPaperWidth(8.27).WithPaperHeight(11.69).WithMarginTop(0.5).WithMarginBottom(0.5).Do(ctx)
		return err
	}))
	pages := strings.Count(string(pdf), "/Type /Page\n") + strings.Count(string(pdf), "/Type /Page ")
	if pages < 2 || pages > 12 {
		b.Errorf("the report prints on %d pages", pages)
	}
	b.keep("report.pdf", pdf)
}

// TestBrowserSeesTrouble checks that the test above can fail: a page that calls out and complains is caught.
func TestBrowserSeesTrouble(t *testing.T) {
	if testing.Short() && os.Getenv("HASHGROVE_BROWSER") != "required" {
		t.Skip("starts a browser")
	}
	b := open(t)
	b.load([]byte(`<!DOCTYPE html><title>x</title><img src="http://127.0.0.1:1/x.png" alt=""><script>console.error("no")</script>`))
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
	if testing.Short() && os.Getenv("HASHGROVE_BROWSER") != "required" {
		t.Skip("starts a browser")
	}
	b := open(t)
	b.load(render(t, hostile()))
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
