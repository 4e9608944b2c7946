package dataset

import (
	"io"

	"hashgrove/internal/dataset/internal/parquetrows"
)

// ParquetWriter writes a table as a Parquet file, row by row.
type ParquetWriter struct{ *parquetrows.Writer }

// NewParquetWriter starts a table with named columns of the types of the samples: string, float64 or int64, which may
// be absent in a row, or []string, []byte, []int8 or []float32. Write takes one value per column, nil for none; Close
// ends the file.
func NewParquetWriter(w io.Writer, names []string, samples []any) (*ParquetWriter, error) {
	out, err := parquetrows.NewWriter(w, names, samples)
	if err != nil {
		return nil, err
	}
	return &ParquetWriter{out}, nil
}
