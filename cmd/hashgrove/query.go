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
	if !coded {
		return q.eachRow(ctx, atLeast, take)
	}
	list, made, err := search.CodeQueries(q.args, q.rows, q.bits)
	if err == nil {
		err = q.made(made)
	}
	if err != nil {
		return err
	}
	return take(list)
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
		p := q.startProgress("reading", max(set.Rows(), 0), 0)
		defer p.End()
		o.Progress = p.Tick
	}
	named, err := search.EachBatch(ctx, src, o, take)
	if err == nil {
		q.noteNumbers(q.noteBad(set), named)
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
		err = fault.New("needs-model", "%s has no model to encode %s with, because it was built from codes: "+
			"search with a code file, --id or --code, or build it with --model", q.path, q.args[0])
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
