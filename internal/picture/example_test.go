package picture_test

import (
	"fmt"
	"image"
	"image/color"
	"log"

	"hashgrove/internal/picture"
)

// Any image becomes a row of pixels of a fixed size: here the middle of a wide one, in grey.
func ExamplePreparation() {
	img := image.NewGray(image.Rect(0, 0, 8, 4))
	for x := range 8 {
		for y := range 4 {
			img.SetGray(x, y, color.Gray{Y: uint8(30 * x)})
		}
	}
	p := picture.Preparation{Shape: picture.Shape{Width: 2, Height: 2, Channels: 1}}
	row := make([]uint8, p.Values())
	if err := p.FromImage(row, img, 1); err != nil {
		log.Fatal(err)
	}
	fmt.Println(row)
	// Output: [75 135 75 135]
}
