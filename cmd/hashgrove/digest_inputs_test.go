package main

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// digestItems writes 300 items of 12 numbers in 4 categories and 60 new ones, as CSV and npy, with classes, tags and pairs.
func digestItems(t *testing.T) {
	t.Helper()
	rng := rand.NewPCG(7, 11)
	below := func(n uint64) int { return int(rng.Uint64() % n) }
	categories := []string{"boots", "coats", "hats", "scarves"}
	tags := []string{"red", "blue", "sale", "wool", "kids", "rain", "gift", "last"}
	table := func(name string, rows int) (class []int) {
		var csv, labels, tagged strings.Builder
		var npy bytes.Buffer
		header := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 12), }", rows)
		header += strings.Repeat(" ", 117-len(header)) + "\n"
		fmt.Fprintf(&npy, "\x93NUMPY\x01\x00%c\x00%s", len(header), header)
		csv.WriteString("sku,category")
		for j := range 12 {
			fmt.Fprintf(&csv, ",f%d", j)
		}
		csv.WriteString("\n")
		for i := range rows {
			c := []int{0, 0, 0, 0, 0, 1, 1, 1, 2, 3}[below(10)]
			class = append(class, c)
			fmt.Fprintf(&csv, "%s-%d,%s", name, i, categories[c])
			for j := range 12 {
				sum := below(1000) + below(1000) + below(1000) // nearly a bell
				if j%4 == c {
					sum += 500
				}
				x := float32(sum-1500) / 512 // exact
				fmt.Fprintf(&csv, ",%v", x)
				npy.Write(float32LE(x))
			}
			csv.WriteString("\n")
			fmt.Fprintln(&labels, categories[c])
			fmt.Fprintf(&tagged, "%s;%s;%s\n", tags[c], tags[4+below(4)], tags[(c+1+below(3))%4])
		}
		write(t, name+".csv", csv.String())
		write(t, name+".npy", npy.String())
		write(t, name+".labels.txt", labels.String())
		write(t, name+".tags.txt", tagged.String())
		return class
	}
	items := table("items", 300)
	table("new", 60)
	var pairs strings.Builder
	relation := func(a, b int) string {
		switch {
		case a == b:
			return "similar"
		case (a+b)%4 == 1:
			return "unknown"
		}
		return "dissimilar"
	}
	for range 3000 {
		a, b := below(300), below(300)
		below(60)
		fmt.Fprintf(&pairs, "%d,%d,%s\n", a, b, relation(items[a], items[b]))
	}
	write(t, "pairs.csv", pairs.String())
}

// digestPictures makes a folder of 24 pictures in 3 classes, wide and tall, whose left and right, middle and margins
// differ.
func digestPictures(t *testing.T) {
	t.Helper()
	rng := rand.NewPCG(3, 5)
	classes := []string{"dots", "stripes", "waves"}
	for i := range 24 {
		class := i % 3
		size := []image.Point{{24, 16}, {15, 27}, {33, 20}, {18, 19}}[i%4]
		m := image.NewNRGBA(image.Rectangle{Max: size})
		for y := range size.Y {
			for x := range size.X {
				v := []int{x * y % 7 * 20, (x/3 + i) % 2 * 120, (x*x + 3*y*y) / 9 % 130}[class]
				noise := int(rng.Uint64() % 90)
				m.SetNRGBA(x, y, color.NRGBA{uint8(v + noise), uint8((v+4*x)%160 + noise), uint8(3*y + noise), 255})
			}
		}
		var b bytes.Buffer
		if err := png.Encode(&b, m); err != nil {
			t.Fatal(err)
		}
		path := fmt.Sprintf("photos/%s/%d.png", classes[class], i/3)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		write(t, path, b.String())
	}
}
