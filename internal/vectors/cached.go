package vectors

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"

	"hashgrove/internal/par"
)

// Cached is a source that computes its rows once: the first pass reads the underlying source and stores its rows, later
// passes read the stored ones. Reading files or extracting picture features takes much longer than reading memory.
//
// Values stay in memory up to a limit and go to a temporary file beyond it. Ids, labels and tags are needed in the
// first pass alone: later ones have none. A pass that ends early stores nothing. If the file cannot be written, every
// pass reads the underlying source. Rows that the source drops after the first pass because of a repeated id are
// dropped here too.
type Cached struct {
	src    Source
	limit  int64  // bytes of values in memory
	folder string // for the temporary file; "" means the system's default

	whole  bool    // all rows are stored
	failed bool    // they cannot be stored
	blocks []Chunk // as the source yielded them; without values if those are in the file
	bytes  int64   // of values
	file   *os.File

	dropped []int // places of rows dropped after the first pass, ascending; set from the second pass on
}

// CacheBytes is the memory that cached values usually take at most.
const CacheBytes = 1 << 30

// TrainBytes returns the memory that the values of a training take at most, if nobody says how much there is: an eighth
// of the machine's, since a training reads them a dozen times, and at least CacheBytes.
func TrainBytes() int64 { return max(CacheBytes, par.Memory()/8) }

// Cache returns a source that reads src only once. Close removes the temporary file.
func Cache(src Source, limit int64, folder string) *Cached {
	return &Cached{src: src, limit: limit, folder: folder}
}

// Dim implements Source.
func (k *Cached) Dim() int { return k.src.Dim() }

// Schema implements Source.
func (k *Cached) Schema() Schema { return k.src.Schema() }

// InMemory returns the number of bytes of values held in memory.
func (k *Cached) InMemory() int64 {
	if k.file != nil {
		return 0
	}
	return k.bytes
}

// Close discards the stored rows.
func (k *Cached) Close() error {
	k.whole, k.blocks, k.bytes, k.dropped = false, nil, 0, nil
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
func (k *Cached) Chunks(ctx context.Context) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		if k.whole {
			k.again(ctx, yield)
			return
		}
		if err := k.Close(); err != nil {
			yield(Chunk{}, err)
			return
		}
		for c, err := range k.src.Chunks(ctx) {
			if err == nil && !k.failed && k.keep(c) != nil {
				k.failed = true
				err = k.Close()
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
		k.whole = !k.failed
	}
}

// keep stores a copy of a chunk.
func (k *Cached) keep(c Chunk) error {
	own := Chunk{First: c.First}
	c.IDs, c.Labels, c.Tags = nil, nil, nil
	values := c.X.Data
	if k.bytes += 4 * int64(len(values)); k.bytes > k.limit {
		if err := k.spill(); err != nil {
			return err
		}
		if _, err := k.file.Write(Bytes(values)); err != nil {
			return err
		}
		c.X.Data = nil
	}
	own.Append(c)
	k.blocks = append(k.blocks, own)
	return nil
}

// spill moves the values from memory to a file, once. If the system allows, the file is unlinked at once, so nothing is
// left behind however the program ends.
func (k *Cached) spill() error {
	if k.file != nil {
		return nil
	}
	file, err := os.CreateTemp(k.folder, "hashgrove-*.vectors")
	if err != nil {
		return err
	}
	_ = os.Remove(file.Name()) // Close tries again
	k.file = file
	for i := range k.blocks {
		if _, err := k.file.Write(Bytes(k.blocks[i].X.Data)); err != nil {
			return err
		}
		k.blocks[i].X.Data = nil
	}
	return nil
}

// again yields the stored rows.
func (k *Cached) again(ctx context.Context, yield func(Chunk, error) bool) {
	if files := k.src.Schema().Files; files != nil && k.dropped == nil {
		k.dropped = append([]int{}, files.Dropped()...)
	}
	var out Chunk
	var values []float32 // from the file
	offset, at := int64(0), 0
	for _, c := range k.blocks {
		if ctx.Err() != nil {
			yield(Chunk{}, context.Cause(ctx))
			return
		}
		if k.file != nil {
			n := c.X.Rows * c.X.Cols
			values = slices.Grow(values[:0], n)[:n]
			if _, err := k.file.ReadAt(Bytes(values), offset); err != nil {
				yield(Chunk{}, fmt.Errorf("read cached vectors: %w", err))
				return
			}
			c.X.Data = values
			offset += 4 * int64(n)
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

// present marks the places that were not dropped.
func present(places, dropped []int) []bool {
	keep := make([]bool, len(places))
	for i, place := range places {
		_, gone := slices.BinarySearch(dropped, place)
		keep[i] = !gone
	}
	return keep
}
