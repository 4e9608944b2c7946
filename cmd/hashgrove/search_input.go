package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"hashgrove"
	"hashgrove/api"
	"hashgrove/client"
	"hashgrove/internal/cli"
	"hashgrove/internal/dataset"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/picture"
	"hashgrove/internal/picture/gallery"
	"hashgrove/internal/search"
	"hashgrove/internal/store"
	"hashgrove/internal/vectors"
)

// queries reads the queries of a command line: item ids, hexadecimal codes, code files or data.
type queries struct {
	*searchCommand
	args []string

	bits  int                               // of the codes; 0 if unknown
	has   func(id string) (bool, error)     // whether the item exists
	model func() (*model.Model, error)      // turns data into vectors; nil takes data as they are
	made  func(f hamming.Fingerprint) error // refuses codes of another model
}

// each passes on the queries in batches of at least atLeast rows, or as they arrive if it is 0.
func (q *queries) each(ctx context.Context, atLeast int, take func([]api.Query) error) error {
	switch {
	case len(q.ids) > 0:
		list, err := search.IDQueries(q.has, q.ids)
		if err != nil {
			return fmt.Errorf("%s: %w", q.path, err)
		}
		return take(list)
	case len(q.codes) > 0:
		var list []api.Query
		for _, text := range q.codes {
			list = append(list, api.Query{Name: text, Code: text})
		}
		return take(list)
	}
	coded, err := dataset.AreCodes(q.args)
	if err != nil {
		return cli.UsageError(err)
	}
	if !coded && !q.data.Codes {
		return q.eachRow(ctx, atLeast, take)
	}
	read := search.CodeQueries
	if !coded {
		read = q.packedQueries
	}
	list, made, err := read(q.args, q.rows, q.bits)
	if err == nil {
		err = q.made(made)
	}
	if err != nil {
		return err
	}
	return take(list)
}

// packedQueries is search.CodeQueries for codes from elsewhere.
func (q *queries) packedQueries(paths []string, rows []int, bits int) (list []api.Query, of hamming.Fingerprint, err error) {
	set, err := q.data.open(paths, nil)
	if err != nil {
		return nil, of, err
	}
	in, err := dataset.FromPacked(set, paths[0])
	if err != nil {
		return nil, of, err
	}
	if in.Bits != bits && bits != 0 {
		return nil, of, message.New("bits-mismatch", "%s: codes of %d bits for an index of %d", paths[0], in.Bits, bits)
	}
	n := 0
	err = in.Each(context.Background(), 0, func(b *index.Batch) error {
		for i, id := range b.IDs {
			if len(rows) == 0 || slices.Contains(rows, n) {
				list = append(list, api.Query{Name: id.String(), Code: search.HexCode(b.Codes.Row(i), in.Bits)})
			}
			n++
		}
		return nil
	})
	return list, in.Fingerprint, cmp.Or(err, search.CheckRows(paths[0], rows, n, len(list)))
}

// eachRow reads vectors or pictures.
func (q *queries) eachRow(ctx context.Context, atLeast int, take func([]api.Query) error) error {
	if q.model == nil {
		if list, err := pictureQueries(q.args, q.rows); len(list) > 0 || err != nil {
			if err != nil {
				return err
			}
			return take(list)
		}
	}
	set, src, err := q.source()
	if err != nil {
		return err
	}
	o := search.Reading{Name: strings.Join(q.args, " "), Rows: q.rows, AtLeast: atLeast}
	if atLeast > 0 {
		p := q.startProgress("reading", max(set.Rows(), 0))
		defer p.End()
		o.Progress = p.Tick
	}
	named, err := search.EachBatch(ctx, src, o, take)
	if err == nil {
		q.noteNumbers(&hashgrove.DataRead{Bad: q.noteBad(set), IDs: named})
	}
	return err
}

// source opens the data, prepared for the model if it is known.
func (q *queries) source() (*dataset.Set, vectors.Source, error) {
	if q.model == nil {
		set, err := q.data.open(q.args, nil)
		return set, set, err
	}
	m, err := q.model()
	if err == nil && m == nil {
		err = message.New("needs-model", "%s has no model to encode %s with, because it was built from codes: "+
			"search with codes (--codes), --id or --code, or build it with --model", q.path, q.args[0])
	}
	if err != nil {
		return nil, nil, err
	}
	return q.data.openFor(m, q.args)
}

// pictureQueries reads picture files as they are, for a service whose model prepares them. The list is empty if the
// arguments are not picture files.
func pictureQueries(paths []string, rows []int) (list []api.Query, err error) {
	for i, path := range paths {
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

// fileIndex searches an index file.
type fileIndex struct {
	c      *searchCommand
	path   string
	store  *store.Store
	items  *search.Items
	loaded *model.Model
	filter index.Filter
}

// openFile opens the index to read part of it.
func (c *searchCommand) openFile(ctx context.Context, path string, f index.Filter, q *queries) (*fileIndex, error) {
	st, err := c.openToRead(ctx, path)
	if err != nil {
		return nil, err
	}
	o, info := c.options(), st.Info()
	if err := o.CheckBits(info.Bits); err != nil {
		return nil, closeStore(st, flagError(err))
	}
	x := &fileIndex{c: c, path: path, store: st, filter: f}
	q.bits, q.model = info.Bits, x.model
	q.has = func(text string) (bool, error) {
		id, err := index.ParseID(text)
		if err != nil {
			return false, err
		}
		_, ok, err := x.store.Get(ctx, id)
		return ok, err
	}
	q.made = func(f hamming.Fingerprint) error {
		if err := info.Fingerprint.Accept(f); err != nil {
			return fmt.Errorf("%s: %w", q.args[0], err)
		}
		return nil
	}
	return x, nil
}

// model reads the model of the index, once.
func (x *fileIndex) model() (_ *model.Model, err error) {
	if x.loaded == nil {
		x.loaded, err = x.store.Model()
	}
	return x.loaded, err
}

// manyQueries is the number of queries from which building an index in memory pays off.
const manyQueries = 1 << 10

// expect reads the items. They stay on disk unless there are many queries or explanations, which need an index
// in memory.
func (x *fileIndex) expect(ctx context.Context, queries int, more bool) error {
	c := x.c
	if queries >= manyQueries || more || c.explain {
		config := index.Config{}
		if more && queries < manyQueries { // through a pipe
			config.Tables = -1
		}
		if err := x.store.Close(); err != nil {
			return err
		}
		var err error
		if x.store, err = c.openAll(ctx, x.path, config); err != nil {
			return err
		}
		x.loaded = nil
	}
	selected, err := c.selectFields(ctx, x.store, x.filter, c.fields,
		[]string{"query", "rank", "id", "distance", "detail_distance", "margin_distance", "score", "label", "tags"})
	if err != nil {
		return err
	}
	x.items = &search.Items{
		Snapshot: selected.Snapshot, Find: selected.Items, Threads: c.threads,
		Get: func(ctx context.Context, id index.ID) (index.Item, bool, error) { return x.store.Get(ctx, id) },
	}
	ranks := c.rank != api.Hamming && !c.within // queries of any kind
	if len(c.ids)+len(c.codes) == 0 || c.explain || len(c.rerank) > 0 || ranks {
		if x.items.Model, err = x.model(); err != nil {
			return err
		}
	}
	if len(c.rerank) > 0 {
		x.items.Vectors = x.itemVectors()
	}
	return nil
}

// itemVectors returns the pass over the vectors of --rerank.
func (x *fileIndex) itemVectors() *search.Pass {
	var progress *cli.Progress
	return &search.Pass{
		Name: "--rerank",
		Open: func(ctx context.Context) (vectors.Source, error) {
			src, rows, err := x.c.itemSource(ctx, x.items.Model)
			if err == nil {
				progress = x.c.startProgress("comparing vectors", rows)
			}
			return src, err
		},
		Progress: func(rows int) { progress.Tick(rows) },
		Done:     func() { progress.End() },
	}
}

// Search implements api.Searcher.
func (x *fileIndex) Search(ctx context.Context, r *api.Request) (*api.Answer, error) {
	a, err := x.items.Search(ctx, r)
	switch {
	case errors.Is(err, search.ErrNoVectors) && x.c.numbered:
		return nil, fmt.Errorf("--rerank: %w: its rows were matched by number, because they have no ids: "+
			"name their column with --id-column", err)
	case r.Rerank != "" && (errors.Is(err, search.ErrNoVectors) || errors.Is(err, api.ErrInvalid)):
		return nil, fmt.Errorf("--rerank: %w", err)
	}
	return a, err
}

// openService sets up the collection of a service; the token comes from --token-file or the environment.
func (c *searchCommand) openService(q *queries) (*client.Collection, error) {
	token := os.Getenv("HASHGROVE_TOKEN")
	if c.tokenFile != "" {
		var err error
		if token, err = readSecret(c.tokenFile); err != nil {
			return nil, err
		}
	}
	s := (&client.Client{URL: c.server, Token: token}).Collection(c.path)
	q.has = func(id string) (bool, error) {
		_, err := s.Item(context.Background(), api.ID(id))
		if errors.Is(err, api.ErrNotFound) {
			return false, nil
		}
		return err == nil, err
	}
	q.made = func(f hamming.Fingerprint) error {
		if f != (hamming.Fingerprint{}) {
			s.Fingerprint = f.String()
		}
		return nil
	}
	return s, nil
}

// itemSource opens the vectors of --rerank; rows is 0 if unknown.
func (c *searchCommand) itemSource(ctx context.Context, m *model.Model) (src vectors.Source, rows int, err error) {
	d := c.data
	d.LabelsFile, d.IDsFile, d.Label, d.Tags = nil, nil, "", ""
	if len(c.ids) == 0 && !c.explain { // else there is a second pass
		d.readOnce(c.in)
	}
	var as *picture.Preparation
	if m != nil {
		d.asModel(m)
		d.Missing = false // distances need every value
		as = m.Pictures
	}
	set, err := d.open(c.rerank, as)
	if err != nil {
		return nil, 0, err
	}
	src = set
	_, pictured := set.AsPictures()
	c.numbered = d.ID == "" && len(d.IDsFile) == 0 && !pictured
	if m != nil {
		src, err = m.Source(set, c.threads)
	}
	return src, max(set.Rows(), 0), err
}
