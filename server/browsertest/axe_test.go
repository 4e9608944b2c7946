package browsertest

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
	"testing"

	"github.com/chromedp/chromedp"

	"hashgrove/report/browsertest/chrome"
)

// axeVersion is the release of axe-core, the checker of accessibility, that the tests run.
const axeVersion = "4.14.0"

// axeScript is axe-core, which npm downloads as an archive: nothing of it is installed or run outside the browser.
var axeScript = sync.OnceValues(func() (string, error) {
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

// checkAxe lets axe look at the page as it is. Only trifles are allowed. Without npm, or without a network, the page is
// not looked at, unless that is required.
func (v *visitor) checkAxe(where string) {
	v.Helper()
	script, err := axeScript()
	if err != nil {
		if chrome.Required() {
			v.Fatal(err)
		}
		v.Logf("accessibility is not checked with axe: %v", err)
		return
	}
	for _, f := range v.axe(script) {
		if f.Impact != "minor" {
			v.Errorf("%s: axe reports %s (%s): %s %q", where, f.ID, f.Impact, f.Help, f.Nodes)
		}
	}
}

// finding is a rule of axe that the page breaks, and where.
type finding struct {
	ID, Impact, Help string
	Nodes            []string
}

func (v *visitor) axe(script string) (found []finding) {
	v.Helper()
	v.Do(chromedp.Evaluate(script+"; null", nil))
	answer := v.evaluate(`axe.run().then(r => JSON.stringify(r.violations.map(v => ({
		id: v.id, impact: v.impact, help: v.help,
		nodes: v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + ' ' + (n.failureSummary || '').slice(0, 300))}))))`)
	if err := json.Unmarshal([]byte(answer), &found); err != nil {
		v.Fatal(err)
	}
	return found
}

// TestAxeSeesTrouble checks that the check can fail.
func TestAxeSeesTrouble(t *testing.T) {
	v := visit(t, serve(t, nil), "")
	v.hits()
	script, err := axeScript()
	if err != nil && !chrome.Required() {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	v.Do(chromedp.Evaluate(`document.querySelector('main').append(document.createElement('input'))`, nil))
	for _, f := range v.axe(script) {
		if f.ID == "label" && f.Impact != "minor" {
			return
		}
	}
	t.Error("axe does not see a field without a label")
}
