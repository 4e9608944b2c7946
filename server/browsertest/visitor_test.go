package browsertest

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// visitor is a person at the page: it clicks, types and looks.
type visitor struct {
	*browserPage
	address string
}

// visit opens the page of a service at an address such as #/search?c=shop.
func visit(t *testing.T, address, hash string) *visitor {
	t.Helper()
	v := &visitor{openPage(t, address+"/"), address}
	v.Media(1280, "light", "screen")
	v.Do(chromedp.Navigate(address + "/" + hash))
	return v
}

// end checks what holds for every visit: the browser complained about nothing, and no other host was asked.
func (v *visitor) end() {
	v.Helper()
	for _, trouble := range v.Troubles() {
		v.Errorf("the browser reports %s", trouble)
	}
	if title := v.String(`document.title`); strings.Contains(title, "owned") {
		v.Errorf("a text of the data ran as a script: the title is %q", title)
	}
}

// see waits until a script is true.
func (v *visitor) see(script string) {
	v.Helper()
	deadline := time.Now().Add(3 * time.Minute)
	for {
		var yes bool
		err := chromedp.Run(v.Context, chromedp.Evaluate("Boolean("+script+")", &yes))
		if err == nil && yes {
			return
		}
		if time.Now().After(deadline) {
			v.look("failed")
			v.Fatalf("this did not come true: %s (%v)\nthe page says: %.1500s", script, err,
				v.String(`document.querySelector('main').innerText + ' | ' + document.getElementById('status').innerText`))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// read waits for text in the part of the page that the selector names.
func (v *visitor) read(selector, text string) {
	v.Helper()
	v.see(fmt.Sprintf(`[...document.querySelectorAll(%s)].some(e => e.innerText.includes(%s))`,
		strconv.Quote(selector), quoted(text)))
}

// click presses the mouse on the middle of an element, once it stands still. The page draws parts of itself anew, so the
// element is looked up and measured in one step: a node that a first command has found may be gone in the second.
func (v *visitor) click(selector string) {
	v.Helper()
	still := fmt.Sprintf(`(() => {
		const e = document.querySelector(%s), before = window.aim;
		e?.scrollIntoView({block: 'center', behavior: 'instant'});
		const at = e?.getBoundingClientRect();
		window.aim = at && [at.x + at.width / 2, at.y + at.height / 2];
		return at?.width && before && before[0] === aim[0] && before[1] === aim[1];
	})()`, strconv.Quote(selector))
	v.Do(chromedp.Evaluate(`delete window.aim`, nil))
	v.see(still)
	v.Do(chromedp.MouseClickXY(v.Number(`aim[0]`), v.Number(`aim[1]`)))
}

// focus puts the focus on an element.
func (v *visitor) focus(selector string) {
	v.Helper()
	v.see(fmt.Sprintf(`(() => {
		const e = document.querySelector(%s);
		e?.focus();
		return e && document.activeElement === e;
	})()`, strconv.Quote(selector)))
}

// pick gives files to a field for files.
func (v *visitor) pick(selector string, paths ...string) {
	v.Helper()
	for try := range 20 {
		err := chromedp.Run(v.Context, chromedp.SetUploadFiles(selector, paths, chromedp.ByQuery))
		if err == nil {
			return
		} else if try == 19 || !strings.Contains(err.Error(), "node") { // it was drawn anew between two commands
			v.Fatal(err)
		}
	}
}

// press clicks on the button or link with a text.
func (v *visitor) press(inside, text string) {
	v.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll(%s)].find(e => e.checkVisibility() && e.innerText.includes(%s))`,
		strconv.Quote(inside), quoted(text))
	v.see(`!document.querySelector('[aria-busy]')`) // what is pressed should not be replaced meanwhile
	v.see(`(() => {
		document.querySelectorAll('[data-aim]').forEach(e => e.removeAttribute('data-aim'));
		const e = ` + find + `;
		e?.setAttribute('data-aim', '');
		return e;
	})()`)
	v.click("[data-aim]")
}

// fill types into a field, over what it holds.
func (v *visitor) fill(selector, text string) {
	v.Helper()
	v.focus(selector)
	v.Do(chromedp.Evaluate(fmt.Sprintf(`document.querySelector(%q).select()`, selector), nil), input.InsertText(text))
}

// choose takes an option of a list.
func (v *visitor) choose(selector, value string) {
	v.Helper()
	v.see(fmt.Sprintf(`(() => {
		const e = document.querySelector(%s);
		if (e) e.value = %s;
		return e && e.value === %[2]s && (e.dispatchEvent(new Event('change')), true);
	})()`, strconv.Quote(selector), quoted(value)))
}

// key presses a key where the focus is.
func (v *visitor) key(key string) {
	v.Helper()
	v.Do(chromedp.KeyEvent(key))
}

// hits waits for results and returns how many there are.
func (v *visitor) hits() int {
	v.Helper()
	v.see(`document.querySelectorAll('.hit:not(.waiting)').length > 0 && !document.querySelector('[aria-busy]')`)
	return int(v.Number(`document.querySelectorAll('.hit').length`))
}

func (v *visitor) hash() string {
	v.Helper()
	return v.String(`decodeURIComponent(location.hash.replaceAll('+', ' '))`)
}

func (v *visitor) back() {
	v.Helper()
	v.Do(chromedp.Evaluate(`history.back()`, nil))
}

// drop lets a picture fall on the page, as from a window of files.
func (v *visitor) drop(picture []byte) {
	v.Helper()
	v.give(picture, `new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true})`)
}

// paste pastes a picture into the page.
func (v *visitor) paste(picture []byte) {
	v.Helper()
	v.give(picture, `new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true})`)
}

func (v *visitor) give(picture []byte, event string) {
	v.Helper()
	v.Do(chromedp.Evaluate(`(() => {
		const bytes = Uint8Array.from(atob('`+base64.StdEncoding.EncodeToString(picture)+`'), c => c.charCodeAt(0));
		const data = new DataTransfer();
		data.items.add(new File([bytes], 'given.png', {type: 'image/png'}));
		document.querySelector('main').dispatchEvent(`+event+`);
	})()`, nil))
}

// tab presses the tabulator until what has the focus matches a selector.
func (v *visitor) tab(selector string) {
	v.Helper()
	for range 80 {
		v.key(kb.Tab)
		var there bool
		v.Do(chromedp.Evaluate(fmt.Sprintf(`document.activeElement.matches(%s)`, strconv.Quote(selector)), &there))
		if there {
			return
		}
	}
	v.Fatalf("the tabulator does not reach %s", selector)
}

// look keeps a screenshot where a folder for them is named.
func (v *visitor) look(name string) {
	v.Helper()
	if os.Getenv("HASHGROVE_SHOTS") != "" {
		v.Shot(name)
	}
}

// quoted is a text as a literal of JavaScript.
func quoted(s string) string { return "decodeURIComponent('" + escaped(s) + "')" }

func escaped(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}

// evaluate runs a script that may wait for something and returns its text.
func (v *visitor) evaluate(script string) string {
	v.Helper()
	var s string
	v.Do(chromedp.ActionFunc(func(ctx context.Context) error {
		return chromedp.Evaluate(script, &s, awaiting).Do(ctx)
	}))
	return s
}
