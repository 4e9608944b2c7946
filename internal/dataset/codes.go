package dataset

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"hashgrove/internal/hamming"
	"hashgrove/internal/message"
	"hashgrove/internal/vectors"
)

// Codes that somebody else computed (Spec.Codes) are rows whose values are the bytes of a code, so that ids, labels,
// tags and attributes come with them as with vectors. npy, npz and bvecs hold such bytes; in tables and Parquet a code
// is a text of hexadecimal digits or of zeros and ones, or unsigned 64-bit columns of Parquet:
//
//	code                  up to 64 bits: the first one is the highest
//	code_0, code_1, ...   64 bits each, in order
//
// Integers of Parquet may be signed: the same bits.

// codeColumn is the usual name of the column of codes, and the beginning of the names of several.
const codeColumn = "code"

// codeForm says how a file writes codes.
type codeForm struct {
	bits        int
	numbers     bool                // unsigned integers
	binary      bool                // zeros and ones in place of hexadecimal digits
	fingerprint hamming.Fingerprint // of the model, where the file has it
}

// openCodes opens a file of codes.
func (f format) openCodes(in *input, spec *Spec) (reader, header, error) {
	switch f.name {
	case "npy", "npz", "bvecs":
		r, h, err := f.open(in, spec)
		h.code.bits = 8 * h.dim
		return r, h, err
	case "csv", "tsv", "jsonl", "parquet":
		return f.open(in, spec)
	}
	return nil, header{}, message.New("wrong-format",
		"%s: codes are read from npy, npz, bvecs, csv, tsv, jsonl and parquet, not from %s", in.path, f.name)
}

// codeColumns returns the columns of the codes: those named, or code, or code_0, code_1 and so on.
func codeColumns(named string, names []string) (parts []string) {
	if named != "" {
		return strings.Split(named, ",")
	}
	if slices.Contains(names, codeColumn) {
		return []string{codeColumn}
	}
	for {
		name := codeColumn + "_" + strconv.Itoa(len(parts))
		if !slices.Contains(names, name) {
			return parts
		}
		parts = append(parts, name)
	}
}

// sampleCodes looks at the first rows, through an input of its own, to see how the codes are written.
func sampleCodes(in *input, format string, spec *Spec) (form codeForm, err error) {
	const rows = 256
	look, err := in.again()
	if err != nil {
		return form, err
	}
	defer look.Close()
	r, err := newTableRows(look, format, spec)
	if err != nil {
		return form, err
	}
	defer r.t.close()
	form.binary = true
	digits := 0
	for i := range rows {
		if err = r.t.next(); err != nil && i > 0 {
			break // reported when the row is read
		} else if err == io.EOF {
			return form, message.New("no-rows", "%s: has no rows", in.path)
		} else if err != nil {
			return form, err
		}
		for _, p := range r.vector {
			c := r.cell(p.cell)
			switch {
			case c == nil:
				continue
			case c.kind == numberCell && r.t.typed:
				form.numbers, form.bits = true, 64*len(r.vector)
				form.mark(r.t.lookup)
				return form, nil
			case len(r.vector) > 1:
				return form, message.New("bad-code", "%s: codes in several columns are unsigned 64-bit integers of Parquet: "+
					"name one column", in.path)
			}
			text, isHex := codeDigits(c.text)
			form.binary = form.binary && !isHex && strings.Trim(text, "01") == ""
			if digits == 0 {
				digits = len(text)
			}
		}
	}
	if form.bits = 4 * digits; form.binary {
		form.bits = digits
	}
	if form.bits < 8 || form.bits > hamming.MaxBits {
		return form, message.New("wrong-bits", "%s: codes of %d bits: they have 8 to %d, as hexadecimal digits, "+
			"as zeros and ones, or in Parquet as unsigned 64-bit integers", in.path, form.bits, hamming.MaxBits)
	}
	return form, nil
}

// The metadata of a Parquet file that hold the length of codes in it, and the fingerprint of their model.
const (
	BitsKey        = "hashgrove.bits"
	FingerprintKey = "hashgrove.fingerprint"
)

// mark corrects the form of codes by the metadata; their length is known as a multiple of 64.
func (f *codeForm) mark(lookup func(key string) string) {
	bits, err := strconv.Atoi(lookup(BitsKey))
	if err != nil || bits > f.bits || bits <= f.bits-64 {
		return
	}
	f.bits = bits
	if of, err := hamming.ParseFingerprint(lookup(FingerprintKey)); err == nil {
		f.fingerprint = of
	}
}

// codeDigits returns the digits of a code without what programs write before hexadecimal ones.
func codeDigits(text []byte) (digits string, isHex bool) {
	digits = strings.TrimSpace(string(text))
	for _, prefix := range []string{"0x", "0X", `\x`} {
		if rest, ok := strings.CutPrefix(digits, prefix); ok {
			return rest, true
		}
	}
	return digits, false
}

// trim drops the bytes of a code after its last bit, which must be zeros.
func (r *tableRows) trim(rec *record) error {
	bytes := (r.form.bits + 7) / 8
	for _, b := range rec.vector[bytes:] {
		if b != 0 {
			return r.bad("", message.New("bad-code", "the code has ones after its %d bits", r.form.bits))
		}
	}
	rec.vector = rec.vector[:bytes]
	return nil
}

// appendPart appends the bytes of a code, or of one of its parts.
func (f codeForm) appendPart(bytes []float32, c *cell) ([]float32, error) {
	if f.numbers {
		word, err := strconv.ParseUint(string(c.text), 10, 64)
		if err != nil {
			var signed int64
			signed, err = strconv.ParseInt(string(c.text), 10, 64)
			word = uint64(signed)
		}
		if err != nil || c.kind != numberCell {
			return bytes, message.New("bad-code", "%s is no 64-bit integer", excerpt(c.text))
		}
		for shift := 56; shift >= 0; shift -= 8 {
			bytes = append(bytes, float32(byte(word>>shift)))
		}
		return bytes, nil
	}
	digits, _ := codeDigits(c.text)
	base, each := 16, 2
	if f.binary {
		base, each = 2, 8
	}
	if width := f.bits * each / 8; len(digits) != width || c.kind == numberCell {
		return bytes, message.New("bad-code", "%s instead of a code of %d digits in quotes, for %d bits",
			excerpt(c.text), width, f.bits)
	}
	for len(digits) > 0 {
		part := digits[:min(each, len(digits))]
		digits = digits[len(part):]
		b, err := strconv.ParseUint(part+strings.Repeat("0", each-len(part)), base, 8)
		if err != nil {
			return bytes, message.New("bad-code", "%s has other digits than the codes before: they are %s",
				excerpt(c.text), map[bool]string{true: "zeros and ones", false: "hexadecimal"}[f.binary])
		}
		bytes = append(bytes, float32(b))
	}
	return bytes, nil
}

// codes returns the length of the codes and the fingerprint of their model, which are the same in all files.
func (s *Set) codes() (bits int, of hamming.Fingerprint, err error) {
	for i, f := range s.files {
		code := f.header.code
		if code.bits == 0 {
			code.bits = 8 * s.dim
		}
		if i > 0 && code.bits != bits {
			return 0, of, message.New("dim-mismatch", "%s: codes of %d bits, but those of %s have %d",
				f.path, code.bits, s.files[0].path, bits)
		}
		if i > 0 && code.fingerprint != of {
			return 0, of, fmt.Errorf("%s: codes of the model %v, but those of %s are of %v: make an index of each",
				f.path, code.fingerprint, s.files[0].path, of)
		}
		bits, of = code.bits, code.fingerprint
	}
	if bits < 8 || bits > hamming.MaxBits {
		return 0, of, message.New("wrong-bits", "%s: codes of %d bits: they have 8 to %d", s.files[0].path, bits,
			hamming.MaxBits)
	}
	return bits, of, nil
}

// CodeColumns returns the columns of the codes, if the rows are codes in a table.
func (s *Set) CodeColumns() []string {
	if !s.spec.Codes {
		return nil
	}
	return s.columns.Vector
}

// FromPacked returns the codes in a set of them (Spec.Codes) as items; errors call them name.
func FromPacked(set *Set, name string) (*Input, error) {
	bits, of, err := set.codes()
	in := &Input{Bits: bits, Fingerprint: of, name: name}
	in.each = func(ctx context.Context, _ int, take func(hamming.Codes, vectors.Chunk) error) error {
		return in.pack(ctx, set, take)
	}
	return in, err
}

// pack turns rows of bytes into codes.
func (in *Input) pack(ctx context.Context, set *Set, take func(hamming.Codes, vectors.Chunk) error) error {
	packed, greatest, rows := []byte(nil), float32(0), 0
	for chunk, err := range set.Chunks(ctx) {
		if err != nil {
			return err
		}
		codes := hamming.NewCodes(chunk.X.Rows, in.Bits)
		for i := range chunk.X.Rows {
			packed = packed[:0]
			for _, v := range chunk.X.Row(i) {
				b := byte(v)
				if float32(b) != v {
					return message.New("bad-code", "%s: row %d: %v is no byte of a code: they are whole numbers from 0 to 255, "+
						"as numpy.packbits makes them", in.name, chunk.First+i+1, v)
				}
				packed, greatest = append(packed, b), max(greatest, v)
			}
			if !codes.SetBytes(i, packed) {
				return message.New("bad-code", "%s: row %d: the code has ones after its %d bits", in.name, chunk.First+i+1, in.Bits)
			}
		}
		if rows += chunk.X.Rows; chunk.First == 0 && rows > 32 && greatest <= 1 {
			return message.New("not-packed", "%s: all bytes are 0 or 1, as if each were a bit: pack them with numpy.packbits",
				in.name)
		}
		if err := take(codes, chunk); err != nil {
			return err
		}
	}
	return nil
}
