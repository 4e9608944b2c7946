package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"hashgrove/index"
	"hashgrove/model"
)

// contents is what scan finds in a file.
type contents struct {
	head
	state
	model     *model.Model
	modelFile []byte
	pages     *pages
}

// scan reads and checks a whole file, and calls visit with every block in the order of ids. The block is lent. A block
// that is damaged goes to bad, which may be nil, and ends the scan when bad returns an error.
func scan(ctx context.Context, r io.ReaderAt, size int64, visit func(c *contents, b *block) error, bad func(error) error) (*contents, error) {
	p, err := newPages(r, size)
	if err != nil {
		return nil, err
	}
	c := &contents{pages: p}
	buckets := map[string][]byte{}
	err = p.tree(p.meta.root, func(key, value []byte, isBucket bool) error {
		if !isBucket || len(value) > pageSize {
			return damaged("%q is no bucket", key)
		}
		buckets[string(key)] = bytes.Clone(value)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if buckets[string(infoBucket)] == nil {
		return nil, fmt.Errorf("%w: this is a bbolt database, but not a hashgrove index", ErrKind)
	}
	if err := c.readInfo(buckets[string(infoBucket)]); err != nil {
		return nil, err
	}
	if size := uint64((c.bits + 7) / 8); c.items > c.pages.meta.high*pageSize/size {
		return nil, damaged("it claims %d items and is too small for them", c.items)
	}
	for name := range buckets {
		if name != string(infoBucket) && name != string(itemBucket) && name != string(modelBucket) {
			return nil, damaged("bucket %q does not belong here", name)
		}
	}
	if place := buckets[string(modelBucket)]; place != nil {
		if err := c.readModel(place); err != nil {
			return nil, err
		}
	}
	if buckets[string(itemBucket)] == nil {
		return nil, damaged("it has no items")
	}
	if err := c.readItems(ctx, buckets[string(itemBucket)], visit, bad); err != nil {
		return nil, err
	}
	return c, p.finish()
}

func (c *contents) readInfo(place []byte) error {
	var found [2]bool
	err := c.pages.bucket(place, func(key, value []byte, isBucket bool) (err error) {
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

func (c *contents) readModel(place []byte) error {
	err := c.pages.bucket(place, func(key, value []byte, isBucket bool) error {
		if isBucket || !bytes.Equal(key, modelKey) {
			return damaged("key %q does not belong here", key)
		}
		b, _, err := unseal(key, value)
		if err != nil {
			return fmt.Errorf("model: %w", err)
		}
		c.modelFile = bytes.Clone(b)
		c.model, err = model.Read(bytes.NewReader(c.modelFile))
		return err
	})
	if err != nil {
		return err
	}
	if c.model == nil {
		return damaged("its model is missing")
	}
	if f := c.model.Fingerprint(); f != c.fingerprint || c.model.Encoder.Bits() != c.bits {
		return damaged("it holds model %v of %d bits, and should hold model %v of %d", f, c.model.Encoder.Bits(), c.fingerprint, c.bits)
	}
	return nil
}

func (c *contents) readItems(ctx context.Context, place []byte, visit func(c *contents, b *block) error, bad func(error) error) error {
	if bad == nil {
		bad = func(err error) error { return err }
	}
	var have state
	var last index.ID
	b := &block{size: (c.bits + 7) / 8}
	one := func(key, value []byte) error {
		payload, sum, err := unseal(key, value)
		if err != nil {
			id, _ := parseKey(key)
			return fmt.Errorf("block of id %s: %w", shown(id), err)
		}
		have.sum += uint64(sum)
		if err := b.parse(key, payload); err != nil {
			return err
		}
		if have.items > 0 && b.ids[0].Compare(last) <= 0 {
			return damaged("ids %s and %s are not in order", shown(last), shown(b.ids[0]))
		}
		have.items += uint64(len(b.ids))
		last = b.ids[len(b.ids)-1]
		return visit(c, b)
	}
	err := c.pages.bucket(place, func(key, value []byte, isBucket bool) error {
		have.blocks++
		if have.blocks%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if isBucket {
			return damaged("a bucket is among the items")
		}
		if err := one(key, value); errors.Is(err, ErrDamaged) {
			return bad(err)
		} else if err != nil {
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	if have.writes = c.writes; have != c.state {
		return bad(damaged("%d items in %d blocks were found, and there should be %d in %d with other checksums", have.items, have.blocks, c.items, c.blocks))
	}
	return nil
}

// inspect scans the file at path while no one writes to it, and leaves it open to be read.
func inspect(ctx context.Context, path string, until time.Time, visit func(c *contents, b *block) error, bad func(error) error) (*file, *contents, error) {
	if err := glance(path); err != nil {
		return nil, nil, err
	}
	f, err := lock(ctx, path, true, until)
	if err != nil {
		return nil, nil, err
	}
	var c *contents
	info, err := f.f.Stat()
	if err == nil {
		c, err = scan(ctx, f.f, info.Size(), visit, bad)
	}
	if err != nil {
		_ = f.Close()
		return nil, c, err
	}
	return f, c, nil
}

// glance tells whether bbolt may have a look at a file, for which it needs one sound header.
func glance(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() { // opening a pipe would wait for ever
		return &fs.PathError{Op: "open", Path: path, Err: errors.New("it is not a regular file")}
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = readMeta(f, info.Size())
	return err
}
