package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hashgrove/internal/cli"
	"hashgrove/internal/index"
	"hashgrove/internal/store"
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
	cli.AddVerbs(cmd, "Verbs", a.indexBuild(), a.indexAdd(), a.indexUpdate(), a.indexDelete(), a.indexList(), a.indexExport(),
		a.indexCompact(), a.backup(), a.restore(), a.migrate())
	a.bindWait(cmd.PersistentFlags())
	return cmd
}

// openIndex opens an index, either for one job that leaves the items on disk or for many searches.
func (a *app) openIndex(ctx context.Context, path string, o store.OpenOptions) (*store.Store, error) {
	p := a.startProgress("opening", 0)
	defer p.End()
	o.Index.Threads, o.Progress, o.Wait = a.threads, p.Count, a.wait
	s, err := store.Open(ctx, path, o)
	if errors.Is(err, store.ErrLocked) && a.wait > 0 { // the verb has the flag
		err = fmt.Errorf("%w; --wait 1m waits longer", err)
	}
	if err != nil {
		return nil, err
	}
	if s.Info().Recovered {
		a.warn([]string{path + ": the last write was not finished and is left out"})
	}
	return s, nil
}

// openAll reads an index and its model into memory and closes the file, so that writers need not wait for the work
// to finish.
func (a *app) openAll(ctx context.Context, path string, o index.Config) (*store.Store, error) {
	s, err := a.openIndex(ctx, path, store.OpenOptions{ReadOnly: true, Index: o})
	if err != nil {
		return nil, err
	}
	_, err = s.Model()
	return s, closeStore(s, err)
}

// bindWait adds the flag for how long to wait while another process uses the index.
func (a *app) bindWait(f *pflag.FlagSet) {
	f.DurationVar(&a.wait, "wait", time.Second, "`TIME` to wait for other programs that have the index open, such as 30s")
}

// selectItems reads the items needed for searches with a filter.
func (a *app) selectItems(ctx context.Context, s *store.Store, f index.Filter) (*store.Selection, error) {
	p := a.startProgress("reading", 0)
	defer p.End()
	return s.Select(ctx, f, p.Count)
}

// selectFields is selectItems for output that shows fields besides the common ones.
func (a *app) selectFields(
	ctx context.Context, s *store.Store, f index.Filter, fields, common []string,
) (*store.Selection, error) {
	if slices.ContainsFunc(fields, func(name string) bool { return !slices.Contains(common, name) }) {
		f = index.And(f, looked)
	}
	return a.selectItems(ctx, s, f)
}

// looked is a filter on labels and tags, which makes a selection load attributes as well.
var looked = index.And(index.Label(), index.Tag())

// openToRead opens an index to read part of it; others may read it at the same time.
func (a *app) openToRead(ctx context.Context, path string) (*store.Store, error) {
	return a.openIndex(ctx, path, store.OpenOptions{ReadOnly: true, OnDisk: true})
}

// openToWrite opens an index for one write.
func (a *app) openToWrite(ctx context.Context, path string) (*store.Store, error) {
	return a.openIndex(ctx, path, store.OpenOptions{OnDisk: true})
}

// closeStore closes an index and returns err, or the error from closing.
func closeStore(s *store.Store, err error) error {
	if e := s.Close(); err == nil {
		err = e
	}
	return err
}
