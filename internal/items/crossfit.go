package items

import (
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"

	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
	"hashgrove/internal/section"
	"hashgrove/internal/vectors"
)

// CrossFit holds out-of-fold codes for the rows that a model was learned from. Using them instead of the model's own
// codes makes learned and new items of an index comparable. The file is a code file with the hash of the row as id.
type CrossFit struct {
	Used int // rows that got an out-of-fold code

	codes hamming.Codes
	place map[vectors.RowHash]int
	dim   int // length of the hashed vectors: a row may be followed by that of its mirror image
}

// CrossFitPath returns the path of the out-of-fold codes of a model file, beside the model.
func CrossFitPath(model string) string {
	return strings.TrimSuffix(model, filepath.Ext(model)) + ".crossfit.hgc"
}

// WriteCrossFit atomically writes out-of-fold codes of a model's training rows to a file.
func WriteCrossFit(path string, m *model.Model, rows []vectors.RowHash, codes hamming.Codes) error {
	w, err := hamming.Create(path, hamming.HGC, hamming.Header{
		Bits: codes.Bits, Rows: codes.Len(), Fingerprint: m.Fingerprint(),
	})
	if err != nil {
		return err
	}
	ids := make([]string, len(rows))
	for i, h := range rows {
		ids[i] = h.String()
	}
	if err := w.Write(codes, ids); err != nil {
		w.Abort()
		return err
	}
	return w.Close()
}

// ReadCrossFit reads a file written by WriteCrossFit for the same model.
func ReadCrossFit(path string, m *model.Model) (*CrossFit, error) {
	if kind, ok, err := section.FileKind(path); err != nil {
		return nil, err
	} else if !ok || kind != section.Codes {
		return nil, fmt.Errorf("%s: not a file of cross-fitted codes written by training", path)
	}
	t, err := hamming.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if own := m.Fingerprint(); t.Fingerprint != own {
		return nil, fmt.Errorf("%s: cross-fitted codes of model %v, but this model is %v: use the file written "+
			"beside it", path, t.Fingerprint, own)
	}
	if t.Codes.Bits != m.Encoder.Bits() {
		return nil, fmt.Errorf("%s: cross-fitted codes of %d bits, but the model's have %d: the file is damaged or forged",
			path, t.Codes.Bits, m.Encoder.Bits())
	}
	c := &CrossFit{codes: t.Codes, place: make(map[vectors.RowHash]int, len(t.IDs)), dim: m.Encoder.Dim()}
	for i, id := range t.IDs {
		b, err := hex.DecodeString(id)
		if err != nil || len(b) != len(vectors.RowHash{}) {
			return nil, fmt.Errorf("%s: the id %q is not the hash of a row: these are codes of items, not cross-fitted ones",
				path, id)
		}
		c.place[vectors.RowHash(b)] = i
	}
	if len(c.place) != t.Codes.Len() {
		return nil, fmt.Errorf("%s: %d codes of %d different rows: these are not cross-fitted codes",
			path, t.Codes.Len(), len(c.place))
	}
	return c, nil
}

// replace substitutes out-of-fold codes for the rows that have one.
func (c *CrossFit) replace(codes hamming.Codes, x vectors.Matrix) {
	vectors.HashFirst(x, c.dim, func(i int, h vectors.RowHash) {
		if k, ok := c.place[h]; ok {
			copy(codes.Row(i), c.codes.Row(k))
			c.Used++
		}
	})
}
