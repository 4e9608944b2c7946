package main

import (
	"context"

	"hashgrove/internal/cli"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/postgres"
	"hashgrove/internal/store"
)

// pushSource reads items on their way into a database.
type pushSource struct {
	postgres.Source
	note  func(items int) // prints remarks after all items were read
	close func() error
}

// source opens the items to push: those of an index, codes, or rows for the model to encode.
func (c *pushCommand) source(ctx context.Context, args []string) (*pushSource, error) {
	filter, err := index.Parse(c.where)
	if err != nil {
		return nil, cli.Usagef("--where: %w", err)
	}
	s, err := c.openIfIndex(ctx, args)
	if err != nil {
		return nil, err
	}
	if s != nil {
		return c.fromIndex(s, filter), nil
	}
	if c.where != "" {
		return nil, cli.Usage("needs-index", "--where selects items of an index, but %s is not one", args[0])
	}
	c.items.data.readOnce(ctx, c.in)
	_, in, err := c.items.openWith(c.model, args)
	if err != nil {
		return nil, err
	}
	return c.fromInput(ctx, in)
}

// fromIndex reads the items of an index, or of a shard of it.
func (c *pushCommand) fromIndex(s *store.Store, f index.Filter) *pushSource {
	info := s.Info()
	p := store.Pass{Filter: f}
	items := info.Items
	if c.shard.text != "" {
		c.shard.Shard = hamming.NewShard(c.shard.Number, c.shard.Of, info.Items)
		p.First, p.Most, items = c.shard.First, c.shard.Rows, c.shard.Rows
	}
	src := postgres.Source{Space: postgres.Space{Bits: info.Bits, Fingerprint: info.Fingerprint}, Items: items, Unique: true}
	src.Each = func(ctx context.Context, take func(*index.Batch) error) error {
		if items == 0 {
			return nil // an empty shard; Most = 0 would mean all
		}
		return s.Each(ctx, p, take)
	}
	if c.where != "" {
		src.Items = -1
	}
	return &pushSource{src, func(int) {}, s.Close}
}

// fromInput reads codes, or rows for the model to encode.
func (c *pushCommand) fromInput(ctx context.Context, in itemInput) (*pushSource, error) {
	items, err := c.countInput(ctx, in)
	if err != nil {
		return nil, err
	}
	if !c.shard.IsWhole() {
		in.TakeShard(c.shard.Shard)
		items = c.shard.Rows
	}
	src := postgres.Source{Space: postgres.Space{Bits: in.Bits, Fingerprint: in.Fingerprint}, Items: items}
	src.Each = func(ctx context.Context, take func(*index.Batch) error) error { return in.Each(ctx, c.threads, take) }
	note := func(items int) {
		c.noteJoin(in, items)
		if in.set != nil {
			c.noteNumbers(c.noteBad(in.set), in.Named)
		}
	}
	return &pushSource{src, note, func() error { return nil }}, nil
}

// countInput returns the number of rows in the shard, for the remaining time; negative if the input can be read only
// once.
func (c *pushCommand) countInput(ctx context.Context, in itemInput) (int, error) {
	if in.set == nil {
		n, err := in.CountCodes(ctx)
		if err == nil && c.shard.text != "" {
			c.shard.Shard = hamming.NewShard(c.shard.Number, c.shard.Of, n)
		}
		return n, err
	}
	if in.Live = in.set.Once(); in.Live {
		return -1, nil
	}
	if c.shard.text != "" {
		if in.Attributes != nil && in.Attributes.Join().By == "row" {
			return 0, cli.Usagef("--shard: join --attributes by id, because a shard has only some of the file's rows")
		}
		return 0, c.shard.take(ctx, in.set)
	}
	if n := in.set.Rows(); n >= 0 {
		return n, nil
	}
	all, err := in.set.TakeShard(ctx, 1, 1) // counts the rows in bounded memory
	return all.Rows, err
}
