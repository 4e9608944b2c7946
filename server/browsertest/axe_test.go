package browsertest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"

	"github.com/chromedp/chromedp"

	"hashgrove/internal/testkit/needs"
)

// axeScript returns axe-core, the accessibility checker, as fetched by make setup.
var axeScript = sync.OnceValues(func() (string, error) {
	folder, err := needs.FindPackage(needs.Axe)
	if err != nil {
		return "", err
	}
	script, err := os.ReadFile(filepath.Join(folder, "axe.min.js"))
	return string(script), err
})

// CheckAxe runs axe on the page as it is and allows only minor findings. Without axe the check is skipped, unless it
// is required.
func (p *browserPage) CheckAxe(where string) {
	p.Helper()
	script, err := axeScript()
	if err != nil {
		needs.Missing(p.T, needs.Axe, "accessibility is not checked with axe:", err)
		return
	}
	for _, f := range p.axe(script) {
		if f.Impact != "minor" {
			p.Errorf("%s: axe reports %s (%s): %s %q", where, f.ID, f.Impact, f.Help, f.Nodes)
		}
	}
}

// finding is an axe rule that the page violates, and where.
type finding struct {
	ID, Impact, Help string
	Nodes            []string
}

// axe returns what axe finds.
func (p *browserPage) axe(script string) (found []finding) {
	p.Helper()
	answer := ""
	p.Do(chromedp.Evaluate(script+"; null", nil))
	p.Do(chromedp.Evaluate(`axe.run().then(r => JSON.stringify(r.violations.map(v => ({
		id: v.id, impact: v.impact, help: v.help,
		nodes: v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + ' ' + (n.failureSummary || '').slice(0, 300))}))))`,
		&answer, awaiting))
	if err := json.Unmarshal([]byte(answer), &found); err != nil {
		p.Fatal(err)
	}
	return found
}
