package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hashgrove/api"
	"hashgrove/internal/cli"
)

type listCommand struct {
	*app
	where, after string
	limit        int
	fields       []string
}

func (a *app) indexList() *cobra.Command {
	c := &listCommand{app: a}
	cmd := &cobra.Command{
		Use:   "list INDEX",
		Short: "List the items of an index, or those that match a filter",
		Long: `List items in the order of their ids: all of them, or those that match a filter ("hashgrove help search"
explains filters). The table shows label, tags and attributes; --fields chooses among these and the code. "index export"
writes them to a file.`,
		Example: `  hashgrove index list items.hgi --limit 5
  hashgrove index list items.hgi --where 'label = "boots" and f0 > 1' --fields id,label,f0
  hashgrove index list items.hgi --where 'id in ("items-7", "items-8")' --json
  hashgrove index list items.hgi --after items-7 --limit 0`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	f := cmd.Flags()
	f.StringVar(&c.where, "where", "", "list only items that match this `FILTER`")
	f.IntVar(&c.limit, "limit", 20, "`NUMBER` of items to list; 0 means all")
	f.StringVar(&c.after, "after", "", "start after the item with this `ID`")
	cli.Group(f, "Items")
	f.StringSliceVar(&c.fields, "fields", nil,
		"`FIELDS` of the items to print: id, code, label, tags or names of attributes")
	cli.Group(f, "Output")
	return cmd
}

// listReport is the output of index list --json.
type listReport struct {
	Index    string     `json:"index"`
	Items    int        `json:"items"`    // of the index
	Matching int        `json:"matching"` // items that match the filter
	Listed   []api.Item `json:"listed"`
}

func (c *listCommand) run(ctx context.Context, path string) error {
	if c.limit < 0 {
		return cli.Usage("bad-flag-value", "--limit %d: give a number of items, or 0 for all", c.limit)
	}
	ix, end, err := c.openIndex(ctx, path, toRead)
	if err != nil {
		return err
	}
	defer end()
	page, err := ix.Items(ctx, c.where, c.limit, api.ID(c.after))
	end()
	if err != nil {
		return err
	}
	r := listReport{Index: path, Items: ix.Len(), Matching: page.Total, Listed: page.Items}
	if err := c.printResult(r, func() { c.print(r.Listed) }); err != nil {
		return err
	}
	if page.Next != "" && !c.json {
		c.note("%d of %d items; --after %s lists the next ones, --limit 0 all",
			len(page.Items), r.Matching, cli.Printable(string(page.Next)))
	}
	return nil
}

// print prints the items as a table.
func (c *listCommand) print(list []api.Item) {
	fields := c.fields
	if len(fields) == 0 {
		fields = itemFields(list)
	}
	if len(list) == 0 {
		fmt.Fprintln(c.out, "no items")
		return
	}
	rows := [][]string{fields}
	for _, it := range list {
		rows = append(rows, itemTexts(&it, fields))
	}
	c.printTable(rows)
}

// itemFields returns the fields that at least one item has, without the code.
func itemFields(list []api.Item) []string { return append([]string{"id"}, ownFields(list)...) }

// ownFields returns label, tags and attributes that at least one item has.
func ownFields(list []api.Item) (fields []string) {
	names := map[string]bool{}
	label, tags := false, false
	for _, it := range list {
		label, tags = label || it.Label != "", tags || len(it.Tags) > 0
		for name := range it.Attributes {
			names[name] = true
		}
	}
	if label {
		fields = append(fields, "label")
	}
	if tags {
		fields = append(fields, "tags")
	}
	return append(fields, slices.Sorted(maps.Keys(names))...)
}

// itemTexts formats the given fields of an item; "" for those it does not have.
func itemTexts(it *api.Item, fields []string) []string {
	texts := make([]string, len(fields))
	for j, name := range fields {
		switch name {
		case "id":
			texts[j] = string(it.ID)
		case "code":
			texts[j] = it.Code
		case "label":
			texts[j] = it.Label
		case "tags":
			texts[j] = strings.Join(it.Tags, ";")
		default:
			texts[j] = valueText(it.Attributes[name]) // "" if there is no such attribute
		}
	}
	return texts
}
