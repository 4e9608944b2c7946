// Figures draws the picture in docs/search.md: a query, its ten nearest codes, and the codes themselves.
//
//	hashgrove demo -o shop
//	go run -C x/bench ./figures ../../shop 379 > docs/images/search.svg
//
// It trains on the first half of the demo's training pictures and searches the second half, which is new to the model.
// It prints how often the ten nearest are right, over all queries, to standard error.
package main

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"hashgrove/api"

	"hashgrove"
)

const side = 28 // pixels of a picture

var classes = []string{"T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot"}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: figures FOLDER QUERY > search.svg")
	}
	number, err := strconv.Atoi(os.Args[2])
	check(err)

	ctx := context.Background()
	pictures, labels := read(os.Args[1], "train")
	queries, wanted := read(os.Args[1], "query")
	half := len(pictures) / 2
	m, err := hashgrove.Train(ctx, hashgrove.Rows(pictures[:half], labels[:half]), hashgrove.Options{Bits: 64})
	check(err)
	base, baseLabels := pictures[half:], labels[half:]
	ix, err := hashgrove.NewIndex(ctx, m.Model, hashgrove.Rows(base, baseLabels))
	check(err)

	right := 0
	for i, q := range queries {
		hits, err := api.Nearest(ctx, ix, q, 10)
		check(err)
		for _, h := range hits {
			if h.Label == strconv.Itoa(wanted[i]) {
				right++
			}
		}
		if i == number {
			fmt.Print(draw(m.Model, q, wanted[i], hits, base))
		}
	}
	log.Printf("%d learned, %d new items, %d queries: %.1f %% of the ten nearest are of the query's class",
		half, len(base), len(queries), 10*float64(right)/float64(len(queries)))
}

// read returns the pictures of an IDX file and their classes.
func read(folder, name string) (pictures [][]float32, labels []int) {
	pixels := unpack(filepath.Join(folder, name+"-images-idx3-ubyte.gz"))[16:]
	for _, class := range unpack(filepath.Join(folder, name+"-labels-idx1-ubyte.gz"))[8:] {
		labels = append(labels, int(class))
		picture := make([]float32, side*side)
		for i := range picture {
			picture[i] = float32(pixels[i])
		}
		pixels = pixels[side*side:]
		pictures = append(pictures, picture)
	}
	return pictures, labels
}

func unpack(path string) []byte {
	f, err := os.Open(path)
	check(err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	check(err)
	b, err := io.ReadAll(z)
	check(err)
	return b
}

const (
	step   = 69 // pixels from one item to the next
	thumb  = 56 // side of a picture and of a code
	left   = 22
	top    = 34
	codeAt = top + thumb + 44
	height = codeAt + thumb + 16
	width  = left + 40 + 11*step + 8
)

// draw returns the figure: the query on the left, the hits on the right, each above its class, distance and code.
func draw(m *hashgrove.Model, query []float32, class int, hits []api.Hit, base [][]float32) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`,
		width, height)
	b.WriteString("\n<title>A query and its ten nearest pictures, with their codes</title>\n")
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="6" fill="#fff"/>`+"\n", width, height)
	heading := func(x int, text string) {
		fmt.Fprintf(&b, `<text x="%d" y="20" font-weight="bold" fill="#222">%s</text>`+"\n", x, text)
	}
	heading(left, "query")
	heading(left+step+40, "its ten nearest, by distance in bits")
	fmt.Fprintf(&b, `<path d="M%d %dv%d" stroke="#bbb"/>`+"\n", left+step+13, top-4, height-top-8)

	code, err := m.Encode(query)
	check(err)
	item{left, query, classes[class], "", code}.draw(&b, code)
	for i, h := range hits {
		row, err := strconv.Atoi(string(h.ID))
		check(err)
		label, err := strconv.Atoi(h.Label)
		check(err)
		found, err := m.Encode(base[row])
		check(err)
		item{left + 40 + (i+1)*step, base[row], classes[label], strconv.Itoa(h.Distance), found}.draw(&b, code)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// item is a picture in the figure, starting at column x.
type item struct {
	x               int
	picture         []float32
	class, distance string
	code            hashgrove.Code
}

// draw draws the picture with its class, distance and code. Bits that differ from the query's are orange.
func (it item) draw(b *strings.Builder, query hashgrove.Code) {
	fmt.Fprintf(b, `<g transform="translate(%d %d)"><g transform="scale(%d) translate(0 .5)" stroke-width="1.02">`,
		it.x, top, thumb/side)
	const levels = 12
	for level := 1; level < levels; level++ {
		runs := path(side, func(row, column int) bool { return int(it.picture[row*side+column])*levels/256 == level })
		if grey := 255 - level*255/(levels-1); runs != "" {
			fmt.Fprintf(b, `<path d="%s" stroke="#%02x%02x%02x"/>`, runs, grey, grey, grey)
		}
	}
	fmt.Fprintf(b, `</g><text x="%d" y="%d" text-anchor="middle" fill="#222">%s</text>`, thumb/2, thumb+18, it.class)
	if it.distance != "" {
		fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle" fill="#666">%s</text>`, thumb/2, thumb+35, it.distance)
	}
	fmt.Fprintf(b, `<g transform="translate(0 %d) scale(%d)"><rect width="8" height="8" fill="#eee"/>`+
		`<g transform="translate(0 .5)">`, codeAt-top, thumb/8)
	bit := func(c hashgrove.Code, row, column int) bool { return c[row]>>(7-column)&1 == 1 }
	for _, ink := range []struct {
		code, query bool
		colour      string
	}{{true, true, "#222"}, {true, false, "#d95f02"}, {false, true, "#fdc08a"}} {
		runs := path(8, func(row, column int) bool {
			return bit(it.code, row, column) == ink.code && bit(query, row, column) == ink.query
		})
		if runs != "" {
			fmt.Fprintf(b, `<path d="%s" stroke="%s"/>`, runs, ink.colour)
		}
	}
	b.WriteString("</g></g></g>\n")
}

// path draws the runs of a square's cells as strokes of width 1, half a cell too high.
func path(size int, in func(row, column int) bool) string {
	var b strings.Builder
	for row := range size {
		for from := 0; from < size; from++ {
			if !in(row, from) {
				continue
			}
			to := from
			for to < size && in(row, to) {
				to++
			}
			fmt.Fprintf(&b, "M%d %dh%d", from, row, to-from)
			from = to
		}
	}
	return b.String()
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
