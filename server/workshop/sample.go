package workshop

import (
	"archive/zip"
	"fmt"
	"image"
	"image/png"
	"net/http"

	"hashgrove/internal/dataset/fashion"
)

// sendSample sends the query pictures of the demo, 100 of each class, for people without data at hand.
func sendSample(rw http.ResponseWriter, _ *http.Request) (any, error) {
	h := rw.Header()
	h.Set("Content-Type", "application/zip")
	h.Set("Content-Disposition", "attachment; filename=clothes.zip")
	z, part := zip.NewWriter(rw), fashion.Query()
	for i, class := range part.Class {
		img := image.NewGray(image.Rect(0, 0, 28, 28))
		for p, v := range part.X.Row(i) {
			img.Pix[p] = uint8(v)
		}
		f, err := z.Create(fmt.Sprintf("%s/%04d.png", fashion.Names[class], i))
		if err == nil {
			err = png.Encode(f, img)
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, z.Close()
}
