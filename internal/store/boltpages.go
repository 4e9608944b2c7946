package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"

	"github.com/RoaringBitmap/roaring/v2"

	"hashgrove/internal/fileio"
	"hashgrove/internal/hamming"
	"hashgrove/internal/message"
)

// Reads and checks the pages of a bbolt file without bbolt.
//
// bbolt has checksums for its two meta pages only and trusts all others: on a damaged file it panics, even in
// goroutines of its own, follows cycles forever, or reads outside its mapping, which ends the process. So every page is
// checked before bbolt uses the file. A file that passes is a forest of well-formed pages:
//
//   - each page below the high-water mark is in a tree once, or in the list of free pages once, never both;
//   - elements lie inside their pages, keys ascend, and a branch leads to the keys it names.
//
// contents.go checks the values. Everything is read in key order, which is file order if items were added in bulk.
type pages struct {
	r    io.ReaderAt
	meta meta
	free int             // pages waiting to be reused
	used *roaring.Bitmap // the claimed number of pages is not trusted, as a long sparse file costs nothing

	window   []byte // bytes of the file from windowAt on
	windowAt int64

	last []byte // greatest key of the tree so far
}

// Constants of the format: bbolt's version 2 with a fixed page size on every machine.
const (
	pageSize   = 4096
	boltMagic  = 0xed0cdaed
	boltFormat = 2

	pageHeader  = 16 // id u64, kind u16, count u16, overflow u32
	pageElement = 16 // leaf: flags, offset, key size, value size; branch: offset, key size, page u64
	metaBytes   = 64 // magic, version, page size, flags, root, sequence, free list, high mark, transaction, checksum
	bucketBytes = 16 // root page, sequence; then the page itself when it is small

	branchPage   = 1
	leafPage     = 2
	freelistPage = 16

	maxKey    = 1 << 15
	maxDepth  = 64      // of a tree; 2^31 items with two per page are 31 deep
	readAhead = 1 << 16 // bytes at once
)

// meta holds the relevant part of a meta page.
type meta struct {
	root, freelist, high, txid uint64

	alone bool // the other meta page is invalid: the latest write was incomplete, or it is damaged
}

// damaged returns an error that matches ErrDamaged.
func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

// asDamage wraps an error of the index about items in the file.
func asDamage(err error) error {
	if err == nil || errors.Is(err, hamming.ErrDamaged) {
		return err
	}
	return damaged("%v", err)
}

// readMeta returns the meta page that bbolt would use: the valid one with the latest transaction.
func readMeta(r io.ReaderAt, size int64) (m meta, err error) {
	bolt, valid := false, 0
	for i := range int64(2) {
		b := make([]byte, pageHeader+metaBytes)
		if n, err := r.ReadAt(b, i*pageSize); n < len(b) {
			if err != io.EOF {
				return m, err
			}
			continue
		}
		if i == 0 && string(b[1:3]) == "HG" { // a file of another kind of ours
			_, err := fileio.NewReader(bytes.NewReader(b), fileio.Index, 0)
			return m, err
		}
		le, b := binary.LittleEndian, b[pageHeader:]
		bolt = bolt || le.Uint32(b) == boltMagic
		h := fnv.New64a()
		h.Write(b[:metaBytes-8])
		if le.Uint32(b) != boltMagic || le.Uint32(b[4:]) != boltFormat || le.Uint64(b[56:]) != h.Sum64() {
			continue
		}
		if le.Uint32(b[8:]) != pageSize {
			return m, message.New("foreign-database", "%w: a bbolt database with pages of %d bytes is not a hashgrove index",
				hamming.ErrKind, le.Uint32(b[8:]))
		}
		valid++
		if txid := le.Uint64(b[48:]); valid == 1 || txid > m.txid {
			m = meta{root: le.Uint64(b[16:]), freelist: le.Uint64(b[32:]), high: le.Uint64(b[40:]), txid: txid}
		}
	}
	m.alone = valid == 1
	switch {
	case valid == 0 && bolt:
		return m, damaged("both of its headers are damaged, so nothing in it can be found: restore a backup")
	case valid == 0:
		return m, message.New("foreign-file", "%w: this is not a hashgrove index (or its first bytes are damaged)",
			hamming.ErrKind)
	case m.txid > 1<<62:
		return m, damaged("it claims %d transactions", m.txid)
	case m.high < 4 || m.high > uint64(min(size/pageSize, math.MaxUint32)):
		return m, damaged("it has %d bytes but should have %d pages of %d: it was cut off", size, m.high, pageSize)
	}
	return m, nil
}

func newPages(r io.ReaderAt, size int64) (*pages, error) {
	m, err := readMeta(r, size)
	if err != nil {
		return nil, err
	}
	return &pages{r: r, meta: m, used: roaring.New()}, nil
}

// take marks a page as used.
func (p *pages) take(id uint64) error {
	if id < 2 || id >= p.meta.high {
		return damaged("page %d is referenced, but there are only pages 2 to %d", id, p.meta.high-1)
	}
	if !p.used.CheckedAdd(uint32(id)) {
		return damaged("page %d is used twice", id)
	}
	return nil
}

// bytes returns n bytes of the file, valid until the next call.
func (p *pages) bytes(at, n int64) ([]byte, error) {
	if lo := at - p.windowAt; lo >= 0 && lo+n <= int64(len(p.window)) {
		return p.window[lo : lo+n], nil
	}
	want := max(n, min(readAhead, int64(p.meta.high)*pageSize-at))
	if int64(cap(p.window)) < want {
		p.window = make([]byte, want)
	}
	p.window, p.windowAt = p.window[:want], at
	if k, err := p.r.ReadAt(p.window, at); int64(k) < want {
		p.window = p.window[:0]
		if err == io.EOF {
			err = damaged("it ends at byte %d", at+int64(k))
		}
		return nil, err
	}
	return p.window[:n], nil
}

// page takes a page and returns its bytes, including its overflow pages, valid until the next call.
func (p *pages) page(id uint64) ([]byte, error) {
	if err := p.take(id); err != nil {
		return nil, err
	}
	b, err := p.bytes(int64(id)*pageSize, pageSize)
	if err != nil {
		return nil, err
	}
	if own := binary.LittleEndian.Uint64(b); own != id {
		return nil, damaged("page %d says that it is page %d", id, own)
	}
	more := uint64(binary.LittleEndian.Uint32(b[12:]))
	if more >= p.meta.high-id || more > 1<<31/pageSize {
		return nil, damaged("page %d continues for %d pages, but there are only %d", id, more, p.meta.high)
	}
	for i := range more {
		if err := p.take(id + 1 + i); err != nil {
			return nil, err
		}
	}
	return p.bytes(int64(id)*pageSize, int64(more+1)*pageSize)
}

func kindOf(page []byte) uint16  { return binary.LittleEndian.Uint16(page[8:]) }
func countOf(page []byte) uint16 { return binary.LittleEndian.Uint16(page[10:]) }

// visitor receives the entries of a tree in order. A bucket is a tree of its own, located by its value.
type visitor func(key, value []byte, isBucket bool) error

// tree visits all entries below a page.
func (p *pages) tree(root uint64, visit visitor) error {
	b, err := p.page(root)
	if err != nil {
		return err
	}
	p.last = p.last[:0]
	return p.walk(b, nil, 0, visit)
}

// walk visits the entries of a page and of those below it. No key may be less than low, or not greater than the last.
func (p *pages) walk(page, low []byte, depth int, visit visitor) error {
	le, kind, count := binary.LittleEndian, kindOf(page), int(countOf(page))
	first := uint64(pageHeader + count*pageElement) // byte behind the elements
	switch {
	case kind == branchPage && count > 0 && depth < maxDepth:
		page = bytes.Clone(page) // valid only until the next page is read
	case kind != leafPage:
		return damaged("a page of kind %d with %d elements, %d pages below the root", kind, count, depth)
	}
	if first > uint64(len(page)) {
		return damaged("a page has %d elements, more than it can hold", count)
	}
	for i := range count {
		at := pageHeader + i*pageElement
		e := page[at:]
		var flags, length uint32
		if kind == leafPage {
			flags, length = le.Uint32(e), le.Uint32(e[12:])
			e = e[4:]
		}
		start := uint64(at) + uint64(le.Uint32(e))
		end := start + uint64(le.Uint32(e[4:]))
		if start < first || end+uint64(length) > uint64(len(page)) || flags > 1 {
			return damaged("an element lies outside its page")
		}
		key := page[start:end]
		if len(key) == 0 || len(key) > maxKey {
			return damaged("a key has %d bytes", len(key))
		}
		if bytes.Compare(key, low) < 0 || bytes.Compare(key, p.last) <= 0 {
			return damaged("the keys of a page are not in order")
		}
		var err error
		if kind == leafPage {
			p.last = append(p.last[:0], key...)
			err = visit(key, page[end:end+uint64(length)], flags == 1)
		} else if below, failed := p.page(le.Uint64(e[8:])); failed != nil {
			err = failed
		} else {
			err = p.walk(below, key, depth+1, visit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bucket visits the entries of the bucket that a value locates.
func (p *pages) bucket(value []byte, visit visitor) error {
	if len(value) < bucketBytes {
		return damaged("the place of a tree takes %d bytes", len(value))
	}
	root, inline := binary.LittleEndian.Uint64(value), value[bucketBytes:]
	if root != 0 {
		return p.tree(root, visit)
	}
	if len(inline) < pageHeader {
		return damaged("an inline tree is not a page")
	}
	p.last = p.last[:0]
	return p.walk(inline, nil, maxDepth, visit) // a leaf
}

// readFree reads the list of free pages.
func (p *pages) readFree() error {
	b, err := p.page(p.meta.freelist)
	if err != nil {
		return fmt.Errorf("list of free pages: %w", err)
	}
	if kindOf(b) != freelistPage {
		return damaged("page %d is of kind %d but should be the list of free pages", p.meta.freelist, kindOf(b))
	}
	n, list := uint64(countOf(b)), b[pageHeader:]
	if n == 0xffff {
		n, list = binary.LittleEndian.Uint64(list), list[8:]
	}
	if n > uint64(len(list)/8) {
		return damaged("the list of free pages claims %d", n)
	}
	for i := range n {
		if err := p.take(binary.LittleEndian.Uint64(list[8*i:])); err != nil {
			return fmt.Errorf("list of free pages: %w", err)
		}
	}
	p.free = int(n)
	return nil
}

// finish checks, after all trees were visited, that all pages are accounted for.
func (p *pages) finish() error {
	if err := p.readFree(); err != nil {
		return err
	}
	if met := 2 + p.used.GetCardinality(); met != p.meta.high {
		return damaged("%d of %d pages are lost", p.meta.high-met, p.meta.high)
	}
	return nil
}
