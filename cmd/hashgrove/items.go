package main

import (
	"context"

	"github.com/spf13/pflag"

	"hashgrove/dataset"
	"hashgrove/index"
	"hashgrove/internal/cli"
	"hashgrove/internal/items"
	"hashgrove/model"
	"hashgrove/vectors"
)

// itemFlags says which items go into an index.
type itemFlags struct {
	data       dataFlags
	attributes string
	columns    []string
}

// attributesHelp is what every verb that takes attributes says about them.
const attributesHelp = `--attributes names a table with a header (CSV, TSV), JSON lines or a Parquet file with more
about the items, for filters and answers. It is matched by id if it has a column id, or the one that --id-column
names, and otherwise row by row. Its columns label and tags are used where the data have none. Text files may be
compressed (gzip, zstd).`

func (i *itemFlags) bind(f *pflag.FlagSet) {
	i.data.bind(f, "")
	f.StringVar(&i.attributes, "attributes", "",
		"CSV, TSV, JSONL or Parquet `FILE` with attributes of the items, by id or by row")
	f.StringSliceVar(&i.columns, "attribute-columns", nil, "`COLUMNS` or keys to take from --attributes; default all")
	cli.Group(f, "Attributes")
}

// itemInput is items on their way into an index.
type itemInput struct {
	*items.Input
	set *dataset.Set // nil for codes
}

// open opens the data; without is why there is no model, where one is needed and missing.
func (i *itemFlags) open(m *model.Model, paths []string, without string) (in itemInput, err error) {
	coded, err := items.AreCodes(paths)
	switch {
	case err != nil:
		return in, cli.UsageError(err)
	case coded:
		in.Input, err = items.FromCodes(paths)
	case m == nil:
		err = cli.Usagef("%s: vectors need a model to encode them, and %s", paths[0], without)
	default:
		var src vectors.Source
		if in.set, src, err = i.data.openFor(m, paths); err == nil {
			in.Input = items.FromRows(m, src, paths[0])
		}
	}
	if err != nil {
		return in, err
	}
	if len(i.columns) > 0 && i.attributes == "" {
		return in, cli.Usagef("--attribute-columns chooses from a file that --attributes names")
	}
	if i.attributes != "" {
		in.Attributes, err = dataset.ReadAttributes(i.attributes, i.data.ID, i.columns)
	}
	return in, err
}

// count is the number of items. It reads all rows where nothing less tells; such a pass also finds what is wrong.
func (a *app) count(ctx context.Context, in itemInput) (int, error) {
	if in.set == nil {
		return in.CountCodes(ctx)
	}
	if n := in.set.Rows(); n >= 0 {
		return n, nil
	}
	sum, err := a.scan(ctx, in.set, false)
	if err != nil {
		return 0, err
	}
	return sum.Rows, nil
}

// readItems reads the n items with progress, and returns the number of bad rows that were dropped.
func (a *app) readItems(ctx context.Context, in itemInput, n int) (*index.Batch, int, error) {
	p := a.startProgress("encoding", n, 0)
	defer p.End()
	b, err := in.Read(ctx, n, a.threads, p.Tick)
	if err != nil || in.set == nil {
		return b, 0, err
	}
	bad := a.noteBad(in.set)
	if bad > 0 && !in.Named {
		a.warn([]string{"the rows have no ids, so they are identified by their numbers among the rows that were kept"})
	}
	return b, bad, nil
}
