package supervision

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math"
	"slices"
	"strings"

	"hashgrove/internal/message"
	"hashgrove/internal/par"
	"hashgrove/internal/vectors"
)

// Data holds rows to learn from or to measure on, with what one pass over them found: a few bytes per row besides the
// source.
type Data struct {
	vectors.Source // the rows, which can be read again
	schema         vectors.Schema
	Supervision

	Rows     int
	Missing  bool            // NaN stands for a missing value
	Ranges   *vectors.Ranges // nil for a part; see Quantizer
	Constant []int           // columns with a single value, counted from 0
	IDs      []string        // of each row, all distinct; nil if the data have none
	Hashes   []uint64        // vectors.RowHash.Short of each row; nil unless Scan was asked for them

	// Bad counts the rows left out; BadExamples shows the first few.
	Bad         int
	BadExamples []error

	// Digest is the SHA-256 of the dimensions, all values and the supervision, in order. It does not depend on file
	// formats, on how rows are spread over files, or on ids. Parts keep the digest of the whole.
	Digest   [32]byte
	digested bool

	// Spill holds the per-row data, also of parts; nil means memory. Its files may be closed only once the data are no
	// longer needed.
	Spill *vectors.Spill

	Warnings         []string // sentences
	TrainingWarnings []string // those of Warnings that matter only for training: constant columns, classes of one row
	Dropped          []int    // rows left out, as the files count them, ascending
}

// ScanOptions says what else Scan does. The zero value adds nothing.
type ScanOptions struct {
	Progress func(rows int) // called after every chunk with the rows read so far
	Digest   bool           // fill in Data.Digest
	Hashes   bool           // fill in Data.Hashes
	Hashed   int            // number of leading columns to hash; 0 means all
	Missing  bool           // treat NaN as missing instead of refusing it

	// Spill holds the classes and hashes of many rows; nil means memory.
	Spill *vectors.Spill
}

// Scan reads a source once. A repeated id is an error, unless the source skips bad rows: then the later row is bad.
func Scan(ctx context.Context, src vectors.Source, o ScanOptions) (*Data, error) {
	schema := src.Schema()
	d := &Data{Source: src, schema: schema, Missing: o.Missing || schema.Missing, digested: o.Digest, Spill: o.Spill}
	d.Ranges = d.NewRanges()
	from := schema.Files
	var (
		digest  = newDigest(src.Dim())
		ids     = &identities{first: map[string]int{}}
		classes labelling
		tags    tagging
		kept    vectors.Chunk
	)
	for c, err := range src.Chunks(ctx) {
		if err != nil {
			return nil, err
		}
		if c.IDs != nil {
			keep, err := ids.add(c, from)
			if err != nil {
				return nil, err
			}
			if keep != nil {
				c.Only(keep, &kept)
				c = kept
			}
		}
		if d.Rows += c.X.Rows; d.Rows > math.MaxInt32 {
			return nil, fmt.Errorf("more than %d rows, the most a model can be learned from: take a sample", math.MaxInt32)
		}
		if err := d.look(ctx, c, digest, o); err != nil {
			return nil, err
		}
		for _, label := range c.Labels {
			if err := classes.add(o.Spill, label); err != nil {
				return nil, err
			}
		}
		for _, row := range c.Tags {
			tags.Add(row)
		}
		if o.Progress != nil {
			o.Progress(d.Rows)
		}
	}
	if from != nil {
		if len(ids.repeats) > 0 {
			from.LeaveOut(ids.repeats)
		}
		d.Bad, d.BadExamples = from.Bad()
		d.Dropped = from.Dropped()
		d.Warnings = append(d.Warnings, from.Warnings()...)
	}
	if d.Rows == 0 {
		return nil, d.noRows()
	}
	d.Constant = d.Ranges.Constant()
	d.IDs, d.Labels, d.Tags = ids.list, classes.Labels(), tags.Tags()
	if o.Digest {
		d.Digest = digest.sum(d.Rows, d.Labels, d.Tags)
	}
	d.warn()
	return d, nil
}

// noRows returns the error for data without any usable row.
func (d *Data) noRows() error {
	if d.Bad > 0 {
		return message.New("all-rows-bad",
			"all %s bad; the first: %w", message.Count(d.Bad, "row is", "rows are"), d.BadExamples[0])
	}
	return message.New("no-rows", "the data have no rows")
}

// look digests the values of a chunk, running several tasks at once.
func (d *Data) look(ctx context.Context, c vectors.Chunk, digest *dataDigest, o ScanOptions) error {
	var err, unkept error
	tasks := []func(){func() { err = d.Ranges.AddChecked(c) }}
	if o.Digest {
		tasks = append(tasks, func() { digest.rows(c.X) })
	}
	if o.Hashes {
		tasks = append(tasks, func() {
			vectors.HashRows(c.X, o.Hashed, func(_ int, h vectors.RowHash) {
				if unkept == nil {
					d.Hashes, unkept = vectors.Append(o.Spill, d.Hashes, h.Short())
				}
			})
		})
	}
	slices.Reverse(tasks) // the first uses all cores that the others leave idle
	if ended := par.For(ctx, 0, len(tasks), func(i int) { tasks[i]() }); ended != nil {
		return ended
	}
	return cmp.Or(err, unkept)
}

// Schema returns the schema of the scanned source, even if another source has replaced it since.
func (d *Data) Schema() vectors.Schema { return d.schema }

// SetPairs makes pairs the supervision and includes them in the digest.
func (d *Data) SetPairs(pairs []Pair) error {
	d.Pairs = pairs
	if err := d.check(d.Rows); err != nil {
		return err
	}
	if d.digested {
		d.Digest = digestPairs(d.Digest, pairs)
	}
	return nil
}

// HexDigest returns the digest as stored in models.
func (d *Data) HexDigest() string { return hex.EncodeToString(d.Digest[:]) }

// With returns the same rows read through another source with equally many rows.
func (d *Data) With(src vectors.Source) *Data {
	out := *d
	out.Source, out.schema, out.Ranges, out.Constant = src, src.Schema(), nil, nil
	return &out
}

// Only returns the kept rows without reading them: ranges are unknown, and constant columns are those of the whole.
func (d *Data) Only(keep []bool) *Data {
	if len(keep) != d.Rows {
		panic("supervision: Data.Only with the wrong number of rows")
	}
	out := &Data{
		Source: vectors.Select(d.Source, keep), schema: d.schema, Supervision: d.unlabelled(keep), Spill: d.Spill,
		Constant: d.Constant, Digest: d.Digest, digested: d.digested, Missing: d.Missing,
	}
	for _, k := range keep {
		if k {
			out.Rows++
		}
	}
	if l := d.Labels; l != nil {
		out.Labels = &Labels{keptIn(d.Spill, l.Class, keep, out.Rows), l.Names}
	}
	out.IDs = kept(d.IDs, keep)
	if d.Hashes != nil {
		out.Hashes = keptIn(d.Spill, d.Hashes, keep, out.Rows)
	}
	return out
}

// keptIn returns the n entries of a list for which keep is true, stored in the Spill, or in memory if that is full:
// larger arrays follow and will report why.
func keptIn[T int32 | uint64](m *vectors.Spill, list []T, keep []bool, n int) []T {
	if n == 0 {
		return nil
	}
	out, err := vectors.Alloc[T](m, n)
	if err != nil {
		out = make([]T, n)
	}
	at := 0
	for i, v := range list {
		if keep[i] {
			out[at] = v
			at++
		}
	}
	return out
}

// HoldOut sets aside a random share of the rows, of every class in proportion; keep is false for those.
func (d *Data) HoldOut(share float64, seed uint64) (keep []bool) {
	labels := d.Labels
	if labels == nil { // all rows are one class
		labels = &Labels{Class: make([]int32, d.Rows), Names: []string{""}}
	}
	return labels.HoldOut(share, seed)
}

// QuantizerBy returns the quantiser of these rows. For a part it reads the rows once to find the ranges.
func (d *Data) QuantizerBy(ctx context.Context, how vectors.Binning) (vectors.Quantizer, error) {
	ranges := d.Ranges
	if ranges == nil {
		ranges = d.NewRanges()
		if err := ranges.Read(ctx, d.Source); err != nil {
			return vectors.Quantizer{}, err
		}
	}
	return ranges.QuantizerBy(how)
}

// NewRanges returns empty Ranges for these rows.
func (d *Data) NewRanges() *vectors.Ranges {
	r := vectors.NewRanges(d.Dim())
	if d.Missing {
		r.Missing = make([]int, d.Dim())
	}
	return r
}

// Trainable returns an error if no code can be learned from the data.
func (d *Data) Trainable() error {
	switch {
	case d.Rows < 2:
		return message.New("too-few", "only %s: at least two are needed to learn from", message.Count(d.Rows, "row", "rows"))
	case len(d.Constant) == d.Dim():
		return message.New("constant-columns", "every column is constant: all rows would get the same code")
	}
	return d.Supervision.trainable()
}

// warn adds warnings about data that are usable but doubtful.
func (d *Data) warn() {
	say := func(format string, args ...any) { d.Warnings = append(d.Warnings, fmt.Sprintf(format, args...)) }
	if d.Bad > 0 {
		say("%s left out; the first: %v", message.Count(d.Bad, "bad row was", "bad rows were"), d.BadExamples[0])
	}
	sayOfTraining := func(format string, args ...any) {
		say(format, args...)
		d.TrainingWarnings = append(d.TrainingWarnings, d.Warnings[len(d.Warnings)-1])
	}
	switch n := len(d.Constant); {
	case n == d.Dim() && d.Rows > 1:
		say("all rows are equal")
	case n > 0 && d.Rows > 1:
		sayOfTraining("%d of %s constant", n, message.Count(d.Dim(), "column is", "columns are"))
	}
	if d.Labels != nil {
		single := 0
		for _, n := range d.Labels.Counts() {
			if n == 1 {
				single++
			}
		}
		if single > 0 {
			sayOfTraining("%d of %s a single row", single, message.Count(len(d.Labels.Names), "class has", "classes have"))
		}
	}
	if d.Tags != nil {
		bare := 0
		for i := range d.Tags.Rows() {
			if len(d.Tags.Row(i)) == 0 {
				bare++
			}
		}
		if bare > 0 {
			say("%d of %s no tags", bare, message.Count(d.Rows, "row has", "rows have"))
		}
	}
}

// identities collects ids and detects repeated ones.
type identities struct {
	first   map[string]int // the row that has the id, as the files count
	list    []string
	repeats []vectors.Repeat
}

// add takes the ids of a chunk. If rows must be left out, keep says which ones to keep.
func (d *identities) add(c vectors.Chunk, from vectors.Files) (keep []bool, err error) {
	slab := strings.Join(c.IDs, "") // one string instead of thousands; the chunk's own are lent
	for i := range c.IDs {
		id := slab[:len(c.IDs[i])]
		slab = slab[len(id):]
		row := c.First + i
		if c.Places != nil {
			row = c.Places[i]
		}
		first, twice := d.first[id]
		if !twice {
			d.first[id] = row
			d.list = append(d.list, id)
			continue
		}
		if from == nil {
			return nil, message.New("duplicate-id", "rows %d and %d have the same id %q", first+1, row+1, id)
		}
		repeat := vectors.Repeat{Row: row, First: first, ID: id}
		if err := from.Repeated(repeat); err != nil {
			return nil, err
		}
		if keep == nil {
			keep = make([]bool, c.X.Rows)
			for k := range keep {
				keep[k] = true
			}
		}
		keep[i] = false
		d.repeats = append(d.repeats, repeat)
	}
	return keep, nil
}

// dataDigest is a SHA-256 over, all numbers little-endian,
//
//	"hashgrove data 1\n", dim uint32
//	the values, float32, row after row, -0 as 0
//	rows uint64
//	'L' when there are labels: the names, then the class of each row, int32
//	'T' when there are tags:   the names, then for each row the number of its tags and the tags, int32
//	'P' when there are pairs:  A, B, Y of each, int32 (hashed over the digest without them)
//
// where names are a uint32 count and for each a uint32 length and the bytes.
type dataDigest struct {
	h   hash.Hash
	buf []byte
}

func newDigest(dim int) *dataDigest {
	d := &dataDigest{h: sha256.New()}
	d.h.Write([]byte("hashgrove data 1\n"))
	d.number(dim)
	return d
}

func (d *dataDigest) rows(x vectors.Matrix) {
	for i := range x.Rows {
		d.buf = vectors.AppendValues(d.buf[:0], x.Row(i))
		d.h.Write(d.buf)
	}
}

func (d *dataDigest) number(n int) {
	d.buf = binary.LittleEndian.AppendUint32(d.buf[:0], uint32(n))
	d.h.Write(d.buf)
}

func (d *dataDigest) numbers(list []int32) {
	for _, n := range list {
		d.number(int(n))
	}
}

func (d *dataDigest) names(names []string) {
	d.number(len(names))
	for _, name := range names {
		d.number(len(name))
		d.h.Write([]byte(name))
	}
}

func (d *dataDigest) sum(rows int, l *Labels, t *Tags) [32]byte {
	d.h.Write(binary.LittleEndian.AppendUint64(nil, uint64(rows)))
	if l != nil {
		d.h.Write([]byte{'L'})
		d.names(l.Names)
		d.numbers(l.Class)
	}
	if t != nil {
		d.h.Write([]byte{'T'})
		d.names(t.Names)
		for i := range t.Rows() {
			d.number(len(t.Row(i)))
			d.numbers(t.Row(i))
		}
	}
	return [32]byte(d.h.Sum(nil))
}

// digestPairs returns the digest of the data together with pairs.
func digestPairs(data [32]byte, pairs []Pair) [32]byte {
	d := &dataDigest{h: sha256.New()}
	d.h.Write(data[:])
	d.h.Write([]byte{'P'})
	for _, p := range pairs {
		d.numbers([]int32{p.A, p.B, int32(p.Y)})
	}
	return [32]byte(d.h.Sum(nil))
}
