package main

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hashgrove/hamming"
	"hashgrove/index"
	"hashgrove/internal/plain"
	"hashgrove/model"
	"hashgrove/store"
)

func (a *app) index() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "index build|add|delete|compact INDEX",
		Short: "Build an index of codes and change what is in it",
		Long: `An index is one file: the codes of items with their ids, labels, tags and attributes, and the model that
made the codes, so that "hashgrove search" needs nothing else. What a command says it has written survives a
kill and a power cut. One command may write at a time, and no search runs meanwhile.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("index has no verb %q; choose build, add, delete or compact", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.indexBuild(), a.indexAdd(), a.indexDelete(), a.indexCompact())
	return cmd
}

// counted shows work whose size turns out on the way; end takes the bar away.
func (a *app) counted(what string) (tick func(done, total int), end func()) {
	var p *progress
	tick = func(done, total int) {
		if p == nil {
			p = a.start(what, total, 0)
		}
		p.tick(done)
	}
	return tick, func() {
		if p != nil {
			p.end()
		}
	}
}

// openIndex opens an index for one job, which leaves the items on disk, or for many searches.
func (a *app) openIndex(ctx context.Context, path string, o store.OpenOptions) (*store.Store, error) {
	tick, end := a.counted("opening")
	defer end()
	o.Index.Threads, o.Progress = a.threads, tick
	s, err := store.Open(ctx, path, o)
	if err != nil {
		return nil, err
	}
	if s.Info().Recovered {
		a.warn([]string{path + ": the last write was not finished and is left out"})
	}
	return s, nil
}

// selectItems reads the items of an index for searches with a filter.
func (a *app) selectItems(ctx context.Context, s *store.Store, f index.Filter) (*store.Selection, error) {
	tick, end := a.counted("reading")
	defer end()
	return s.Select(ctx, f, tick)
}

// openToRead opens an index to read a part of it; others may read it at the same time.
func (a *app) openToRead(ctx context.Context, path string) (*store.Store, error) {
	return a.openIndex(ctx, path, store.OpenOptions{ReadOnly: true, OnDisk: true})
}

// openToWrite opens an index for one write.
func (a *app) openToWrite(ctx context.Context, path string) (*store.Store, error) {
	return a.openIndex(ctx, path, store.OpenOptions{OnDisk: true})
}

// closed closes an index and returns the error of the work before, or that of closing.
func closed(s *store.Store, err error) error {
	if e := s.Close(); err == nil {
		err = e
	}
	return err
}

// addCommand is index build and index add.
type addCommand struct {
	*app
	items  itemFlags
	model  string
	upsert bool
}

func (a *app) indexBuild() *cobra.Command {
	c := &addCommand{app: a}
	cmd := &cobra.Command{
		Use:   "build INDEX DATA... --model MODEL",
		Short: "Make an index of vectors, pictures or codes",
		Long: `Encode vectors or pictures with a model and make an index of the codes, or make one of a code file; then
--model is needed only to search by vectors later. Ids, labels and tags come from the data. Rows without ids go by
their numbers, counted from 0, and pictures by their paths.

` + attributesHelp,
		Example: `  hashgrove index build items.hgi items.csv --label category --id sku --model items.hgm --attributes items.csv --attribute-columns f0,f1
  hashgrove index build codes.hgi items.hgc`,
		Args: atLeast(2, "an index to make and data"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.build(cmd.Context(), args[0], args[1:]) },
	}
	c.items.bind(cmd.Flags())
	cmd.Flags().StringVarP(&c.model, "model", "m", "", "the model file; it is copied into the index")
	return cmd
}

func (a *app) indexAdd() *cobra.Command {
	c := &addCommand{app: a}
	cmd := &cobra.Command{
		Use:   "add INDEX DATA...",
		Short: "Add items to an index",
		Long: `Encode vectors or pictures with the model in the index, or read a code file of that model, and add the
items: all of them, or none when one of the ids is there already. --upsert replaces items that are there.

` + attributesHelp,
		Example: `  hashgrove index add items.hgi new.csv --label category --id sku
  hashgrove index add items.hgi new.csv --label category --id sku --upsert`,
		Args: atLeast(2, "an index and data"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.add(cmd.Context(), args[0], args[1:]) },
	}
	c.items.bind(cmd.Flags())
	cmd.Flags().BoolVar(&c.upsert, "upsert", false, "replace items whose ids are in the index")
	return cmd
}

// indexReport is what the verbs of index print with --json.
type indexReport struct {
	Index       string        `json:"index"`
	Items       int           `json:"items"` // now
	Added       int           `json:"added"`
	Replaced    int           `json:"replaced"`
	Deleted     int           `json:"deleted"`
	Missing     int           `json:"missing_ids"` // that should be deleted and were not there
	Bad         int           `json:"bad_rows"`
	Bits        int           `json:"bits"`
	Codes       int           `json:"distinct_codes"`
	Fingerprint string        `json:"fingerprint"`
	Estimate    int           `json:"estimated_bytes,omitempty"` // of memory, before building
	Memory      *memoryReport `json:"memory"`
	FileBytes   int64         `json:"file_bytes"`
	Seconds     float64       `json:"seconds"`
}

// report is what is known about an index. Counting distinct codes reads all of them, so only --json tells their number.
func (a *app) report(ctx context.Context, s *store.Store, began time.Time) (*indexReport, error) {
	i := s.Info()
	r := &indexReport{
		Index: i.Path, Items: i.Items, Bits: i.Bits, Fingerprint: i.Fingerprint.String(),
		FileBytes: i.FileBytes, Seconds: time.Since(began).Seconds(),
	}
	if a.json {
		var err error
		if r.Codes, r.Memory, err = a.needs(ctx, s); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// needs is the number of distinct codes of an index, and the memory that it takes for many searches, labels, tags and
// attributes apart.
func (a *app) needs(ctx context.Context, s *store.Store) (int, *memoryReport, error) {
	x, err := a.selectItems(ctx, s, index.Filter{})
	if err != nil {
		return 0, nil, err
	}
	n, codes := x.Len(), x.Codes()
	return codes, memoryOf(index.Estimate(n, x.Bits(), 0, float64(codes)/float64(max(n, 1)))), nil
}

func (c *addCommand) build(ctx context.Context, path string, args []string) (err error) {
	began := time.Now()
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s: %w: use \"hashgrove index add\", or remove it first", path, fs.ErrExist)
	}
	var m *model.Model
	if c.model != "" {
		if m, err = model.ReadFile(c.model); err != nil {
			return err
		}
	}
	in, err := c.items.open(m, args, "--model says which")
	if err != nil {
		return err
	}
	n, err := in.count(ctx, c.app)
	if err != nil {
		return err
	}
	estimate := index.Estimate(n, in.bits, 0, 1).Total()
	c.note("%d items of %d bits will take about %s of memory, and labels, tags and attributes on top; "+
		"less when codes are equal", n, in.bits, size(estimate))
	b, err := in.read(ctx, c.app, n)
	if err != nil {
		return err
	}
	if m != nil && b.Fingerprint != (hamming.Fingerprint{}) && b.Fingerprint != m.Fingerprint() {
		return fmt.Errorf("%s: codes of model %v, but --model is %v: give the model that made them",
			args[0], b.Fingerprint, m.Fingerprint())
	}
	if m != nil && b.Codes.Bits != m.Encoder.Bits() {
		return fmt.Errorf("%s: codes of %d bits, but --model makes %d: give the model that made them",
			args[0], b.Codes.Bits, m.Encoder.Bits())
	}
	s, err := store.Create(ctx, path, store.Options{
		Model: m, Bits: b.Codes.Bits, Fingerprint: b.Fingerprint, Index: index.Config{Threads: c.threads},
	})
	if err != nil {
		return err
	}
	defer func() {
		if err = closed(s, err); err != nil {
			os.Remove(path) // it was made a moment ago and holds nothing
		}
	}()
	c.note("writing %d items", len(b.IDs))
	if err := s.Add(ctx, b); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	x := s.Snapshot()
	r := &indexReport{
		Index: path, Items: x.Len(), Added: x.Len(), Bad: in.bad, Bits: x.Bits(), Codes: x.Codes(),
		Fingerprint: x.Fingerprint().String(), Estimate: estimate, Memory: memoryOf(x.Memory()),
		FileBytes: s.Info().FileBytes, Seconds: time.Since(began).Seconds(),
	}
	if c.json {
		return c.printJSON(r)
	}
	fmt.Fprintf(c.out, "%s: %d items of %d bits, %d distinct codes, fingerprint %s, %s on disk, %s in memory, %.1f s\n",
		path, r.Items, r.Bits, r.Codes, r.Fingerprint, size(int(r.FileBytes)), size(r.Memory.Total), r.Seconds)
	return nil
}

func (c *addCommand) add(ctx context.Context, path string, args []string) (err error) {
	began := time.Now()
	s, err := c.openToWrite(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = closed(s, err) }()
	m, err := s.Model()
	if err != nil {
		return err
	}
	in, err := c.items.open(m, args, path+" has none: it was built from codes")
	if err != nil {
		return err
	}
	n, err := in.count(ctx, c.app)
	if err != nil {
		return err
	}
	before := s.Info()
	b, err := in.read(ctx, c.app, n)
	if err != nil {
		return err
	}
	if err := before.Fingerprint.Accept(b.Fingerprint); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	if !in.named && !c.upsert {
		_, there, err := s.Get(ctx, index.Int(0))
		if err != nil {
			return err
		}
		if there {
			return fmt.Errorf("%s: its rows have no ids, so they go by their numbers, and %s has an item 0 already: "+
				"--id names a column, --ids a file with ids", args[0], path)
		}
	}
	write := s.Add
	if c.upsert {
		write = s.Upsert
	}
	if err := write(ctx, b); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	r, err := c.report(ctx, s, began)
	if err != nil {
		return err
	}
	r.Added, r.Bad = r.Items-before.Items, in.bad
	r.Replaced = len(b.IDs) - r.Added
	if c.json {
		return c.printJSON(r)
	}
	fmt.Fprintf(c.out, "%s: %d items added, %d replaced, %d now, %.1f s\n",
		path, r.Added, r.Replaced, r.Items, r.Seconds)
	return nil
}

// deleteCommand is index delete.
type deleteCommand struct {
	*app
	ids         []string
	file, where string
}

func (a *app) indexDelete() *cobra.Command {
	c := &deleteCommand{app: a}
	cmd := &cobra.Command{
		Use:   "delete INDEX --ids A,B | --ids-file FILE | --where FILTER",
		Short: "Delete items from an index",
		Long: `Delete items by id, or all that match a filter; "hashgrove help search" explains filters. Ids that are not
in the index are counted; they are not an error.`,
		Example: `  hashgrove index delete items.hgi --ids new-0,new-1
  hashgrove index delete items.hgi --where 'label = "hats" and f0 > 1.5'`,
		Args: atLeast(1, "an index"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	f := cmd.Flags()
	f.StringSliceVar(&c.ids, "ids", nil, "ids of the items")
	f.StringVar(&c.file, "ids-file", "", "file with an id per line")
	f.StringVar(&c.where, "where", "", "filter that the items match")
	return cmd
}

func (c *deleteCommand) run(ctx context.Context, args []string) (err error) {
	began := time.Now()
	c.where = strings.TrimSpace(c.where) // an empty filter would let everything through
	given := 0
	for _, has := range []bool{len(c.ids) > 0, c.file != "", c.where != ""} {
		if has {
			given++
		}
	}
	switch {
	case len(args) > 1:
		return usagef("index delete takes one index, and ids with --ids")
	case given != 1:
		return usagef("index delete needs one of --ids, --ids-file and --where")
	}
	filter, err := index.Parse(c.where)
	if err != nil {
		return usagef("--where: %w", err)
	}
	ids, err := c.list()
	if err != nil {
		return err
	}
	s, err := c.openToWrite(ctx, args[0])
	if err != nil {
		return err
	}
	defer func() { err = closed(s, err) }()
	deleted, missing := 0, 0
	if c.where != "" {
		deleted, err = s.DeleteWhere(ctx, filter)
	} else {
		deleted, err = s.Delete(ctx, ids...)
		missing = len(ids) - deleted
	}
	if err != nil {
		return err
	}
	r, err := c.report(ctx, s, began)
	if err != nil {
		return err
	}
	r.Deleted, r.Missing = deleted, missing
	if c.json {
		return c.printJSON(r)
	}
	if missing > 0 {
		c.note("%d of the ids were not there", missing)
	}
	fmt.Fprintf(c.out, "%s: %d items deleted, %d left\n", args[0], deleted, r.Items)
	return nil
}

// list is the ids to delete, each once.
func (c *deleteCommand) list() ([]index.ID, error) {
	texts := c.ids
	if c.file != "" {
		f, err := plain.Open(c.file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<24)
		for lines.Scan() {
			if text := strings.TrimRight(lines.Text(), "\r"); text != "" {
				texts = append(texts, text)
			}
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("%s: %w", c.file, err)
		}
	}
	seen := map[index.ID]bool{}
	var ids []index.ID
	for _, text := range texts {
		id, err := index.ParseID(text)
		if err != nil {
			return nil, err
		}
		if !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func (a *app) indexCompact() *cobra.Command {
	return &cobra.Command{
		Use:     "compact INDEX",
		Short:   "Pack an index tightly after many changes",
		Long:    `Write the items tightly into a new file, which takes the place of the old one in one step.`,
		Example: `  hashgrove index compact items.hgi`,
		Args:    atLeast(1, "an index"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			began := time.Now()
			s, err := a.openToWrite(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			defer func() { err = closed(s, err) }()
			before := s.Info().FileBytes
			if err := s.Compact(cmd.Context()); err != nil {
				return err
			}
			r, err := a.report(cmd.Context(), s, began)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(r)
			}
			fmt.Fprintf(a.out, "%s: %d items, %s on disk before, %s now\n",
				args[0], r.Items, size(int(before)), size(int(r.FileBytes)))
			return nil
		},
	}
}
