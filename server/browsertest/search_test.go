package browsertest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func awaiting(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// TestSearchPictures looks at a collection of pictures for the first time: browse, pick, click on, go back, share.
func TestSearchPictures(t *testing.T) {
	address := serve(t, nil)
	v := visit(t, address, "")
	v.read("h2", "Pick an item")
	if n := v.hits(); n != 48 {
		t.Errorf("the first page shows %d items, want 48", n)
	}
	v.see(`[...document.querySelectorAll('.hit img')].slice(0, 8).every(i => i.complete && i.naturalWidth > 40)`)
	if n := v.Number(`new Set([...document.querySelectorAll('.hit-name')].map(e => e.innerText)).size`); n < 3 {
		t.Errorf("the first items are of %v classes", n)
	}
	v.see(`document.querySelector('a.suggested').href.includes('id=')`)
	v.look("browse")
	v.press("button", "Show all")
	v.see(`document.querySelectorAll('.hit').length === 48 && document.querySelector('.said').innerText.includes('in the order')`)
	v.press("button", "Show more")
	v.see(`document.querySelectorAll('.hit').length === 96`)
	v.see(`document.activeElement.closest('.hit')?.dataset.id === document.querySelectorAll('.hit')[48].dataset.id`)

	v.click(`.hit[data-id="shapes.tar/ring/03.png"] .hit-main`)
	v.read("h2", "Nearest to item shapes.tar/ring/03.png")
	v.read(".said", "among 120 items")
	v.read(`.hit[data-id="shapes.tar/ring/03.png"]`, "the query itself")
	if same := v.Number(`document.querySelectorAll('.hit .same').length`); same < 15 {
		t.Errorf("only %v of 24 results are rings: has the model learned nothing?", same)
	}
	v.see(`/^\d+ ring/.test(document.querySelector('.labels-found').innerText)`)
	v.look("results")
	v.choose("#rank", "euclidean")
	v.read(".distance", "score 0")
	v.back()
	v.see(`!document.querySelector('.distance').innerText.includes('score')`)

	second := v.String(`[...document.querySelectorAll('.hit')].at(-1).dataset.id`)
	v.click(`.hit:last-child .hit-main`) // a result becomes the next query
	v.read("h2", "Nearest to item "+second)
	if !strings.Contains(v.hash(), "id="+second) {
		t.Errorf("the address %s does not hold the query %s", v.hash(), second)
	}
	v.back()
	v.read("h2", "Nearest to item shapes.tar/ring/03.png")
	v.back()
	v.read("h2", "Pick an item")
	v.Do(chromedp.Evaluate(`history.forward()`, nil))
	v.read("h2", "Nearest to item shapes.tar/ring/03.png")

	shared := v.String(`location.href`)
	found := v.String(`[...document.querySelectorAll('.hit')].map(h => h.dataset.id).join()`)
	v.end()
	w := visit(t, address, strings.TrimPrefix(shared, address+"/")) // another person opens the link
	w.read("h2", "Nearest to item shapes.tar/ring/03.png")
	w.hits()
	if again := w.String(`[...document.querySelectorAll('.hit')].map(h => h.dataset.id).join()`); again != found {
		t.Errorf("a shared link shows %s instead of %s", again, found)
	}
	w.end()
}

// TestSearchWithPicture gives the page a picture of its own: from a file, dropped, and pasted.
func TestSearchWithPicture(t *testing.T) {
	address := serve(t, nil)
	v := visit(t, address, "#/search?c=shapes")
	v.hits()
	random := rand.New(rand.NewPCG(9, 9))
	file := filepath.Join(t.TempDir(), "mine.png")
	cross, err := encoded(drawn("cross", random))
	if err := errors.Join(err, os.WriteFile(file, cross, 0o666)); err != nil {
		t.Fatal(err)
	}
	square, err := encoded(drawn("square", random))
	if err != nil {
		t.Fatal(err)
	}
	v.pick("#picture", file)
	v.read("h2", "Nearest items")
	if first := v.String(`document.querySelector('.hit-name').innerText`); first != "cross" {
		t.Errorf("a cross finds a %s first", first)
	}
	v.see(`document.querySelector('.about-query img')?.naturalWidth === 48`)
	if h := v.hash(); !strings.Contains(h, "code=") {
		t.Errorf("the address %s does not hold the code of the picture", h)
	}
	v.look("picture")

	v.drop(square)
	v.see(`document.querySelector('.hit-name')?.innerText === 'square'`)
	v.back()
	v.see(`document.querySelector('.hit-name')?.innerText === 'cross'`)
	v.see(`document.querySelector('.about-query img')`)
	v.paste(square)
	v.see(`document.querySelector('.hit-name')?.innerText === 'square'`)
	v.back()
	v.see(`document.querySelector('.hit-name')?.innerText === 'cross'`)

	v.choose("#rank", "margins") // the page still has the picture, not the code alone
	v.see(`location.hash.includes('rank=margins')`)
	v.read(".distance", "weighted")
	v.end()

	v.drop([]byte("this is no picture"))
	v.read("#query-problem", "picture")
	v.Forgive("status of 400")
	v.end()
}

// TestSearchVectors asks by id, by vector and by code, in a collection without pictures.
func TestSearchVectors(t *testing.T) {
	address := serve(t, nil)
	v := visit(t, address, "#/search?c=shop")
	v.hits()
	v.fill("#query", "17")
	v.press(".query button", "Search")
	v.read("h2", "Nearest to item 17")
	v.see(`document.querySelector('.hit .attributes')`)
	if list := v.rankings(); list != ",hamming,expected" { // no vector is known, which the others need
		t.Errorf("an id without a vector can be ranked by %s", list)
	}
	v.look("cards")

	for _, text := range []string{"[3, 0, 0, 3, 0, 0]", "3 0\t0, 3;0 0"} {
		v.fill("#query", text)
		v.key(kb.Enter)
		v.read("h2", "Nearest items")
		if h := v.hash(); !strings.Contains(h, "vector=3,0,0,3,0,0") {
			t.Errorf("the address %s does not hold the vector %s", h, text)
		}
	}
	v.fill("#query", "1 2 3 4")
	v.key(kb.Enter)
	v.read("#query-problem", "the model takes 6")
	code := v.String(`document.querySelector('.about-query .code').innerText`)
	v.fill("#query", "0x"+code)
	v.key(kb.Enter)
	v.see(`location.hash.includes('code=` + code + `')`)
	v.hits()

	v.fill("#query", "9007199254740993") // JavaScript would round this id
	v.key(kb.Enter)
	v.read("h2", "Nearest to item 9007199254740993")
	v.Do(chromedp.Evaluate(`location.hash += '&k=100&rank=hamming'`, nil)) // many have its code, and lower ids
	v.see(`document.querySelector('.hit[data-id="9007199254740993"]')`)
	v.end()

	v.fill("#query", "no such thing")
	v.key(kb.Enter)
	v.read(".said", "no such thing")
	v.see(`document.querySelector('.about-query').childElementCount === 0`) // nothing of the query before
	for _, part := range []string{"boo", "OOT"} {                           // of a label
		v.fill("#query", part)
		v.key(kb.Enter)
		v.read("h2", "No item has the id "+part)
		v.see(`[...document.querySelectorAll('.hit-name')].length > 0 && [...document.querySelectorAll('.hit-name')].every(e => e.innerText === 'boots')`)
	}
	v.Forgive("status of 404")
	v.end()
}

// rankings lists the rankings that the page offers.
func (v *visitor) rankings() string {
	v.Helper()
	return v.String(`[...document.querySelectorAll('#rank option')].map(o => o.value).join()`)
}

// TestRankings tries every ranking, with bits of detail and without.
func TestRankings(t *testing.T) {
	v := visit(t, serve(t, nil), "#/search?c=shapes&id=shapes.tar/ring/03.png")
	v.hits()
	if list := v.rankings(); list != ",hamming,margins,expected,euclidean,cosine" {
		t.Errorf("an item with a vector can be ranked by %s", list)
	}
	v.see(`/ranked by (the expected code|margins|Hamming distance)\./.test(document.querySelector('.said').innerText)`)
	v.see(`[...document.querySelectorAll('.distance')].every(d => /^\d+ bits?, look \d+$/.test(d.innerText))`)
	v.see(`document.querySelector('.distance').title.endsWith('of 16 bits of detail (look) differ')`)
	v.see(`document.querySelectorAll('.code-class, .code-detail').length === 2`)
	for _, ranking := range [][2]string{{"margins", "margins"}, {"hamming", "Hamming distance"}, {"expected", "the expected code"}} {
		rank, name := ranking[0], ranking[1]
		v.choose("#rank", rank)
		v.see("location.hash.includes('rank=" + rank + "')")
		v.read(".said", "ranked by "+name+".")
		v.see(`[...document.querySelectorAll('.distance')].every(d => d.innerText.includes(', look ') &&
			d.innerText.includes('weighted') === ` + fmt.Sprint(rank != "hamming") + `)`)
		v.see(`!document.querySelector('.said').innerText.includes('exactly the same code')`)
	}
	code := v.String(`document.querySelector('.about-query .code').innerText`) // in two parts
	v.fill("#query", "0x"+code)
	v.key(kb.Enter)
	v.see(`location.hash.includes('code=` + strings.ReplaceAll(code, " ", "") + `')`)
	v.hits()
	v.see(`document.querySelector('.slider + .slider input').max === '24'`) // a radius counts bits of the class

	v.Do(chromedp.Navigate(v.address + "/#/search?c=shop&id=17&rank=hamming"))
	v.read(".said", "ranked by Hamming distance.")
	v.see(`[...document.querySelectorAll('.distance')].every(d => /^\d+ bits?$/.test(d.innerText))`)
	v.see(`/are tied at|exactly the same code/.test(document.querySelector('.said').innerText)`)
	v.end()
}

// TestFilter builds a filter by clicking, with labels that look like parts of the language, and by writing.
func TestFilter(t *testing.T) {
	v := visit(t, serve(t, nil), "#/search?c=shop&id=17")
	v.hits()
	v.press(".value", "boots")
	v.see(`document.getElementById('where').value === 'label = "boots"'`)
	v.read(".matches", "30 of 210 items match")
	v.see(`document.querySelectorAll('.hit').length === 24 && [...document.querySelectorAll('.hit-name')]
		.every(n => n.innerText.startsWith('boots'))`)
	v.see(`[...document.querySelectorAll('.value')].find(b => b.innerText.includes('coats')).innerText.includes('30')`)

	v.press(".value", `"double"`) // a second label means either
	v.read(".matches", "60 of 210 items match")
	v.press(".value", "boots")
	v.read(".matches", "30 of 210 items match")
	if where := v.String(`document.getElementById('where').value`); !strings.Contains(where, `"\"double\" 'single'`) {
		t.Errorf("the filter is %s", where)
	}
	v.see(`document.querySelector('.hit-name').innerText.includes('"double"')`)
	v.press(".value", "</li><svg") // and a tag as well
	v.see(`document.getElementById('where').value.includes(' and tag = "</li>')`)
	v.see(`document.querySelectorAll('.hit').length > 0 && document.querySelectorAll('.hit').length < 24`)
	v.fill("#where", `price > 1000`)
	v.key(kb.Enter)
	v.read(".said", "Nothing was found")

	v.fill("#where", `price between 10 and 12`)
	v.key(kb.Enter)
	v.see(`document.querySelector('[data-key="price:low"]').value === '10'`)
	v.fill(`[data-key="price:high"]`, "20")
	v.key(kb.Enter)
	v.see(`document.getElementById('where').value === 'price between 10 and 20'`)
	v.see(`[...document.querySelectorAll('.attributes div')].filter(d => d.innerText.startsWith('price'))
		.every(d => { const p = Number(d.querySelector('dd').innerText); return p >= 10 && p <= 20; })`)
	v.look("filter")
	v.press(".more", "Any")
	v.see(`document.getElementById('where').value === ''`)
	v.click(".histogram") // its middle
	v.see("/ between | [<>]= /.test(document.getElementById('where').value)")
	v.end()

	v.fill("#where", `label = "unfinished`)
	v.key(kb.Enter)
	v.read("#where-problem", "closing quote")
	v.Forgive("status of 400")
	v.end()
}

// TestFilterText checks the reading and writing of filters against the server: what a button writes is understood, and
// finds what was clicked on.
func TestFilterText(t *testing.T) {
	v := visit(t, serve(t, nil), "#/search?c=shop")
	v.hits()
	result := v.evaluate(`(async () => {
		const f = await import('/assets/filter.js');
		const facets = async (where) => (await fetch('/v1/collections/shop/facets?' + new URLSearchParams(where && {where}))).json();
		const wrong = [], all = await facets('');
		const check = async (what, where, count) => {
			const got = await facets(where);
			if (got.items !== count) wrong.push(what + ' ' + where + ': ' + JSON.stringify(got.items ?? got) + ', not ' + count);
			if (f.join(f.parse(where)) !== where) wrong.push('read and written again: ' + where);
		};
		for (const l of all.labels) await check('label', f.toggle('', 'label', l.value), l.count);
		for (const l of all.tags) await check('tag', f.toggle('', 'tag', l.value), l.count);
		for (const a of all.attributes) {
			for (const x of a.values || []) await check(a.name, f.toggle('', a.name, x.value), x.count);
			if (a.min !== undefined) await check(a.name, f.setRange('', a.name, a.min, a.max), a.count);
		}
		const two = all.labels.slice(0, 2).reduce((text, l) => f.toggle(text, 'label', l.value), 'price >= 0 or id = 1');
		await check('two labels', two, all.labels[0].count + all.labels[1].count);
		return wrong.join('\n');
	})()`)
	if result != "" {
		t.Error(result)
	}
	v.end()
}
