package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"hashgrove/api"
	"hashgrove/client"
	"hashgrove/internal/cli"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/model"
	"hashgrove/internal/picture"
	"hashgrove/internal/search"
	"hashgrove/internal/store"
	"hashgrove/internal/vectors"
)

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
				progress = x.c.startProgress("comparing vectors", rows, 0)
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
		b, err := os.ReadFile(c.tokenFile)
		if err != nil {
			return nil, err
		}
		token = strings.TrimSpace(string(b))
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
		d.readOnce(ctx, c.in)
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
