// Package fashion embeds the demo's pictures in the binary: 6,000 training and 1,000 query pictures of Fashion-MNIST,
// 28 x 28 grey: the first 600 and 100 of each of the ten classes, in the order of the data set. Their licence is in
// NOTICE.
package fashion

import (
	"bytes"
	"embed"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"

	"hashgrove/internal/vectors"
)

//go:embed NOTICE *.gz
var files embed.FS

// Dim is the number of pixels of a picture.
const Dim = 28 * 28

// Names are the classes.
var Names = []string{"T-shirt", "trouser", "pullover", "dress", "coat", "sandal",
	"shirt", "sneaker", "bag", "ankle boot"}

// Files names the embedded picture and label files.
var Files = []string{
	"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz", "query-images-idx3-ubyte.gz", "query-labels-idx1-ubyte.gz",
}

// Part holds pictures with their classes.
type Part struct {
	X     vectors.Matrix
	Class []int32
}

// Train returns the training pictures, which are also the database.
func Train() Part { return part("train") }

// Query returns the query pictures.
func Query() Part { return part("query") }

func part(name string) Part {
	pictures, labels := unpack(name+"-images-idx3-ubyte.gz"), unpack(name+"-labels-idx1-ubyte.gz")
	n := int(binary.BigEndian.Uint32(labels[4:]))
	pictures, labels = pictures[16:], labels[8:]
	if len(labels) != n || len(pictures) != n*Dim {
		panic(fmt.Sprintf("fashion: %s has %d labels and %d pixels", name, len(labels), len(pictures)))
	}
	p := Part{vectors.Matrix{Rows: n, Cols: Dim, Data: make([]float32, n*Dim)}, make([]int32, n)}
	for i, v := range pictures {
		p.X.Data[i] = float32(v)
	}
	for i, v := range labels {
		p.Class[i] = int32(v)
	}
	return p
}

// File returns the raw bytes of an embedded file, gzip-compressed IDX.
func File(name string) []byte {
	b, err := files.ReadFile(name)
	if err != nil {
		panic("fashion: " + err.Error())
	}
	return b
}

func unpack(name string) []byte {
	z, err := gzip.NewReader(bytes.NewReader(File(name)))
	if err == nil {
		var b []byte
		if b, err = io.ReadAll(z); err == nil {
			return b
		}
	}
	panic("fashion: " + name + " inside the binary: " + err.Error())
}

// Sketch draws a 28 x 28 picture in characters.
func Sketch(pixels []float32) []string {
	const wide, high, shades = 18, 9, " .:-=+*#%@"
	lines := make([]string, high)
	for y := range high {
		var b strings.Builder
		for x := range wide {
			sum, n := float32(0), float32(0)
			for py := y * 28 / high; py < (y+1)*28/high; py++ {
				for px := x * 28 / wide; px < (x+1)*28/wide; px++ {
					sum += pixels[py*28+px]
					n++
				}
			}
			b.WriteByte(shades[min(int(sum/n/256*float32(len(shades))), len(shades)-1)])
		}
		lines[y] = b.String()
	}
	return lines
}

// Labels returns the class name of each picture.
func (p Part) Labels() []string {
	labels := make([]string, len(p.Class))
	for i, k := range p.Class {
		labels[i] = Names[k]
	}
	return labels
}
