package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"

	"hashgrove/hamming"
	"hashgrove/index"
	"hashgrove/internal/cli"
	"hashgrove/internal/items"
	"hashgrove/model"
	"hashgrove/picture"
	"hashgrove/store"
	"hashgrove/vectors"
)

// queries reads what the command line asks for: items of the index, codes in hexadecimal digits, a code file, or data.
func (c *searchCommand) queries(ctx context.Context, s *store.Store, args []string) (*items.Queries, error) {
	info := s.Info()
	q := &items.Queries{Codes: hamming.NewCodes(0, info.Bits)}
	switch {
	case len(c.ids) > 0:
		get := func(id index.ID) (index.Item, bool, error) { return s.Get(ctx, id) }
		if err := q.ReadItems(get, c.ids); err != nil {
			return nil, fmt.Errorf("%s: %w", info.Path, err)
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
			return cli.Usagef("--code %s: a code of %d bits is %d hexadecimal digits, unused bits 0",
				text, code.Bits, 2*code.Bytes())
		}
		q.Add(text, "", code.Row(0), nil)
	}
	return nil
}

// readVectors encodes vectors or pictures with the model of the index.
func (c *searchCommand) readVectors(ctx context.Context, s *store.Store, q *items.Queries, paths []string) error {
	m, err := s.Model()
	if err != nil {
		return err
	}
	if m == nil {
		return fmt.Errorf("%s holds no model to encode %s with, because it was built from codes: "+
			"search with a code file, --id or --code, or build it with --model", s.Info().Path, paths[0])
	}
	set, src, err := c.data.openFor(m, paths)
	if err != nil {
		return err
	}
	p := c.startProgress("encoding", max(set.Rows(), 0), 0)
	defer p.End()
	err = q.ReadRows(ctx, m, src, items.Reading{
		Name: strings.Join(paths, " "), Rows: c.rows, KeepVectors: c.margins || len(c.rerank) > 0,
		Threads: c.threads, Progress: p.Tick,
	})
	if err == nil {
		c.noteBad(set)
	}
	return err
}

// itemVectors reads the vectors of items from --rerank.
func (c *searchCommand) itemVectors(
	ctx context.Context, m *model.Model, ids map[index.ID]bool,
) (map[index.ID][]float32, error) {
	d := c.items
	d.SkipBad, d.Size, d.Fit, d.Grey = c.data.SkipBad, c.data.Size, c.data.Fit, c.data.Grey
	var as *picture.Preparation
	if m != nil {
		as = m.Pictures
	}
	set, err := d.open(c.rerank, as)
	if err != nil {
		return nil, err
	}
	src := vectors.Source(set)
	if m != nil {
		if src, err = m.Source(set, c.threads); err != nil {
			return nil, err
		}
	}
	p := c.startProgress("reading vectors", max(set.Rows(), 0), 0)
	defer p.End()
	return items.VectorsByID(ctx, src, ids, p.Tick)
}
