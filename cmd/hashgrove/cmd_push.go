package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"hashgrove"
	"hashgrove/internal/cli"
	"hashgrove/internal/dataset"
	"hashgrove/internal/index"
	"hashgrove/internal/message"
	"hashgrove/internal/postgres"
	"hashgrove/internal/store"
)

type pushCommand struct {
	*app
	items          itemFlags
	target         databaseFlags
	model, where   string
	o              postgres.PushOptions
	dryRun, verify bool
}

func (a *app) push() *cobra.Command {
	c := &pushCommand{app: a}
	cmd := &cobra.Command{
		Use:   "push DATA... --engine URL",
		Short: "Write codes into a database",
		Long: `Write codes with ids, labels, tags and attributes into a database table: from an index, from code files, or
from vectors and pictures, which --model encodes. The table is created if needed; existing items are replaced by id, so
a push may be repeated. The fingerprint of the model is stored beside the table, and codes of another model are refused.

--dry-run does not connect: it prints what would be sent, and how to search there.

Items are read, encoded and sent batch by batch in bounded memory, except for a hash of each id (8 bytes plus overhead)
if the data have ids, and for what --attributes and --attribute-columns read, which is kept in memory.
Vectors can also come from standard input (-), as with "hashgrove encode"; a batch is sent once it is full.

A batch that fails because the database cannot be reached is retried with increasing delays. After a push that ended
early, run the same command again. --verify reads the table back and compares all that was pushed, and a few hundred
answers with those of an exact index; it holds the table in memory, and the exit status is 1 if anything differs.

` + databaseHelp + `

` + attributesHelp,
		Example: `  hashgrove push items.hgi --engine postgres://shop@localhost/shop --table boots --dry-run
  hashgrove push items.hgi --engine postgres://shop@localhost/shop --table boots --verify
  hashgrove push items.hgc --engine postgres://shop@localhost/shop --table coded --batch 5000 --in-flight 4
  hashgrove push new.csv --label category --id-column sku -m items.hgm --engine postgres://shop@localhost/shop
  cat new.csv | hashgrove push - --label category --id-column sku -m items.hgm --engine postgres://shop@localhost/shop`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	f := cmd.Flags()
	c.target.bind(f)
	f.IntVar(&c.o.Batch, "batch", postgres.DefaultBatch, "`NUMBER` of items per batch")
	f.IntVar(&c.o.InFlight, "in-flight", postgres.DefaultInFlight, "`NUMBER` of batches in flight at a time")
	f.BoolVar(&c.dryRun, "dry-run", false, "do not connect, print what would be sent")
	f.BoolVar(&c.verify, "verify", false, "read the table back, and compare its answers with those of an exact index")
	cli.Group(f, "Push")
	f.StringVarP(&c.model, "model", "m", "", "`MODEL` that encodes vectors or pictures")
	f.StringVar(&c.where, "where", "", "push only items of the index that match this `FILTER`")
	cli.Group(f, "Items")
	c.items.bind(f)
	return cmd
}

// pushReport is the output of push --json.
type pushReport struct {
	Engine      string                 `json:"engine"`
	Table       string                 `json:"table"`
	Bits        int                    `json:"bits"`
	Fingerprint string                 `json:"fingerprint"`
	Items       int                    `json:"items"`
	Written     int                    `json:"written"`
	Retries     int                    `json:"retries"`
	Refused     []postgres.Refusal     `json:"refused"`
	Seconds     float64                `json:"seconds"`
	PerSecond   float64                `json:"items_per_second"`
	Verified    *postgres.Verification `json:"verified,omitempty"`
	DryRun      []postgres.Statement   `json:"dry_run,omitempty"`
}

func (c *pushCommand) run(ctx context.Context, args []string) error {
	if c.o.Batch < 1 || c.o.Batch > 1<<20 || c.o.InFlight < 1 || c.o.InFlight > 1000 {
		return cli.Usage("bad-flag-value", "--batch must be 1 to %d, and --in-flight 1 to 1000", 1<<20)
	}
	if c.verify && slices.ContainsFunc(args, dataset.IsStream) {
		return cli.Usage("read-once", "--verify: standard input can be read only once, so it cannot be compared")
	}
	e, err := c.target.open(ctx, c.o.InFlight)
	if err != nil {
		return err
	}
	defer e.Close()
	src, err := c.source(ctx, args)
	if err != nil {
		return err
	}
	defer src.close()
	r := pushReport{
		Table: c.target.table, Bits: src.Bits, Fingerprint: src.Fingerprint.String(), Items: max(src.Items, 0),
		Refused: []postgres.Refusal{},
	}
	if c.dryRun {
		r.DryRun = e.Plan(src.Space)
		return c.printResult(r, func() { c.printPlan(r, src.Items) })
	}
	return c.push(ctx, e, src, r)
}

// push writes the items and prints a report.
func (c *pushCommand) push(ctx context.Context, t *postgres.Table, src *pushSource, r pushReport) error {
	p := c.startProgress("pushing", r.Items)
	defer p.End()
	c.o.Progress = p.Tick
	began := time.Now()
	done, err := t.Push(ctx, src.Source, c.o)
	p.End()
	r.Items, r.Engine, r.Written = done.Items, done.Info.Server, done.Written
	r.Retries, r.Seconds = done.Retries, time.Since(began).Seconds()
	r.Refused = append(r.Refused, done.Refused...)
	if err != nil {
		advice := c.advice(r, src.Items)
		if ctx.Err() != nil {
			return cli.WithAdvice(err, advice)
		}
		if r.Written > 0 {
			err = fmt.Errorf("%w; %s", err, advice)
		}
		return err
	}
	src.note(r.Items)
	r.PerSecond = float64(r.Written) / max(r.Seconds, 1e-9)
	verified := ""
	if c.verify {
		v, err := t.Verify(ctx, src.Source)
		if err != nil {
			return err
		}
		r.Verified = &v
		verified = fmt.Sprintf("; verified: %s as pushed, %d of %d answers as those of an exact index, recall %.4f",
			message.Count(v.Items, "item", "items"), v.Same, v.Answers, v.Recall)
	}
	return c.printLine(r, "%s: %s written, %d bits, fingerprint %s, %s, %.1f s, %.0f per second%s",
		r.Table, message.Count(r.Written, "item", "items"), r.Bits, r.Fingerprint, r.Engine, r.Seconds, r.PerSecond,
		verified)
}

// advice says how to recover from a push that ended early; all is the number of items, if known.
func (c *pushCommand) advice(r pushReport, all int) string {
	written := fmt.Sprintf("%d of %d items are written", r.Written, r.Items)
	if all < 0 {
		written = message.Count(r.Written, "item is", "items are") + " written"
	}
	return written + "; push all of them again, which replaces those that are there"
}

// printPlan prints the statements as a script, in the order in which a push sends them.
func (c *pushCommand) printPlan(r pushReport, all int) {
	count := "items"
	if all >= 0 {
		count = message.Count(all, "item", "items")
	}
	fmt.Fprintf(c.out, "-- %s of %d bits, fingerprint %s, into %s: nothing is sent\n",
		count, r.Bits, r.Fingerprint, cli.Printable(r.Table))
	last := ""
	for _, s := range r.DryRun {
		if s.Purpose != last {
			fmt.Fprintf(c.out, "\n-- %s\n", s.Purpose)
			last = s.Purpose
		}
		text := s.Text
		if text[len(text)-1] != ';' {
			text += ";"
		}
		fmt.Fprintf(c.out, "%s\n", text)
	}
}

// pushSource reads items on their way into a database.
type pushSource struct {
	postgres.Source
	note  func(items int) // prints remarks after all items were read
	close func() error
}

// source opens the items to push: those of an index, codes, or rows for the model to encode.
func (c *pushCommand) source(ctx context.Context, args []string) (*pushSource, error) {
	filter, err := index.Parse(c.where)
	if err != nil {
		return nil, cli.Usagef("--where: %w", err)
	}
	s, err := c.openIfIndex(ctx, args)
	if err != nil {
		return nil, err
	}
	if s != nil {
		return c.fromIndex(s, filter), nil
	}
	if c.where != "" {
		return nil, cli.Usage("needs-index", "--where selects items of an index, but %s is not one", args[0])
	}
	c.items.data.readOnce(c.in)
	_, in, err := c.items.openWith(c.model, args)
	if err != nil {
		return nil, err
	}
	return c.fromInput(ctx, in)
}

// fromIndex reads the items of an index.
func (c *pushCommand) fromIndex(s *store.Store, f index.Filter) *pushSource {
	info := s.Info()
	space := postgres.Space{Bits: info.Bits, Fingerprint: info.Fingerprint}
	src := postgres.Source{Space: space, Items: info.Items, Unique: true}
	src.Each = func(ctx context.Context, take func(*index.Batch) error) error {
		return s.Each(ctx, f, take)
	}
	if c.where != "" {
		src.Items = -1
	}
	return &pushSource{src, func(int) {}, s.Close}
}

// fromInput reads codes, or rows for the model to encode.
func (c *pushCommand) fromInput(ctx context.Context, in itemInput) (*pushSource, error) {
	items, err := c.countInput(ctx, in)
	if err != nil {
		return nil, err
	}
	src := postgres.Source{Space: postgres.Space{Bits: in.Bits, Fingerprint: in.Fingerprint}, Items: items}
	src.Each = func(ctx context.Context, take func(*index.Batch) error) error { return in.Each(ctx, c.threads, take) }
	note := func(items int) {
		c.noteJoin(in, items)
		if in.set != nil {
			c.noteNumbers(&hashgrove.DataRead{Bad: c.noteBad(in.set), IDs: in.Named})
		}
	}
	return &pushSource{src, note, func() error { return nil }}, nil
}

// countInput returns the number of rows, for the remaining time; negative if it is not known before reading.
func (c *pushCommand) countInput(ctx context.Context, in itemInput) (int, error) {
	if in.set == nil {
		return in.CountCodes(ctx)
	}
	if in.Live = in.set.Once(); in.Live {
		return -1, nil
	}
	return in.set.Rows(), nil
}
