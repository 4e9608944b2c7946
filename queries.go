package hashgrove

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"os"
	"slices"

	"hashgrove/api"
	"hashgrove/internal/dataset"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/picture/gallery"
	"hashgrove/internal/search"
	"hashgrove/internal/vectors"
)

// QueryOptions say how to search with the rows of data.
type QueryOptions struct {
	// Model says how rows become its vectors. Nil takes vectors and picture files as they are, for a service to encode.
	Model *Model
	// Bits is the length of the codes that are searched, so that others are refused; 0 if it is not known.
	Bits int
	// Rows are the numbers of those to search with, counted from 0; nil means all.
	Rows []int
	// AtLeast is the least number of queries in a request, except the last; 0 passes rows on as they arrive.
	AtLeast int
	// Threads is the number of cores to use; 0 means all.
	Threads int
	// Progress is called from one goroutine; it may be nil.
	Progress func(Step)
}

// errEnough ends the reading of queries.
var errEnough = errors.New("enough")

// Requests yields requests to search with the rows of data, in order, for any api.Searcher; they lack only Options.
// Codes from a file name the model that made them as the Fingerprint, if the file does.
func (d *Data) Requests(ctx context.Context, o QueryOptions) iter.Seq2[*api.Request, error] {
	return func(yield func(*api.Request, error) bool) {
		err := d.eachRequest(ctx, &o, func(list []api.Query, made hamming.Fingerprint) error {
			r := &api.Request{Queries: list}
			if made != (hamming.Fingerprint{}) {
				r.Fingerprint = made.String()
			}
			if !yield(r, nil) {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(nil, err)
		}
	}
}

// eachRequest passes queries on in batches.
func (d *Data) eachRequest(
	ctx context.Context, o *QueryOptions, take func([]api.Query, hamming.Fingerprint) error,
) error {
	switch {
	case d.Err() != nil:
		return d.Err()
	case d.codeFiles:
		list, made, err := search.CodeQueries(d.spec.Paths, o.Rows, o.Bits)
		if err != nil {
			return err
		}
		return take(list, made)
	case d.codes != nil || d.spec.Codes:
		return d.eachCode(ctx, o, take)
	case o.Model.inner() == nil:
		if list, err := d.pictureQueries(o.Rows); len(list) > 0 || err != nil {
			return cmp.Or(err, take(list, hamming.Fingerprint{}))
		}
	}
	given, src, err := d.readOnce().forQueries(o)
	if err != nil {
		return err
	}
	set, _ := given.(*dataset.Set)
	total := 0
	if set != nil {
		total = max(set.Rows(), 0)
	}
	reading := search.Reading{Name: d.name(), Rows: o.Rows, AtLeast: o.AtLeast}
	if o.AtLeast > 0 && o.Progress != nil {
		reading.Progress = func(rows int) { o.Progress(Step{What: "reading", Done: rows, Total: total}) }
	}
	read := &DataRead{}
	read.IDs, err = search.EachBatch(ctx, src, reading, func(list []api.Query) error {
		read.Rows += len(list)
		return take(list, hamming.Fingerprint{})
	})
	if err == nil && o.Progress != nil {
		read.Bad = noteBad(set, o.Progress)
		o.Progress(Step{Read: read})
	}
	return err
}

// forQueries opens rows as they are, and as they are searched for.
func (d *Data) forQueries(o *QueryOptions) (given, src vectors.Source, err error) {
	if o.Model.inner() != nil {
		return d.forModel(o.Model.model, false, o.Threads)
	}
	src, err = d.rows(PictureOptions{}, nil)
	return src, src, err
}

// eachCode is eachRequest for rows that are codes.
func (d *Data) eachCode(ctx context.Context, o *QueryOptions, take func([]api.Query, hamming.Fingerprint) error) error {
	var list []api.Query
	n := 0
	add := func(name, code string) {
		if len(o.Rows) == 0 || slices.Contains(o.Rows, n) {
			list = append(list, api.Query{Name: name, Code: code})
		}
		n++
	}
	var made hamming.Fingerprint
	for i, code := range d.codes {
		name := ""
		if d.table.IDs != nil {
			name = d.table.IDs[i]
		}
		add(name, code.String())
	}
	if d.codes == nil {
		in, err := (&itemReader{threads: o.Threads}).open(d.readOnce())
		if err != nil {
			return err
		}
		if err := search.CheckBits(d.name(), in.Bits, o.Bits); err != nil {
			return err
		}
		made = in.Fingerprint
		err = in.Each(ctx, o.Threads, func(b *index.Batch) error {
			for i, id := range b.IDs {
				add(id.String(), search.HexCode(b.Codes.Row(i), in.Bits))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if err := search.CheckRows(d.name(), o.Rows, n, len(list)); err != nil {
		return err
	}
	return take(list, made)
}

// pictureQueries reads picture files as they are. The list is empty if the data are something else.
func (d *Data) pictureQueries(rows []int) (list []api.Query, err error) {
	for i, path := range d.spec.Paths {
		if !gallery.Promises(path) {
			return nil, nil
		}
		if len(rows) > 0 && !slices.Contains(rows, i) {
			continue
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		list = append(list, api.Query{Name: path, Picture: b})
	}
	return list, nil
}
