package browsertest

import (
	"testing"

	"github.com/chromedp/chromedp"

	"hashgrove/internal/testkit/needs"
	"hashgrove/server/browsertest/chrome"
)

// checkAxe lets axe look at the page as it is.
func (v *visitor) checkAxe(where string) {
	v.Helper()
	v.CheckAxe(where)
}

// TestAxeSeesTrouble checks that the check can fail.
func TestAxeSeesTrouble(t *testing.T) {
	v := visit(t, serve(t, nil), "")
	v.hits()
	script, err := chrome.AxeScript()
	if err != nil {
		needs.Skip(t, needs.Axe, err)
	}
	v.Do(chromedp.Evaluate(`document.querySelector('main').append(document.createElement('input'))`, nil))
	for _, f := range v.Axe(script) {
		if f.ID == "label" && f.Impact != "minor" {
			return
		}
	}
	t.Error("axe does not see a field without a label")
}
