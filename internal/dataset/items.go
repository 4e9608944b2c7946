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

// Input reads the items of an index: rows for a model to encode, or code files.
type Input struct {
	Bits        int
	Fingerprint hamming.Fingerprint // of the model that made the codes; zeros if unknown
	Live        bool                // rows arrive over time, as from a pipe

	Attributes *Attributes // nil if there are none
	Named      bool        // the rows have ids; set by Read, like the following fields
	Join       Join        // how attributes were joined

	name  string
	codes []string // code files
	shift int      // offset of row numbers, if files say where they begin
	rows  int      // so far
	model *model.Model
	src   vectors.Source
}

// FromRows returns the rows of a source of the model's vectors as items; errors call them name.
func FromRows(m *model.Model, src vectors.Source, name string) *Input {
	return &Input{Bits: m.Encoder.Bits(), Fingerprint: m.Fingerprint(), model: m, src: src, name: name}
}

// FromCodes returns the codes in files as items.
func FromCodes(paths []string) (*Input, error) {
	in := &Input{codes: paths, name: paths[0]}
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
	return in, nil
}

// CountCodes returns the number of codes in the files.
func (in *Input) CountCodes(ctx context.Context) (int, error) {
	n := 0
	return n, in.eachChunk(func(codes hamming.Codes, _ []string, _ *hamming.Reader) error {
		n += codes.Len()
		return ctx.Err()
	})
}

// eachChunk reads the code files in bounded memory.
func (in *Input) eachChunk(take func(codes hamming.Codes, ids []string, from *hamming.Reader) error) error {
	for _, path := range in.codes {
		if err := in.readCodes(path, take); err != nil {
			return err
		}
	}
	return nil
}

func (in *Input) readCodes(path string, take func(hamming.Codes, []string, *hamming.Reader) error) error {
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
	for {
		codes, ids, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := take(codes, ids, r); err != nil {
			return err
		}
	}
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
	in.rows = 0
	take := func(codes hamming.Codes, chunk vectors.Chunk) error {
		b := into(codes.Len())
		if err := in.append(b, codes, chunk); err != nil || len(b.IDs) == 0 {
			return err
		}
		return done(b)
	}
	err := error(nil)
	switch {
	case in.src == nil:
		err = in.readCodeFiles(ctx, take)
	case in.model == nil:
		err = in.pack(ctx, take)
	default:
		encode := in.model.EncodeSource
		if in.Live {
			encode = in.model.EncodeLive
		}
		err = encode(ctx, in.src, threads, func(_ int, codes hamming.Codes, chunk vectors.Chunk) error {
			return take(codes, chunk)
		})
	}
	if err != nil || in.Attributes == nil {
		return err
	}
	in.Join, err = in.Attributes.Join(in.rows)
	return err
}

// readCodeFiles is read for code files.
func (in *Input) readCodeFiles(ctx context.Context, take func(hamming.Codes, vectors.Chunk) error) error {
	var last *hamming.Reader
	return in.eachChunk(func(codes hamming.Codes, ids []string, from *hamming.Reader) error {
		if f := from.Fingerprint; f != in.Fingerprint {
			return fmt.Errorf("codes of the models %v and %v: make an index of each", in.Fingerprint, f)
		}
		if last != from && from.First >= 0 {
			in.shift = from.First - in.rows
		}
		last = from
		return errors.Join(ctx.Err(), take(codes, vectors.Chunk{IDs: ids}))
	})
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
