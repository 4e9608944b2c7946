package browsertest

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"hashgrove/server"
)

// views are addresses of all that these tests know of the page.
var views = map[string]string{
	"browse": "#/search?c=shapes", "results": "#/search?c=shapes&id=shapes.tar/ring/03.png",
	"hostile":    "#/search?c=shop&id=17",
	"why":        "#/why?c=shapes&id=shapes.tar/ring/03.png&item=shapes.tar/bar/01.png",
	"no reasons": "#/why?c=shop&id=17&item=18", "why empty": "#/why?c=shop",
	"collection": "#/collection?c=shapes", "collection hostile": "#/collection?c=shop",
}

// settled waits until a view has its answers.
func (v *visitor) settled(name string) {
	v.Helper()
	switch {
	case strings.HasPrefix(name, "why empty"):
		v.read(".notice", "compare two items")
	case strings.HasPrefix(name, "why"), strings.HasPrefix(name, "no reasons"):
		v.read("h2", "bit by bit")
	case strings.HasPrefix(name, "collection"):
		v.read("h2", "Recent writes")
	default:
		v.hits()
		v.see(`document.querySelectorAll('.value').length > 0`)
	}
}

// looks checks a view on a laptop and a phone, in light and dark: nothing sticks out, and axe finds nothing serious.
func (v *visitor) looks(name string) {
	v.Helper()
	var grounds []string
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int{360, 1280} {
			v.Media(width, scheme, "screen")
			v.see(`document.documentElement.dataset.theme === '` + scheme + `'`)
			if wide := v.Number(`document.documentElement.scrollWidth`); wide > float64(width) {
				v.Errorf("%s: %v pixels wide on a screen of %d: %s", name, wide, width, v.String(widest))
			}
			v.see(`new Set(Array.from(document.querySelectorAll('.tabs button:not([hidden])'), (b) => b.offsetTop)).size === 1`)
			v.see(`Array.from(document.querySelectorAll('#query')).every((q) => q.scrollHeight <= q.clientHeight)`)
			v.look(strings.ReplaceAll(name, " ", "-") + map[int]string{1280: "-", 360: "-phone-"}[width] + scheme)
		}
		grounds = append(grounds, v.String(`getComputedStyle(document.documentElement).backgroundColor`))
		v.CheckAxe(name + ", " + scheme)
	}
	if grounds[0] == grounds[1] {
		v.Errorf("%s: light and dark have the same ground: %v", name, grounds)
	}
	v.Media(1280, "light", "screen")
}

func TestLooks(t *testing.T) {
	for name, hash := range views {
		t.Run(name, func(t *testing.T) {
			v := visit(t, serve(t, nil), hash)
			v.settled(name)
			v.looks(name)
			v.end()
		})
	}
}

// TestThemeSwitch presses the switch: it wins over the system, also after a reload.
func TestThemeSwitch(t *testing.T) {
	v := visit(t, serve(t, nil), "")
	v.hits()
	v.click("#theme")
	v.see(`document.documentElement.dataset.theme === 'dark' && document.getElementById('theme').ariaPressed === 'true'`)
	v.Do(chromedp.Reload())
	v.see(`document.documentElement.dataset.theme === 'dark'`)
	v.click("#theme")
	v.see(`document.documentElement.dataset.theme === 'light'`)
	v.end()
}

// TestKeyboard uses the page without a mouse.
func TestKeyboard(t *testing.T) {
	v := visit(t, serve(t, nil), "#/search?c=shapes")
	v.hits()
	// Where the first press of the tabulator leads differs between versions of browsers; after this it is the beginning.
	v.Do(chromedp.Evaluate(`(() => {
		const first = document.createElement('button');
		document.body.prepend(first);
		first.focus();
		first.remove();
	})()`, nil))
	v.key(kb.Tab)
	v.see(`document.activeElement.className === 'skip' && document.activeElement.getBoundingClientRect().left >= 0`)
	v.key(kb.Enter)
	v.see(`document.activeElement.id === 'main' && location.hash.startsWith('#/search')`)
	v.tab("#query")
	v.Do(chromedp.KeyEvent("shapes.tar/bar/02.png"))
	v.key(kb.Enter)
	v.read("h2", "Nearest to item shapes.tar/bar/02.png")
	v.tab(".value")
	v.key(kb.Enter)
	v.see(`document.getElementById('where').value !== ''`)
	v.see(`document.activeElement.matches('.value[aria-pressed="true"]')`) // the focus stays although counts came in
	v.key(" ")
	v.see(`document.getElementById('where').value === ''`)
	v.hits()
	v.tab(".hit-why")
	if outline := v.String(`getComputedStyle(document.activeElement).outlineStyle`); outline != "solid" {
		t.Errorf("the outline of what has the focus is %s", outline)
	}
	v.key(kb.Enter)
	v.read("h2", "bit by bit")
	v.tab(".cell")
	v.key(kb.ArrowRight)
	v.key(kb.Enter)
	v.see(`document.activeElement.matches('.cell[aria-pressed="true"]')`)

	v.focus(`[role="tab"][aria-selected="true"]`)
	v.key(kb.ArrowLeft)
	v.key(kb.Enter)
	v.see(`document.activeElement.id === 'tab-search' && !document.getElementById('panel-search').hidden`)
	v.read("h2", "Nearest to item shapes.tar/bar/02.png") // as it was left
	v.key(kb.End)
	v.see(`document.activeElement === [...document.querySelectorAll('[role="tab"]')].filter(t => !t.hidden).at(-1)`)
	v.end()
}

// TestCollections goes from one collection to the other.
func TestCollections(t *testing.T) {
	v := visit(t, serve(t, nil), "#/search?c=shapes&id=shapes.tar/ring/03.png")
	v.read("h2", "Nearest to item shapes.tar/ring/03.png")
	v.choose("#collections", "shop")
	v.read("h2", "Pick an item")
	v.see(`location.hash.includes('c=shop') && document.querySelector('.hit .attributes')`)
	v.back()
	v.read("h2", "Nearest to item shapes.tar/ring/03.png")
	v.see(`document.getElementById('collections').value === 'shapes'`)
	v.Do(chromedp.Navigate("about:blank"), chromedp.Navigate(v.address+"/#/search?c=gone"))
	v.read("#status", "There is no collection gone: this is shapes.")
	v.hits()
	v.end()
}

// TestToken asks for the token, refuses a wrong one, shows pictures with the right one, and forgets nothing on reload.
func TestToken(t *testing.T) {
	address := serve(t, func(o *server.Options) { o.ReadToken, o.WriteToken = "let me read", "let me write" })
	v := visit(t, address, "#/search?c=shapes&id=shapes.tar/ring/03.png")
	v.see(`document.getElementById('token').open && document.activeElement.id === 'token-value'`)
	v.look("token")
	v.Do(chromedp.KeyEvent("guess"))
	v.key(kb.Enter)
	v.read("#token-problem", "did not accept")
	v.key(kb.Escape)
	v.Do(chromedp.KeyEvent("let me read"))
	v.key(kb.Enter)
	v.read("h2", "Nearest to item shapes.tar/ring/03.png")
	v.see(`[...document.querySelectorAll('.hit img')].slice(0, 8).every(i => i.naturalWidth > 40)`)
	v.Do(chromedp.Reload())
	v.read("h2", "Nearest to item shapes.tar/ring/03.png")
	v.press("[role=tab]", "Collection")
	v.read("p", "it only reads")
	if n := v.Number(`document.querySelectorAll('.edit-add').length`); n != 0 {
		t.Error("a token that only reads is offered the forms to write")
	}
	if strings.Contains(v.String(`location.href + document.documentElement.outerHTML`), "let me read") {
		t.Error("the token stands in the page or its address")
	}
	v.Forgive("status of 401")
	v.end()
}
