package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"hashgrove/api"
	"hashgrove/internal/cli"
	"hashgrove/internal/dataset"
	"hashgrove/internal/fault"
	"hashgrove/internal/index"
	"hashgrove/internal/plain"
	"hashgrove/internal/search"
	"hashgrove/internal/store"
)

func (a *app) indexGet() *cobra.Command {
	var named idFlags
	cmd := &cobra.Command{
		Use:   "get INDEX --id A,B | --ids FILE",
		Short: "Print items of an index",
		Long: `Print label, tags, attributes and code of items. Ids that are not in the index are named in an error after the
others have been printed.`,
		Example: `  hashgrove index get items.hgi --id items-7,items-8`,
		Args:    cli.ExactlyOne("one index, with --id or --ids,"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(named.ids)+len(named.files) == 0 {
				return cli.Usage("missing-flag", "index get needs --id or --ids, the items to print")
			}
			ids, err := dataset.ReadIDs(named.ids, named.files)
			if err != nil {
				return err
			}
			s, err := a.openToRead(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			defer s.Close()
			return a.printItems(cmd.Context(), s, ids)
		},
	}
	named.bind(cmd.Flags())
	cli.Group(cmd.Flags(), "Items")
	return cmd
}

// printItems prints items of an index, then returns an error if any id is missing.
func (a *app) printItems(ctx context.Context, s *store.Store, ids []index.ID) error {
	found, err := a.getItems(ctx, s, ids)
	if err != nil {
		return err
	}
	var list []api.Item
	var missing []string
	for _, id := range ids {
		if item, ok := found[id]; ok {
			list = append(list, search.Item(item, s.Info().Bits))
		} else {
			missing = append(missing, strconv.Quote(id.String()))
		}
	}
	if len(list) > 0 {
		if err := a.printResult(list, func() { a.printDetails(list) }); err != nil {
			return err
		}
	}
	switch len(missing) {
	case 0:
		return nil
	case 1:
		return fault.New("no-such-item", "%s: no item has the id %s", s.Info().Path, missing[0])
	}
	return fault.New("no-such-item", "%s: %d of %d ids are not in the index: %s",
		s.Info().Path, len(missing), len(ids), plain.List(missing))
}

// getItems looks up items by id. Only a full pass can tell that an item is missing, so after the first miss the
// remaining ids are looked up together.
func (a *app) getItems(ctx context.Context, s *store.Store, ids []index.ID) (map[index.ID]index.Item, error) {
	found := make(map[index.ID]index.Item, len(ids))
	for i, id := range ids {
		item, ok, err := s.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		if ok {
			found[id] = item
			continue
		}
		x, err := a.selectItems(ctx, s, index.Filter{})
		if err != nil {
			return nil, err
		}
		hits, err := x.Matches(index.IDs(ids[i+1:]...))
		if err != nil {
			return nil, err
		}
		others, err := x.Items(ctx, hits)
		for _, item := range others {
			found[item.ID] = item
		}
		return found, err
	}
	return found, nil
}

// printDetails prints everything about the items.
func (a *app) printDetails(list []api.Item) {
	for _, item := range list {
		fmt.Fprintf(a.out, "%s\n", cli.Printable(string(item.ID)))
		line := func(name, value string) {
			if value != "" {
				fmt.Fprintf(a.out, "  %-12s %s\n", cli.Printable(name), cli.Printable(value))
			}
		}
		line("label", item.Label)
		line("tags", strings.Join(item.Tags, ";"))
		for _, name := range slices.Sorted(maps.Keys(item.Attributes)) {
			line(name, cmp.Or(valueText(item.Attributes[name]), `""`))
		}
		line("code", item.Code)
	}
}
