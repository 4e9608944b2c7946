package hashgrove

import (
	"context"
	"errors"
	"fmt"
	"image"
	"math"
	"strconv"
	"time"

	"hashgrove/internal/dataset"
	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/items"
	"hashgrove/internal/model"
	"hashgrove/internal/store"
	"hashgrove/internal/vectors"
)

// Index finds the items whose codes are nearest, exactly. It is safe for concurrent use: searches see the items as they
// were when they began.
type Index struct {
	model *model.Model // nil when the file holds none
	items itemStore
	close func() error
}

// itemStore is an index in memory or in a file.
type itemStore interface {
	Add(ctx context.Context, b *index.Batch) error
	Upsert(ctx context.Context, b *index.Batch) error
	Update(ctx context.Context, b *index.Batch, replace bool) (int, error)
	Delete(ctx context.Context, ids ...index.ID) (int, error)
	DeleteWhere(ctx context.Context, f index.Filter) (int, error)
	Snapshot() *index.Snapshot
}

// Hit is an item that was found.
type Hit struct {
	ID             string
	Distance       int     // in bits
	MarginDistance int     // with Query.Margins: in sixteenths of a bit
	Score          float64 // by Query.Score
	Label          string
	Tags           []string
	Attributes     map[string]any // numbers are float64, texts are string
}

// Details is what to change about an item: what is empty stays as it is.
type Details struct {
	ID         string
	Label      string
	Tags       []string
	Attributes map[string]any // as in WithAttributes
}

// FilterError is the error of a filter that names what no item has, or compares a value of another kind
// than the attribute has; it lists what there is. Find, DeleteWhere and List return it.
type FilterError = index.FilterError

// Query is what to search for, one of Vector, Image, Code and ID, and how.
type Query struct {
	Vector []float32
	Image  image.Image
	Code   Code
	ID     string // of an item of the index, which finds itself too

	// Margins ranks items by how certain the query is of the bits that differ, instead of counting them: as exact, and
	// mostly better for new items. It needs a vector or an image.
	Margins bool

	K      int    // number of hits; 0 means 10, or all within Radius
	Radius *int   // only items at this distance or less, in bits
	Where  string // only items that this filter lets through, such as `label = "boots" and price < 30`

	// Score orders the items on the shortlist, the smaller the nearer: for instance the distance of a vector that the
	// caller keeps under the id. It is called for each of them. The shortlist is the items with the nearest codes, at
	// least Shortlist of them, and all that tie with the last; 0 means all items up to 65,536, of more two thirds.
	Score     func(id string) (float64, error)
	Shortlist int
}

// NewIndex is an index in memory of the items, encoded by the model. Items may be nil.
func NewIndex(ctx context.Context, m *Model, d *Data) (*Index, error) {
	x := index.New(m.Bits(), m.model.Fingerprint(), index.Config{})
	ix := &Index{model: m.model, items: x, close: func() error { return nil }}
	if d != nil {
		if err := ix.Add(ctx, d); err != nil {
			return nil, err
		}
	}
	return ix, nil
}

// CreateIndex is an index in a new file, which is there with all its items or not at all. What Add, Upsert and Delete
// report as done survives a kill and a power cut.
func CreateIndex(ctx context.Context, path string, m *Model, d *Data) (*Index, error) {
	o := store.Options{Model: m.model, Bits: m.Bits(), Fingerprint: m.model.Fingerprint()}
	if d != nil {
		b, err := encodedItems(ctx, m.model, d)
		if err != nil {
			return nil, err
		}
		o.Items = b
	}
	s, err := store.Create(ctx, path, o)
	if err != nil {
		return nil, err
	}
	return &Index{model: m.model, items: s, close: s.Close}, nil
}

// OpenIndex opens an index in a file, for searching and for changes.
func OpenIndex(ctx context.Context, path string) (*Index, error) {
	s, err := store.Open(ctx, path, store.OpenOptions{})
	if err != nil {
		return nil, err
	}
	m, err := s.Model()
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &Index{model: m, items: s, close: s.Close}, nil
}

// Close closes the file of an index; one in memory needs none.
func (ix *Index) Close() error { return ix.close() }

// Len is the number of items.
func (ix *Index) Len() int { return ix.items.Snapshot().Len() }

// Model is the model that encodes items and queries, or nil when the file was built from codes without one.
func (ix *Index) Model() *Model {
	if ix.model == nil {
		return nil
	}
	return &Model{ix.model}
}

// Add encodes items and adds them: all of them, or none when one of the ids is there already.
func (ix *Index) Add(ctx context.Context, d *Data) error { return ix.write(ctx, d, ix.items.Add) }

// Upsert encodes items and adds them. Those whose ids are there get the new code, and the label, the tags and the
// attributes that come with it; what does not come stays as it is.
func (ix *Index) Upsert(ctx context.Context, d *Data) error { return ix.write(ctx, d, ix.items.Upsert) }

// Update changes labels, tags and attributes of items that are there, without their vectors, and returns how many there
// are. With replace, the attributes of an item are all that it has then.
func (ix *Index) Update(ctx context.Context, details []Details, replace bool) (int, error) {
	b := &index.Batch{}
	for i, d := range details {
		id, err := index.ParseID(d.ID)
		if err != nil {
			return 0, fmt.Errorf("item %d: %w", i, err)
		}
		values, err := attributeValues(d.Attributes)
		if err != nil {
			return 0, fmt.Errorf("item %d (id %q): %w", i, d.ID, err)
		}
		b.IDs, b.Labels = append(b.IDs, id), append(b.Labels, d.Label)
		b.Tags, b.Attributes = append(b.Tags, d.Tags), append(b.Attributes, values)
	}
	return ix.items.Update(ctx, b, replace)
}

// List returns the items that a filter lets through, all for "", in the order of their ids.
func (ix *Index) List(where string) ([]Hit, error) {
	f, err := index.Parse(where)
	if err != nil {
		return nil, err
	}
	snapshot := ix.items.Snapshot()
	found, err := snapshot.Matches(f)
	if err != nil {
		return nil, err
	}
	hits := make([]Hit, len(found))
	for i, h := range found {
		hits[i] = hitOf(snapshot.Item(h), 0)
	}
	return hits, nil
}

// Delete removes items by id and returns how many were there.
func (ix *Index) Delete(ctx context.Context, ids ...string) (int, error) {
	list := make([]index.ID, len(ids))
	for i, text := range ids {
		var err error
		if list[i], err = index.ParseID(text); err != nil {
			return 0, err
		}
	}
	return ix.items.Delete(ctx, list...)
}

// DeleteWhere removes the items that a filter lets through and returns how many there were.
func (ix *Index) DeleteWhere(ctx context.Context, where string) (int, error) {
	f, err := index.Parse(where)
	if err != nil {
		return 0, err
	}
	return ix.items.DeleteWhere(ctx, f)
}

// Search finds the k items nearest to a vector, by distance, then by id.
func (ix *Index) Search(ctx context.Context, x []float32, k int) ([]Hit, error) {
	return ix.Find(ctx, Query{Vector: x, K: k})
}

// Find answers a query.
func (ix *Index) Find(ctx context.Context, q Query) ([]Hit, error) {
	snapshot := ix.items.Snapshot()
	code, o, err := ix.read(ctx, snapshot, q)
	if err != nil {
		return nil, err
	}
	var found index.Result
	switch {
	case q.K < 0 || q.Radius != nil && *q.Radius < 0:
		return nil, errors.New("a negative number of hits or a negative radius was asked for")
	case q.Score != nil:
		found, err = rerank(ctx, snapshot, code, q, o)
	case q.Radius != nil:
		o.Limit = q.K
		found, err = snapshot.Within(ctx, code, *q.Radius, o)
	case q.K == 0:
		found, err = snapshot.Search(ctx, code, 10, o)
	default:
		found, err = snapshot.Search(ctx, code, q.K, o)
	}
	if err != nil {
		return nil, err
	}
	hits := make([]Hit, len(found.Hits))
	for i, h := range found.Hits {
		hits[i] = hitOf(snapshot.Item(h), h.Distance)
		hits[i].Score, hits[i].MarginDistance = h.Score, h.MarginDistance
	}
	return hits, nil
}

// read is the code of a query, its filter and its margins.
func (ix *Index) read(ctx context.Context, s *index.Snapshot, q Query) (code []uint64, o index.Options, err error) {
	if o.Filter, err = index.Parse(q.Where); err != nil {
		return nil, o, err
	}
	if q.Image != nil && ix.model != nil {
		if q.Vector, err = ix.model.ImageVector(q.Image); err != nil {
			return nil, o, err
		}
		q.Image = nil
	}
	if code, err = ix.code(s, q); err != nil || !q.Margins {
		return code, o, err
	}
	if q.Vector == nil {
		return nil, o, fault.New("no-margins", "a ranking by margins needs a vector or an image: codes do not say how "+
			"certain they are")
	}
	x := vectors.Matrix{Rows: 1, Cols: len(q.Vector), Data: q.Vector}
	margins, err := ix.model.Margins(ctx, x, 1)
	o.Rank, o.Margins = index.ByMargins, margins.Data
	return code, o, err
}

// rerank answers a query by its scores.
func rerank(ctx context.Context, s *index.Snapshot, code []uint64, q Query, o index.Options) (index.Result, error) {
	if q.Shortlist < 0 {
		return index.Result{}, errors.New("a shortlist has 0 items or more")
	}
	o.Shortlist = q.Shortlist
	k, radius := q.K, math.MaxInt
	if q.Radius != nil {
		radius = *q.Radius
	}
	switch {
	case k == 0 && q.Radius != nil:
		k = math.MaxInt
	case k == 0:
		k = 10
	}
	return s.Rerank(ctx, code, k, radius, o, func(h index.Hit) (float64, error) { return q.Score(h.ID.String()) })
}

// Get returns an item by id, and whether it is there.
func (ix *Index) Get(id string) (Hit, bool) {
	key, err := index.ParseID(id)
	if err != nil {
		return Hit{}, false
	}
	item, ok := ix.items.Snapshot().Get(key)
	return hitOf(item, 0), ok
}

func hitOf(item index.Item, distance int) Hit {
	h := Hit{ID: item.ID.String(), Distance: distance, Label: item.Label, Tags: item.Tags}
	for name, v := range item.Attributes {
		if h.Attributes == nil {
			h.Attributes = map[string]any{}
		}
		if text, ok := v.Text(); ok {
			h.Attributes[name] = text
		} else if number, ok := v.Number(); ok {
			h.Attributes[name] = number
		}
	}
	return h
}

// code is what a query looks for.
func (ix *Index) code(snapshot *index.Snapshot, q Query) ([]uint64, error) {
	switch {
	case (q.Vector != nil || q.Image != nil) && ix.model == nil:
		return nil, errors.New("the index holds no model to encode a query with: search by code or by id")
	case q.Vector != nil:
		return ix.model.EncodeRow(q.Vector)
	case q.Code != nil:
		one := hamming.NewCodes(1, snapshot.Bits())
		if !one.SetBytes(0, q.Code) {
			return nil, fmt.Errorf("a code of %d bits is %d bytes with unused bits 0, and this has %d",
				snapshot.Bits(), one.Bytes(), len(q.Code))
		}
		return one.Row(0), nil
	case q.ID != "":
		id, err := index.ParseID(q.ID)
		if err != nil {
			return nil, err
		}
		item, ok := snapshot.Get(id)
		if !ok {
			return nil, fmt.Errorf("no item has the id %q", q.ID)
		}
		return item.Code, nil
	}
	return nil, errors.New("a query needs a vector, an image, a code or the id of an item")
}

// write encodes items and writes them in one batch.
func (ix *Index) write(ctx context.Context, d *Data, write func(context.Context, *index.Batch) error) error {
	if ix.model == nil {
		return errors.New("the index holds no model to encode items with")
	}
	b, err := encodedItems(ctx, ix.model, d)
	if err != nil {
		return err
	}
	return write(ctx, b)
}

// encodedItems encodes rows and gives them their ids, labels, tags and attributes.
func encodedItems(ctx context.Context, m *model.Model, d *Data) (*index.Batch, error) {
	if m.TakesMissing() {
		copied := *d
		d = copied.WithMissing()
	}
	rows, err := d.rows(PictureOptions{}, m.Pictures)
	if err != nil {
		return nil, err
	}
	src, err := m.Source(rows, 0)
	if err != nil {
		return nil, err
	}
	table, err := d.attributeTable(rows)
	if err != nil {
		return nil, err
	}
	b := index.NewBatch(m.Encoder.Bits())
	b.Fingerprint = m.Fingerprint()
	err = m.EncodeSource(ctx, src, 0, func(first int, codes hamming.Codes, c vectors.Chunk) error {
		if table != nil && first == 0 {
			if err := table.Match(c.IDs); err != nil {
				return err
			}
		}
		for i := range codes.Len() {
			item, err := d.item(first+i, c, i)
			if err != nil {
				return err
			}
			if table != nil {
				given := item.Attributes
				items.Describe(&item, table, c, i, first+i)
				item.Attributes = index.Item{Attributes: given}.Completed(item, false).Attributes
			}
			item.Code = codes.Row(i)
			b.Append(item)
		}
		return nil
	})
	if err == nil && table != nil {
		err = table.Check(len(b.IDs))
	}
	if err != nil {
		return nil, err
	}
	if d.attributes != nil && len(d.attributes) != len(b.IDs) {
		return nil, fmt.Errorf("%d sets of attributes for %d items", len(d.attributes), len(b.IDs))
	}
	return b, nil
}

// item is what is known about a row, without its code.
func (d *Data) item(row int, c vectors.Chunk, i int) (item index.Item, err error) {
	if item, err = items.FromRow(c, i, row); err != nil || row >= len(d.attributes) {
		return item, err
	}
	if item.Attributes, err = attributeValues(d.attributes[row]); err != nil {
		err = fmt.Errorf("row %d: %w", row, err)
	}
	return item, err
}

// attributeTable reads the attributes of rows in files; nil when there are none.
func (d *Data) attributeTable(rows vectors.Source) (*dataset.Attributes, error) {
	set, inFiles := rows.(*dataset.Set)
	switch {
	case !inFiles || d.columns.AttributesFile == "" && len(d.columns.Attributes) == 0:
		return nil, nil
	case d.columns.AttributesFile == "":
		return set.Attributes(d.columns.Attributes)
	}
	return dataset.OpenAttributes(dataset.AttributeSpec{
		Path: d.columns.AttributesFile, ID: d.columns.AttributesID, ItemID: d.columns.ID, Columns: d.columns.Attributes,
	})
}

// attributeValues makes values of an index.
func attributeValues(attributes map[string]any) (map[string]index.Value, error) {
	values := make(map[string]index.Value, len(attributes))
	for name, v := range attributes {
		switch v := v.(type) {
		case string:
			values[name] = index.String(v)
		case bool:
			values[name] = index.String(strconv.FormatBool(v))
		case time.Time:
			values[name] = index.String(v.Format(time.RFC3339Nano))
		case float64:
			values[name] = index.Number(v)
		case float32:
			values[name] = index.Number(float64(v))
		case int:
			values[name] = index.Number(float64(v))
		case int64:
			values[name] = index.Number(float64(v))
		default:
			return nil, fmt.Errorf("the attribute %q is a %T: give numbers, texts, truth values or times", name, v)
		}
	}
	return values, nil
}
