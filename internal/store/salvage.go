package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/model"
)

// Salvage reads as much of a damaged index as possible, without bbolt (docs/formats.md, index):
//
//  - it follows the tree of items from the latest header that leads to a head; if a page or a block is unreadable, it
//    records which ids are affected and continues beside it;
//  - if something was lost, it looks at all pages that are neither in a tree nor free: those below a damaged branch.
//    Free pages hold what was deleted or replaced, so they are never read; if the list of them is damaged as well,
//    pages outside the tree are left alone.
//
// A block counts only if it matches its checksum, so everything recovered is correct. It takes the memory of the items
// and one or two passes over the file.

// Salvaged is the result of Salvage.
type Salvaged struct {
	Items     int    `json:"items"`      // recovered
	LostItems int    `json:"lost_items"` // missing
	Lost      []Loss `json:"lost"`       // where items are missing
	ModelLost bool   `json:"model_lost"` // the copy of the model is unreadable
	Older     bool   `json:"older"`      // the latest write is unreadable; this is the state before it
}

// Loss is a range of ids that cannot be read.
type Loss struct {
	From   string `json:"from"`   // "" for the beginning
	Before string `json:"before"` // "" for the end
	Cause  string `json:"cause"`
}

// Salvage makes a new index from all intact records of a damaged one. m replaces the copy of the model if that is lost;
// nil leaves the new index without one. An existing file is left alone.
func Salvage(ctx context.Context, from, to string, m *model.Model) (*Salvaged, error) {
	if err := checkVacant(to); err != nil {
		return nil, err
	}
	if checkHeader(from) == nil { // else bbolt cannot even lock it
		x, err := lock(ctx, from, true, deadline(0))
		if errors.Is(err, ErrLocked) || errors.Is(err, context.Canceled) {
			return nil, withPath(from, err)
		}
		if err == nil {
			defer x.Close()
		}
	}
	info, err := os.Stat(from)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: from, Err: fault.New("not-regular", "it is not a regular file")}
	}
	f, err := os.Open(from)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, err := openSalvage(f, info.Size())
	if err != nil {
		return nil, withPath(from, err)
	}
	if err := s.read(ctx); err != nil {
		return nil, withPath(from, err)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	o := Options{Bits: s.bits, Fingerprint: s.fingerprint, Note: s.note, Items: s.items, of: info}
	if o.Model = s.readModel(); o.Model == nil && m != nil {
		if err := s.fingerprint.Accept(m.Fingerprint()); err != nil || m.Encoder.Bits() != s.bits {
			return nil, fmt.Errorf("%s: holds codes of model %v of %d bits, but this is model %v of %d",
				from, s.fingerprint, s.bits, m.Fingerprint(), m.Encoder.Bits())
		}
		o.Model = m
	}
	made, err := Create(ctx, to, o)
	if err != nil {
		return nil, err
	}
	return &s.found, made.Close()
}

// salvage is the state of a salvage.
type salvage struct {
	*contents
	found Salvaged
	items *index.Batch
	known map[index.ID]bool
	texts records
	block block
	n     int
}

// openSalvage finds a header that leads to a head.
func openSalvage(r io.ReaderAt, size int64) (*salvage, error) {
	metas, err := readMetas(r)
	if err != nil {
		return nil, err
	}
	var first error
	for i, m := range metas {
		m.high = min(m.high, uint64(size/pageSize)) // the file may have been truncated
		c, err := readContents(pagesFrom(r, m), size)
		if err == nil {
			s := &salvage{contents: c, items: index.NewBatch(c.bits), known: map[index.ID]bool{}}
			s.items.Fingerprint = c.fingerprint
			s.block = block{size: (c.bits + 7) / 8, words: hamming.NewCodes(0, c.bits)}
			s.found.Older, s.found.Lost = i > 0, []Loss{}
			return s, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, fmt.Errorf("nothing can be recovered, because its head cannot be read: restore a backup: %w", first)
}

// readModel returns the model, or nil if there is none.
func (s *salvage) readModel() *model.Model {
	if !s.hasModel() || s.found.ModelLost {
		return nil
	}
	if s.modelFile == nil {
		if err := s.contents.readModel(); err != nil {
			s.found.ModelLost = true
			return nil
		}
	}
	m, err := s.decodeModel()
	if err != nil {
		s.found.ModelLost = true
		return nil
	}
	return m
}

// read recovers the items.
func (s *salvage) read(ctx context.Context) error {
	var err error
	if value := s.buckets[string(itemBucket)]; len(value) < bucketBytes {
		s.lose(span{}, damaged("the place of its items takes %d bytes", len(value)))
	} else if root := binary.LittleEndian.Uint64(value); root != 0 {
		err = s.branch(ctx, root, span{}, 0)
	} else if inline := value[bucketBytes:]; len(inline) < pageHeader || kindOf(inline) != leafPage {
		s.lose(span{}, damaged("an inline tree is not a page"))
	} else {
		err = s.leaf(ctx, inline, span{})
	}
	if err == nil && len(s.found.Lost) > 0 {
		err = s.readOrphans(ctx)
	}
	s.found.Items = len(s.items.IDs)
	s.found.LostItems = max(0, int(s.state.items)-s.found.Items)
	return err
}

// branch recovers the items below a page.
func (s *salvage) branch(ctx context.Context, id uint64, keys span, depth int) error {
	if s.n++; s.n%256 == 0 && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	b, err := s.pages.page(id)
	if err != nil || depth > maxDepth {
		s.lose(keys, err)
		return nil
	}
	b = bytes.Clone(b) // valid only until the next page is read
	switch kindOf(b) {
	case leafPage:
		return s.leaf(ctx, b, keys)
	case branchPage:
	default:
		s.lose(keys, damaged("page %d is of kind %d", id, kindOf(b)))
		return nil
	}
	for i := range int(countOf(b)) {
		below, err := keysOf(b, i, keys.high)
		if err != nil {
			if below.low == nil {
				below.low = keys.low
			}
			s.lose(span{below.low, keys.high}, fmt.Errorf("page %d: %w", id, err))
			return nil
		}
		if err := s.branch(ctx, binary.LittleEndian.Uint64(b[pageHeader+i*pageElement+8:]), below, depth+1); err != nil {
			return err
		}
		keys.low = below.high
	}
	return nil
}

// leaf recovers the blocks of a page.
func (s *salvage) leaf(ctx context.Context, b []byte, keys span) error {
	for i := range int(countOf(b)) {
		flags, key, rest, size, err := element(b, i)
		if err == nil && (flags != 0 || uint64(size) > uint64(len(rest))) {
			err = damaged("an element lies outside its page")
		}
		if err != nil {
			s.lose(keys, err)
			return nil
		}
		own, err := keysOf(b, i, keys.high)
		if err == nil {
			err = s.take(key, rest[:size])
		}
		if errors.Is(err, hamming.ErrDamaged) {
			s.lose(span{key, own.high}, err)
		} else if err != nil {
			return err
		}
		keys.low = own.high
	}
	return nil
}

// take keeps the items of an intact block.
func (s *salvage) take(key, value []byte) error {
	if _, err := s.block.unseal(key, value); err != nil {
		return err
	}
	one := index.NewBatch(s.bits)
	if err := s.block.appendTo(one, &s.texts); err != nil {
		return asDamage(err)
	}
	if err := one.Check(s.bits); err != nil {
		return asDamage(err)
	}
	for i, id := range one.IDs {
		if !s.known[id] {
			s.known[id] = true
			s.items.Append(one.Item(i))
		}
	}
	return nil
}

// lose records ids that cannot be read.
func (s *salvage) lose(keys span, cause error) {
	name := func(key []byte) string {
		if id, err := parseKey(key); err == nil {
			return id.String()
		}
		return ""
	}
	if cause == nil {
		cause = damaged("the tree is too deep")
	}
	s.found.Lost = append(s.found.Lost, Loss{name(keys.low), name(keys.high), cause.Error()})
}

// readOrphans recovers blocks in pages that no tree leads to but that are not free.
func (s *salvage) readOrphans(ctx context.Context) error {
	if s.readModel(); s.pages.readFree() != nil {
		return nil
	}
	for id := uint64(2); id < s.pages.meta.high; id++ {
		if id%256 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		b, err := s.pages.page(id) // also an error for pages met before
		if err != nil || kindOf(b) != leafPage {
			continue
		}
		for i := range int(countOf(b)) {
			flags, key, rest, size, err := element(b, i)
			if err != nil || flags != 0 || uint64(size) > uint64(len(rest)) {
				continue
			}
			if err := s.take(key, rest[:size]); err != nil && !errors.Is(err, hamming.ErrDamaged) {
				return err
			}
		}
	}
	return nil
}
