package hashgrove

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"hashgrove/api"
	"hashgrove/internal/dataset"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/search"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// itemReader reads data as items of an index.
type itemReader struct {
	model    *model.Model // nil if there is none, and only codes will do
	bits     int          // of codes
	keep     bool         // the vectors too
	threads  int
	progress steps

	named bool // the rows last read have ids
}

// reader returns what reads items for an index with a model, which may be nil.
func (o IndexOptions) reader(m *Model) *itemReader {
	r := &itemReader{model: m.inner(), threads: o.Threads, progress: o.Progress}
	if r.model != nil {
		r.bits = m.Bits()
	}
	return r
}

// opened is data in the course of being read as items.
type opened struct {
	*dataset.Input
	set  *dataset.Set // nil if the rows are not in files, or those are files of codes
	kept *recorder
}

// open opens data whose rows are not codes in memory.
func (r *itemReader) open(d *Data) (in opened, err error) {
	switch {
	case d.codeFiles:
		in.Input, err = dataset.FromCodes(d.spec.Paths)
	case d.spec.Codes:
		if in.set, err = dataset.Open(d.spec); err == nil {
			in.Input, err = dataset.FromPacked(in.set, d.spec.Paths[0])
		}
	case r.model == nil:
		err = api.Errorf(api.ErrNoModel, "%s: vectors need a model to encode them, and there is none", d.name())
	default:
		var given, src vectors.Source
		if given, src, err = d.forModel(r.model, false, r.threads); err != nil {
			break
		}
		in.set, _ = given.(*dataset.Set)
		if in.kept = (&recorder{Source: src}); r.keep {
			src = in.kept
		}
		in.Input = dataset.FromRows(r.model, src, d.name())
	}
	if err == nil {
		in.Attributes, err = d.attributeTable(in.set)
	}
	return in, err
}

// count returns the number of items, or 0 if it is not known before reading. Where bad rows are left out, a pass over
// all of them finds those that repeat an id.
func (r *itemReader) count(ctx context.Context, d *Data, in opened) (int, error) {
	switch {
	case d.codeFiles:
		return in.CountCodes(ctx)
	case in.set == nil:
		return d.table.X.Rows, nil
	case !d.spec.SkipBad || d.Once():
		return max(in.set.Rows(), 0), nil
	}
	sum, err := supervision.Scan(ctx, in.set, supervision.ScanOptions{
		Progress: func(rows int) { r.progress.step("reading", rows, 0) },
	})
	if err != nil {
		return 0, err
	}
	return sum.Rows, nil
}

// report says what reading met.
func (r *itemReader) report(in opened, rows int) *DataRead {
	r.named = in.Named
	read := &DataRead{Rows: rows, Bad: noteBad(in.set, r.progress), IDs: in.Named}
	if in.Attributes != nil {
		read.Attributes = new(Join(in.Join))
	}
	r.progress.report(Step{Read: read})
	return read
}

// items returns items with codes and attributes, and their vectors if they are to be kept: nil for items that come with
// a code. Attributes set on the data take precedence over those in a file.
func (r *itemReader) items(ctx context.Context, d *Data) (b *index.Batch, rows [][]float32, err error) {
	if err := d.Err(); err != nil {
		return nil, nil, err
	}
	if d.codes != nil {
		r.named = d.table.IDs != nil
		b, err = codedItems(r.bits, d)
		rows = make([][]float32, len(d.codes))
	} else {
		b, rows, err = r.read(ctx, d)
	}
	if err != nil || d.attributes == nil {
		return b, rows, err
	}
	if len(d.attributes) != len(b.IDs) {
		return nil, nil, api.Errorf(api.ErrInvalid, "%d sets of attributes for %d items", len(d.attributes), len(b.IDs))
	}
	if b.Attributes == nil {
		b.Attributes = make([]map[string]index.Value, len(b.IDs))
	}
	for i, given := range d.attributes {
		values, err := search.Values(given)
		if err != nil {
			return nil, nil, fmt.Errorf("row %d: %w", i, err)
		}
		b.Attributes[i] = index.Item{Attributes: values}.Completed(b.Item(i), false).Attributes
	}
	return b, rows, nil
}

// read is items for rows that are not codes in memory.
func (r *itemReader) read(ctx context.Context, d *Data) (*index.Batch, [][]float32, error) {
	in, err := r.open(d)
	if err != nil {
		return nil, nil, err
	}
	n, err := r.count(ctx, d, in)
	if err != nil {
		return nil, nil, err
	}
	b, err := in.Read(ctx, n, r.threads, func(done int) { r.progress.step("encoding", done, n) })
	if err != nil {
		return nil, nil, err
	}
	r.report(in, len(b.IDs))
	if in.kept == nil {
		return b, make([][]float32, len(b.IDs)), nil
	}
	return b, in.kept.rows, nil
}

// recorder keeps the rows of a source as they are read.
type recorder struct {
	vectors.Source
	rows [][]float32
}

func (r *recorder) Chunks(ctx context.Context) iter.Seq2[vectors.Chunk, error] {
	return func(yield func(vectors.Chunk, error) bool) {
		for chunk, err := range r.Source.Chunks(ctx) {
			for i := range chunk.X.Rows {
				r.rows = append(r.rows, slices.Clone(chunk.X.Row(i)))
			}
			if !yield(chunk, err) {
				return
			}
		}
	}
}

// codedItems returns items by their codes, with their ids, labels and tags.
func codedItems(bits int, d *Data) (*index.Batch, error) {
	b, one := index.NewBatch(bits), hamming.NewCodes(1, bits)
	chunk := vectors.Chunk{IDs: d.table.IDs, Labels: d.table.Labels, Tags: d.table.Tags}
	for i, code := range d.codes {
		it, err := dataset.FromRow(chunk, i, i)
		if err == nil {
			err = search.SetCode(one, 0, "", code)
		}
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", i, err)
		}
		it.Code = one.Row(0)
		b.Append(it)
	}
	return b, nil
}

// newItems returns the items of a new index, whose codes are those of a model or, without one, of a length and a
// fingerprint that they tell.
func (r *itemReader) newItems(ctx context.Context, d *Data) (*index.Batch, error) {
	noModel := api.Errorf(api.ErrNoModel, "items that are not codes need a model to encode them")
	switch {
	case d == nil && r.model == nil:
		return nil, noModel
	case d == nil:
		return nil, nil
	case r.model == nil && !d.isCoded():
		return nil, d.in(noModel)
	}
	if d.codes != nil && r.model == nil {
		if len(d.codes) > 0 {
			r.bits = 8 * len(d.codes[0])
		}
		if r.bits < 8 || r.bits > hamming.MaxBits {
			return nil, api.Errorf(api.ErrInvalid, "a first code of %d bits: give codes of 8 to %d", r.bits, hamming.MaxBits)
		}
	}
	b, _, err := r.items(ctx, d)
	if err == nil && r.model != nil {
		err = fitModel(b, r.model, d.name())
	}
	return b, err
}

// fitModel gives codes without a fingerprint that of the model, and removes the zero bits with which FAISS pads codes
// to whole bytes.
func fitModel(b *index.Batch, m *model.Model, name string) error {
	bits := m.Encoder.Bits()
	if b.Fingerprint != (hamming.Fingerprint{}) && b.Fingerprint != m.Fingerprint() {
		return message.New("model-mismatch", "%s: codes of model %v, but this model is %v: give the one that made them",
			name, b.Fingerprint, m.Fingerprint())
	}
	if b.Codes.Bits != bits {
		codes := hamming.NewCodes(b.Codes.Len(), bits)
		for i := range b.Codes.Len() {
			if !codes.SetBytes(i, b.Codes.AppendBytes(nil, i)) {
				return fmt.Errorf("%s: codes of %d bits, but the model makes %d: give the one that made them",
					name, b.Codes.Bits, bits)
			}
		}
		b.Codes = codes
	}
	b.Fingerprint = m.Fingerprint()
	return nil
}

// attributeTable reads the attributes of rows in files; the set is nil for others. It returns nil if there are none.
func (d *Data) attributeTable(set *dataset.Set) (*dataset.Attributes, error) {
	c, codes := d.columns, []string(nil)
	if set != nil {
		codes = set.CodeColumns()
	}
	switch {
	case c.AttributesFile != "":
		return dataset.OpenAttributes(dataset.AttributeSpec{
			Path: c.AttributesFile, ID: c.AttributesID, ItemID: c.ID, Columns: c.Attributes, Skip: codes,
		})
	case len(c.Attributes) == 0:
		return nil, nil
	case set == nil:
		return nil, errors.New("these rows are in no table with attributes: name a file of attributes")
	case set.Once():
		return nil, message.New("read-once",
			"a pipe can be read only once: name a file of attributes, or save the data to a file")
	}
	return set.Attributes(c.Attributes)
}

// ReadChanges reads changes of items from the file Files.Attributes, whose column Files.AttributesID has the ids:
// attributes, all or those in Columns.Attributes, and labels and tags where columns are called that.
func ReadChanges(f Files, c Columns) ([]api.Change, error) {
	t, err := dataset.OpenAttributes(dataset.AttributeSpec{Path: f.Attributes, ID: f.AttributesID, Columns: c.Attributes})
	if err != nil {
		return nil, err
	}
	b, err := t.Changes()
	if err != nil {
		return nil, err
	}
	list := make([]api.Change, len(b.IDs))
	for i := range list {
		list[i] = api.Change{ID: api.ID(b.IDs[i].String()), Attributes: map[string]any{}}
		if b.Labels[i] != "" {
			list[i].Label = &b.Labels[i]
		}
		if len(b.Tags[i]) > 0 {
			list[i].Tags = b.Tags[i]
		}
		for name, value := range search.Attributes(b.Attributes[i]) {
			list[i].Attributes[name] = value
		}
	}
	return list, nil
}

// ReadIDs reads ids from files with one on each line, and adds them to others, without repetitions.
func ReadIDs(files []string, others ...string) ([]api.ID, error) {
	list, err := dataset.ReadIDs(others, files)
	ids := make([]api.ID, len(list))
	for i, id := range list {
		ids[i] = api.ID(id.String())
	}
	return ids, err
}
