// Synthetic writes labelled vectors of any size, to measure the time and memory of training without real data. Each
// class raises a tenth of the columns a little; the rest is noise.
//
//	go run -C x/bench ./synthetic ROWS COLUMNS CLASSES vectors.npy labels.txt [uint8]
//
// Values are float32, or bytes with uint8.
package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
)

func main() {
	inBytes := len(os.Args) == 7 && os.Args[6] == "uint8"
	if len(os.Args) != 6 && !inBytes {
		log.Fatal("usage: synthetic ROWS COLUMNS CLASSES vectors.npy labels.txt [uint8]")
	}
	var size [3]int
	for i := range size {
		n, err := strconv.Atoi(os.Args[i+1])
		if err != nil || n < 1 {
			log.Fatalf("%q is not a size", os.Args[i+1])
		}
		size[i] = n
	}
	rows, columns, classes := size[0], size[1], size[2]
	f, err := os.Create(os.Args[4])
	check(err)
	w := bufio.NewWriterSize(f, 1<<20)
	each, kind := 4, "<f4"
	if inBytes {
		each, kind = 1, "|u1"
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%d, %d), }", kind, rows, columns)
	header += strings.Repeat(" ", 117-len(header)) + "\n"
	fmt.Fprintf(w, "\x93NUMPY\x01\x00%c\x00%s", len(header), header)
	g, err := os.Create(os.Args[5])
	check(err)
	l := bufio.NewWriter(g)
	rng := rand.New(rand.NewPCG(1, 1))
	row := make([]byte, each*columns)
	for range rows {
		class := rng.IntN(classes)
		fmt.Fprintln(l, class)
		for j := range columns {
			// The sum of four bytes is close enough to a normal distribution.
			r := rng.Uint32()
			v := float32(r&255+r>>8&255+r>>16&255+r>>24) / 256
			if (j*31+class*17)%10 == 0 && (j/10+class)%3 != 0 {
				v += 0.3
			}
			if inBytes {
				row[j] = byte(50 * v) // below 216
				continue
			}
			binary.LittleEndian.PutUint32(row[4*j:], math.Float32bits(v))
		}
		_, err := w.Write(row)
		check(err)
	}
	check(l.Flush())
	check(w.Flush())
	check(f.Close())
	check(g.Close())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
