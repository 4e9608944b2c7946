package vectors

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"

	"hashgrove/internal/fault"
)

// Kept is a source whose rows are made once: the first pass goes to the source behind and keeps what it yields, later
// ones read what was kept. It is for rows that cost much more to make than to read, as the features of pictures do.
//
// Values stay in memory up to a limit and go to a temporary file beyond it; ids, labels and tags stay in memory. A pass
// that ends early leaves nothing behind. Rows that the source drops after the first pass, because an earlier row has
// the same id, are dropped from what was kept too.
type Kept struct {
	src   Source
	limit int64 // bytes of values in memory
	whole bool  // all rows were kept
	rows  Chunk // all of them; without values when those are in the file
	file  *os.File

	dropped []int // places of rows left out after the first pass, ascending; known from the second pass on
}

// Keep is the source of the rows of src, made once. Close removes the temporary file.
func Keep(src Source, limit int64) *Kept { return &Kept{src: src, limit: limit} }

// Dim implements Source.
func (k *Kept) Dim() int { return k.src.Dim() }

// Unwrap is the source behind.
func (k *Kept) Unwrap() Source { return k.src }

// Close lets go of what was kept.
func (k *Kept) Close() error {
	k.whole, k.rows, k.dropped = false, Chunk{}, nil
	if k.file == nil {
		return nil
	}
	file := k.file
	k.file = nil
	err := file.Close()
	if gone := os.Remove(file.Name()); gone != nil && !errors.Is(gone, os.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}

// Chunks implements Source.
func (k *Kept) Chunks(ctx context.Context) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		if k.whole {
			k.again(ctx, yield)
			return
		}
		if err := k.Close(); err != nil {
			yield(Chunk{}, err)
			return
		}
		if err := k.first(ctx, yield); err != nil {
			yield(Chunk{}, err)
		}
	}
}

// first makes the rows.
func (k *Kept) first(ctx context.Context, yield func(Chunk, error) bool) error {
	var out *bufio.Writer
	for c, err := range k.src.Chunks(ctx) {
		if err != nil {
			return err
		}
		values := c.X.Data
		if out == nil && 4*int64(len(k.rows.X.Data)+len(values)) > k.limit {
			if out, err = k.spill(); err != nil {
				return err
			}
		}
		if out != nil {
			if err := binary.Write(out, binary.LittleEndian, values); err != nil {
				return fmt.Errorf("keep vectors in %s: %w", k.file.Name(), err)
			}
			c.X.Data = nil
		}
		k.rows.Append(c)
		c.X.Data = values
		if !yield(c, nil) {
			return nil
		}
	}
	if out != nil {
		if err := out.Flush(); err != nil {
			return fmt.Errorf("keep vectors in %s: %w", k.file.Name(), err)
		}
	}
	k.rows.X.Cols = k.src.Dim()
	k.whole = true
	return nil
}

// spill moves the values from memory to a file. Where the system allows it, the file has no name from the beginning, so
// that nothing is left behind however the program ends.
func (k *Kept) spill() (*bufio.Writer, error) {
	file, err := os.CreateTemp("", "hashgrove-*.vectors")
	if err != nil {
		return nil, fault.New("no-room", "no room to keep vectors: %w", err)
	}
	_ = os.Remove(file.Name()) // Close tries again
	k.file = file
	out := bufio.NewWriterSize(file, 1<<20)
	values := k.rows.X.Data
	k.rows.X.Data = nil
	return out, binary.Write(out, binary.LittleEndian, values)
}

// again yields what was kept.
func (k *Kept) again(ctx context.Context, yield func(Chunk, error) bool) {
	if from, ok := Find[interface{ Dropped() []int }](k.src); ok && k.dropped == nil {
		k.dropped = append([]int{}, from.Dropped()...)
	}
	rows := k.rows
	if k.file != nil {
		rows.X.Cols = 0 // no values
	}
	var out Chunk
	var values []float32 // from the file
	step, at := ChunkRows(k.Dim()), 0
	for lo := 0; lo < rows.X.Rows; lo += step {
		if ctx.Err() != nil {
			yield(Chunk{}, context.Cause(ctx))
			return
		}
		hi := min(lo+step, rows.X.Rows)
		c := rows.Slice(lo, hi)
		if k.file != nil {
			n := (hi - lo) * k.Dim()
			values = slices.Grow(values[:0], n)[:n]
			part := io.NewSectionReader(k.file, 4*int64(lo)*int64(k.Dim()), 4*int64(n))
			if err := binary.Read(part, binary.LittleEndian, values); err != nil {
				yield(Chunk{}, fmt.Errorf("read vectors that were kept: %w", err))
				return
			}
			c.X = Matrix{Rows: hi - lo, Cols: k.Dim(), Data: values}
		}
		if len(k.dropped) > 0 && c.Places != nil {
			c.Only(present(c.Places, k.dropped), &out)
			c = out
		}
		c.First = at
		at += c.X.Rows
		if c.X.Rows > 0 && !yield(c, nil) {
			return
		}
	}
}

// present tells which places were not dropped.
func present(places, dropped []int) []bool {
	keep := make([]bool, len(places))
	for i, place := range places {
		_, gone := slices.BinarySearch(dropped, place)
		keep[i] = !gone
	}
	return keep
}
