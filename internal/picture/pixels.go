package picture

import (
	"image"
	"image/color"
)

// pixelRows returns a function that writes pixels x0 to x1 of row y as red, green and blue bytes. All kinds of images
// become 8 bits per channel: 16 bits are rounded, palettes looked up, CMYK and YCbCr converted as in the standard
// library, and transparent parts are put on white, as on a page.
func pixelRows(img image.Image) func(dst []uint8, x0, x1, y int) {
	switch m := img.(type) {
	case *image.YCbCr:
		return func(dst []uint8, x0, x1, y int) { yCbCrRow(m, dst, x0, x1, y) }
	case *image.Gray:
		return func(dst []uint8, x0, x1, y int) {
			for i, v := range m.Pix[m.PixOffset(x0, y):][:x1-x0] {
				dst[3*i], dst[3*i+1], dst[3*i+2] = v, v, v
			}
		}
	case *image.RGBA: // premultiplied
		return func(dst []uint8, x0, x1, y int) {
			src := m.Pix[m.PixOffset(x0, y):]
			for i := range x1 - x0 {
				white := 255 - src[4*i+3]
				dst[3*i], dst[3*i+1], dst[3*i+2] = src[4*i]+white, src[4*i+1]+white, src[4*i+2]+white
			}
		}
	case *image.NRGBA:
		return func(dst []uint8, x0, x1, y int) {
			src := m.Pix[m.PixOffset(x0, y):]
			for i := range x1 - x0 {
				a := src[4*i+3]
				dst[3*i], dst[3*i+1], dst[3*i+2] = onWhite(src[4*i], a), onWhite(src[4*i+1], a), onWhite(src[4*i+2], a)
			}
		}
	case *image.NYCbCrA:
		return func(dst []uint8, x0, x1, y int) {
			yCbCrRow(&m.YCbCr, dst, x0, x1, y)
			for i, a := range m.A[m.AOffset(x0, y):][:x1-x0] {
				dst[3*i], dst[3*i+1], dst[3*i+2] = onWhite(dst[3*i], a), onWhite(dst[3*i+1], a), onWhite(dst[3*i+2], a)
			}
		}
	case *image.Paletted:
		var table [256][3]uint8 // black if a broken file points beyond its palette
		for i, c := range m.Palette[:min(len(m.Palette), 256)] {
			table[i] = colourOnWhite(c)
		}
		return func(dst []uint8, x0, x1, y int) {
			for i, k := range m.Pix[m.PixOffset(x0, y):][:x1-x0] {
				copy(dst[3*i:], table[k][:])
			}
		}
	case *image.CMYK:
		return func(dst []uint8, x0, x1, y int) {
			src := m.Pix[m.PixOffset(x0, y):]
			for i := range x1 - x0 {
				dst[3*i], dst[3*i+1], dst[3*i+2] = color.CMYKToRGB(src[4*i], src[4*i+1], src[4*i+2], src[4*i+3])
			}
		}
	case *image.NRGBA64:
		return eachPixel(func(x, y int) [3]uint8 { return nrgba64OnWhite(m.NRGBA64At(x, y)) })
	case image.RGBA64Image: // Gray16, RGBA64 and everything else, without an allocation per pixel
		return eachPixel(func(x, y int) [3]uint8 {
			c := m.RGBA64At(x, y)
			return premultipliedOnWhite(uint32(c.R), uint32(c.G), uint32(c.B), uint32(c.A))
		})
	}
	return eachPixel(func(x, y int) [3]uint8 { return colourOnWhite(img.At(x, y)) })
}

// eachPixel writes rows pixel by pixel.
func eachPixel(at func(x, y int) [3]uint8) func(dst []uint8, x0, x1, y int) {
	return func(dst []uint8, x0, x1, y int) {
		for x := x0; x < x1; x++ {
			c := at(x, y)
			copy(dst[3*(x-x0):], c[:])
		}
	}
}

// yCbCrRow converts a row of a picture whose colours may be stored per two or four pixels.
func yCbCrRow(m *image.YCbCr, dst []uint8, x0, x1, y int) {
	shift := 0
	switch m.SubsampleRatio {
	case image.YCbCrSubsampleRatio422, image.YCbCrSubsampleRatio420:
		shift = 1
	case image.YCbCrSubsampleRatio411, image.YCbCrSubsampleRatio410:
		shift = 2
	}
	left := m.Rect.Min.X
	from := m.COffset(left, y)
	cb, cr := m.Cb[from:], m.Cr[from:]
	for i, v := range m.Y[m.YOffset(x0, y):][:x1-x0] {
		k := (x0+i)>>shift - left>>shift
		dst[3*i], dst[3*i+1], dst[3*i+2] = color.YCbCrToRGB(v, cb[k], cr[k])
	}
}

// onWhite blends a value of opacity a with white, rounded.
func onWhite(v, a uint8) uint8 {
	return uint8((uint32(v)*uint32(a) + 255*(255-uint32(a)) + 127) / 255)
}

// colourOnWhite blends any colour with white.
func colourOnWhite(c color.Color) [3]uint8 {
	switch c := c.(type) {
	case color.NRGBA:
		return [3]uint8{onWhite(c.R, c.A), onWhite(c.G, c.A), onWhite(c.B, c.A)}
	case color.NRGBA64:
		return nrgba64OnWhite(c)
	}
	r, g, b, a := c.RGBA()
	return premultipliedOnWhite(r, g, b, a)
}

// premultipliedOnWhite converts 16 bits to 8: v/257, rounded, which is exact for what was 8 bits before.
func premultipliedOnWhite(r, g, b, a uint32) [3]uint8 {
	eight := func(v uint32) uint8 { return uint8((v + 0xffff - a + 128) / 257) }
	return [3]uint8{eight(r), eight(g), eight(b)}
}

func nrgba64OnWhite(c color.NRGBA64) [3]uint8 {
	const full = 0xffff
	eight := func(v uint16) uint8 {
		return uint8((uint64(v)*uint64(c.A) + full*(full-uint64(c.A)) + full*257/2) / (full * 257))
	}
	return [3]uint8{eight(c.R), eight(c.G), eight(c.B)}
}

// luma returns the grey of a colour: 0.299 red, 0.587 green and 0.114 blue (Rec. 601), rounded. Grey stays unchanged.
func luma(r, g, b uint8) uint8 {
	return uint8((19595*uint32(r) + 38470*uint32(g) + 7471*uint32(b) + 1<<15) >> 16)
}
