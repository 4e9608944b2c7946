package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hashgrove/internal/fashion"
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
	items, fresh := table("items", 300), table("new", 60)
	var pairs, byID, between strings.Builder
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
		a, b, q := below(300), below(300), below(60)
		fmt.Fprintf(&pairs, "%d,%d,%s\n", a, b, relation(items[a], items[b]))
		fmt.Fprintf(&byID, "items-%d,items-%d,%s\n", a, b, relation(items[a], items[b]))
		fmt.Fprintf(&between, "%d,%d,%s\n", q, a, relation(fresh[q], items[a]))
	}
	write(t, "pairs.csv", pairs.String())
	write(t, "pairs-by-id.csv", byID.String())
	write(t, "between.csv", between.String())
}

// digestPictures makes a folder of 24 and one of 15 pictures in 3 classes, wide and tall, whose left and right, middle and
// margins differ, and IDX files of 300 pictures of the demo.
func digestPictures(t *testing.T) {
	t.Helper()
	rng := rand.NewPCG(3, 5)
	classes := []string{"dots", "stripes", "waves"}
	folder := func(name string, n int) {
		var labels, tags, pairs strings.Builder
		labels.WriteString("file,label\n")
		tags.WriteString("file,tags\n")
		for i := range n {
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
			path := fmt.Sprintf("%s/%s/%d.png", name, classes[class], i/3)
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			write(t, path, b.String())
			fmt.Fprintf(&labels, "%s/%d.png,%s\n", classes[class], i/3, []string{"even", "odd"}[i/3%2])
			fmt.Fprintf(&tags, "%s/%d.png,%s;%s\n", classes[class], i/3, classes[class], []string{"small", "large", "odd"}[i%5%3])
			for j := range i {
				fmt.Fprintf(&pairs, "%s,%s/%s/%d.png,%s\n", path, name, classes[j%3], j/3, map[bool]string{true: "similar", false: "dissimilar"}[j%3 == class])
			}
		}
		write(t, name+".labels.csv", labels.String())
		write(t, name+".tags.csv", tags.String())
		write(t, name+".pairs.csv", pairs.String())
	}
	folder("photos", 24)
	folder("album", 15)
	if err := os.MkdirAll("idx", 0o777); err != nil {
		t.Fatal(err)
	}
	demo := fashion.Train()
	for name, rows := range map[string][2]int{"train": {0, 200}, "query": {200, 300}} {
		n := uint32(rows[1] - rows[0])
		pictures, labels := []byte{0, 0, 8, 3}, []byte{0, 0, 8, 1}
		for _, size := range []uint32{n, 28, 28} {
			pictures = binary.BigEndian.AppendUint32(pictures, size)
		}
		labels = binary.BigEndian.AppendUint32(labels, n)
		for i := rows[0]; i < rows[1]; i++ {
			labels = append(labels, byte(demo.Class[i]))
			for _, v := range demo.X.Row(i) {
				pictures = append(pictures, byte(v))
			}
		}
		write(t, "idx/"+name+"-images-idx3-ubyte", string(pictures))
		write(t, "idx/"+name+"-labels-idx1-ubyte", string(labels))
	}
}
