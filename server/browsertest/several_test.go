package browsertest

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// files writes files to a folder of the test and returns their paths.
func files(t *testing.T, names []string, contents [][]byte) []string {
	t.Helper()
	var paths []string
	folder := t.TempDir()
	for i, name := range names {
		paths = append(paths, filepath.Join(folder, name))
		if err := os.WriteFile(paths[i], contents[i], 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return paths
}

// TestSeveralPictures gives the page four pictures at once, one of them broken: each has its own results.
func TestSeveralPictures(t *testing.T) {
	v := visit(t, serve(t, nil), "#/search?c=shapes")
	v.hits()
	random := rand.New(rand.NewPCG(9, 9))
	contents := [][]byte{nil, nil, []byte("this is no picture"), nil}
	for i, shape := range map[int]string{0: "cross", 1: "square", 3: "bar"} {
		b, err := encoded(drawn(shape, random))
		if err != nil {
			t.Fatal(err)
		}
		contents[i] = b
	}
	v.pick("#picture", files(t, []string{"a cross.png", "square.png", "broken.png", "bar.png"}, contents)...)
	v.read(".several h2", "3 searches")
	v.see(`document.querySelector('.hit-name')?.innerText === 'cross'`)
	v.see(`document.querySelector('.several [aria-pressed=true]').innerText === 'a cross.png'`)
	v.see(`[...document.querySelectorAll('.several li')].find(e => e.innerText.includes('broken.png'))
		.querySelector('.problem')`)
	for _, shape := range []string{"square", "bar"} {
		v.press(".several button", shape+".png")
		v.see(`document.querySelector('.hit-name')?.innerText === '` + shape + `'`)
		v.see(`document.querySelector('.several [aria-pressed=true]').innerText === '` + shape + `.png'`)
		v.see(`document.querySelector('.about-query img')?.naturalWidth === 48`)
	}
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int{390, 1280} {
			v.Media(width, scheme, "screen")
			v.see(`document.documentElement.dataset.theme === '` + scheme + `'`)
			if wide := v.Number(`document.documentElement.scrollWidth`); wide > float64(width) {
				t.Errorf("%v pixels wide on a screen of %d", wide, width)
			}
			v.look(fmt.Sprintf("several-%d-%s", width, scheme))
		}
		v.checkAxe("several, " + scheme)
	}
	v.back()
	v.see(`document.querySelector('.several [aria-pressed=true]').innerText === 'square.png'`)
	v.fill("#where", `label = "ring"`) // the labels of the list follow the filter
	v.key("\r")
	v.see(`[...document.querySelectorAll('.several .labels-found')].length === 3 &&
		[...document.querySelectorAll('.several .labels-found')].every(e => /^\d+ ring$/.test(e.innerText))`)
	v.click("#clear")
	v.see(`document.querySelector('.several').hidden`)
	v.Forgive("status of 400")
	v.end()
}

// TestSeveralVectors gives the page two files of vectors: a result list for each line, and wrong lines are named.
func TestSeveralVectors(t *testing.T) {
	v := visit(t, serve(t, nil), "#/search?c=shop")
	v.hits()
	v.pick("#picture", files(t, []string{"two.csv", "other.txt"}, [][]byte{
		[]byte("a,b,c,d,e,f\n3,3,0,3,3,0\n0,0,0,0,0,0\n1,,2,3,4,5\n"), []byte("[0, 3, 3, 0, 3, 3]\n1 2\n"),
	})...)
	v.read(".several h2", "3 searches")
	for name, problem := range map[string]string{
		"two.csv, line 4": "value 2 is no number", "other.txt, line 2": "has 2 numbers, the model takes 6",
	} {
		v.see(`[...document.querySelectorAll('.several li')].some(e => e.querySelector('strong')?.innerText === '` + name +
			`' && e.querySelector('.problem')?.innerText === '` + problem + `')`)
	}
	v.see(`document.querySelector('.several [aria-pressed=true]').innerText === 'two.csv, line 2'`)
	v.press(".several button", "other.txt, line 1")
	v.see(`document.querySelector('.several [aria-pressed=true]').innerText === 'other.txt, line 1'`)
	same := `(async () => {
		const vector = [0, 3, 3, 0, 3, 3];
		const headers = {'Content-Type': 'application/json'};
		const a = await (await fetch('/v1/collections/shop/search', {method: 'POST', headers,
			body: JSON.stringify({vector, k: 24})})).json();
		const shown = [...document.querySelectorAll('.hit:not(.waiting)')].map(e => e.dataset.id);
		return String(shown.join(' ') === a.results[0].hits.map(h => h.id).join(' '));
	})()`
	v.see(`!document.querySelector('[aria-busy]')`)
	if got := v.evaluate(same); got != "true" {
		t.Error("the results are not those of the vector")
	}
	v.look("several-vectors")
	v.end()
}

// npy is an npy file of version 1.
func npy(descr, order string, rows, columns int, numbers any) []byte {
	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': (%d, %d), }", descr, order, rows, columns)
	head += strings.Repeat(" ", 117-len(head)) + "\n"
	b, err := binary.Append([]byte("\x93NUMPY\x01\x00\x76\x00"+head), binary.LittleEndian, numbers)
	if err != nil {
		panic(err)
	}
	return b
}

// TestVectorsOfNumPy gives the page npy files: by rows and by columns, of floats and of bytes, and broken ones.
func TestVectorsOfNumPy(t *testing.T) {
	v := visit(t, serve(t, nil), "#/search?c=shop")
	v.hits()
	rows := []float32{3, 3, 0, 3, 3, 0, 0, 3, 3, 0, 3, 3}
	columns := []float64{3, 0, 3, 3, 0, 3, 3, 0, 3, 3, 0, 3} // the same
	whole := npy("<f4", "False", 2, 6, rows)
	v.pick("#picture", files(t, []string{"rows.npy", "columns.npy", "bytes.npy", "narrow.npy", "cut.npy", "half.npy", "no.npy", "nan.npy"},
		[][]byte{
			whole, npy("<f8", "True", 2, 6, columns), npy("|u1", "False", 1, 6, []byte{3, 3, 0, 3, 3, 0}),
			npy("<f4", "False", 3, 4, rows), whole[:len(whole)-1], npy("<f2", "False", 1, 6, []byte{6: 0, 11: 0}), []byte("nothing"),
			npy("<f4", "False", 1, 6, []float32{1, 2, float32(math.NaN()), 4, 5, 6}),
		})...)
	v.read(".several h2", "5 searches")
	for name, problem := range map[string]string{
		"narrow.npy": "has rows of 4 numbers, the model takes 6", "cut.npy": "is cut off, or longer than it says",
		"half.npy": "holds numbers of the kind <f2: save it as float32", "no.npy": "is no npy file", "nan.npy": "value 3 is no number",
	} {
		v.see(`[...document.querySelectorAll('.several li')].some(e => e.querySelector('strong')?.innerText === '` + name +
			`' && e.querySelector('.problem')?.innerText === '` + problem + `')`)
	}
	found := map[string]string{}
	for _, name := range []string{"rows.npy, row 0", "rows.npy, row 1", "columns.npy, row 0", "columns.npy, row 1", "bytes.npy"} {
		v.press(".several button", name)
		v.see(`document.querySelector('.several [aria-pressed=true]').innerText === '` + name + `'`)
		v.see(`!document.querySelector('[aria-busy]')`)
		found[name] = v.String(`[...document.querySelectorAll('.hit:not(.waiting)')].map(e => e.dataset.id).join(' ')`)
	}
	for a, b := range map[string]string{
		"columns.npy, row 0": "rows.npy, row 0", "columns.npy, row 1": "rows.npy, row 1", "bytes.npy": "rows.npy, row 0",
	} {
		if found[a] == "" || found[a] != found[b] {
			t.Errorf("%s finds %s, but %s %s", a, found[a], b, found[b])
		}
	}
	if found["rows.npy, row 0"] == found["rows.npy, row 1"] {
		t.Error("both rows find the same")
	}
	v.end()
}
