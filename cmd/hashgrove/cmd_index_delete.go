package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hashgrove"
	"hashgrove/api"
	"hashgrove/internal/cli"
)

// idFlags select items of an index by id.
type idFlags struct {
	ids   []string
	files []string
}

func (i *idFlags) bind(f *pflag.FlagSet) {
	f.StringSliceVar(&i.ids, "id", nil, "`IDS` of the items, separated by commas; may be repeated")
	f.StringArrayVar(&i.files, "ids", nil, "`FILE` with an id per line; may be repeated")
}

type deleteCommand struct {
	*app
	items  idFlags
	where  string
	dryRun bool
}

func (a *app) indexDelete() *cobra.Command {
	c := &deleteCommand{app: a}
	cmd := &cobra.Command{
		Use:   "delete INDEX --id A,B | --ids FILE | --where FILTER",
		Short: "Delete items from an index",
		Long: `Delete items by id, or all that match a filter ("hashgrove help search" explains filters). Ids that are not in
the index are counted; they are not an error. --dry-run deletes nothing and says how many would go.`,
		Example: `  hashgrove index delete items.hgi --id new-0,new-1
  hashgrove index delete items.hgi --where 'label = "hats" and f0 > 1.5' --dry-run
  hashgrove index delete items.hgi --where 'label = "hats" and f0 > 1.5'`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	f := cmd.Flags()
	c.items.bind(f)
	f.StringVar(&c.where, "where", "", "`FILTER` that the items match")
	f.BoolVar(&c.dryRun, "dry-run", false, "delete nothing, but say how many items match")
	cli.Group(f, "Items")
	return cmd
}

func (c *deleteCommand) run(ctx context.Context, path string) error {
	if cli.CountTrue(len(c.items.ids) > 0, len(c.items.files) > 0, c.where != "") != 1 {
		return cli.Usage("one-of-flags", "index delete needs one of --id, --ids and --where")
	}
	ids, err := hashgrove.ReadIDs(c.items.files, c.items.ids...)
	if err != nil {
		return err
	}
	if c.dryRun {
		return c.tryDeletion(ctx, path, ids)
	}
	deleted, missing := 0, 0
	r, err := c.changeIndex(ctx, path, func(ix *hashgrove.Index) (err error) {
		if c.where != "" {
			deleted, err = ix.DeleteWhere(ctx, c.where)
			return err
		}
		deleted, err = ix.Delete(ctx, ids...)
		missing = len(ids) - deleted
		return err
	})
	if err != nil {
		return err
	}
	r.Deleted, r.Missing = deleted, missing
	if missing > 0 && !c.json {
		c.note("%s not in the index", cli.Count(missing, "of the ids is", "of the ids are"))
	}
	return c.printLine(r, "%s: %s deleted, %d left", path, cli.Count(deleted, "item", "items"), r.Items)
}

// tryDeletion says how many items would be deleted.
func (c *deleteCommand) tryDeletion(ctx context.Context, path string, ids []api.ID) error {
	began := time.Now()
	ix, end, err := c.openIndex(ctx, path, hashgrove.IndexOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer end()
	found := 0
	if c.where != "" {
		page, err := ix.Items(ctx, c.where, 1, "")
		if err != nil {
			return err
		}
		found = page.Total
	}
	for _, id := range ids {
		if _, err := ix.Get(id); err == nil {
			found++
		}
	}
	end()
	r := reportIndex(path, ix, began)
	r.WouldDelete = &found
	if c.where == "" {
		r.Missing = len(ids) - found
	}
	return c.printLine(r, "%s: %d items would be deleted, %d would be left; \"hashgrove index list --where\" shows them",
		path, found, r.Items-found)
}
