package dataset

import (
	"io"
	"strings"

	"hashgrove/internal/fault"
)

// Raw float32: the values of one row after the other, little-endian, and nothing else. Only the caller knows how many
// make a row, Spec.Dim. Nothing in the content identifies it, so the name must: .f32, or Format.

// raw reads content of unknown length, which may end after any row.
type raw struct{ dense }

func openRaw(in *input, spec *Spec) (reader, header, error) {
	h := header{format: "raw", rows: -1, dim: spec.Dim}
	if h.dim < 1 || h.dim > maxDim {
		return nil, h, &SpecError{"Dim", fault.New("unknown-dim", "%s: raw values do not tell how many of them make a row: "+
			"give their number, 1 to %d", in.path, maxDim)}
	}
	d := dense{in: in, what: in.path, dtype: dtype{'f', 4, false}, rows: -1, dim: h.dim}
	if in.size < 0 {
		return &raw{d}, h, nil
	}
	row := 4 * int64(h.dim)
	if err := in.countable(row); err != nil {
		return nil, h, err
	}
	if h.rows = int(in.size / row); in.size%row != 0 {
		return nil, h, fault.New("cut-off", "%s: is cut off, or has rows of another length: after %d rows of %d values "+
			"%d bytes are left", in.path, h.rows, h.dim, in.size%row)
	}
	d.rows = h.rows
	return &d, h, nil
}

func (r *raw) next(rec *record) error {
	if _, err := r.in.buf.Peek(1); err == io.EOF {
		return io.EOF
	}
	return r.dense.next(rec)
}

// looksRaw decides by the name.
func looksRaw(s *sample) bool {
	name := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(s.name, ".gz"), ".zst"), ".zstd")
	return strings.HasSuffix(name, ".f32")
}
