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

// CrossFit is codes for rows that a model was learned from, made by trees that had not seen them: with these in place
// of the model's own, learned and new items of an index are alike. The file is a code file with the hash of the row as
// id.
type CrossFit struct {
	Used int // rows that got such a code

	codes hamming.Codes
	place map[vectors.RowHash]int
	dim   int // of the vectors that are hashed: a row may have that of a mirror image behind it
}

// CrossFitPath is where the cross-fitted codes of a model file are written: beside it.
func CrossFitPath(model string) string {
	return strings.TrimSuffix(model, filepath.Ext(model)) + ".crossfit.hgc"
}

// WriteCrossFit writes codes of rows that the model was learned from to a file, all or nothing.
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

// ReadCrossFit reads such a file; it must be of the model.
func ReadCrossFit(path string, m *model.Model) (*CrossFit, error) {
	if kind, ok, err := section.FileKind(path); err != nil {
		return nil, err
	} else if !ok || kind != section.Codes {
		return nil, fmt.Errorf("%s: not a file of cross-fitted codes, as training writes it", path)
	}
	t, err := hamming.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if own := m.Fingerprint(); t.Fingerprint != own {
		return nil, fmt.Errorf("%s: cross-fitted codes of model %v, but this model is %v: give those that were written "+
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

// replace puts the cross-fitted codes of those rows that have one in the place of the model's.
func (c *CrossFit) replace(codes hamming.Codes, x vectors.Matrix) {
	vectors.HashFirst(x, c.dim, func(i int, h vectors.RowHash) {
		if k, ok := c.place[h]; ok {
			copy(codes.Row(i), c.codes.Row(k))
			c.Used++
		}
	})
}
