package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"hashgrove/api"
	"hashgrove/internal/cli"
	"hashgrove/internal/dataset"
	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
	"hashgrove/internal/picture/gallery"
	"hashgrove/internal/search"
	"hashgrove/internal/vectors"
)

// queryReader reads the queries of a command line: item ids, hexadecimal codes, code files or data.
type queryReader struct {
	*app
	data       dataFlags
	rows       []int
	ids, codes []string
	args       []string

	index string                            // for messages
	bits  int                               // of the codes; 0 if unknown
	has   func(id string) (bool, error)     // whether the item exists
	model func() (*model.Model, error)      // turns data into vectors; nil takes data as they are
	made  func(f hamming.Fingerprint) error // refuses codes of another model
}

// each passes on the queries in batches of at least atLeast rows, or as they arrive if it is 0.
func (r *queryReader) each(ctx context.Context, atLeast int, take func([]api.Query) error) error {
	switch {
	case len(r.ids) > 0:
		list, err := search.IDQueries(r.has, r.ids)
		if err != nil {
			return fmt.Errorf("%s: %w", r.index, err)
		}
		return take(list)
	case len(r.codes) > 0:
		var list []api.Query
		for _, text := range r.codes {
			list = append(list, api.Query{Name: text, Code: text})
		}
		return take(list)
	}
	coded, err := dataset.AreCodes(r.args)
	if err != nil {
		return cli.UsageError(err)
	}
	if !coded {
		return r.eachRow(ctx, atLeast, take)
	}
	list, made, err := search.CodeQueries(r.args, r.rows, r.bits)
	if err == nil {
		err = r.made(made)
	}
	if err != nil {
		return err
	}
	return take(list)
}

// eachRow reads vectors or pictures.
func (r *queryReader) eachRow(ctx context.Context, atLeast int, take func([]api.Query) error) error {
	if r.model == nil {
		if list, err := pictureQueries(r.args, r.rows); len(list) > 0 || err != nil {
			if err != nil {
				return err
			}
			return take(list)
		}
	}
	set, src, err := r.source()
	if err != nil {
		return err
	}
	o := search.Reading{Name: strings.Join(r.args, " "), Rows: r.rows, AtLeast: atLeast}
	if atLeast > 0 {
		p := r.startProgress("reading", max(set.Rows(), 0), 0)
		defer p.End()
		o.Progress = p.Tick
	}
	named, err := search.EachBatch(ctx, src, o, take)
	if err == nil {
		r.noteNumbers(r.noteBad(set), named)
	}
	return err
}

// source opens the data, prepared for the model if it is known.
func (r *queryReader) source() (*dataset.Set, vectors.Source, error) {
	if r.model == nil {
		set, err := r.data.open(r.args, nil)
		return set, set, err
	}
	m, err := r.model()
	if err == nil && m == nil {
		err = fault.New("needs-model", "%s has no model to encode %s with, because it was built from codes: "+
			"search with a code file, --id or --code, or build it with --model", r.index, r.args[0])
	}
	if err != nil {
		return nil, nil, err
	}
	return r.data.openFor(m, r.args)
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
