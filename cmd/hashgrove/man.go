package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"hashgrove"
	"hashgrove/internal/cli"
)

// man is hidden: archives and packages ship the pages, everyone else reads the help.
func (a *app) man() *cobra.Command {
	var date string
	cmd := &cobra.Command{
		Use:     "man FOLDER",
		Short:   "Write the manual pages into a folder",
		Example: `  hashgrove man pages`,
		Args:    cli.ExactlyOne("a folder to write into"),
		Hidden:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := time.Parse(time.DateOnly, date); date != "" && err != nil {
				return cli.Usagef("--date %q: give a day such as 2026-11-16", date)
			}
			if err := os.MkdirAll(args[0], 0o777); err != nil {
				return err
			}
			pages := cli.ManualPages(cmd.Root(), "hashgrove "+hashgrove.Version, date)
			for _, name := range slices.Sorted(maps.Keys(pages)) {
				if err := os.WriteFile(filepath.Join(args[0], name), []byte(pages[name]), 0o666); err != nil {
					return err
				}
			}
			return a.printLine(map[string]any{"folder": args[0], "pages": len(pages)},
				"%s: %d pages", cli.Printable(args[0]), len(pages))
		},
	}
	cmd.Flags().StringVar(&date, "date", "", "`DAY` to print on the pages, such as 2026-11-16; default none")
	return cmd
}
