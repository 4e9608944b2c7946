package gallery

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"

	_ "hashgrove/format/pictures"
	"hashgrove/internal/message"
	"hashgrove/internal/picture"
	"hashgrove/internal/testkit/picturetest"
)

// square is the decoder of coloured squares.
func square(size int, squash bool) decoder {
	return decoder{Preparation: picture.Preparation{Shape: picture.Shape{Width: size, Height: size, Channels: 3}, Squash: squash}}
}

func packed(order binary.ByteOrder, values any) string {
	var b bytes.Buffer
	if err := binary.Write(&b, order, values); err != nil {
		panic(err)
	}
	return b.String()
}

// exifOf is a TIFF directory with an orientation, behind another tag.
func exifOf(order binary.AppendByteOrder, orientation int) string {
	b := []byte("II*\x00")
	if order == binary.AppendByteOrder(binary.BigEndian) {
		b = []byte("MM\x00*")
	}
	b = order.AppendUint32(b, 8)
	b = order.AppendUint16(b, 2)
	for _, e := range [][2]int{{0x010f, 7}, {0x0112, orientation}} {
		b = order.AppendUint16(b, uint16(e[0]))
		b = order.AppendUint16(b, 3)
		b = order.AppendUint32(b, 1)
		b = order.AppendUint16(b, uint16(e[1]))
		b = order.AppendUint16(b, 0)
	}
	return string(order.AppendUint32(b, 0))
}

// jpegWith puts an EXIF segment into a JPEG file, behind a comment.
func jpegWith(file, exif string) string {
	segment := func(marker byte, data string) string {
		return "\xff" + string([]byte{marker, byte((len(data) + 2) >> 8), byte(len(data) + 2)}) + data
	}
	return file[:2] + segment(0xfe, "hello") + segment(0xe1, "http://ns.adobe.com/xap/1.0/\x00") + segment(0xe1, "Exif\x00\x00"+exif) + file[2:]
}

// The smallest WebP files, by which web pages find out what a browser can: lossy, lossless, with transparency.
var webps = []string{
	"UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA",
	"UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==",
	"UklGRkoAAABXRUJQVlA4WAoAAAAQAAAAAAAAAAAAQUxQSAwAAAARBxAR/Q9ERP8DAABWUDggGAAAABQBAJ0BKgEAAQAAAP4AAA3AAP7mtQAAAA==",
}

func webpOf(i int) string {
	b, err := base64.StdEncoding.DecodeString(webps[i])
	if err != nil {
		panic(err)
	}
	return string(b)
}

// TestEncodings decodes a picture of one colour in every encoding.
func TestEncodings(t *testing.T) {
	red := color.RGBA{200, 40, 10, 255}
	palette := image.NewPaletted(image.Rect(0, 0, 5, 5), color.Palette{color.Transparent, red})
	for i := range palette.Pix {
		palette.Pix[i] = 1
	}
	gray16 := image.NewGray16(image.Rect(0, 0, 5, 5))
	for i := range 25 {
		gray16.SetGray16(i%5, i/5, color.Gray16{100*257 + 128}) // rounded down; one more would be 101
	}
	var bmpFile, tiffFile, gifFile, part bytes.Buffer
	if err := bmp.Encode(&bmpFile, picturetest.Flat(5, 5, red)); err != nil {
		t.Fatal(err)
	}
	if err := tiff.Encode(&tiffFile, picturetest.Flat(5, 5, red), &tiff.Options{Compression: tiff.Deflate, Predictor: true}); err != nil {
		t.Fatal(err)
	}
	if err := gif.Encode(&gifFile, palette, nil); err != nil {
		t.Fatal(err)
	}
	small := &gif.GIF{Image: []*image.Paletted{palette}, Delay: []int{0}, Config: image.Config{ColorModel: palette.Palette, Width: 10, Height: 5}}
	if err := gif.EncodeAll(&part, small); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, file string
		squash     bool
		want       [3]uint8
		within     int
	}{
		{"JPEG", picturetest.JPEG(picturetest.Flat(9, 9, red)), false, [3]uint8{200, 40, 10}, 3},
		{"grey JPEG", picturetest.JPEG(gray16gray(100)), false, [3]uint8{100, 100, 100}, 1},
		{"PNG", picturetest.PNG(picturetest.Flat(5, 5, red)), false, [3]uint8{200, 40, 10}, 0},
		{"PNG of 16 bits", picturetest.PNG(gray16), false, [3]uint8{100, 100, 100}, 0},
		{"PNG with a palette", picturetest.PNG(palette), false, [3]uint8{200, 40, 10}, 0},
		{"PNG, half transparent", picturetest.PNG(picturetest.Flat(5, 5, color.NRGBA{0, 100, 255, 51})), false, [3]uint8{204, 224, 255}, 0},
		{"PNG, transparent", picturetest.PNG(picturetest.Flat(5, 5, color.Transparent)), false, [3]uint8{255, 255, 255}, 0},
		{"GIF", gifFile.String(), false, [3]uint8{200, 40, 10}, 0},
		{"GIF that covers half of its screen", part.String(), true, [3]uint8{228, 148, 133}, 0},
		{"BMP", bmpFile.String(), false, [3]uint8{200, 40, 10}, 0},
		{"TIFF", tiffFile.String(), false, [3]uint8{200, 40, 10}, 0},
		{"WebP", webpOf(0), false, [3]uint8{130, 130, 130}, 0},
		{"lossless WebP", webpOf(1), false, [3]uint8{255, 255, 255}, 0},
		{"WebP with transparency", webpOf(2), false, [3]uint8{255, 255, 255}, 0},
	} {
		got := make([]uint8, 3)
		if err := square(1, c.squash).decode(got, "a", []byte(c.file)); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for i, v := range got {
			if d := int(v) - int(c.want[i]); d > c.within || -d > c.within {
				t.Errorf("%s: %v, want %v", c.name, got, c.want)
				break
			}
		}
	}
}

func gray16gray(v uint8) image.Image {
	m := image.NewGray(image.Rect(0, 0, 8, 8))
	for i := range m.Pix {
		m.Pix[i] = v
	}
	return m
}

// TestOrientation turns a picture as its file says, in all eight ways.
func TestOrientation(t *testing.T) {
	plain := picturetest.JPEG(picturetest.Images(rand.New(rand.NewPCG(8, 1)), 7, 4)[9])
	stored, err := jpeg.Decode(strings.NewReader(plain))
	if err != nil {
		t.Fatal(err)
	}
	for o := 1; o <= 8; o++ {
		want := picturetest.Prepared(stored, o, image.Pt(3, 3), true, false)
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			got := make([]uint8, 27)
			err := square(3, true).decode(got, "a.jpg", []byte(jpegWith(plain, exifOf(order, o))))
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("orientation %d: %v %v, want %v", o, got, err, want)
			}
			if got := orientation("TIFF", []byte(exifOf(order, o))); got != o {
				t.Errorf("TIFF: orientation %d, want %d", got, o)
			}
		}
	}
	for _, exif := range []string{"", "II*\x00", "II*\x00\xff\xff\xff\xff", exifOf(binary.LittleEndian, 0), exifOf(binary.BigEndian, 9), exifOf(binary.BigEndian, 6)[:33]} {
		if got := orientation("JPEG", []byte(jpegWith(plain, exif))); got != 1 {
			t.Errorf("%q: orientation %d", exif, got)
		}
	}
}

// TestBrokenPictures: every kind of damage has its code, and the message contains the facts.
func TestBrokenPictures(t *testing.T) {
	img := picturetest.Flat(40, 40, color.White)
	jpg, pic := picturetest.JPEG(img), picturetest.PNG(img)
	other := []byte(pic)
	other[30] ^= 1 // in the checksum of the first chunk
	for _, c := range []struct {
		name, file string
		code       message.Code
		facts      string
	}{
		{"a.jpg", "", "empty-file", ""},
		{"a.jpg", "hello", "not-a-picture", "JPEG PNG GIF BMP TIFF WebP"},
		{"a.jpg", "BMW is a car, not a picture, whatever its letters", "not-a-picture", "JPEG PNG GIF BMP TIFF WebP"},
		{"a.HEIC", "\x00\x00\x00\x18ftypheic", "unread-picture", "heic JPEG PNG"},
		{"a.jpg", jpg[:300], "cut-off", "JPEG"},
		{"a.png", pic[:len(pic)-20], "cut-off", "PNG"},
		{"a.jpg", pic[:20], "cut-off", "PNG"},
		{"a.png", string(other), "damaged", "PNG checksum"},
		{"a.jpg", "\xff\xd8\xff\xc0\x00\x0b\x08\x00\x08\x00\x08\x01\x01\x11\x00\xff\xda\x00\x02", "damaged", "JPEG SOS"},
	} {
		err := square(2, false).decode(make([]uint8, 12), c.name, []byte(c.file))
		if d := message.Differs(err, c.code, strings.Fields(c.facts)...); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

// bombs are small files that claim to be huge.
func bombs() map[string]string {
	head := func(order binary.ByteOrder, values any) string { return packed(order, values) }
	pic := picturetest.PNG(picturetest.Flat(1, 1, color.White))
	ihdr := head(binary.BigEndian, []uint32{30000, 30000}) + pic[24:29]
	return map[string]string{
		"PNG":  pic[:8] + picturetest.Chunk("IHDR", ihdr) + pic[33:],
		"JPEG": "\xff\xd8\xff\xc0\x00\x0b\x08" + head(binary.BigEndian, []uint16{65535, 65535}) + "\x01\x01\x11\x00\xff\xda\x00\x08",
		"GIF":  "GIF89a" + head(binary.LittleEndian, []uint16{65535, 65535}) + "\x00\x00\x00",
		"BMP": "BM" + head(binary.LittleEndian, []uint32{70, 0, 54, 40, 65536, 65536}) + head(binary.LittleEndian, []uint16{1, 24}) +
			strings.Repeat("\x00", 24),
		"WebP": "RIFF\x16\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\xff\x3f\x00\xff\x3f\x00",
	}
}

func TestBombsAreRefusedBeforeMemoryIsTaken(t *testing.T) {
	for name, file := range bombs() {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := square(2, false).decode(make([]uint8, 12), "a", []byte(file))
		runtime.ReadMemStats(&after)
		if d := message.Differs(err, "too-many-pixels", "120"); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 1<<20 {
			t.Errorf("%s: %d bytes were taken", name, taken)
		}
	}
	long := picturetest.PNG(picturetest.Flat(1, 1, color.White))
	long = long[:8] + picturetest.Chunk("IHDR", packed(binary.BigEndian, []uint32{65537, 1})+long[24:29]) + long[33:]
	err := square(2, false).decode(make([]uint8, 12), "a", []byte(long))
	if d := message.Differs(err, "too-many-pixels", "65537 x 1", "65536"); d != "" {
		t.Error(d)
	}
}

// FuzzOrientation: any bytes give 1 to 8, and a written orientation is found again.
func FuzzOrientation(f *testing.F) {
	for o := 1; o <= 8; o++ {
		exif := exifOf(binary.BigEndian, o)
		f.Add([]byte(exif), uint8(o))
		f.Add([]byte(jpegWith(picturetest.JPEG(picturetest.Flat(2, 2, color.White)), exif)), uint8(o))
	}
	plain := picturetest.JPEG(picturetest.Flat(2, 2, color.White))
	f.Fuzz(func(t *testing.T, b []byte, o uint8) {
		for _, kind := range []string{"JPEG", "TIFF", "GIF"} {
			if got := orientation(kind, b); got < 1 || got > 8 {
				t.Errorf("%s: orientation %d", kind, got)
			}
		}
		o = o%8 + 1
		exif := exifOf(binary.LittleEndian, int(o)) + string(b[:min(len(b), 60000)]) // whatever follows
		if got := orientation("JPEG", []byte(jpegWith(plain, exif))); got != int(o) {
			t.Errorf("orientation %d, want %d", got, o)
		}
	})
}

// FuzzDecode: any bytes give a one-line error, or the same picture twice.
func FuzzDecode(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, img := range picturetest.Images(rng, 5, 3) {
		f.Add([]byte(picturetest.PNG(img)))
		f.Add([]byte(picturetest.JPEG(img)))
		var b, ti, g bytes.Buffer
		if bmp.Encode(&b, img) != nil || tiff.Encode(&ti, img, nil) != nil || gif.Encode(&g, img, nil) != nil {
			f.Fatal("cannot encode")
		}
		f.Add(b.Bytes())
		f.Add(ti.Bytes())
		f.Add(g.Bytes())
	}
	for i := range webps {
		f.Add([]byte(webpOf(i)))
	}
	for _, file := range bombs() {
		f.Add([]byte(file))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		to := square(3, false)
		to.limit = 1 << 16
		var got [2][]uint8
		for i := range got {
			got[i] = make([]uint8, 27)
			if err := to.decode(got[i], "a.jpg", b); err != nil {
				if msg := err.Error(); msg == "" || strings.Contains(msg, "runtime error") {
					t.Errorf("%q", msg)
				}
				return
			}
		}
		if !slices.Equal(got[0], got[1]) {
			t.Errorf("%v, then %v", got[0], got[1])
		}
	})
}
