package browsertest

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"hashgrove/server"
)

// TestWhy opens the reasons of a result.
func TestWhy(t *testing.T) {
	v := visit(t, serve(t, nil), "#/search?c=shapes&id=shapes.tar/ring/03.png&k=100")
	v.hits()
	v.click(`.hit:last-child .hit-why`)
	v.read("h2", "bit by bit")
	v.read("h3", "Class: 24 bits")
	v.read("h3", "Look: 16 bits of detail")
	if n := v.Number(`document.querySelectorAll('.code-picture:first-of-type .cell:not(.detail)').length`); n != 24 {
		t.Errorf("the code has %v cells of the class, want 24", n)
	}
	if n := v.Number(`document.querySelectorAll('.code-picture:last-of-type .cell.detail').length`); n != 16 {
		t.Errorf("the code has %v cells of detail, want 16", n)
	}
	differ := v.String(`String(document.querySelectorAll('.cell.differ:not(.detail)').length)`)
	look := v.String(`String(document.querySelectorAll('.cell.detail.differ').length)`)
	said := v.String(`document.querySelector('.panel-why h2').innerText`)
	if want := " of 24 of the class and " + look + " of 16 of the look differ"; !strings.HasPrefix(said, differ+" bit") ||
		!strings.HasSuffix(said, want) {
		t.Errorf("%s and %s cells differ, and the heading says %s", differ, look, said)
	}
	v.click(".cell.detail")
	v.read(".reasons h3", "Detail bit 24")
	v.read(".reasons", "side of a plane")
	v.focus(`.cell[aria-pressed="true"]`) // the arrows go from one part to the other
	v.key(kb.ArrowLeft)
	v.key(kb.Enter)
	v.read(".reasons h3", "Bit 23")
	v.see(`document.querySelectorAll('.look img').length === 2`)
	v.see(`[...document.querySelectorAll('.look img')].every(i => i.naturalWidth > 40)`)
	v.read("figcaption", "ring")
	v.see(`document.querySelectorAll('.reasons tbody tr').length > 0`)
	v.click(".cell:not(.differ)")
	v.read(".reasons h3", "both are")
	v.press("a", "To the results")
	v.read("h2", "Nearest to item shapes.tar/ring/03.png")

	v.press("[role=tab]", "Why") // as it was left
	v.read("h2", "bit by bit")
	v.fill("#why-query", "shapes.tar/bar/01.png")
	v.fill("#why-item", "shapes.tar/bar/01.png")
	v.key(kb.Enter)
	v.read("h2", "No bit differs")
	v.end()
}

// TestCollectionView reads what is said about a collection.
func TestCollectionView(t *testing.T) {
	v := visit(t, serve(t, nil), "#/collection?c=shapes")
	v.read("h2", "Recent writes")
	v.see(`document.querySelector('.tiles').innerText.includes('120')`)
	v.read(".tiles", "bits of detail")
	v.read(".pairs", "fasthash")
	v.read(".pairs", "24 of the class, 16 of detail")
	v.read("h2", "What training measured")
	v.see(`document.querySelectorAll('.bars li').length > 3`)
	v.end()
}

// TestChangeItems adds an item, finds it, changes it and deletes it, each by hand.
func TestChangeItems(t *testing.T) {
	v := visit(t, serve(t, nil), "#/collection?c=shop")
	v.fill(".edit-add [name=id]", hostile.id+"2")
	v.fill(".edit-add [name=vector]", "3 3 0 3 3 0")
	v.fill(".edit-add [name=label]", "gloves")
	v.fill(".edit-add [name=tags]", "new\nwarm")
	v.fill(".edit-add [name=attributes]", "price = 12.5\nsize = \"7\"")
	v.look("add")
	v.press(".edit-add button", "Add")
	v.read("#status", "is in the collection")
	v.see(`document.querySelector('.tiles').innerText.includes('211')`)
	v.read("table", "put")

	v.press("[role=tab]", "Search")
	v.fill("#query", hostile.id+"2")
	v.key(kb.Enter)
	v.read(".about-query", "gloves")
	v.Do(chromedp.Evaluate(`location.hash += '&k=100&rank=hamming'`, nil)) // many have its code, and lower ids
	v.see(`[...document.querySelectorAll('.hit')].some(h => h.innerText.includes('warm') && h.innerText.includes('12.5'))`)

	v.press("[role=tab]", "Collection")
	v.fill(".edit-change [name=id]", hostile.id+"2")
	v.key(kb.Enter)
	v.see(`document.querySelector('.edit-change [name=tags]').value === 'new\nwarm'`)
	v.see(`document.querySelector('.edit-change [name=attributes]').value === 'price = 12.5\nsize = "7"'`)
	v.fill(".edit-change [name=label]", "mittens")
	v.fill(".edit-change [name=tags]", "warm")
	v.press(".edit-change button", "Save")
	v.read("#status", "has been changed")
	v.press(".edit-change button", "Open")
	v.see(`document.querySelector('.edit-change [name=label]').value === 'mittens' &&
		document.querySelector('.edit-change [name=tags]').value === 'warm'`)

	v.press(".edit-change button", "Delete")
	v.read(".edit-change .notice", "1 item would be deleted")
	v.press(".edit-change .notice button", "Keep")
	v.see(`!document.querySelector('.edit-change .notice')`)
	v.press(".edit-change button", "Delete")
	v.press(".edit-change .notice button", "Delete 1 item")
	v.read("#status", "has been deleted")
	v.see(`document.querySelector('.tiles').innerText.includes('210')`)

	v.fill(".edit-remove [name=where]", `label = "hats" and price > 20`)
	v.press(".edit-remove button", "Show what would go")
	v.read(".edit-remove .notice", "would be deleted")
	v.look("delete")
	v.see(`document.querySelector('.tiles').innerText.includes('210')`) // nothing has gone yet
	v.press(".edit-remove .notice button", "Delete")
	v.read("#status", "have been deleted")
	v.end()

	v.fill(".edit-add [name=id]", "x")
	v.fill(".edit-add [name=vector]", "1 2")
	v.press(".edit-add button", "Add")
	v.see(`document.querySelector('.edit-add .problem').innerText !== ''`)
	v.Forgive("status of 400")
	v.end()
}

// TestReadOnly offers no forms where nothing can be written.
func TestReadOnly(t *testing.T) {
	v := visit(t, serve(t, func(o *server.Options) { o.ReadOnly = true }), "#/collection?c=shop")
	v.read("p", "read-only")
	if n := v.Number(`document.querySelectorAll('.edit-add').length`); n != 0 {
		t.Error("a service that only reads shows the forms to write")
	}
	v.end()
}

// TestHostileTexts looks at labels, tags, ids and attributes that try to be something else than text.
func TestHostileTexts(t *testing.T) {
	v := visit(t, serve(t, nil), "#/search?c=shop")
	v.hits()
	for _, text := range []string{
		hostile.script, hostile.quotes, hostile.backwards, hostile.long, hostile.tag, hostile.attribute,
	} {
		v.see(`document.querySelector('.panel-search').textContent.includes(` + quoted(text) + `)`)
	}
	v.Do(chromedp.Navigate("about:blank"), chromedp.Navigate(v.address+"/#/search?c=shop&id="+escaped(hostile.id)))
	v.read("h2", hostile.id)
	v.hits()
	v.Do(chromedp.Navigate(v.address + "/#/why?c=shop&item=17&id=" + escaped(hostile.id)))
	v.read("h2", "bit by bit")
	const out = `document.querySelectorAll('main script, main iframe, main svg[onload], [onerror], main b, main i').length`
	if n := v.Number(out); n != 0 {
		t.Errorf("%v elements came out of text", n)
	}
	for _, strange := range []string{
		"#/%00?c=../..", "#/search?c=<b>", "#/search?c=shop&id=17&k=-1&radius=zz&rank=%00", "#/why?c=shop&item=%3Cb%3E&id=17",
	} {
		v.Do(chromedp.Navigate("about:blank"), chromedp.Navigate(v.address+"/"+strange))
		v.see(`document.querySelector('[role=tabpanel]:not([hidden])')?.innerText.length > 20`)
	}
	v.Forgive("status of 40")
	v.end()
}
