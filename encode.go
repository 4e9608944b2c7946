package hashgrove

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"hashgrove/internal/dataset"
	"hashgrove/internal/fileio"
	"hashgrove/internal/hamming"
	"hashgrove/internal/vectors"
)

// EncodeOptions say how to turn data into codes.
type EncodeOptions struct {
	Form     string     // of the output, one of CodeForms; "" goes by the name of the file
	Threads  int        // 0 means all cores
	Progress func(Step) // called from one goroutine; may be nil
}

// parquetForm is what the formats of package hamming lack.
const parquetForm hamming.Format = "parquet"

// CodeForms returns the forms in which codes are written: hgc is a code file, with ids and the fingerprint of the
// model; npy and raw hold packed bytes; hex, csv and jsonl have a line for each code; parquet has columns.
func CodeForms() []string {
	return []string{"hgc", "npy", "raw", "hex", "csv", "jsonl", string(parquetForm)}
}

// CodeForm returns the form in which codes are written to a file of that name.
func CodeForm(path string) (string, error) {
	if ending := strings.ToLower(filepath.Ext(path)); ending == ".parquet" || ending == ".pq" {
		return string(parquetForm), nil
	}
	f, err := hamming.FormatOf(path)
	return string(f), err
}

// DataRead says what reading data met.
type DataRead struct {
	Rows       int   // that were used
	Bad        int   // that were left out
	IDs        bool  // whether they have ids; otherwise they go by their numbers
	Attributes *Join // how attributes were matched to items; nil without attributes
}

// WriteCodes encodes data row by row, in bounded memory, and writes the codes. Rows that come through a pipe are
// answered as they arrive.
func (m *Model) WriteCodes(ctx context.Context, w io.Writer, d *Data, o EncodeOptions) (*DataRead, error) {
	if !slices.Contains(CodeForms(), o.Form) {
		return nil, badOption("to", "%s: choose %s", o.Form, strings.Join(CodeForms(), ", "))
	}
	if err := d.Err(); err != nil {
		return nil, err
	}
	given, src, err := d.readOnce().forModel(m.model, false, o.Threads)
	if err != nil {
		return nil, err
	}
	set, _ := given.(*dataset.Set)
	rows, live := 0, d.Once()
	if set != nil {
		rows = max(set.Rows(), 0)
	}
	out, err := m.codeWriter(w, hamming.Format(o.Form), rows)
	if err != nil {
		return nil, err
	}
	encode, read := m.model.EncodeSource, &DataRead{}
	if live {
		encode = m.model.EncodeLive
	}
	_, isFile := w.(*fileio.File)
	err = encode(ctx, src, o.Threads, func(first int, codes hamming.Codes, chunk vectors.Chunk) error {
		read.Rows, read.IDs = first+codes.Len(), read.IDs || chunk.IDs != nil
		steps(o.Progress).step("encoding", read.Rows, rows)
		if err := out.write(first, codes, chunk); err != nil || !live || isFile {
			return err
		}
		return out.Flush()
	})
	if err != nil {
		return nil, err
	}
	read.Bad = noteBad(set, o.Progress)
	return read, out.Close()
}

// WriteCodesFile is like WriteCodes for a file, all or nothing.
func (m *Model) WriteCodesFile(ctx context.Context, path string, d *Data, o EncodeOptions) (read *DataRead, err error) {
	if o.Form == "" {
		if o.Form, err = CodeForm(path); err != nil {
			return nil, err
		}
	}
	return read, fileio.WriteFile(path, func(w io.Writer) (err error) {
		read, err = m.WriteCodes(ctx, w, d, o)
		return err
	})
}

// noteBad says how many rows of files were left out, and returns that number.
func noteBad(set *dataset.Set, progress func(Step)) int {
	if set == nil {
		return 0
	}
	bad, first := set.Bad()
	if bad > 0 {
		steps(progress).report(Step{Note: dropped(bad, first[0])})
	}
	return bad
}

// codeWriter writes codes with the rows that they are of.
type codeWriter interface {
	write(first int, codes hamming.Codes, chunk vectors.Chunk) error
	Flush() error
	Close() error
}

// codeWriter starts the output; rows is their number, or 0 if it is unknown.
func (m *Model) codeWriter(w io.Writer, form hamming.Format, rows int) (codeWriter, error) {
	h := hamming.Header{Bits: m.Bits(), Rows: rows, Fingerprint: m.model.Fingerprint()}
	if form == parquetForm {
		return &parquetCodes{CodeTable: dataset.CodeTable{Bits: h.Bits, Fingerprint: h.Fingerprint}, to: w}, nil
	}
	out, err := hamming.NewWriter(w, form, h)
	return codeLines{out}, err
}

// codeLines is a codeWriter of the forms that have codes and ids.
type codeLines struct{ *hamming.Writer }

func (w codeLines) write(_ int, codes hamming.Codes, chunk vectors.Chunk) error {
	return w.Write(codes, chunk.IDs)
}

// parquetCodes is a codeWriter of a Parquet file, whose columns the first rows decide.
type parquetCodes struct {
	dataset.CodeTable
	to    io.Writer
	begun bool
}

func (w *parquetCodes) write(first int, codes hamming.Codes, chunk vectors.Chunk) error {
	if !w.begun {
		w.begun, w.Integers, w.Label, w.Tags = true, chunk.IDs == nil, chunk.Labels != nil, chunk.Tags != nil
		if err := w.Begin(w.to); err != nil {
			return err
		}
	}
	return w.WriteChunk(first, codes, chunk)
}

func (w *parquetCodes) Flush() error { return nil }

func (w *parquetCodes) Close() error {
	if err := w.write(0, hamming.NewCodes(0, w.Bits), vectors.Chunk{}); err != nil { // begins a file without rows
		return err
	}
	return w.CodeTable.Close()
}

// Join says how attributes were matched to items.
type Join struct {
	By        string `json:"joined_by"`               // "id", "row", or "data": from the files of the vectors
	Records   int    `json:"records"`                 // of the file
	Found     int    `json:"items_with_record"`       // items that have one
	Unmatched int    `json:"records_without_an_item"` // records that no item has
}
