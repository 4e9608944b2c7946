package store

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
)

// contents gives access to what a file holds. Opening reads only the head and the state; everything else is read and
// checked on demand.
type contents struct {
	head
	state
	pages   *pages
	buckets map[string][]byte // where the file's trees are
	size    int64             // of the file

	modelFile []byte // after readModel; nil if there is none
	model     *model.Model
}

// visitBlock receives the blocks of a file in order of ids. The block is valid only during the call.
type visitBlock func(b *block) error

// openContents reads the head and the state of a file, which takes a few pages.
func openContents(r io.ReaderAt, size int64) (*contents, error) {
	p, err := newPages(r, size)
	if err != nil {
		return nil, err
	}
	c := &contents{pages: p, buckets: map[string][]byte{}, size: size}
	err = p.tree(p.meta.root, func(key, value []byte, isBucket bool) error {
		if !isBucket || len(value) > pageSize {
			return damaged("%q is not a bucket", key)
		}
		c.buckets[string(key)] = bytes.Clone(value)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if c.buckets[string(infoBucket)] == nil {
		return nil, message.New("foreign-database", "%w: this is a bbolt database, but not a hashgrove index",
			hamming.ErrKind)
	}
	if err := c.readInfo(); err != nil {
		return nil, err
	}
	if size := uint64((c.bits + 7) / 8); c.items > c.pages.meta.high*pageSize/size {
		return nil, damaged("it claims %d items but is too small for them", c.items)
	}
	for name := range c.buckets {
		if name != string(infoBucket) && name != string(itemBucket) && name != string(modelBucket) {
			return nil, damaged("bucket %q does not belong here", name)
		}
	}
	if c.buckets[string(itemBucket)] == nil {
		return nil, damaged("it has no items")
	}
	return c, nil
}

// check reads and checks a whole file, and calls visit, which may be nil, with every block.
func (c *contents) check(ctx context.Context, visit visitBlock) error {
	if err := c.readModel(); err != nil {
		return err
	}
	if _, err := c.decodeModel(); err != nil {
		return err
	}
	if err := c.readItems(ctx, visit); err != nil {
		return err
	}
	return c.pages.finish()
}

func (c *contents) readInfo() error {
	var found [2]bool
	err := c.pages.bucket(c.buckets[string(infoBucket)], func(key, value []byte, isBucket bool) (err error) {
		if isBucket {
			return damaged("a bucket is where its head should be")
		}
		switch string(key) {
		case string(headKey):
			found[0] = true
			c.head, err = parseHead(value)
		case string(stateKey):
			found[1] = true
			c.state, err = parseState(value)
		default:
			err = damaged("key %q does not belong here", key)
		}
		return err
	})
	if err == nil && found != [2]bool{true, true} {
		err = damaged("its head or its state is missing")
	}
	return err
}

func (c *contents) hasModel() bool { return c.buckets[string(modelBucket)] != nil }

// readModel reads the bytes of the model, if there is one.
func (c *contents) readModel() error {
	if !c.hasModel() {
		return nil
	}
	err := c.pages.bucket(c.buckets[string(modelBucket)], func(key, value []byte, isBucket bool) error {
		if isBucket || !bytes.Equal(key, modelKey) {
			return damaged("key %q does not belong here", key)
		}
		b, _, err := unseal(key, value)
		if err != nil {
			return fmt.Errorf("model: %w", err)
		}
		c.modelFile = bytes.Clone(b)
		return nil
	})
	if err == nil && c.modelFile == nil {
		err = damaged("its model is missing")
	}
	return err
}

// decodeModel decodes the model that was read, or returns nil if there is none.
func (c *contents) decodeModel() (*model.Model, error) {
	if c.model != nil || c.modelFile == nil {
		return c.model, nil
	}
	m, err := model.Read(bytes.NewReader(c.modelFile))
	if err != nil {
		return nil, err
	}
	if f := m.Fingerprint(); f != c.fingerprint || m.Encoder.Bits() != c.bits {
		return nil, damaged("it holds model %v of %d bits but should hold model %v of %d",
			f, m.Encoder.Bits(), c.fingerprint, c.bits)
	}
	c.model = m
	return m, nil
}

func (c *contents) newBlock() *block {
	return &block{size: (c.bits + 7) / 8, words: hamming.NewCodes(0, c.bits)}
}

// readItems visits all blocks and checks each of them and their totals.
func (c *contents) readItems(ctx context.Context, visit visitBlock) error {
	have := state{writes: c.writes}
	var last index.ID
	b := c.newBlock()
	err := c.pages.bucket(c.buckets[string(itemBucket)], func(key, value []byte, isBucket bool) error {
		if have.blocks%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if isBucket {
			return damaged("a bucket is among the items")
		}
		sum, err := b.unseal(key, value)
		if err != nil {
			return err
		}
		if have.items > 0 && b.ids[0].Compare(last) <= 0 {
			return damaged("ids %s and %s are not in order", last.Short(), b.ids[0].Short())
		}
		have.blocks++
		have.sum += uint64(sum)
		have.items += uint64(len(b.ids))
		last = b.ids[len(b.ids)-1]
		if visit == nil {
			return nil
		}
		return visit(b)
	})
	if err == nil && have != c.state {
		err = message.With("wrong-totals",
			damaged("found %d items in %d blocks, but there should be %d in %d with other checksums",
				have.items, have.blocks, c.items, c.blocks))
	}
	return err
}

// report returns the report of a checked file.
func (c *contents) report() Report {
	return Report{
		Items: int(c.items), Bits: c.bits, Fingerprint: c.fingerprint, HasModel: c.hasModel(), Writes: c.writes,
		Blocks: int(c.blocks), Pages: int(c.pages.meta.high), FileBytes: c.size,
		FreeBytes: int64(c.pages.free) * pageSize, Recovered: c.pages.meta.alone,
	}
}

// contents reads the file's current head and state.
func (x *file) contents() (*contents, error) {
	info, err := x.f.Stat()
	if err != nil {
		return nil, err
	}
	return openContents(x.f, info.Size())
}

// checkFile checks the file at path, which nobody else may use.
func checkFile(ctx context.Context, path string) (Report, error) {
	f, err := lock(ctx, path, true, time.Now(), func(c *contents) error { return c.check(ctx, nil) })
	if err != nil {
		return Report{}, err
	}
	return f.read.report(), f.Close()
}

// Report is the result of checking a file.
type Report struct {
	Items       int                 `json:"items"`
	Bits        int                 `json:"bits"`
	Fingerprint hamming.Fingerprint `json:"-"`
	HasModel    bool                `json:"has_model"`
	Writes      uint64              `json:"writes"`
	Blocks      int                 `json:"blocks"`
	Pages       int                 `json:"pages"`
	FileBytes   int64               `json:"file_bytes"`
	FreeBytes   int64               `json:"free_bytes"`
	Recovered   bool                `json:"recovered,omitempty"` // the latest write was incomplete and is left out
}

// Verify checks all of an index or a backup: pages, checksums, ids, labels, counts and model. The error is about the
// first problem. progress, which may be nil, gets the number of items checked so far.
func Verify(ctx context.Context, path string, progress func(done, total int)) (Report, error) {
	var texts records
	done := 0
	f, err := lock(ctx, path, true, deadline(0), func(c *contents) error {
		batch := index.NewBatch(c.bits) // of one block
		return c.check(ctx, func(b *block) error {
			if done += len(b.ids); progress != nil {
				progress(done, int(c.items))
			}
			batch.IDs, batch.Codes.Data = batch.IDs[:0], batch.Codes.Data[:0]
			batch.Labels, batch.Tags, batch.Attributes = nil, nil, nil
			if err := b.appendTo(batch, &texts); err != nil {
				return err
			}
			return asDamage(batch.Check(c.bits))
		})
	})
	if err != nil {
		return Report{}, withPath(path, err)
	}
	return f.read.report(), f.Close()
}
