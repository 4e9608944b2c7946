package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// Items are stored in blocks, each one value of bbolt under the key of its first id, so that a file of codes is little
// more than the codes and reads at the speed of memory. A block has at most blockLimit bytes, or one item: bbolt writes
// whole pages anyway, and four blocks fit in one, so writing one item costs no more than without blocks.
//
//	block = number of items, ids but the first, codes, and labels, tags and attributes, if any (record.go)
//
// Integers and texts never share a block. docs/formats.md has the details.
const blockLimit = 960

// maxID is the largest length of an id in an index file, limited by bbolt's keys.
const maxID = maxKey - 1

// The first byte of a key. Keys have the order of their ids.
const (
	integerKey = 1
	textKey    = 2
)

const signBit = 1 << 63

func appendKey(dst []byte, id index.ID) []byte {
	if n, ok := id.Integer(); ok {
		return binary.BigEndian.AppendUint64(append(dst, integerKey), uint64(n)^signBit)
	}
	return append(append(dst, textKey), id.String()...)
}

func parseKey(key []byte) (index.ID, error) {
	switch {
	case len(key) == 9 && key[0] == integerKey:
		return index.Int(int64(binary.BigEndian.Uint64(key[1:]) ^ signBit)), nil
	case len(key) > 1 && key[0] == textKey:
		return textID(key[1:])
	}
	return index.ID{}, damaged("a key of %d bytes is not an id", len(key))
}

// textID rejects texts that spell an integer, which would be a second key for the same id.
func textID(b []byte) (index.ID, error) {
	if len(b) == 0 || len(b) > maxID {
		return index.ID{}, damaged("an id of %d bytes", len(b))
	}
	id := index.Text(string(b))
	if _, ok := id.Integer(); ok {
		return id, damaged("the id %s is stored as a text", id)
	}
	return id, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal stores the checksum of the key and the rest of the value in the value's first four bytes. Every value is sealed.
func seal(key, value []byte) (sum uint32) {
	sum = crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value[4:])
	binary.LittleEndian.PutUint32(value, sum)
	return sum
}

// unseal checks a value and returns what follows the checksum, and the checksum.
func unseal(key, value []byte) (payload []byte, sum uint32, err error) {
	if len(value) < 4 {
		return nil, 0, damaged("a value has %d bytes", len(value))
	}
	payload, sum = value[4:], binary.LittleEndian.Uint32(value)
	if sum != crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, payload) {
		return nil, 0, damaged("a value does not match its checksum")
	}
	return payload, sum, nil
}

// block is a parsed block. It refers to the bytes it was parsed from.
type block struct {
	ids     []index.ID
	size    int           // bytes of a code
	codes   []byte        // packed
	records [][]byte      // one per item, or nil if no item has any
	words   hamming.Codes // after unpack
}

func (b *block) code(i int) []byte { return b.codes[i*b.size : (i+1)*b.size] }

func (b *block) record(i int) []byte {
	if b.records == nil {
		return nil
	}
	return b.records[i]
}

// unpack converts the codes to words.
func (b *block) unpack() error {
	if b.words.Data = b.words.Data[:0]; !b.words.Append(b.codes) {
		return damaged("a code of the block of id %s has bits beyond %d", b.ids[0].Short(), b.words.Bits)
	}
	return nil
}

// appendTo appends all items to a batch.
func (b *block) appendTo(batch *index.Batch, texts *records) error {
	if err := b.unpack(); err != nil {
		return err
	}
	for i, id := range b.ids {
		it := index.Item{ID: id, Code: b.words.Row(i)}
		if err := texts.parse(b.record(i), &it); err != nil {
			return err
		}
		batch.Append(it)
	}
	return nil
}

// unseal checks and parses a block, and returns its checksum.
func (b *block) unseal(key, value []byte) (sum uint32, err error) {
	payload, sum, err := unseal(key, value)
	if err != nil {
		id, _ := parseKey(key)
		return 0, fmt.Errorf("block of id %s: %w", id.Short(), err)
	}
	return sum, b.parse(key, payload)
}

// parse parses a block, reusing the memory of the last one.
func (b *block) parse(key, payload []byte) error {
	first, err := parseKey(key)
	if err != nil {
		return err
	}
	count, rest, ok := uvarint(payload)
	if !ok || count == 0 || count > uint64(len(rest)) { // a code has at least one byte
		return damaged("the block of id %s claims %d items", first.Short(), count)
	}
	n := int(count)
	b.ids = append(b.ids[:0], first)
	if key[0] == integerKey {
		rest, err = b.parseIntegers(n, rest)
	} else {
		rest, err = b.parseTexts(n, key[1:], rest)
	}
	if err != nil {
		return err
	}
	if n > len(rest)/b.size {
		return damaged("the block of id %s ends early", first.Short())
	}
	b.codes, rest = rest[:n*b.size], rest[n*b.size:]
	if len(rest) == 0 {
		b.records = nil
		return nil
	}
	b.records = b.records[:0]
	for range n {
		length, more, ok := uvarint(rest)
		if !ok || length > uint64(len(more)) {
			return damaged("the block of id %s ends early", first.Short())
		}
		b.records = append(b.records, more[:length])
		rest = more[length:]
	}
	if len(rest) > 0 {
		return damaged("the block of id %s does not end where it should", first.Short())
	}
	return nil
}

// parseIntegers reads the differences between consecutive ids, minus one.
func (b *block) parseIntegers(n int, rest []byte) ([]byte, error) {
	first, _ := b.ids[0].Integer()
	at := uint64(first) ^ signBit
	for len(b.ids) < n {
		step, more, ok := uvarint(rest)
		if !ok || step >= math.MaxUint64-at {
			return nil, damaged("an id in the block of id %d is not an integer", first)
		}
		at += step + 1
		b.ids = append(b.ids, index.Int(int64(at^signBit)))
		rest = more
	}
	return rest, nil
}

// parseTexts reads, for each id, the length of the prefix it shares with the previous one, and the rest.
func (b *block) parseTexts(n int, first, rest []byte) ([]byte, error) {
	last, next := bytes.Clone(first), []byte(nil)
	for len(b.ids) < n {
		share, more, ok := uvarint(rest)
		length, more, ok2 := uvarint(more)
		if !ok || !ok2 || share > uint64(len(last)) || length > uint64(len(more)) {
			return nil, damaged("an id of the block of id %s ends early", b.ids[0].Short())
		}
		rest = more[length:]
		next = append(append(next[:0], last[:share]...), more[:length]...)
		if bytes.Compare(next, last) <= 0 {
			return nil, damaged("the ids of the block of id %s are not in order", b.ids[0].Short())
		}
		id, err := textID(next)
		if err != nil {
			return nil, err
		}
		b.ids = append(b.ids, id)
		last, next = next, last
	}
	return rest, nil
}

// uvarint reads a number of at most 64 bits, seven per byte, in its shortest form.
func uvarint(b []byte) (uint64, []byte, bool) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), b[1:], true
	}
	x, n := binary.Uvarint(b)
	if n <= 0 || b[n-1] == 0 {
		return 0, nil, false
	}
	return x, b[n:], true
}

// packer packs items, in order of their ids, into blocks.
type packer struct {
	limit int
	put   func(key, value []byte, sum uint32) error // may keep the value but not the key

	n          int
	key        []byte // of the first id
	last, next []byte // keys of the last id and of the new one
	ids        []byte // all but the first
	codes      []byte
	records    []byte
	some       bool // there is a non-empty record
}

// add adds an item, copying its code and its record.
func (p *packer) add(id index.ID, code, record []byte) error {
	p.next = appendKey(p.next[:0], id)
	next := p.next
	size := len(p.ids) + len(p.codes) + len(next) + len(code)
	if p.some || len(record) > 0 {
		size += len(p.records) + len(record) + 1
	}
	if p.n > 0 && (size > p.limit || next[0] != p.key[0]) {
		if err := p.flush(); err != nil {
			return err
		}
	}
	switch {
	case p.n == 0:
		p.key = append(p.key[:0], next...)
	case next[0] == integerKey:
		step := binary.BigEndian.Uint64(next[1:]) - binary.BigEndian.Uint64(p.last[1:])
		p.ids = binary.AppendUvarint(p.ids, step-1)
	default:
		share := 0
		for share < min(len(next), len(p.last)) && next[share] == p.last[share] {
			share++
		}
		p.ids = binary.AppendUvarint(p.ids, uint64(share-1)) // without the kind
		p.ids = binary.AppendUvarint(p.ids, uint64(len(next)-share))
		p.ids = append(p.ids, next[share:]...)
	}
	p.last, p.next = next, p.last
	p.codes = append(p.codes, code...)
	p.records = append(binary.AppendUvarint(p.records, uint64(len(record))), record...)
	p.some = p.some || len(record) > 0
	p.n++
	return nil
}

// flush writes the added items as a block.
func (p *packer) flush() error {
	if p.n == 0 {
		return nil
	}
	if !p.some {
		p.records = p.records[:0]
	}
	value := make([]byte, 4, 4+binary.MaxVarintLen32+len(p.ids)+len(p.codes)+len(p.records))
	value = binary.AppendUvarint(value, uint64(p.n))
	value = append(append(append(value, p.ids...), p.codes...), p.records...)
	err := p.put(p.key, value, seal(p.key, value))
	p.n, p.some = 0, false
	p.ids, p.codes, p.records = p.ids[:0], p.codes[:0], p.records[:0]
	return err
}
