package model

import (
	"errors"

	"hashgrove/internal/hamming"
	"hashgrove/internal/picture"
	"hashgrove/internal/vectors"
)

// Averaging: what a picture shows rarely depends on the side it is seen from, but its vector does, and with it the
// scores of the bits. A model may therefore add, for every bit, the scores of the picture x and of its mirror image x',
// and take the sign of the sum:
//
//	margin(x) + margin(x') >= 0       margins as in margins.go, float32 each; the sum is taken in float64
//
// Such a model encodes rows of twice its encoder's length: the vector of a picture, and behind it that of its mirror
// image. All pictures are encoded in this way, items and queries, so that their codes stay comparable; the fingerprint
// tells these codes from those without mirror images. Cost: two extractions and two encodings for each picture.

// ErrMirror reports vectors that a model with averaging cannot encode.
var ErrMirror = errors.New("the codes of this model add the scores of a picture and of its mirror image, and a " +
	"vector has no mirror image: give the pictures, or use a model that was trained without averaging")

// averaged reports whether the scores of mirror images are added.
func (m *Model) averaged() bool { return m.Pictures != nil && m.Pictures.Averaged }

// Averaging returns the model for rows that hold the vectors of a picture and of its mirror image side by side. It
// shares memory with the model.
func (m *Model) Averaging() *Model {
	as := picture.Preparation{}
	if m.Pictures != nil {
		as = *m.Pictures
	}
	as.Averaged = true
	return &Model{m.Encoder, m.Features, &as, m.Ranking, m.Info}
}

// Dim returns the length of the rows that the model encodes: that of its vectors, or twice that if a row also holds the
// vector of the mirror image.
func (m *Model) Dim() int {
	if m.averaged() {
		return 2 * m.Encoder.Dim()
	}
	return m.Encoder.Dim()
}

// encodeRows writes the codes of rows and reports whether all values are finite.
func (m *Model) encodeRows(dst hamming.Codes, first int, x vectors.Matrix) bool {
	if !m.averaged() {
		return m.Encoder.encode(dst, first, x)
	}
	sum, ok := m.addMargins(x)
	for r := range x.Rows {
		clear(dst.Row(first + r))
		for k := range m.Encoder.Bits() {
			dst.SetBit(first+r, k, sum(r, k) >= 0)
		}
	}
	return ok
}

// marginsOf writes the margins of rows and reports whether all values are finite.
func (m *Model) marginsOf(dst, x vectors.Matrix) bool {
	if !m.averaged() {
		return m.Encoder.margins(dst, x)
	}
	sum, ok := m.addMargins(x)
	for r := range x.Rows {
		for k := range dst.Cols {
			dst.Data[r*dst.Cols+k] = settle(sum(r, k))
		}
	}
	return ok
}

// addMargins returns the sums of the margins of both halves of the rows, by row and bit, and whether all values are
// finite.
func (m *Model) addMargins(x vectors.Matrix) (sum func(r, k int) float64, ok bool) {
	dim, bits := m.Encoder.Dim(), m.Encoder.Bits()
	var margins [2][]float32
	half := vectors.Matrix{Rows: x.Rows, Cols: dim, Data: make([]float32, x.Rows*dim)}
	ok = true
	for h := range margins {
		for r := range x.Rows {
			copy(half.Row(r), x.Row(r)[h*dim:(h+1)*dim])
		}
		margins[h] = make([]float32, x.Rows*bits)
		ok = m.Encoder.margins(vectors.Matrix{Rows: x.Rows, Cols: bits, Data: margins[h]}, half) && ok
	}
	return func(r, k int) float64 { return float64(margins[0][r*bits+k]) + float64(margins[1][r*bits+k]) }, ok
}
