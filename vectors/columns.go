package vectors

import (
	"context"
	"fmt"

	"hashgrove/internal/par"
)

// Columns holds the training vectors as the learners want them: one byte per value, column after column.
// It is all that training keeps of the vectors.
type Columns struct {
	Quantizer
	Rows int
	data []uint8 // column j is data[j*Rows : (j+1)*Rows]
}

// NewColumns returns columns of the given number of rows, all values in bin 0.
func NewColumns(rows int, q Quantizer) *Columns {
	return &Columns{q, rows, make([]uint8, rows*q.Dim())}
}

// Column lends the bins of column j, one per row.
func (c *Columns) Column(j int) []uint8 { return c.data[j*c.Rows : (j+1)*c.Rows : (j+1)*c.Rows] }

// Set quantises x into the rows from first on.
func (c *Columns) Set(ctx context.Context, threads, first int, x Matrix) error {
	if x.Cols != c.Dim() || first < 0 || first+x.Rows > c.Rows {
		panic("vectors: Columns.Set outside of the columns")
	}
	// A few columns at a time, so that the cache lines of x that are read stay near until all their
	// values are used, while every write goes to one of few lines.
	const width = 16
	return par.Blocks(ctx, threads, x.Cols, width, func(_, lo, hi int) {
		var scales [width]Scale
		for j := lo; j < hi; j++ {
			scales[j-lo] = c.Scale(j)
		}
		for i := range x.Rows {
			row := x.Data[i*x.Cols+lo : i*x.Cols+hi]
			at := lo*c.Rows + first + i
			for j, v := range row {
				c.data[at] = scales[j].Bin(v)
				at += c.Rows
			}
		}
	})
}

// Quantize reads a source of the given number of rows once, into columns.
func Quantize(ctx context.Context, src Source, rows int, q Quantizer, threads int) (*Columns, error) {
	if src.Dim() != q.Dim() {
		return nil, fmt.Errorf("vectors have %d dimensions, the quantiser %d", src.Dim(), q.Dim())
	}
	c := NewColumns(rows, q)
	n := 0
	for chunk, err := range src.Chunks(ctx) {
		if err != nil {
			return nil, err
		}
		if n += chunk.X.Rows; n > rows {
			break
		}
		if err := c.Set(ctx, threads, chunk.First, chunk.X); err != nil {
			return nil, err
		}
	}
	return c, CheckRows(n, rows)
}
