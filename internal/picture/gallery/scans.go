package gallery

import (
	"bytes"
	"encoding/binary"
)

// A progressive JPEG consists of scans, each covering the whole picture. A scan of a few bytes takes as long to decode
// as any, so a file of a megabyte could contain tens of thousands. Encoders write about ten.
const maxScans = 200

// jpegScans counts the scans of a JPEG file, up to one more than allowed, by its markers (ITU T.81, table B.1).
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
		case marker == 0, marker == 0x01, marker >= 0xd0 && marker <= 0xd7: // of the data
			at++
			continue
		case marker == 0xd9: // the end
			return scans
		case marker == 0xda: // a scan
			scans++
		}
		if at+3 > len(b) {
			break
		}
		at += 1 + int(binary.BigEndian.Uint16(b[at+1:]))
	}
	return scans
}
