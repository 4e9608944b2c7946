package gallery

import (
	"bytes"
	"image"
	"image/jpeg"
	"strings"
	"testing"

	"hashgrove/internal/message"
	"hashgrove/internal/picture"
	"hashgrove/internal/testkit/budgettest"
)

// progressive is a picture of the given side in n scans of a few bytes.
func progressive(side, n int) []byte {
	var b bytes.Buffer
	b.WriteString("\xff\xd8")
	b.WriteString("\xff\xdb\x00\x43\x00" + strings.Repeat("\x01", 64)) // quantisation
	b.Write([]byte{0xff, 0xc2, 0, 11, 8, byte(side >> 8), byte(side), byte(side >> 8), byte(side), 1, 1, 0x11, 0})
	b.WriteString("\xff\xc4\x00\x14\x00\x01" + strings.Repeat("\x00", 15) + "\x00") // one code of one bit: no difference
	b.WriteString("\xff\xc4\x00\x14\x10\x01" + strings.Repeat("\x00", 15) + "\xe0") // 2^14 blocks without values, and more
	for range n {
		b.WriteString("\xff\xda\x00\x08\x01\x01\x00\x01\x3f\x00") // the values but the first of each block
		for blocks := (side + 7) / 8 * ((side + 7) / 8); blocks > 0; blocks -= 1 << 14 {
			b.WriteString("\x00\x00")
		}
	}
	b.WriteString("\xff\xd9")
	return b.Bytes()
}

// TestScansAreBounded: thousands of tiny scans over a picture of 64 megapixels once took minutes.
func TestScansAreBounded(t *testing.T) {
	p := picture.Preparation{Shape: picture.Shape{Width: 8, Height: 8, Channels: 3}}
	if _, err := Row(p, progressive(64, maxScans), picture.MaxPixels); err != nil {
		t.Fatalf("%d scans: %v", maxScans, err)
	}
	hostile := progressive(8000, 2000)
	budgettest.Within(t, 64*budgettest.MiB, func() {
		if _, err := Row(p, hostile, picture.MaxPixels); !message.Is(err, "too-many-scans") {
			t.Errorf("2000 scans in %d bytes: %v", len(hostile), err)
		}
	})
}

// TestScansAreCounted compares with files whose scans are known.
func TestScansAreCounted(t *testing.T) {
	var plain bytes.Buffer
	if err := jpeg.Encode(&plain, image.NewGray(image.Rect(0, 0, 100, 100)), nil); err != nil {
		t.Fatal(err)
	}
	for want, b := range map[int][]byte{1: plain.Bytes(), 7: progressive(100, 7), 0: []byte("\xff\xd8\xff"), maxScans + 1: progressive(8, 5000)} {
		if got := jpegScans(b); got != want {
			t.Errorf("%d scans instead of %d", got, want)
		}
		for i := range b { // cut anywhere
			jpegScans(b[:i])
			if i > 2000 {
				break
			}
		}
	}
	// Scans behind filling bytes, in comments and behind the end.
	b := progressive(100, 2)
	b = bytes.Replace(b, []byte("\xff\xda"), []byte("\xff\xff\xff\xda"), 1)
	b = append(b[:2:2], append([]byte("\xff\xfe\x00\x06\xff\xda\xff\xda"), b[2:]...)...)
	if got := jpegScans(append(b, "\xff\xda\x00\x02"...)); got != 2 {
		t.Errorf("%d scans instead of 2", got)
	}
}
