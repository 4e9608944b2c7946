package gallery

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
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

// pngWith puts a chunk behind the first one.
func pngWith(file, name, data string) string {
	return file[:33] + picturetest.Chunk(name, data) + file[33:]
}

// cmykJPEG is a JPEG file of 8 x 8 equal pixels in four channels, inverted as Adobe's programs write them: one DC
// coefficient per channel.
func cmykJPEG(stored [4]int) string {
	var bits strings.Builder
	put := func(v, n int) {
		for i := n - 1; i >= 0; i-- {
			bits.WriteByte('0' + byte(v>>i&1))
		}
	}
	for _, v := range stored {
		dc, size := 8*(v-128), 0
		for max(dc, -dc)>>size > 0 {
			size++
		}
		put(size, 4) // the code of each size is the size itself
		if dc < 0 {
			dc += 1<<size - 1
		}
		put(dc, size)
		put(0, 1) // no more coefficients
	}
	for bits.Len()%8 != 0 {
		bits.WriteByte('1')
	}
	var scan []byte
	for s := bits.String(); s != ""; s = s[8:] {
		b := byte(0)
		for i := range 8 {
			b = b<<1 | (s[i] - '0')
		}
		if scan = append(scan, b); b == 0xff {
			scan = append(scan, 0)
		}
	}
	ones := strings.Repeat("\x01", 64)
	return "\xff\xd8\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00\x00" + // no colour transform
		"\xff\xdb\x00\x43\x00" + ones +
		"\xff\xc0\x00\x14\x08\x00\x08\x00\x08\x04\x01\x11\x00\x02\x11\x00\x03\x11\x00\x04\x11\x00" +
		"\xff\xc4\x00\x1f\x00\x00\x00\x00\x0c" + strings.Repeat("\x00", 12) + "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b" +
		"\xff\xc4\x00\x14\x10\x01" + strings.Repeat("\x00", 15) + "\x00" +
		"\xff\xda\x00\x0e\x04\x01\x00\x02\x00\x03\x00\x04\x00\x00\x3f\x00" + string(scan) + "\xff\xd9"
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
		{"CMYK JPEG, white", cmykJPEG([4]int{255, 255, 255, 255}), false, [3]uint8{255, 255, 255}, 0},
		{"CMYK JPEG, red", cmykJPEG([4]int{255, 0, 0, 255}), false, [3]uint8{255, 0, 0}, 0},
		{"CMYK JPEG, dark green", cmykJPEG([4]int{0, 255, 0, 128}), false, [3]uint8{0, 128, 0}, 0},
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

// TestOrientation stores an upright picture in all eight ways and sees it upright again.
func TestOrientation(t *testing.T) {
	upright := picturetest.Images(rand.New(rand.NewPCG(8, 1)), 7, 4)[9] // NRGBA
	f := square(3, true)
	want := picturetest.Prepared(upright, 1, image.Pt(3, 3), true, false)
	for o := 1; o <= 8; o++ {
		w, h := 7, 4
		if o >= 5 {
			w, h = 4, 7
		}
		stored := image.NewNRGBA(image.Rect(0, 0, w, h))
		for y := range h {
			for x := range w {
				sx, sy := picturetest.Seen(o, w, h, x, y)
				stored.Set(x, y, upright.At(sx, sy))
			}
		}
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			got := make([]uint8, 27)
			if err := f.decode(got, "a.png", []byte(pngWith(picturetest.PNG(stored), "eXIf", exifOf(order, o)))); err != nil || !bytes.Equal(got, want) {
				t.Errorf("orientation %d: %v %v, want %v", o, got, err, want)
			}
			if got := orientation("JPEG", []byte(jpegWith(picturetest.JPEG(stored), exifOf(order, o)))); got != o {
				t.Errorf("JPEG: orientation %d, want %d", got, o)
			}
			if got := orientation("TIFF", []byte(exifOf(order, o))); got != o {
				t.Errorf("TIFF: orientation %d, want %d", got, o)
			}
			webp := "RIFF\x00\x00\x00\x00WEBPVP8X\x03\x00\x00\x00abc\x00EXIF\x26\x00\x00\x00" + exifOf(order, o)
			if got := orientation("WebP", []byte(webp)); got != o {
				t.Errorf("WebP: orientation %d, want %d", got, o)
			}
		}
	}
	for _, exif := range []string{"", "II*\x00", "II*\x00\xff\xff\xff\xff", exifOf(binary.LittleEndian, 0), exifOf(binary.BigEndian, 9), exifOf(binary.BigEndian, 6)[:33]} {
		if got := orientation("JPEG", []byte(jpegWith(picturetest.JPEG(upright), exif))); got != 1 {
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
		f.Add([]byte(pngWith(picturetest.PNG(picturetest.Flat(2, 2, color.White)), "eXIf", exif)), uint8(o))
	}
	plain := picturetest.JPEG(picturetest.Flat(2, 2, color.White))
	f.Fuzz(func(t *testing.T, b []byte, o uint8) {
		for _, kind := range []string{"JPEG", "PNG", "WebP", "TIFF", "GIF"} {
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
	f.Add([]byte(cmykJPEG([4]int{1, 2, 3, 4})))
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
