package model

import (
	"context"
	"iter"

	"hashgrove/internal/hamming"
	"hashgrove/internal/par"
	"hashgrove/internal/vectors"
)

// EncodeSource encodes all rows of a source in bounded memory and passes the codes to sink in runs, in order; first is
// the number of the run's first row. The runs are not the chunks of the source, which for wide vectors have too few
// rows to be encoded fast. Codes and chunk are valid until sink returns. Sink is called by one goroutine at a time, not
// always the caller's. After an error sink may have seen some of the rows.
//
// Reading and encoding overlap: one turn reads a batch for every thread while the other encodes the batches read
// before, on all threads.
func (m *Model) EncodeSource(ctx context.Context, src vectors.Source, threads int,
	sink func(first int, codes hamming.Codes, chunk vectors.Chunk) error) error {

	if err := m.checkDim(src.Dim()); err != nil {
		return err
	}
	threads = par.Threads(threads)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	in := &batchReader{rows: batchRows(src.Dim())}
	var stop func()
	in.next, stop = iter.Pull2(src.Chunks(ctx))
	defer stop()
	n := turnBatches(src.Dim(), threads)
	read, encoded := make([]batch, n), make([]batch, n)
	for last := false; !last; {
		last = in.done
		var failed [2]error
		turns := [2]func() error{
			func() error { return in.fill(read) },
			func() error { return m.encodeBatches(ctx, threads, encoded, sink) },
		}
		err := par.For(ctx, 2, 2, func(i int) {
			if failed[i] = turns[i](); failed[i] != nil {
				cancel(failed[i]) // the other turn ends with the same cause
			}
		})
		if err == nil && failed[1] != nil {
			err = failed[1]
		} else if err == nil {
			err = failed[0]
		}
		if err != nil {
			return err
		}
		read, encoded = encoded, read
	}
	return nil
}

// EncodeAll returns the codes of all rows of a source.
func (m *Model) EncodeAll(ctx context.Context, src vectors.Source, threads int) (hamming.Codes, error) {
	all := hamming.NewCodes(0, m.Encoder.Bits())
	return all, m.EncodeSource(ctx, src, threads, func(_ int, codes hamming.Codes, _ vectors.Chunk) error {
		all.Data = append(all.Data, codes.Data...)
		return nil
	})
}

// EncodeLive is EncodeSource for rows that arrive little by little, as from a pipe: every chunk is encoded and passed
// on before the next one is read.
func (m *Model) EncodeLive(ctx context.Context, src vectors.Source, threads int,
	sink func(first int, codes hamming.Codes, chunk vectors.Chunk) error) error {

	if err := m.checkDim(src.Dim()); err != nil {
		return err
	}
	for chunk, err := range src.Chunks(ctx) {
		if err != nil {
			return err
		}
		if err := m.encodeBatches(ctx, par.Threads(threads), []batch{{chunk: chunk}}, sink); err != nil {
			return err
		}
	}
	return nil
}

// batchRows returns how many rows are encoded at once: whole blocks of together four megabytes, one block of up to
// sixteen, 64 rows of still wider vectors, and of the widest as many as make 64 megabytes.
func batchRows(dim int) int {
	if rows := 1 << 20 / dim; rows >= block {
		return min(rows, 8192) &^ (block - 1)
	}
	return max(min(max(64, min(block, 1<<22/dim)), 1<<24/dim), 1)
}

// turnValues bounds the values of the batches of a turn: a gigabyte, or one batch.
const turnValues = 1 << 28

// turnBatches returns how many batches are read in a turn: one for every thread, unless they are large.
func turnBatches(dim, threads int) int { return min(threads, max(turnValues/(batchRows(dim)*dim), 1)) }

// batchReader copies the chunks of a source into batches, since chunks are reused.
type batchReader struct {
	rows  int // of a batch
	next  func() (vectors.Chunk, error, bool)
	chunk vectors.Chunk // that is being copied
	at    int           // its first row that was not copied yet
	done  bool          // nothing is left
}

// fill fills batches while there are rows.
func (r *batchReader) fill(group []batch) error {
	for i := range group {
		b := &group[i]
		c := &b.chunk
		c.X.Rows, c.X.Data = 0, c.X.Data[:0]
		c.IDs, c.Labels, c.Tags, c.Places = c.IDs[:0], c.Labels[:0], c.Tags[:0], c.Places[:0]
		for c.X.Rows < r.rows && !r.done {
			if r.at == r.chunk.X.Rows {
				chunk, err, more := r.next()
				if err != nil {
					return err
				}
				r.chunk, r.at, r.done = chunk, 0, !more
				continue
			}
			if c.X.Rows == 0 {
				c.First = r.chunk.First + r.at
			}
			hi := min(r.at+r.rows-c.X.Rows, r.chunk.X.Rows)
			c.Append(r.chunk.Slice(r.at, hi))
			r.at = hi
		}
	}
	return nil
}

// encodeBatches encodes the batches read and passes the codes on.
func (m *Model) encodeBatches(ctx context.Context, threads int, group []batch,
	sink func(first int, codes hamming.Codes, chunk vectors.Chunk) error) error {

	for i := range group {
		if b := &group[i]; b.to.codes.Len() != b.chunk.X.Rows {
			b.to.codes = hamming.NewCodes(b.chunk.X.Rows, m.Encoder.Bits())
		}
	}
	if err := m.encode(ctx, threads, group); err != nil {
		return err
	}
	for i := range group {
		b := &group[i]
		if b.chunk.X.Rows == 0 {
			continue
		}
		if err := sink(b.chunk.First, b.to.codes, b.chunk); err != nil {
			return err
		}
	}
	return nil
}
