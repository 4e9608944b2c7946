package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"hashgrove/internal/fileio"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// ErrMixed is returned for code files mixed with other files.
var ErrMixed = message.New("mixed-codes", "code files and vectors cannot be mixed: give one or the other")

// AreCodes reports whether the paths are code files or FAISS binary indexes; either all must be or none.
func AreCodes(paths []string) (bool, error) {
	coded := 0
	for _, path := range paths {
		if IsStream(path) {
			continue // looking would consume its beginning
		}
		// Reading the file reports errors: the path may be a pattern.
		if kind, ok, _ := fileio.FileKind(path); ok && kind == fileio.Codes {
			coded++
		} else if faiss, _ := hamming.IsFAISS(path); faiss {
			coded++
		}
	}
	if coded != 0 && coded != len(paths) {
		return false, ErrMixed
	}
	return coded > 0, nil
}

// Input reads the items of an index: rows for a model to encode, or codes.
type Input struct {
	Bits        int
	Fingerprint hamming.Fingerprint // of the model that made the codes; zeros if unknown
	Live        bool                // rows arrive over time, as from a pipe

	Attributes *Attributes // nil if there are none
	Named      bool        // the rows have ids; set by Read, like the following fields
	Join       Join        // how attributes were joined

	name  string
	shift int // offset of row numbers, if files say where they begin
	rows  int // so far
	each  func(ctx context.Context, threads int, take func(hamming.Codes, vectors.Chunk) error) error
}

// FromRows returns the rows of a source of the model's vectors as items; errors call them name.
func FromRows(m *model.Model, src vectors.Source, name string) *Input {
	in := &Input{Bits: m.Encoder.Bits(), Fingerprint: m.Fingerprint(), name: name}
	in.each = func(ctx context.Context, threads int, take func(hamming.Codes, vectors.Chunk) error) error {
		encode := m.EncodeSource
		if in.Live {
			encode = m.EncodeLive
		}
		return encode(ctx, src, threads, func(_ int, codes hamming.Codes, chunk vectors.Chunk) error {
			return take(codes, chunk)
		})
	}
	return in
}

// FromCodes returns the codes in files as items.
func FromCodes(paths []string) (*Input, error) {
	in := &Input{name: paths[0]}
	f, err := message.Open(in.name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := hamming.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.name, err)
	}
	in.Bits, in.Fingerprint = r.Bits, r.Fingerprint
	in.each = func(ctx context.Context, _ int, take func(hamming.Codes, vectors.Chunk) error) error {
		for _, path := range paths {
			if err := in.readCodes(ctx, path, take); err != nil {
				return err
			}
		}
		return nil
	}
	return in, nil
}

// CountCodes returns the number of codes in files of them.
func (in *Input) CountCodes(ctx context.Context) (n int, err error) {
	err = in.each(ctx, 1, func(codes hamming.Codes, _ vectors.Chunk) error {
		n += codes.Len()
		return nil
	})
	return n, err
}

// readCodes reads a code file in bounded memory.
func (in *Input) readCodes(ctx context.Context, path string, take func(hamming.Codes, vectors.Chunk) error) error {
	f, err := message.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := hamming.NewReader(f)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if r.Bits != in.Bits {
		return fmt.Errorf("%s: codes of %d bits, but %s has %d", path, r.Bits, in.name, in.Bits)
	}
	for first := true; ctx.Err() == nil; first = false {
		codes, ids, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if r.Fingerprint != in.Fingerprint {
			return fmt.Errorf("codes of the models %v and %v: make an index of each", in.Fingerprint, r.Fingerprint)
		}
		if first && r.First >= 0 {
			in.shift = r.First - in.rows
		}
		if err := take(codes, vectors.Chunk{IDs: ids}); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Read returns all items, about n of them, in one batch, to be added as a whole or not at all. n may be what a file
// claims.
func (in *Input) Read(ctx context.Context, n, threads int, progress func(done int)) (*index.Batch, error) {
	b := index.NewBatch(in.Bits)
	b.Fingerprint = in.Fingerprint
	into := func(more int) *index.Batch {
		b.Reserve(more, n)
		return b
	}
	err := in.read(ctx, threads, into, func(*index.Batch) error {
		progress(len(b.IDs))
		return nil
	})
	return b, err
}

// Each passes the items to take in parts, in bounded memory. Each part belongs to take.
func (in *Input) Each(ctx context.Context, threads int, take func(*index.Batch) error) error {
	return in.read(ctx, threads, func(int) *index.Batch {
		b := index.NewBatch(in.Bits)
		b.Fingerprint = in.Fingerprint
		return b
	}, take)
}

// read appends the items chunk by chunk to the batch returned by into for that many more, and calls done with it.
func (in *Input) read(
	ctx context.Context, threads int, into func(more int) *index.Batch, done func(*index.Batch) error,
) error {
	in.rows, in.shift = 0, 0
	take := func(codes hamming.Codes, chunk vectors.Chunk) error {
		b := into(codes.Len())
		if err := in.append(b, codes, chunk); err != nil || len(b.IDs) == 0 {
			return err
		}
		return done(b)
	}
	err := in.each(ctx, threads, take)
	if err != nil || in.Attributes == nil {
		return err
	}
	in.Join, err = in.Attributes.Join(in.rows)
	return err
}

// append adds rows to the batch.
func (in *Input) append(b *index.Batch, codes hamming.Codes, chunk vectors.Chunk) error {
	in.Named = in.Named || chunk.IDs != nil
	if in.Attributes != nil && in.rows == 0 {
		if err := in.Attributes.Match(chunk.IDs); err != nil {
			return err
		}
	}
	for i := range codes.Len() {
		row := in.rows
		in.rows++
		it, err := FromRow(chunk, i, row+in.shift)
		if err != nil {
			return fmt.Errorf("%s: %w", in.name, err)
		}
		it.Code = codes.Row(i)
		if in.Attributes != nil {
			if in.Attributes.own && i < len(chunk.Places) {
				row = chunk.Places[i] // files count bad rows too
			}
			in.Attributes.describe(&it, row)
		}
		b.Append(it)
	}
	return nil
}

// FromRow returns row i of a chunk as an item. Without an id it is named by its number among all rows.
func FromRow(chunk vectors.Chunk, i, row int) (it index.Item, err error) {
	if it.ID, err = index.RowID(chunk.IDs, i, row); err != nil {
		return it, err
	}
	if chunk.Labels != nil {
		it.Label = chunk.Labels[i]
	}
	if chunk.Tags != nil {
		it.Tags = slices.Clone(chunk.Tags[i]) // the chunk is reused
	}
	return it, nil
}
