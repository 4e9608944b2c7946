package hashgrove

import (
	"context"
	"errors"
	"fmt"
	"io"

	foreign "hashgrove/internal/export"
	"hashgrove/internal/fileio"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/message"
	"hashgrove/internal/store"
)

// ExportOptions say what to export.
type ExportOptions struct {
	Form   string // "onnx" for a model, "faiss" for codes
	Prefix int    // leading bits to export; 0 means all
	NoIDs  bool   // leave ids out; FAISS then numbers codes from 0, in the order of the file
}

// Export is a file for another program.
type Export struct {
	Form        string   // as asked for
	Bits        int      // of every code
	DetailBits  int      // the last ones of them
	Codes       int      // 0 for a model
	Fingerprint string   // the beginning of that of the model, which made the codes
	Warnings    []string // what reading met, in sentences

	write func(io.Writer) error
}

// Write writes the file.
func (e *Export) Write(w io.Writer) error { return e.write(w) }

// WriteFile is like Write, all or nothing.
func (e *Export) WriteFile(path string) error { return fileio.WriteFile(path, e.write) }

// NewExport reads a model, or the codes of a code file or an index, for another program: a model becomes a graph of
// ONNX from float vectors to packed codes and margins, and codes become an IndexBinaryFlat of FAISS or, with ids, an
// IndexBinaryIDMap, which allows only integers. Bits of detail weigh less than others, which FAISS does not know: a
// Prefix leaves them out.
func NewExport(ctx context.Context, path string, o ExportOptions) (*Export, error) {
	switch o.Form {
	case "onnx":
		return exportModel(path, o)
	case "faiss":
		return exportCodes(ctx, path, o)
	}
	return nil, badOption("to", "%s: choose onnx or faiss", o.Form)
}

func exportModel(path string, o ExportOptions) (*Export, error) {
	m, err := LoadModel(path)
	if err != nil {
		return nil, err
	}
	if o.Prefix < 0 || o.Prefix > m.Bits() {
		return nil, wrong("too-many-bits", "%s %d: the model has %d bits", option("prefix"), o.Prefix, m.Bits())
	}
	x := m.model
	if o.Prefix > 0 {
		x = x.Prefix(o.Prefix)
	}
	return &Export{o.Form, x.Encoder.Bits(), x.DetailBits(), 0, x.Fingerprint().String(), nil, func(w io.Writer) error {
		err := foreign.WriteONNX(w, x)
		if errors.Is(err, foreign.ErrEncoder) {
			return fmt.Errorf("%s: %w", path, err)
		}
		return err
	}}, nil
}

func exportCodes(ctx context.Context, path string, o ExportOptions) (*Export, error) {
	var warnings []string
	f, err := readCodes(ctx, path)
	if errors.Is(err, hamming.ErrKind) {
		f, warnings, err = indexCodes(ctx, path)
	}
	if err != nil {
		return nil, err
	}
	codes, detail := f.Codes, f.Fingerprint.Detail(f.Codes.Bits)
	switch class := codes.Bits - detail; {
	case o.Prefix < 0 || o.Prefix > codes.Bits:
		return nil, badOption("prefix", "%d: the codes have %d bits", o.Prefix, codes.Bits)
	case o.Prefix > 0 && o.Prefix <= class:
		codes = codes.Prefix(o.Prefix)
	case detail > 0:
		return nil, wrong("detail", "%s: the last %d of %d bits are detail, and FAISS would count them like the others: "+
			"%s %d exports those of the class alone", path, detail, codes.Bits, option("prefix"), class)
	}
	var ids []int64
	if !o.NoIDs {
		if ids, err = integerIDs(f.IDs); err != nil {
			return nil, message.New("not-integer-ids", "%s: %w", path, err)
		}
	}
	return &Export{o.Form, codes.Bits, 0, codes.Len(), f.Fingerprint.String(), warnings, func(w io.Writer) error {
		return codes.WriteFAISS(w, ids)
	}}, nil
}

// indexCodes reads the codes of an index, ordered by id.
func indexCodes(ctx context.Context, path string) (f *hamming.Table, warnings []string, err error) {
	s, err := store.Open(ctx, path, store.OpenOptions{ReadOnly: true, Index: index.Config{Tables: -1}})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if s.Info().Recovered {
		warnings = []string{path + unfinished}
	}
	x := s.Snapshot()
	hits, err := x.Matches(index.Filter{})
	if err != nil {
		return nil, nil, err
	}
	f = &hamming.Table{
		Codes: hamming.NewCodes(len(hits), x.Bits()), IDs: make([]string, len(hits)), Fingerprint: x.Fingerprint(),
	}
	for i, h := range hits {
		copy(f.Codes.Row(i), x.Item(h).Code)
		f.IDs[i] = h.ID.String()
	}
	return f, warnings, nil
}

// integerIDs parses ids as integers.
func integerIDs(names []string) ([]int64, error) {
	if names == nil {
		return nil, nil
	}
	ids := make([]int64, len(names))
	for i, name := range names {
		id, err := index.ParseID(name)
		if err != nil {
			return nil, err
		}
		n, ok := id.Integer()
		if !ok {
			return nil, fmt.Errorf("the id %.80q is not a whole number", name)
		}
		ids[i] = n
	}
	return ids, nil
}
