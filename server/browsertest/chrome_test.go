package browsertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"hashgrove/internal/testkit/needs"
)

// browserPage is a page in a headless browser. It records every complaint of the browser, and every request to an address
// that a test has not allowed.
type browserPage struct {
	*testing.T
	Context context.Context // of the protocol's commands

	mu      sync.Mutex
	seen    []string
	allowed []string
}

// browserProcess is a headless browser.
type browserProcess struct {
	context context.Context
	cancel  context.CancelFunc
	folder  string // of the profile and all that the browser leaves behind
}

// errNone reports a machine without a browser.
var errNone = errors.New("no chromium on this machine (make setup installs it on Debian; CHROME names another)")

// program returns the browser: the one named by CHROME, or one with a usual name.
func program() (string, error) {
	if name := os.Getenv("CHROME"); name != "" {
		path, err := exec.LookPath(name)
		if err != nil {
			return "", fmt.Errorf("the browser that CHROME names: %w", err)
		}
		return path, nil
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errNone
}

// launch starts a browser.
func launch() (*browserProcess, error) {
	path, err := program()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "hashgrove-browser-")
	if err != nil {
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.DisableGPU, chromedp.UserDataDir(filepath.Join(folder, "profile")),
		chromedp.Env("TMPDIR="+folder), chromedp.WSURLReadTimeout(2*time.Minute)) // a busy machine may start it slowly
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // the sandbox refuses to run as root
	}
	allocated, cancelAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	quiet := chromedp.WithErrorf(func(string, ...any) {}) // events that are newer than the package
	ctx, cancelBrowser := chromedp.NewContext(allocated, quiet)
	b := &browserProcess{context: ctx, folder: folder, cancel: func() { cancelBrowser(); cancelAllocator() }}
	if err := chromedp.Run(ctx); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// window opens a window that shares no storage with others. chromedp would open a tab, which needs an existing
// window.
func (b *browserProcess) window() (target.ID, error) {
	ctx := cdp.WithExecutor(b.context, chromedp.FromContext(b.context).Browser)
	storage, err := target.CreateBrowserContext().WithDisposeOnDetach(true).Do(ctx)
	if err != nil {
		return "", err
	}
	return target.CreateTarget("about:blank").WithBrowserContextID(storage).WithNewWindow(true).Do(ctx)
}

// Close ends the browser.
func (b *browserProcess) Close() (err error) {
	b.cancel()
	for range 600 { // children of the browser may write for a moment after it has ended
		if err = os.RemoveAll(b.folder); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

// openPage opens a page that shares nothing with others, or skips the test if there is no browser. Requests to addresses that start with one of allowed are not recorded.
func openPage(t *testing.T, allowed ...string) *browserPage {
	t.Helper()
	b, err := browser()
	if errors.Is(err, errNone) {
		needs.Skip(t, needs.Browser, err)
	} else if err != nil {
		t.Fatal(err)
	}
	window, err := b.window()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(b.context, chromedp.WithTargetID(window))
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 20*time.Minute) // only so that a test that hangs ends
	t.Cleanup(cancel)
	p := &browserPage{T: t, Context: ctx, allowed: append(allowed, "data:", "file:", "blob:")}
	chromedp.ListenTarget(ctx, p.hear)
	p.Do(network.Enable(), log.Enable(), runtime.Enable(), emulation.SetFocusEmulationEnabled(true))
	return p
}

// hear records complaints of the browser.
func (p *browserPage) hear(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		p.seen = append(p.seen, "console: "+string(e.Type))
	case *runtime.EventExceptionThrown:
		p.seen = append(p.seen, "exception: "+e.ExceptionDetails.Error())
	case *log.EventEntryAdded:
		p.seen = append(p.seen, "log: "+e.Entry.Text+" "+e.Entry.URL)
	case *network.EventRequestWillBeSent:
		for _, prefix := range p.allowed {
			if strings.HasPrefix(e.Request.URL, prefix) {
				return
			}
		}
		p.seen = append(p.seen, "request: "+e.Request.URL)
	}
}

// Troubles returns the complaints recorded so far.
func (p *browserPage) Troubles() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.seen...)
}

// Forgive drops recorded complaints that contain a text, for trouble that a test provokes.
func (p *browserPage) Forgive(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var kept []string
	for _, s := range p.seen {
		if !strings.Contains(s, text) {
			kept = append(kept, s)
		}
	}
	p.seen = kept
}

// Do runs commands of the protocol and fails the test on an error.
func (p *browserPage) Do(actions ...chromedp.Action) {
	p.Helper()
	if err := chromedp.Run(p.Context, actions...); err != nil {
		p.Fatal(err)
	}
}

// Media sets the width of the screen, the colour scheme and the medium.
func (p *browserPage) Media(width int, scheme, medium string) {
	p.Helper()
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
	p.Do(emulation.SetDeviceMetricsOverride(int64(width), 800, 1, width < 500),
		emulation.SetEmulatedMedia().WithMedia(medium).WithFeatures(features))
}

// String runs a script and returns its text.
func (p *browserPage) String(script string) string {
	p.Helper()
	var s string
	p.Do(chromedp.Evaluate(script, &s))
	return s
}

// Number runs a script and returns its number.
func (p *browserPage) Number(script string) float64 {
	p.Helper()
	var v float64
	p.Do(chromedp.Evaluate(script, &v))
	return v
}

// Shot saves a screenshot of the whole page in the folder HASHGROVE_SHOTS, for people to look at.
func (p *browserPage) Shot(name string) {
	p.Helper()
	var png []byte
	p.Do(chromedp.FullScreenshot(&png, 100))
	if len(png) < 20_000 {
		p.Errorf("the screenshot %s has only %d bytes: is the page empty?", name, len(png))
	}
	p.Keep(name+".png", png)
}

// Keep writes a file into the folder HASHGROVE_SHOTS, if set.
func (p *browserPage) Keep(name string, content []byte) {
	p.Helper()
	folder := os.Getenv("HASHGROVE_SHOTS")
	if folder == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(folder, name), content, 0o666); err != nil {
		p.Fatal(err)
	}
}

// widest is a script that finds elements wider than the screen, outside parts that scroll on their own.
const widest = `[...document.querySelectorAll('body *')]
	.filter(e => e.getBoundingClientRect().right > innerWidth+1 && !e.closest('.scroll'))
	.slice(0, 3).map(e => e.outerHTML.slice(0, 80)).join(' ')`
