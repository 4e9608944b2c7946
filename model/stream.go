package model

import (
	"context"
	"errors"

	"hashgrove/dataset"
	"hashgrove/hamming"
	"hashgrove/internal/par"
)

// EncodeSource encodes all rows of a source in bounded memory and hands the codes, chunk after chunk in order, to
// sink; first is the number of the chunk's first row. Codes and chunk are lent until sink returns. Sink is called by
// one goroutine, not always the caller's. After an error sink may have seen some of the rows.
//
// Reading and encoding overlap: one turn reads as many chunks as there are threads while the other encodes the
// chunks read before, on all threads.
func (m *Model) EncodeSource(ctx context.Context, src dataset.Source, threads int,
	sink func(first int, codes hamming.Codes, chunk dataset.Chunk) error) error {

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
		func() error { return readBatches(ctx, src, m.Encoder.Bits(), free, full) },
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

// readBatches copies the chunks of the source, which are lent, into batches.
func readBatches(ctx context.Context, src dataset.Source, bits int, free <-chan []batch, full chan<- []batch) error {
	group := <-free
	n := 0
	for c, err := range src.Chunks(ctx) {
		if err != nil {
			return err
		}
		group[n].set(c, bits)
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
	full <- group[:n]
	close(full)
	return nil
}

// encodeBatches encodes what was read and hands it on.
func (m *Model) encodeBatches(ctx context.Context, threads int, free chan<- []batch, full <-chan []batch,
	sink func(first int, codes hamming.Codes, chunk dataset.Chunk) error) error {

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
		if err := m.encode(ctx, threads, group); err != nil {
			return err
		}
		for _, b := range group {
			if err := sink(b.chunk.First, b.codes, b.chunk); err != nil {
				return err
			}
		}
		free <- group
	}
}

// set copies a lent chunk, into the memory of the last one where it can.
func (b *batch) set(c dataset.Chunk, bits int) {
	old := b.chunk
	b.chunk = dataset.Chunk{First: c.First, X: c.X}
	b.chunk.X.Data = append(old.X.Data[:0], c.X.Data...)
	if c.IDs != nil {
		b.chunk.IDs = append(old.IDs[:0], c.IDs...)
	}
	if c.Labels != nil {
		b.chunk.Labels = append(old.Labels[:0], c.Labels...)
	}
	if c.Tags != nil {
		b.chunk.Tags = old.Tags[:0]
		for _, t := range c.Tags {
			b.chunk.Tags = append(b.chunk.Tags, append([]string(nil), t...))
		}
	}
	if b.codes.Len() != c.X.Rows {
		b.codes = hamming.NewCodes(c.X.Rows, bits)
	}
}
