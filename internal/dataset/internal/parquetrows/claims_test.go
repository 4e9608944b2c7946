package parquetrows

import (
	"bytes"
	"compress/gzip"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"

	"hashgrove/internal/fault"
	"hashgrove/internal/testkit/budgettest"
)

// noise is bytes that cannot be compressed.
func noise(n int) []byte {
	b, rng := make([]byte, n), rand.New(rand.NewPCG(1, 1))
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// TestPagesHoldWhatTheyClaim: pages that hold more than their headers say, and claim what their bytes cannot hold.
func TestPagesHoldWhatTheyClaim(t *testing.T) {
	plain := noise(300 << 10)
	var gzipped, brotlied bytes.Buffer
	z := gzip.NewWriter(&gzipped)
	br := brotli.NewWriter(&brotlied)
	_, _ = z.Write(plain)
	_, _ = br.Write(plain)
	_, _ = z.Close(), br.Close()
	// 2100 blocks of zstd that repeat one byte 131,072 times.
	zeros := append([]byte("\x28\xb5\x2f\xfd\x00\x38"), bytes.Repeat([]byte{0x02, 0, 0x10, 0}, 2100)...)
	zeros = append(zeros, 0x01, 0, 0)
	snappy := append([]byte{0xff, 0xff, 0xff, 0x7f}, noise(8<<20)...) // 2^28 - 1 bytes
	for _, c := range []struct {
		name  string
		codec format.CompressionCodec
		data  []byte
		claim int
		want  fault.Code
	}{
		{"plain", format.Uncompressed, plain, len(plain), ""},
		{"too much", format.Uncompressed, plain, 2 * len(plain), "impossible-claim"},
		{"gzip", format.Gzip, gzipped.Bytes(), len(plain), ""},
		{"more in gzip", format.Gzip, gzipped.Bytes(), 1000, "wrong-claim"},
		{"too much for gzip", format.Gzip, gzipped.Bytes()[:10], maxPage, "impossible-claim"},
		{"brotli", format.Brotli, brotlied.Bytes(), len(plain), ""},
		{"more in brotli", format.Brotli, brotlied.Bytes(), 1000, "wrong-claim"},
		{"zstd", format.Zstd, zeros, 2100 << 17, ""},
		{"more in zstd", format.Zstd, zeros, 1000, "wrong-claim"},
		{"more in snappy", format.Snappy, snappy, 1000, "wrong-claim"},
	} {
		f := &File{in: bytes.NewReader(c.data), size: int64(len(c.data))}
		h := &format.PageHeader{UncompressedPageSize: int32(c.claim), CompressedPageSize: int32(len(c.data))}
		budgettest.Within(t, 64*budgettest.MiB, func() {
			err := f.checkExpansion(c.codec, h, 0)
			if c.want == "" && err != nil || c.want != "" && !fault.Is(err, c.want) {
				t.Errorf("%s: %v", c.name, err)
			}
		})
	}
}

// TestZstdBound: the bound is never below what frames hold, and not far above it.
func TestZstdBound(t *testing.T) {
	for _, checksum := range []bool{false, true} {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(checksum))
		if err != nil {
			t.Fatal(err)
		}
		var all []byte
		total := int64(0)
		for _, data := range [][]byte{nil, noise(1), noise(1000), make([]byte, 300_000), noise(400_000),
			[]byte(strings.Repeat("abc ", 100_000))} {
			b := e.EncodeAll(data, nil)
			bound := zstdBound(bytes.NewReader(b), int64(len(b)))
			if bound < int64(len(data)) || bound > int64(len(data))+8*128<<10 {
				t.Errorf("%d bytes may be %d", len(data), bound)
			}
			all, total = append(all, b...), total+bound
		}
		if got := zstdBound(bytes.NewReader(all), int64(len(all))); got != total {
			t.Errorf("frames in a row may be %d, and %d one by one", got, total)
		}
		for i := range all[:2000] {
			zstdBound(bytes.NewReader(all[:i]), int64(i)) // ends
		}
	}
}
