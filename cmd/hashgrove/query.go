package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"

	"hashgrove/internal/cli"
	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/items"
	"hashgrove/internal/model"
	"hashgrove/internal/store"
)

// queries reads what the command line asks for: items of the index, codes in hexadecimal digits, a code file, or data.
func (c *searchCommand) queries(ctx context.Context, s *store.Store, args []string) (*items.Queries, error) {
	info := s.Info()
	q := &items.Queries{Codes: hamming.NewCodes(0, info.Bits)}
	switch {
	case len(c.ids) > 0:
		get := func(id index.ID) (index.Item, bool, error) { return s.Get(ctx, id) }
		if err := q.ReadItems(get, c.ids); err != nil {
			return nil, fmt.Errorf("%s: %w", c.path, err)
		}
		c.ids = q.Names
		return q, nil
	case len(c.codes) > 0:
		return q, c.readHex(q)
	}
	coded, err := items.AreCodes(args)
	if err != nil {
		return nil, cli.UsageError(err)
	}
	if coded {
		err = q.ReadCodes(args, c.rows)
	} else {
		err = c.readVectors(ctx, s, q, args)
	}
	return q, err
}

// readHex reads the codes of --code.
func (c *searchCommand) readHex(q *items.Queries) error {
	code := hamming.NewCodes(1, q.Codes.Bits)
	for _, text := range c.codes {
		b, err := hex.DecodeString(text)
		if err != nil || !code.SetBytes(0, b) {
			return cli.Usage("bad-flag-value", "--code %s: a code of %d bits is %d hexadecimal digits, unused bits 0",
				text, code.Bits, 2*code.Bytes())
		}
		q.Add(text, "", code.Row(0), nil)
	}
	return nil
}

// queryModel is the model of the index, which encodes queries.
func (c *searchCommand) queryModel(s *store.Store, paths []string) (*model.Model, error) {
	m, err := s.Model()
	if err == nil && m == nil {
		err = fault.New("needs-model", "%s holds no model to encode %s with, because it was built from codes: "+
			"search with a code file, --id or --code, or build it with --model", c.path, paths[0])
	}
	return m, err
}

// readVectors encodes vectors or pictures with the model of the index.
func (c *searchCommand) readVectors(ctx context.Context, s *store.Store, q *items.Queries, paths []string) error {
	m, err := c.queryModel(s, paths)
	if err != nil {
		return err
	}
	set, src, err := c.data.openFor(m, paths)
	if err != nil {
		return err
	}
	p := c.startProgress("encoding", max(set.Rows(), 0), 0)
	defer p.End()
	err = q.ReadRows(ctx, m, src, items.Reading{
		Name: strings.Join(paths, " "), Rows: c.rows, KeepVectors: len(c.rerank) > 0,
		KeepMargins: c.needsMargins(), Threads: c.threads, Progress: p.Tick,
	})
	if err == nil {
		c.noteNumbers(c.noteBad(set), q.Named)
	}
	return err
}
