package dataset

import (
	"archive/zip"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// BenchmarkFormats reads 8,192 rows of 512 values (CIFAR: 3,072 pictures) in every format. MB/s counts bytes of the file.
func BenchmarkFormats(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	const rows, dim = 8192, 512
	values := make([]float32, rows*dim)
	for i := range values {
		values[i] = rng.Float32()*2 - 1
	}
	raw := float32s(values...)
	type item struct {
		V []float32 `parquet:"v,list"`
	}
	var csv, jsonl strings.Builder
	var items []item
	for i := range rows {
		row := values[i*dim : (i+1)*dim]
		items = append(items, item{row})
		jsonl.WriteString(`{"id":` + fmt.Sprint(i) + `,"vector":[`)
		for j, v := range row {
			if j > 0 {
				csv.WriteByte(',')
				jsonl.WriteByte(',')
			}
			fmt.Fprintf(&csv, "%.6f", v)
			fmt.Fprintf(&jsonl, "%.6f", v)
		}
		csv.WriteByte('\n')
		jsonl.WriteString("]}\n")
	}
	pixels := make([]byte, 3073*3072)
	for i := range pixels {
		pixels[i] = byte(rng.Uint32()) | 1
	}
	for i := 0; i < len(pixels); i += 3073 {
		pixels[i] = byte(i % 10)
	}
	dir := b.TempDir()
	for _, f := range []struct{ name, content string }{
		{"a.npy", npyOf("<f4", false, "8192, 512", raw)},
		{"big.npy", npyOf(">f4", false, "8192, 512", raw)},
		{"fortran.npy", npyOf("<f4", true, "8192, 512", raw)},
		{"u1.npy", npyOf("|u1", false, "8192, 2048", raw)},
		{"a.npz", npzOf(zip.Store, "X", npyOf("<f4", false, "8192, 512", raw))},
		{"a.npy.zst", zstded(npyOf("<f4", false, "8192, 512", raw))},
		{"a.csv", csv.String()},
		{"a.jsonl", jsonl.String()},
		{"a.parquet", parquetOf(items, parquet.Compression(&parquet.Snappy))},
		{"a-idx2-ubyte", idxOf(8, raw, 8192, 2048)},
		{"data_batch.bin", string(pixels)},
	} {
		path := fileOf(b, dir, f.name, f.content)
		b.Run(f.name, func(b *testing.B) {
			info, err := os.Stat(path)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(info.Size())
			for b.Loop() {
				r, _, err := openFile(path, &Spec{})
				if err != nil {
					b.Fatal(err)
				}
				var rec record
				for err == nil {
					err = r.next(&rec)
				}
				if err != io.EOF {
					b.Fatal(err)
				}
				r.Close()
			}
		})
	}
}
