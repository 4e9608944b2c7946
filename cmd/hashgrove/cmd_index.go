package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hashgrove"
	"hashgrove/api"
	"hashgrove/internal/cli"
)

func (a *app) index() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "index VERB",
		Short: "Build, change and copy indexes",
		Long: `An index is one file: the codes of items with their ids, labels, tags and attributes, and the model that
made the codes, so "hashgrove search" needs nothing else. What a command reports as written survives a kill and a
power cut. Only one command can write at a time, and no search can read the file meanwhile; --wait says how long to
wait for others.`,
		Args: cli.UnknownVerb,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cli.AddVerbs(cmd, "Verbs", a.indexBuild(), a.indexAdd(), a.indexUpdate(), a.indexDelete(), a.indexList(),
		a.indexExport(),
		a.indexCompact(), a.backup(), a.restore(), a.migrate())
	a.bindWait(cmd.PersistentFlags())
	return cmd
}

// openIndex opens an index, and shows progress until the end.
func (a *app) openIndex(
	ctx context.Context, path string, o hashgrove.IndexOptions,
) (ix *hashgrove.Index, end func(), err error) {
	show, done := a.steps()
	o.Threads, o.Wait, o.Progress = a.threads, a.wait, show
	ix, err = o.Open(ctx, path)
	if errors.Is(err, api.ErrLocked) && a.wait > 0 { // the verb has the flag
		err = fmt.Errorf("%w; --wait 1m waits longer", err)
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	if ix.Info().Recovered {
		a.warn([]string{path + ": the last write was not finished and is left out"})
	}
	return ix, func() {
		done()
		_ = ix.Close() // what was written is on disk
	}, nil
}

// bindWait adds the flag for how long to wait while another process uses the index.
func (a *app) bindWait(f *pflag.FlagSet) {
	f.DurationVar(&a.wait, "wait", time.Second, "`TIME` to wait for other programs that have the index open, such as 30s")
}

// The ways to open an index for one job that leaves the items on disk.
var (
	toRead  = hashgrove.IndexOptions{ReadOnly: true, OnDisk: true} // others may read it at the same time
	toWrite = hashgrove.IndexOptions{OnDisk: true}
)
