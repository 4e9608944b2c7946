package model

import (
	"context"
	"errors"

	"hashgrove/hamming"
	"hashgrove/internal/par"
	"hashgrove/vectors"
)

// EncodeSource encodes all rows of a source in bounded memory and hands the codes, run after run in order, to sink;
// first is the number of the run's first row. The runs are not the chunks of the source: those of wide vectors have too
// few rows to be encoded fast. Codes and chunk are lent until sink returns. Sink is called by one goroutine, not always
// the caller's. After an error sink may have seen some of the rows.
//
// Reading and encoding overlap: one turn reads a batch for every thread while the other encodes the batches read
// before, on all threads.
func (m *Model) EncodeSource(ctx context.Context, src vectors.Source, threads int,
	sink func(first int, codes hamming.Codes, chunk vectors.Chunk) error) error {

	if err := m.checkDim(src.Dim()); err != nil {
		return err
	}
	threads = par.Threads(threads)
	free, full := make(chan []batch, 2), make(chan []batch, 2)
	for range 2 {
		free <- make([]batch, threads)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	turns := [2]func() error{
		func() error { return readBatches(ctx, src, free, full) },
		func() error { return m.encodeBatches(ctx, threads, free, full, sink) },
	}
	unfinished := errors.New("unfinished")
	failed := [2]error{unfinished, unfinished}
	// The turns wait for each other, so there are two workers even for one thread.
	err := par.For(ctx, 2, 2, func(i int) {
		defer func() {
			if failed[i] != nil { // a panic too: the other turn must not wait for ever
				stop(failed[i])
			}
		}()
		failed[i] = turns[i]()
	})
	if err != nil {
		return err
	}
	// When one turn fails, the other ends with the same cause.
	if failed[1] != nil {
		return failed[1]
	}
	return failed[0]
}

// batchRows is how many rows are encoded in one go: whole blocks of together four megabytes, one block of up to
// sixteen, and of vectors that are wider still as many as that.
func batchRows(dim int) int {
	if rows := 1 << 20 / dim; rows >= block {
		return min(rows, 8192) &^ (block - 1)
	}
	return max(64, min(block, 1<<22/dim))
}

// readBatches copies the chunks of the source, which are lent, into batches.
func readBatches(ctx context.Context, src vectors.Source, free <-chan []batch, full chan<- []batch) error {
	group := <-free
	n, rows := 0, batchRows(src.Dim())
	for c, err := range src.Chunks(ctx) {
		if err != nil {
			return err
		}
		for lo := 0; lo < c.X.Rows; {
			lo += group[n].add(c, lo, rows)
			if group[n].chunk.X.Rows < rows {
				continue
			}
			if n++; n == len(group) {
				full <- group
				select {
				case group = <-free:
				case <-ctx.Done():
					return context.Cause(ctx)
				}
				n = 0
			}
		}
	}
	full <- group[:min(n+1, len(group))]
	close(full)
	return nil
}

// encodeBatches encodes what was read and hands it on.
func (m *Model) encodeBatches(ctx context.Context, threads int, free chan<- []batch, full <-chan []batch,
	sink func(first int, codes hamming.Codes, chunk vectors.Chunk) error) error {

	for {
		var group []batch
		var more bool
		select {
		case group, more = <-full:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if !more {
			return nil
		}
		for i := range group {
			if b := &group[i]; b.codes.Len() != b.chunk.X.Rows {
				b.codes = hamming.NewCodes(b.chunk.X.Rows, m.Encoder.Bits())
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
			if err := sink(b.chunk.First, b.codes, b.chunk); err != nil {
				return err
			}
			b.clear()
		}
		free <- group
	}
}

// add copies rows of a lent chunk, from lo on, until the batch has as many as it shall have, and returns their number.
func (b *batch) add(c vectors.Chunk, lo, rows int) int {
	if b.chunk.X.Rows == 0 {
		b.chunk.First = c.First + lo
	}
	hi := min(lo+rows-b.chunk.X.Rows, c.X.Rows)
	b.chunk.Append(c.Slice(lo, hi))
	return hi - lo
}

// clear empties the batch but keeps its memory.
func (b *batch) clear() {
	c := &b.chunk
	c.X.Rows, c.X.Data = 0, c.X.Data[:0]
	c.IDs, c.Labels, c.Tags, c.Places = c.IDs[:0], c.Labels[:0], c.Tags[:0], c.Places[:0]
}
