package browsertest

import (
	"archive/zip"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"hashgrove/server"
	"hashgrove/server/workshop"
)

// serveWorkshop starts a service that trains what people upload.
func serveWorkshop(t *testing.T) (address string) {
	return serve(t, func(o *server.Options) { o.Try = workshop.Options{}.Mount })
}

// upload chooses a file as the dialog of the browser would.
func (v *visitor) upload(selector, name string, content []byte) {
	v.Helper()
	path := filepath.Join(v.TempDir(), name)
	if err := os.WriteFile(path, content, 0o666); err != nil {
		v.Fatal(err)
	}
	v.see(fmt.Sprintf(`document.querySelector(%q)`, selector))
	v.pick(selector, path)
}

// stones is a table with a column that says what belongs together, and one that does not.
func stones(rows int) []byte {
	random := rand.New(rand.NewPCG(7, 7))
	var b bytes.Buffer
	b.WriteString("id,weight,width,height,found,stone\n")
	for i := range rows {
		k := i % 4
		fmt.Fprintf(&b, "s%d,%.2f,%.2f,%.2f,%s,%s\n", i, float64(k*k)+random.NormFloat64(), float64(k)+random.Float64(),
			float64(k%2)+random.Float64(), []string{"beach", "hill", "river"}[i%3], []string{"basalt", "flint", "gneiss", "slate"}[k])
	}
	return b.Bytes()
}

// TestTryATable is the first ten minutes of somebody with a table.
func TestTryATable(t *testing.T) {
	v := visit(t, serveWorkshop(t), "#/try")
	v.read("h2", "Choose a file")
	v.looks("try-start")
	v.upload("#try-file", "stones.csv", stones(400))
	v.read("p", "400 rows and 6 columns")
	v.read("table.unbroken", "basalt")
	if label := v.String(`document.getElementById('try-label').value`); label != "stone" {
		t.Errorf("the suggested label is %q", label)
	}
	v.choose("#try-bits", "16")
	v.looks("try-found")
	v.press("button", "Train")
	v.read("h2", "stones.csv can be searched")
	v.looks("try-result")
	v.Do(chromedp.Reload()) // the address holds the upload
	v.read("h2", "stones.csv can be searched")
	v.press("a", "Search it")
	v.see(`document.getElementById('collections').value === 'try-1'`)
	v.hits()
	v.read(".facets, .groups", "beach")
	v.click(".hit .hit-main")
	v.read("h2", "Nearest to item")
	v.Shot("try-search")
	v.back()
	v.hits()
	v.back()
	v.read("h2", "stones.csv can be searched")

	v.press("button", "Train again")
	v.press("button", "Remove the upload")
	v.read("h2", "Choose a file")
	v.see(`![...document.querySelectorAll('#collections option')].some(o => o.value === 'try-1')`)
	v.end()
}

// TestTryPictures uploads a zip of pictures by dropping it, and sees the pictures in the search.
func TestTryPictures(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := range 80 {
		shape := shapes[i%4]
		picture, err := encoded(drawn(shape, random))
		if err != nil {
			t.Fatal(err)
		}
		f, err := z.Create(fmt.Sprintf("my shapes/%s/photo %d.png", shape, i))
		if err == nil {
			_, err = f.Write(picture)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	v := visit(t, serveWorkshop(t), "#/try")
	v.read("h2", "Choose a file")
	v.dropFile(".drop", "shapes.zip", b.Bytes())
	v.read("p", "80 pictures in 4 classes")
	v.looks("try-pictures")
	v.choose("#try-bits", "16")
	v.press("button", "Train")
	v.see(`document.querySelector('.working progress')`)
	v.Shot("try-working")
	v.read("h2", "shapes.zip can be searched")
	v.press("a", "Search it")
	v.hits()
	v.see(`[...document.querySelectorAll('.hit img')].slice(0, 8).every(i => i.complete && i.naturalWidth > 20)`)
	v.Shot("try-pictures-search")
	v.click(".hit .hit-main")
	v.read("h2", "Nearest to")
	v.Forgive("status of 503") // of pictures that were still being made, which the page asks for again
	v.end()
}

// dropFile lets a file fall on a part of the page.
func (v *visitor) dropFile(selector, name string, content []byte) {
	v.Helper()
	v.evaluate(fmt.Sprintf(`(async () => {
		const bytes = new Uint8Array([%s]);
		const data = new DataTransfer();
		data.items.add(new File([bytes], %s));
		for (const type of ['dragover', 'drop'])
			document.querySelector(%q).dispatchEvent(new DragEvent(type, {dataTransfer: data, bubbles: true, cancelable: true}));
		return '';
	})()`, strings.Trim(strings.Join(strings.Fields(fmt.Sprint(content)), ","), "[]"), quoted(name), selector))
}

// TestTryRefusals shows what is wrong in words, also with names that try to break out.
func TestTryRefusals(t *testing.T) {
	v := visit(t, serveWorkshop(t), "#/try")
	v.upload("#try-file", "few.csv", stones(5))
	v.read(".problem", "too few rows")
	v.upload("#try-file", "words.csv", bytes.Repeat([]byte("only,words\n"), 50))
	v.read(".problem", "no column of numbers")
	v.Forgive("status of 400")

	table := strings.NewReplacer("stone\n", "\""+strings.ReplaceAll(hostile.script, `"`, `""`)+"\"\n", "basalt", "<b onclick=x>",
		"weight", "</option><svg onload=x>").Replace(string(stones(80)))
	v.dropFile(".drop", `<img src=x onerror="document.title='owned'">.csv`, []byte(table))
	v.read("h2", "<img src=x")
	v.read("th", "</option><svg onload=x>")
	v.choose("#try-label", hostile.script)
	v.Shot("try-hostile")
	v.choose("#try-bits", "8")
	v.press("button", "Train")
	v.read("h2", "can be searched")
	v.press("a", "Search it")
	v.hits()
	v.read(".value, .hit", "<b onclick=x>")
	v.Do(chromedp.Navigate(v.address + "/#/try?job=99")) // of long ago
	v.read(".problem", "no upload")
	v.Forgive("status of 404")
	v.end()
}
