package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"hashgrove"
	"hashgrove/internal/cli"
)

type pushCommand struct {
	*app
	items        itemFlags
	target       databaseFlags
	model, where string
	o            hashgrove.PushOptions
	verify       bool
}

func (a *app) push() *cobra.Command {
	c := &pushCommand{app: a}
	cmd := &cobra.Command{
		Use:   "push DATA... --engine URL",
		Short: "Write codes into a database",
		Long: `Write codes with ids, labels, tags and attributes into a database table: from an index, from code files, or
from vectors and pictures, which --model encodes. The table is created if needed; existing items are replaced by id, so
a push may be repeated. The fingerprint of the model is stored beside the table, and codes of another model are refused.

Items are read, encoded and sent batch by batch in bounded memory, except for a hash of each id (8 bytes plus overhead)
if the data have ids, and for what --attributes and --attribute-columns read, which is kept in memory.
Vectors can also come from standard input (-), as with "hashgrove encode"; a batch is sent once it is full.

A batch that fails because the database cannot be reached is retried with increasing delays. After a push that ended
early, run the same command again. --verify reads the table back and compares all that was pushed, and a few hundred
answers with those of an exact index; it holds the table in memory, and the exit status is 1 if anything differs.

` + databaseHelp + `

` + attributesHelp,
		Example: `  hashgrove push items.hgi --engine postgres://shop@localhost/shop --table boots --verify
  hashgrove push items.hgc --engine postgres://shop@localhost/shop --table coded --batch 5000 --in-flight 4
  hashgrove push new.csv --label category --id-column sku -m items.hgm --engine postgres://shop@localhost/shop
  cat new.csv | hashgrove push - --label category --id-column sku -m items.hgm --engine postgres://shop@localhost/shop`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	f := cmd.Flags()
	c.target.bind(f)
	usual := hashgrove.PushOptions{}.WithDefaults()
	f.IntVar(&c.o.Batch, "batch", usual.Batch, "`NUMBER` of items per batch")
	f.IntVar(&c.o.InFlight, "in-flight", usual.InFlight, "`NUMBER` of batches in flight at a time")
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
	Engine      string                  `json:"engine"`
	Table       string                  `json:"table"`
	Bits        int                     `json:"bits"`
	Fingerprint string                  `json:"fingerprint"`
	Items       int                     `json:"items"`
	Written     int                     `json:"written"`
	Retries     int                     `json:"retries"`
	Refused     []hashgrove.Refusal     `json:"refused"`
	Seconds     float64                 `json:"seconds"`
	PerSecond   float64                 `json:"items_per_second"`
	Verified    *hashgrove.Verification `json:"verified,omitempty"`
}

func (c *pushCommand) run(ctx context.Context, args []string) error {
	if c.o.Batch < 1 || c.o.Batch > 1<<20 || c.o.InFlight < 1 || c.o.InFlight > 1000 {
		return cli.Usage("bad-flag-value", "--batch must be 1 to %d, and --in-flight 1 to 1000", 1<<20)
	}
	t, err := c.target.open(ctx, c.o.InFlight)
	if err != nil {
		return err
	}
	defer t.Close()
	items, end, err := c.open(ctx, args)
	if err != nil {
		return err
	}
	defer end()
	r := pushReport{
		Table: c.target.table, Bits: items.Bits, Fingerprint: items.Fingerprint, Items: max(items.Count, 0),
		Refused: []hashgrove.Refusal{},
	}
	return c.push(ctx, t, items, r)
}

// push writes the items and prints a report.
func (c *pushCommand) push(ctx context.Context, t *hashgrove.Table, items *hashgrove.Items, r pushReport) error {
	p := c.startProgress("pushing", r.Items)
	defer p.End()
	c.o.Progress = p.Tick
	began := time.Now()
	done, err := t.Push(ctx, items, c.o)
	p.End()
	r.Items, r.Engine, r.Written = done.Items, done.Server, done.Written
	r.Retries, r.Seconds = done.Retries, time.Since(began).Seconds()
	r.Refused = append(r.Refused, done.Refused...)
	if err != nil {
		advice := c.advice(r, items.Count)
		if ctx.Err() != nil {
			return cli.WithAdvice(err, advice)
		}
		if r.Written > 0 {
			err = fmt.Errorf("%w; %s", err, advice)
		}
		return err
	}
	r.PerSecond = float64(r.Written) / max(r.Seconds, 1e-9)
	verified := ""
	if c.verify {
		v, err := t.Verify(ctx, items)
		if err != nil {
			return err
		}
		r.Verified = &v
		verified = fmt.Sprintf("; verified: %s as pushed, %d of %d answers as those of an exact index, recall %.4f",
			cli.Count(v.Items, "item", "items"), v.Same, v.Answers, v.Recall)
	}
	return c.printLine(r, "%s: %s written, %d bits, fingerprint %s, %s, %.1f s, %.0f per second%s",
		r.Table, cli.Count(r.Written, "item", "items"), r.Bits, r.Fingerprint, r.Engine, r.Seconds, r.PerSecond,
		verified)
}

// advice says how to recover from a push that ended early; all is the number of items, if known.
func (c *pushCommand) advice(r pushReport, all int) string {
	written := fmt.Sprintf("%d of %d items are written", r.Written, r.Items)
	if all < 0 {
		written = cli.Count(r.Written, "item is", "items are") + " written"
	}
	return written + "; push all of them again, which replaces those that are there"
}

// open opens the items to push: those of an index, codes, or rows for the model to encode.
func (c *pushCommand) open(ctx context.Context, args []string) (items *hashgrove.Items, end func(), err error) {
	ix, closeIndex, err := c.openIfIndex(ctx, args)
	if err != nil {
		return nil, nil, err
	}
	if ix != nil {
		if items, err = hashgrove.ItemsOf(ctx, ix, c.where); err != nil {
			closeIndex()
		}
		return items, closeIndex, err
	}
	if c.where != "" {
		return nil, nil, cli.Usage("needs-index", "--where selects items of an index, but %s is not one", args[0])
	}
	var m *hashgrove.Model
	if c.model != "" {
		if m, err = hashgrove.LoadModel(c.model); err != nil {
			return nil, nil, err
		}
	}
	c.items.Stdin = c.in
	data, err := c.items.open(args)
	if err != nil {
		return nil, nil, err
	}
	if c.verify && data.Once() {
		return nil, nil, cli.Usage("read-once", "--verify: standard input can be read only once, so it cannot be compared")
	}
	show, end := c.steps()
	items, err = hashgrove.NewItems(ctx, m, data, hashgrove.EncodeOptions{Threads: c.threads, Progress: show})
	return items, end, noModel(err, "name it with --model")
}
