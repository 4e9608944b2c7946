//go:build ignore

// Makes the data in this folder from the full Fashion-MNIST files: the first 600 training and 100 test pictures
// of each class, in their original order.
//
//	go run internal/dataset/fashion/make.go /usr/share/datasets/fashion-mnist internal/dataset/fashion
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"log"
	"os"
	"path/filepath"
)

func main() {
	from, to := os.Args[1], os.Args[2]
	for _, part := range []struct {
		in, out string
		each    int
	}{{"train", "train", 600}, {"t10k", "query", 100}} {
		pictures := read(filepath.Join(from, part.in+"-images-idx3-ubyte.gz"))[16:]
		labels := read(filepath.Join(from, part.in+"-labels-idx1-ubyte.gz"))[8:]
		var keptPictures, keptLabels []byte
		var taken [10]int
		for i, label := range labels {
			if taken[label]++; taken[label] <= part.each {
				keptPictures = append(keptPictures, pictures[i*784:(i+1)*784]...)
				keptLabels = append(keptLabels, label)
			}
		}
		n := len(keptLabels)
		write(filepath.Join(to, part.out+"-images-idx3-ubyte.gz"), []uint32{0x803, uint32(n), 28, 28}, keptPictures)
		write(filepath.Join(to, part.out+"-labels-idx1-ubyte.gz"), []uint32{0x801, uint32(n)}, keptLabels)
	}
}

func read(path string) []byte {
	f := must(os.Open(path))
	return must(io.ReadAll(must(gzip.NewReader(f))))
}

func write(path string, header []uint32, data []byte) {
	var b bytes.Buffer
	z := must(gzip.NewWriterLevel(&b, gzip.BestCompression))
	for _, h := range header {
		if err := binary.Write(z, binary.BigEndian, h); err != nil {
			log.Fatal(err)
		}
	}
	if _, err := z.Write(data); err != nil {
		log.Fatal(err)
	}
	if err := z.Close(); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		log.Fatal(err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
