package chrome

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"hashgrove/internal/needs"
)

// axeVersion is the release of axe-core, the checker of accessibility, that the tests run.
const axeVersion = "4.14.0"

// AxeScript is axe-core, which npm downloads as an archive: nothing of it is installed or run outside the browser.
var AxeScript = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "hashgrove-axe-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	pack := exec.Command("npm", "pack", "--ignore-scripts", "--silent", "--pack-destination", dir, "axe-core@"+axeVersion)
	pack.Dir = dir
	if output, err := pack.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm cannot download axe-core (make setup installs npm on Debian): %w %s", err, output)
	}
	f, err := os.Open(filepath.Join(dir, "axe-core-"+axeVersion+".tgz"))
	if err != nil {
		return "", err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return "", err
	}
	for archive := tar.NewReader(z); ; {
		h, err := archive.Next()
		if err != nil {
			return "", fmt.Errorf("the archive of axe-core has no axe.min.js: %w", err)
		}
		if h.Name == "package/axe.min.js" {
			script, err := io.ReadAll(archive)
			return string(script), err
		}
	}
})

// CheckAxe lets axe look at the page as it is. Only trifles are allowed. Without npm, or without a network, the page is
// not looked at, unless that is required.
func (p *Page) CheckAxe(where string) {
	p.Helper()
	script, err := AxeScript()
	if err != nil {
		needs.Missing(p.T, needs.Browser, "accessibility is not checked with axe:", err)
		return
	}
	for _, f := range p.Axe(script) {
		if f.Impact != "minor" {
			p.Errorf("%s: axe reports %s (%s): %s %q", where, f.ID, f.Impact, f.Help, f.Nodes)
		}
	}
}

// Finding is a rule of axe that the page breaks, and where.
type Finding struct {
	ID, Impact, Help string
	Nodes            []string
}

// Axe is what axe finds.
func (p *Page) Axe(script string) (found []Finding) {
	p.Helper()
	answer := ""
	await := func(e *runtime.EvaluateParams) *runtime.EvaluateParams { return e.WithAwaitPromise(true) }
	p.Do(chromedp.Evaluate(script+"; null", nil))
	p.Do(chromedp.Evaluate(`axe.run().then(r => JSON.stringify(r.violations.map(v => ({
		id: v.id, impact: v.impact, help: v.help,
		nodes: v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + ' ' + (n.failureSummary || '').slice(0, 300))}))))`,
		&answer, await))
	if err := json.Unmarshal([]byte(answer), &found); err != nil {
		p.Fatal(err)
	}
	return found
}
