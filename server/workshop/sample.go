package workshop

import (
	"archive/zip"
	"bytes"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"sync"

	"hashgrove/internal/dataset/fashion"
)

// sendSample sends the demo's pictures of clothes, for people without data at hand.
func sendSample(rw http.ResponseWriter, _ *http.Request) (any, error) {
	h := rw.Header()
	h.Set("Content-Type", "application/zip")
	h.Set("Content-Disposition", "attachment; filename=clothes.zip")
	_, err := rw.Write(clothes())
	return nil, err
}

// clothes returns the query pictures of the demo, 100 of each class, as a zip.
var clothes = sync.OnceValue(func() []byte {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	part := fashion.Query()
	for i, class := range part.Class {
		img := image.NewGray(image.Rect(0, 0, 28, 28))
		for p, v := range part.X.Row(i) {
			img.Pix[p] = uint8(v)
		}
		// Pictures are compressed already.
		name := fmt.Sprintf("%s/%04d.png", fashion.Names[class], i)
		f, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err == nil {
			err = png.Encode(f, img)
		}
		if err != nil {
			panic("workshop: a zip in memory: " + err.Error())
		}
	}
	if err := z.Close(); err != nil {
		panic("workshop: a zip in memory: " + err.Error())
	}
	return out.Bytes()
})
