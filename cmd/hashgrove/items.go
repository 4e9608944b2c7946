package main

import (
	"context"

	"github.com/spf13/pflag"

	"hashgrove"
	"hashgrove/internal/cli"
	"hashgrove/internal/dataset"
	"hashgrove/internal/index"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// itemFlags select the items that go into an index.
type itemFlags struct {
	data dataFlags
	attributeFlags
}

// attributeFlags select the attributes of items.
type attributeFlags struct {
	table   string
	id      string
	columns []string
}

// attributesHelp is shared by the help of all verbs that take attributes.
const attributesHelp = `--attributes names a CSV or TSV file with a header, JSON lines or a Parquet file with attributes
of the items, for filters and answers. A record belongs to the item with its id, which is in the column named by
--attributes-id, or by --id-column, or in the column id. If neither the table nor the items have ids, they are joined
row by row. Columns called label and tags are used if the data have
none. Text files may be compressed (gzip, zstd). --attribute-columns without --attributes takes columns of the data
files (CSV, TSV, JSON lines, Parquet).`

func (i *itemFlags) bind(f *pflag.FlagSet) {
	i.data.bindFiles(f, "Data")
	i.attributeFlags.bind(f)
	cli.Group(f, "Attributes")
	i.data.bindCodes(f, "Data")
}

// bind adds the flags that name a table and its columns.
func (a *attributeFlags) bind(f *pflag.FlagSet) {
	f.StringVar(&a.table, "attributes", "", "CSV, TSV, JSONL or Parquet `FILE` with attributes of the items")
	f.StringVar(&a.id, "attributes-id", "",
		"`COLUMN` or key of --attributes with the ids; default that of --id-column, else id")
	f.StringSliceVar(&a.columns, "attribute-columns", nil,
		"`COLUMNS` or keys to take from --attributes, by default all; without it, from the data")
}

// open opens the attributes of the items in data, which is nil for codes. It returns nil if there are none.
func (a *attributeFlags) open(itemID string, data *dataset.Set) (*dataset.Attributes, error) {
	var codes []string
	if data != nil {
		codes = data.CodeColumns()
	}
	switch {
	case a.table == "" && a.id != "":
		return nil, cli.Usage("missing-flag", "--attributes-id needs --attributes")
	case a.table == "" && len(a.columns) == 0:
		return nil, nil
	case a.table == "" && data == nil:
		return nil, cli.Usagef("--attribute-columns: code files have no attributes: name a file with --attributes")
	case a.table == "" && data.Once():
		return nil, cli.Usage("read-once",
			"--attribute-columns: standard input or a pipe can be read only once: "+
				"save it to a file, or name a file with --attributes")
	case a.table == "":
		return data.Attributes(a.columns)
	}
	t, err := dataset.OpenAttributes(dataset.AttributeSpec{
		Path: a.table, ID: a.id, ItemID: itemID, Columns: a.columns, Skip: codes,
	})
	return t, err
}

// itemInput reads items on their way into an index.
type itemInput struct {
	*dataset.Input
	set *dataset.Set // nil for codes
}

// open opens the data. If a model is needed and m is nil, the error gives without as the reason.
func (i *itemFlags) open(m *model.Model, paths []string, without string) (in itemInput, err error) {
	coded, err := dataset.AreCodes(paths)
	switch {
	case err != nil:
		return in, cli.UsageError(err)
	case coded:
		in.Input, err = dataset.FromCodes(paths)
	case i.data.Codes:
		if in.set, err = i.data.open(paths, nil); err == nil {
			in.Input, err = dataset.FromPacked(in.set, paths[0])
		}
	case m == nil && dataset.CheckExist(paths) != nil:
		err = cli.UsageError(dataset.CheckExist(paths))
	case m == nil:
		err = cli.Usage("needs-model", "%s: vectors need a model to encode them: %s; "+
			"if its rows are codes, say so with --codes", paths[0], without)
	default:
		var src vectors.Source
		if in.set, src, err = i.data.openFor(m, paths); err == nil {
			in.Input = dataset.FromRows(m, src, paths[0])
		}
	}
	if err != nil {
		return in, err
	}
	in.Attributes, err = i.attributeFlags.open(i.data.ID, in.set)
	return in, err
}

// openWith is open with the model from a file; path may be "" for codes.
func (i *itemFlags) openWith(path string, data []string) (m *model.Model, in itemInput, err error) {
	if path != "" {
		if m, err = model.ReadFile(path); err != nil {
			return nil, in, err
		}
	}
	in, err = i.open(m, data, "name it with --model")
	return m, in, err
}

// count returns the number of items. If nothing else tells, it reads all rows, which also finds bad ones.
func (a *app) count(ctx context.Context, in itemInput) (int, error) {
	if in.set == nil {
		return in.CountCodes(ctx)
	}
	if n := in.set.Rows(); n >= 0 {
		return n, nil
	}
	sum, err := a.scan(ctx, in.set, supervision.ScanOptions{})
	if err != nil {
		return 0, err
	}
	return sum.Rows, nil
}

// readItems reads the n items with progress, and returns the number of bad rows dropped.
func (a *app) readItems(ctx context.Context, in itemInput, n int) (*index.Batch, int, error) {
	p := a.startProgress("encoding", n)
	defer p.End()
	b, err := in.Read(ctx, n, a.threads, p.Tick)
	if err != nil {
		return nil, 0, err
	}
	p.End()
	a.noteJoin(in, len(b.IDs))
	if in.set == nil {
		return b, 0, nil
	}
	bad := a.noteBad(in.set)
	a.noteNumbers(&hashgrove.DataRead{Bad: bad, IDs: in.Named})
	return b, bad, nil
}

// noteJoin says how attributes were matched to items.
func (a *app) noteJoin(in itemInput, n int) {
	switch j := in.Join; j.By {
	case "id":
		a.note("attributes joined by id: %d of %d items have a record; %s no item", j.Found, n,
			message.Count(j.Unmatched, "record matches", "records match"))
	case "row":
		a.note("attributes joined row by row")
	}
}

// joinReport says how attributes were matched to items, for --json; nil without attributes.
func (in itemInput) joinReport() *dataset.Join {
	if in.Attributes == nil {
		return nil
	}
	return &in.Join
}
