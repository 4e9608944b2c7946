package main

import (
	"github.com/spf13/pflag"

	"hashgrove"
	"hashgrove/internal/cli"
)

// itemFlags select the items that go into an index.
type itemFlags struct{ dataFlags }

// attributesHelp is shared by the help of all verbs that take attributes.
const attributesHelp = `--attributes names a CSV or TSV file with a header, JSON lines or a Parquet file with attributes
of the items, for filters and answers. A record belongs to the item with its id, which is in the column named by
--attributes-id, or by --id-column, or in the column id. If neither the table nor the items have ids, they are joined
row by row. Columns called label and tags are used if the data have
none. Text files may be compressed (gzip, zstd). --attribute-columns without --attributes takes columns of the data
files (CSV, TSV, JSON lines, Parquet).`

func (i *itemFlags) bind(f *pflag.FlagSet) {
	i.bindFiles(f, "Data")
	i.bindAttributes(f)
	cli.Group(f, "Attributes")
	i.bindCodes(f, "Data")
}

// bindAttributes adds the flags that name a table and its columns.
func (d *dataFlags) bindAttributes(f *pflag.FlagSet) {
	f.StringVar(&d.Files.Attributes, "attributes", "", "CSV, TSV, JSONL or Parquet `FILE` with attributes of the items")
	f.StringVar(&d.AttributesID, "attributes-id", "",
		"`COLUMN` or key of --attributes with the ids; default that of --id-column, else id")
	f.StringSliceVar(&d.Columns.Attributes, "attribute-columns", nil,
		"`COLUMNS` or keys to take from --attributes, by default all; without it, from the data")
}

// open opens the items.
func (i *itemFlags) open(paths []string) (*hashgrove.Data, error) {
	if i.Files.Attributes == "" && i.AttributesID != "" {
		return nil, cli.Usage("missing-flag", "--attributes-id needs --attributes")
	}
	data, err := i.rows(paths)
	if data.Once() && i.Files.Attributes == "" && len(i.Columns.Attributes) > 0 {
		return nil, cli.Usage("read-once", "--attribute-columns: standard input or a pipe can be read only once: "+
			"save it to a file, or name a file with --attributes")
	}
	return data, err
}
