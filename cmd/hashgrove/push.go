package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hashgrove/engine"
	"hashgrove/index"
	"hashgrove/internal/cli"
	"hashgrove/internal/plain"
	"hashgrove/model"
)

// pushCommand is push.
type pushCommand struct {
	*app
	items          itemFlags
	target         engineFlags
	model, journal string
	where          string
	o              engine.PushOptions
	dryRun         bool
}

func (a *app) push() *cobra.Command {
	c := &pushCommand{app: a}
	cmd := &cobra.Command{
		Use:   "push DATA... --engine URL",
		Short: "Write codes into a database",
		Long: `Write codes with ids, labels, tags and attributes into a table of a database: those of an index, those of code
files, or those of vectors and pictures, which --model encodes. The table is made where there is none; items that
are there already are replaced by id, so a push may be repeated. The fingerprint of the model is stored beside the
table, and codes of another model are refused.

--dry-run connects to nothing: it prints what would be sent, and how to search there.

A batch that fails because the engine cannot be reached is sent again, with longer and longer breaks. A push that
ends early leaves a journal, by which the same command continues; one that is complete removes it. At the end some
items are read back and compared.

` + enginesHelp + `

` + attributesHelp,
		Example: `  hashgrove push items.hgi --engine postgres://shop@localhost/shop --table boots --dry-run
  hashgrove push items.hgi --engine postgres://shop@localhost/shop --table boots
  hashgrove push items.hgc --engine postgres://shop@localhost/shop --table coded --batch 5000 --in-flight 4
  hashgrove push new.csv --label category --id-column sku -m items.hgm --engine postgres://shop@localhost/shop
  hashgrove push items.hgi --engine redis://localhost:6379/0 --table boots --batch 200
  hashgrove push items.hgi --engine sqlite://shop.db --table boots`,
		Args: cli.AtLeast(1, "an index, code files, or vectors"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	f := cmd.Flags()
	c.target.bind(f)
	f.IntVar(&c.o.Batch, "batch", engine.DefaultBatch, "`NUMBER` of items in a batch")
	f.IntVar(&c.o.InFlight, "in-flight", engine.DefaultInFlight, "`NUMBER` of batches under way at the same time")
	f.IntVar(&c.o.Retries, "retries", engine.DefaultRetries,
		"`NUMBER` of times that a batch is sent again when the engine cannot be reached; -1 means none")
	f.DurationVar(&c.o.Timeout, "timeout", engine.DefaultTimeout,
		"`TIME` after which a batch without an answer is sent again")
	f.StringVar(&c.journal, "journal", "", "`FILE` by which an interrupted push continues; default DATA.push")
	f.BoolVar(&c.dryRun, "dry-run", false, "connect to nothing, and print what would be sent")
	cli.Group(f, "Push")
	f.StringVarP(&c.model, "model", "m", "", "`MODEL` that encodes vectors or pictures")
	f.StringVar(&c.where, "where", "", "push only items of the index that match this `FILTER`")
	cli.Group(f, "Items")
	c.items.bindCrossFit(f)
	c.items.bind(f)
	return cmd
}

// pushReport is what push --json prints.
type pushReport struct {
	Engine      string             `json:"engine"`
	Table       string             `json:"table"`
	Bits        int                `json:"bits"`
	Fingerprint string             `json:"fingerprint"`
	Items       int                `json:"items"`
	Written     int                `json:"written"`
	Before      int                `json:"written_before"`
	Retries     int                `json:"retries"`
	Checked     int                `json:"read_back"`
	Refused     []engine.Refusal   `json:"refused"`
	Seconds     float64            `json:"seconds"`
	PerSecond   float64            `json:"items_per_second"`
	DryRun      []engine.Statement `json:"dry_run,omitempty"`
}

func (c *pushCommand) run(ctx context.Context, args []string) error {
	if c.o.Timeout <= 0 {
		return cli.Usagef("--timeout is more than nothing, such as 30s or 2m")
	}
	if c.o.Batch < 1 || c.o.Batch > 1<<20 || c.o.InFlight < 1 || c.o.InFlight > 1000 {
		return cli.Usagef("--batch is 1 to %d, and --in-flight 1 to 1000", 1<<20)
	}
	e, err := c.target.open(ctx, c.o.InFlight)
	if err != nil {
		return err
	}
	defer e.Close()
	b, err := c.read(ctx, args)
	if err != nil {
		return err
	}
	r := pushReport{
		Table: c.target.table, Bits: b.Codes.Bits, Fingerprint: b.Fingerprint.String(), Items: len(b.IDs),
		Refused: []engine.Refusal{},
	}
	if c.dryRun {
		r.DryRun = e.Plan(engine.Space{Bits: b.Codes.Bits, Fingerprint: b.Fingerprint})
		return c.printResult(r, func() { c.printPlan(r) })
	}
	if c.o.Journal = c.journal; c.journal == "" {
		c.o.Journal = args[0] + ".push"
	}
	return c.push(ctx, e, b, r)
}

// push writes the items and reports.
func (c *pushCommand) push(ctx context.Context, e engine.Engine, b *index.Batch, r pushReport) error {
	p := c.startProgress("pushing", len(b.IDs), 0)
	defer p.End()
	c.o.Progress = p.Tick
	began := time.Now()
	done, err := engine.Push(ctx, e, b, c.o)
	p.End()
	r.Engine, r.Written, r.Before, r.Retries = done.Info.Engine, done.Written, done.Before, done.Retries
	r.Checked, r.Seconds = done.Checked, time.Since(began).Seconds()
	r.Refused = append(r.Refused, done.Refused...)
	if err != nil {
		advice := fmt.Sprintf("%d of %d items are written; the same command continues from there, by the journal %s",
			r.Written+r.Before, r.Items, c.o.Journal)
		if ctx.Err() != nil {
			return cli.WithAdvice(err, advice)
		}
		if r.Written+r.Before > 0 {
			err = fmt.Errorf("%w; %s", err, advice)
		}
		return err
	}
	r.PerSecond = float64(r.Written) / max(r.Seconds, 1e-9)
	before := ""
	if r.Before > 0 {
		before = fmt.Sprintf(", %d were there from before", r.Before)
	}
	return c.printLine(r, "%s: %s written%s, %d bits, fingerprint %s, %s, %.1f s, %.0f per second; %d read back and right",
		r.Table, plain.Count(r.Written, "item", "items"), before, r.Bits, r.Fingerprint, r.Engine, r.Seconds, r.PerSecond,
		r.Checked)
}

// read reads the items to push.
func (c *pushCommand) read(ctx context.Context, args []string) (*index.Batch, error) {
	filter, err := index.Parse(c.where)
	if err != nil {
		return nil, cli.Usagef("--where: %w", err)
	}
	s, err := c.openIfIndex(ctx, args)
	if err != nil {
		return nil, err
	}
	if s != nil {
		defer s.Close()
		return batchOf(s.Snapshot(), filter)
	}
	if c.where != "" {
		return nil, cli.Usagef("--where chooses items of an index, and %s is none", args[0])
	}
	var m *model.Model
	if c.model != "" {
		if m, err = model.ReadFile(c.model); err != nil {
			return nil, err
		}
	}
	in, err := c.items.open(m, args, "--model says which")
	if err != nil {
		return nil, err
	}
	n, err := c.count(ctx, in)
	if err != nil {
		return nil, err
	}
	b, _, err := c.readItems(ctx, in, n)
	return b, err
}

// printPlan prints statements as a script, those that a push sends first.
func (c *pushCommand) printPlan(r pushReport) {
	fmt.Fprintf(c.out, "-- %s of %d bits, fingerprint %s, into %s: nothing is sent\n",
		plain.Count(r.Items, "item", "items"), r.Bits, r.Fingerprint, cli.Printable(r.Table))
	last, sql := "", strings.HasPrefix(c.target.url, "postgres") || strings.HasPrefix(c.target.url, "sqlite")
	for _, s := range r.DryRun {
		if s.Purpose != last {
			fmt.Fprintf(c.out, "\n-- %s\n", s.Purpose)
			last = s.Purpose
		}
		text := s.Text
		if sql && text[0] != '.' && text[len(text)-1] != ';' { // a line that begins with a point is for sqlite3
			text += ";"
		}
		fmt.Fprintf(c.out, "%s\n", text)
	}
}
