package gallery

import (
	"bytes"
	"encoding/binary"
)

// Cameras store the picture as the sensor saw it, and record how to turn it in the EXIF data, a small TIFF file: tag
// 0x0112 of the first directory holds
//
//	1 as it is          2 mirrored left to right    3 turned by 180 degrees    4 mirrored top to bottom
//	5 mirrored along the falling diagonal           6 to be turned clockwise
//	7 mirrored along the rising diagonal            8 to be turned counter-clockwise
//
// JPEG stores it in an APP1 segment; TIFF is such a file itself, and hardly any camera writes another format.
// Anything unintelligible means 1: a picture is not rejected for its metadata.

// orientation returns the EXIF orientation of an encoded picture, 1 to 8.
func orientation(kind string, b []byte) int {
	switch kind {
	case "JPEG":
		return tiffOrientation(jpegEXIF(b))
	case "TIFF":
		return tiffOrientation(b)
	}
	return 1
}

// jpegEXIF returns the TIFF data in the segments before the first scan, or nil.
func jpegEXIF(b []byte) []byte {
	for at := 2; at+4 <= len(b) && b[at] == 0xff; {
		marker := b[at+1]
		switch {
		case marker == 0xff: // fill
			at++
			continue
		case marker == 0xda || marker == 0xd9: // the scan, the end
			return nil
		case marker == 0x01 || marker >= 0xd0 && marker <= 0xd7: // without content
			at += 2
			continue
		}
		n := int(binary.BigEndian.Uint16(b[at+2:])) // including these two bytes
		if n < 2 || n > len(b)-at-2 {
			return nil
		}
		if data, found := bytes.CutPrefix(b[at+4:at+2+n], []byte("Exif\x00\x00")); marker == 0xe1 && found {
			return data
		}
		at += 2 + n
	}
	return nil
}

// tiffOrientation reads tag 0x0112 of the first directory of TIFF data.
func tiffOrientation(b []byte) int {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(b, []byte("II*\x00")):
		order = binary.LittleEndian
	case bytes.HasPrefix(b, []byte("MM\x00*")):
		order = binary.BigEndian
	}
	if order == nil || len(b) < 8 {
		return 1
	}
	at := uint64(order.Uint32(b[4:]))
	if at+2 > uint64(len(b)) {
		return 1
	}
	entries := int(order.Uint16(b[at:]))
	for e := b[at+2:]; entries > 0 && len(e) >= 12; entries, e = entries-1, e[12:] {
		if order.Uint16(e) != 0x0112 {
			continue
		}
		value := uint32(order.Uint16(e[8:]))
		if order.Uint16(e[2:]) == 4 { // LONG, which some programs write instead of SHORT
			value = order.Uint32(e[8:])
		}
		if value >= 1 && value <= 8 {
			return int(value)
		}
		return 1
	}
	return 1
}
