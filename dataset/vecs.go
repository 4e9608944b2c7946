package dataset

import (
	"encoding/binary"
	"fmt"
	"io"
)

// The formats of the TEXMEX corpora: for every vector its length as a little-endian int32, then that many values:
// float32 (fvecs), bytes (bvecs) or int32 (ivecs). The length is the same throughout.

var vecsTypes = map[string]dtype{"fvecs": {'f', 4, false}, "bvecs": {'u', 1, false}, "ivecs": {'i', 4, false}}

type vecs struct{ dense }

func openVecs(format string) func(in *input, cols columns) (reader, header, error) {
	return func(in *input, _ columns) (reader, header, error) {
		t := vecsTypes[format]
		h := header{format: format, rows: -1, dim: -1, bytes: format == "bvecs"}
		b, err := in.buf.Peek(4)
		if err != nil {
			return nil, h, fmt.Errorf("%s: is too short for %s", in.path, format)
		}
		d := binary.LittleEndian.Uint32(b)
		if d < 1 || d > maxDim {
			return nil, h, fmt.Errorf("%s: begins with a vector of %d values: is it %s?", in.path, int32(d), format)
		}
		h.dim = int(d)
		if in.size >= 0 {
			row := int64(4 + h.dim*t.size)
			if h.rows = int(in.size / row); in.size%row != 0 {
				return nil, h, fmt.Errorf("%s: is cut off, or not %s: after %d vectors of %d values %d bytes are left",
					in.path, format, h.rows, h.dim, in.size%row)
			}
		}
		return &vecs{dense{in: in, what: in.path, dtype: t, rows: -1, dim: h.dim}}, h, nil
	}
}

func (v *vecs) next(rec *record) error {
	b, err := v.in.take(4)
	if err == io.ErrUnexpectedEOF {
		return cutOff(v.what, v.row, v.rows)
	}
	if err != nil {
		return err
	}
	if d := binary.LittleEndian.Uint32(b); d != uint32(v.dim) {
		return fmt.Errorf("%s: row %d has %d values, the rows before have %d", v.what, v.row+1, int32(d), v.dim)
	}
	return v.dense.next(rec)
}

// looksVecs reports whether the lengths agree with the size of the file and with each other.
func looksVecs(format string) func(s *sample) bool {
	return func(s *sample) bool {
		if len(s.head) < 5 {
			return false
		}
		d := binary.LittleEndian.Uint32(s.head)
		if d < 1 || d > maxDim {
			return false
		}
		row := int64(4 + int(d)*vecsTypes[format].size)
		if s.size >= 0 && s.size%row != 0 {
			return false
		}
		seen := 0
		for at := int64(0); at+4 <= int64(len(s.head)) && seen < 100; at += row {
			if binary.LittleEndian.Uint32(s.head[at:]) != d {
				return false
			}
			seen++
		}
		// A single length proves nothing unless it explains the size.
		return s.size >= 0 || seen > 1
	}
}
