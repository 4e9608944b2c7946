package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"hashgrove/internal/cli"
	"hashgrove/server/worker"
)

// worker is hidden: programs start it, as Python's package hashgrove does, and people have the other verbs.
func (a *app) worker() *cobra.Command {
	return &cobra.Command{
		Use:   "worker",
		Short: "Serve a program in another language over standard input and output",
		Long: `Answer requests that arrive as frames on standard input with frames on standard output, until the input ends.
docs/python.md describes the frames and the requests.`,
		Example: `  hashgrove worker </dev/null`,
		Args:    cobra.NoArgs,
		Hidden:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			if in, ok := a.in.(io.Closer); ok {
				defer context.AfterFunc(ctx, func() { _ = in.Close() })() // ends the wait for the next request
			}
			err := worker.Serve(ctx, a.in, a.raw, a.threads)
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case err != nil:
				return cli.UsageError(err)
			}
			return nil
		},
	}
}
