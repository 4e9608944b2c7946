package main

import (
	"context"
	"fmt"

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
	crossFit   string
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

// bindCrossFit adds the flag of codes that training made of its rows.
func (i *itemFlags) bindCrossFit(f *pflag.FlagSet) {
	f.StringVar(&i.crossFit, "cross-fit", "", "`FILE` that train --cross-fit wrote: its codes are used for items that "+
		"the model was learned from, so that learned and new items are alike")
	cli.Group(f, "Codes")
}

// readCrossFit reads the file of --cross-fit.
func (i *itemFlags) readCrossFit(m *model.Model, in itemInput) (err error) {
	switch {
	case i.crossFit == "":
	case in.set == nil:
		return cli.Usagef("--cross-fit needs vectors or pictures to tell which were learned from, not codes")
	default:
		in.CrossFit, err = items.ReadCrossFit(i.crossFit, m)
	}
	return err
}

// crossFitted is how many items got a code of --cross-fit and how many others were encoded, and the end of a sentence
// about that; nothing without the flag.
func (a *app) crossFitted(in itemInput, all int) (used *int, text string) {
	if in.CrossFit == nil {
		return nil, ""
	}
	if used = &in.CrossFit.Used; *used == 0 {
		a.warn([]string{"none of the items has a cross-fitted code: the model was not learned from these values"})
	}
	return used, fmt.Sprintf(", %d cross-fitted and %d encoded", *used, all-*used)
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
	if err := i.readCrossFit(m, in); err != nil {
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
