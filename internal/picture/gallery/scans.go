package gallery

import (
	"bytes"
	"encoding/binary"
)

// A progressive JPEG consists of scans, each covering the whole picture. A scan of a few bytes takes as long to decode
// as any, so a file of a megabyte could contain tens of thousands. Encoders write about ten.
const maxScans = 200

// JPEG markers used here (ITU T.81, table B.1).
const (
	jpegEnd   = 0xd9
	jpegScan  = 0xda
	restart0  = 0xd0
	restart7  = 0xd7
	temporary = 0x01
)

// jpegScans counts the scans of a JPEG file, up to one more than allowed.
func jpegScans(b []byte) int {
	scans := 0
	for at := 2; scans <= maxScans; {
		next := bytes.IndexByte(b[min(at, len(b)):], 0xff)
		if next < 0 {
			break
		}
		at += next + 1
		if at >= len(b) {
			break
		}
		switch marker := b[at]; {
		case marker == 0xff: // filling
			continue
		case marker == 0, marker >= restart0 && marker <= restart7, marker == temporary: // of the data
			at++
			continue
		case marker == jpegEnd:
			return scans
		case marker == jpegScan:
			scans++
		}
		if at+3 > len(b) {
			break
		}
		at += 1 + int(binary.BigEndian.Uint16(b[at+1:]))
	}
	return scans
}
