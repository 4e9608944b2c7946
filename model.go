package hashgrove

import (
	"context"
	"encoding/hex"
	"image"
	"math/bits"

	"hashgrove/api"
	"hashgrove/internal/dataset"
	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
	"hashgrove/internal/model/inside"
	"hashgrove/internal/vectors"
)

// Model turns vectors into codes. It is safe for concurrent use. Train and LoadModel make one.
type Model struct{ model *model.Model }

// inner returns the model within, or nil for no model.
func (m *Model) inner() *model.Model {
	if m == nil {
		return nil
	}
	return m.model
}

func init() {
	inside.Model = func(m any) *model.Model {
		if t, ok := m.(*Training); ok {
			return t.model
		}
		return m.(*Model).model
	}
	inside.NewModel = func(m *model.Model) any { return &Model{m} }
	inside.Spec = func(d any) dataset.Spec { return d.(*Data).alone().spec }
	inside.NewData = func(rows vectors.Source) any { return &Data{source: rows} }
}

// LoadModel reads and checks a model file.
func LoadModel(path string) (*Model, error) {
	m, err := model.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return &Model{m}, nil
}

// Save writes the model to a file, all or nothing. The file records its method, options, data and seed.
func (m *Model) Save(path string) error { return model.WriteFile(path, m.model) }

// Bits returns the length of the codes.
func (m *Model) Bits() int { return m.model.Encoder.Bits() }

// DetailBits returns the number of bits of detail, which are the last ones.
func (m *Model) DetailBits() int { return m.model.DetailBits() }

// Dim returns the length of the vectors.
func (m *Model) Dim() int { return m.model.Encoder.Dim() }

// Fingerprint identifies the hash functions. Codes are comparable if the fingerprints of their models are equal.
func (m *Model) Fingerprint() string { return m.model.Fingerprint().Full() }

// Shorter returns a model of the first bits, without training again: the leading bits of a FastHash code are a FastHash
// code.
func (m *Model) Shorter(bits int) (*Model, error) {
	if bits < 1 || bits > m.Bits() {
		return nil, api.Errorf(api.ErrInvalid, "the first %d bits of a model of %d: give 1 to %[2]d", bits, m.Bits())
	}
	return &Model{m.model.Prefix(bits)}, nil
}

// Code is a packed binary code. The first bit is the highest bit of the first byte, as in numpy.packbits and most
// databases.
type Code []byte

// String returns the code in hexadecimal digits.
func (c Code) String() string { return hex.EncodeToString(c) }

// Distance returns the number of bits in which two codes of the same length differ.
func (c Code) Distance(other Code) (int, error) {
	if len(c) != len(other) {
		return 0, api.Errorf(api.ErrInvalid, "codes of %d and %d bytes have no distance", len(c), len(other))
	}
	n := 0
	for i, b := range c {
		n += bits.OnesCount8(b ^ other[i])
	}
	return n, nil
}

// Encode returns the code of one vector.
func (m *Model) Encode(x []float32) (Code, error) {
	words, err := m.model.EncodeRow(x)
	if err != nil {
		return nil, err
	}
	return pack(words, m.Bits()), nil
}

// EncodeImage returns the code of an upright picture, resized and cropped like the pictures the model was trained on.
func (m *Model) EncodeImage(img image.Image) (Code, error) {
	words, err := m.model.EncodeImage(img)
	if err != nil {
		return nil, err
	}
	return pack(words, m.Bits()), nil
}

// EncodeAll returns the codes of many vectors, using all cores.
func (m *Model) EncodeAll(ctx context.Context, x [][]float32) ([]Code, error) {
	d := Vectors(x)
	d.missing = m.model.TakesMissing()
	if _, err := d.rows(PictureOptions{}, nil); err != nil || len(x) == 0 {
		return nil, err
	}
	codes, err := m.model.Encode(ctx, d.table.X, 0)
	if err != nil {
		return nil, err
	}
	packed, out := []byte(nil), make([]Code, len(x))
	for i := range out {
		from := len(packed)
		packed = codes.AppendBytes(packed, i)
		out[i] = Code(packed[from:len(packed):len(packed)])
	}
	return out, nil
}

// LearnedShare estimates what share of the vectors the model was trained on: codes of training vectors make every
// figure look better. For many vectors the estimate is good to about a hundredth, and it is exact if the model was
// trained on fewer than 1,024 different vectors. ok is false for models of older versions, and if none of the vectors
// falls into the sample the model keeps.
func (m *Model) LearnedShare(x [][]float32) (share float64, ok bool) {
	hashes := make([]uint64, 0, len(x))
	for _, row := range x {
		vectors.HashRows(vectors.Matrix{Rows: 1, Cols: len(row), Data: row}, 0, func(_ int, h vectors.RowHash) {
			hashes = append(hashes, h.Short())
		})
	}
	share, rows := m.model.Info.Sketch.Share(hashes)
	return share, rows > 0
}

// pack turns words into bytes.
func pack(words []uint64, bits int) Code {
	codes := hamming.NewCodes(1, bits)
	copy(codes.Row(0), words)
	return codes.AppendBytes(nil, 0)
}
