package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hashgrove"
	"hashgrove/internal/cli"
)

func (a *app) info() *cobra.Command {
	return &cobra.Command{
		Use:     "info FILE...",
		Short:   "Show what a model, a code file, an index or a backup contains",
		Example: "  hashgrove info items.hgm\n  hashgrove info items.hgc --json\n  hashgrove info items.hgi",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, path := range args {
				if err := a.printFile(cmd.Context(), path); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func (a *app) verify() *cobra.Command {
	return &cobra.Command{
		Use:   "verify FILE...",
		Short: "Check every byte of a model, a code file, an index or a backup",
		Long: `Read the whole file, check every checksum, length and range, and print a line per intact file.
A damaged file is an error that names the damaged section.

Intact means undamaged, not genuine: anyone who can write a file can write a valid one. To make sure that it is the file
its author made, compare its SHA-256 (sha256sum FILE) with one from a place you trust.`,
		Example: "  hashgrove verify items.hgm items.hgc items.hgi",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var first error
			for _, path := range args {
				show, end := a.steps()
				f, err := hashgrove.Verify(cmd.Context(), path, show)
				end()
				if err == nil {
					a.warn(f.Warnings)
				}
				switch {
				case err != nil && first == nil:
					first = err
				case err != nil:
					fmt.Fprintf(a.err, "hashgrove: %s\n", cli.Message(explain(err)))
				case a.json:
					if err := a.printJSON(f); err != nil {
						return err
					}
				default:
					fmt.Fprintf(a.out, "%s: intact %s, fingerprint %s\n", path, f.Type, f.Fingerprint)
				}
			}
			return first
		},
	}
}

// printFile prints what is in a file.
func (a *app) printFile(ctx context.Context, path string) error {
	show, end := a.steps()
	f, err := hashgrove.Describe(ctx, path, show)
	end()
	if err != nil {
		return err
	}
	a.warn(f.Warnings)
	if a.json {
		return a.printJSON(f)
	}
	return f.WriteText(a.out)
}
