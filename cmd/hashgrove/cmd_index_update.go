package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hashgrove"
	"hashgrove/internal/cli"
)

type updateCommand struct {
	*app
	table   dataFlags
	replace bool
}

func (a *app) indexUpdate() *cobra.Command {
	c := &updateCommand{app: a}
	cmd := &cobra.Command{
		Use:   "update INDEX --attributes TABLE",
		Short: "Change attributes, labels and tags of items",
		Long: `Change attributes, labels and tags of existing items, by id, without their vectors; codes stay as they are. An
item keeps what the table does not mention, unless --replace removes all other attributes. Records whose ids are not in
the index are counted and change nothing.

The table is CSV or TSV with a header, JSON lines or Parquet. --attributes-id names the column with the ids; the default
is id. Columns called label and tags change those.`,
		Example: `  hashgrove index update items.hgi --attributes items.csv --attributes-id sku --attribute-columns f0,f1
  hashgrove index update items.hgi --attributes new.csv --attributes-id sku --attribute-columns f0 --replace`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	f := cmd.Flags()
	c.table.bindAttributes(f)
	f.Lookup("attributes-id").Usage = "`COLUMN` or key of --attributes with the ids; default id"
	f.Lookup("attribute-columns").Usage = "`COLUMNS` or keys to take from --attributes; default all"
	f.BoolVar(&c.replace, "replace", false, "remove attributes that the table does not have for an item")
	cli.Group(f, "Attributes")
	return cmd
}

func (c *updateCommand) run(ctx context.Context, path string) error {
	if c.table.Files.Attributes == "" {
		return cli.Usage("missing-flag", "index update needs --attributes, the table with the new values")
	}
	changes, err := hashgrove.ReadChanges(c.table.Files, c.table.Columns)
	if err != nil {
		return err
	}
	updated := 0
	r, err := c.changeIndex(ctx, path, func(ix *hashgrove.Index) (err error) {
		update := ix.Update
		if c.replace {
			update = ix.Replace
		}
		if updated, err = update(ctx, changes...); err != nil {
			return fmt.Errorf("%s: %w", c.table.Files.Attributes, err)
		}
		if updated == 0 && len(changes) > 0 {
			return cli.Errorf("no-id-matches",
				"%s: none of its %d ids is in %s: does it describe other items, or is another column the id?",
				c.table.Files.Attributes, len(changes), path)
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.Updated, r.Missing = updated, len(changes)-updated
	if r.Missing > 0 && !c.json {
		c.note("%s no item of the index", cli.Count(r.Missing, "record matches", "records match"))
	}
	return c.printLine(r, "%s: %s updated, %d in all, %.1f s",
		path, cli.Count(updated, "item", "items"), r.Items, r.Seconds)
}
