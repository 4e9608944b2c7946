package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hashgrove/internal/cli"
	"hashgrove/internal/dataset"
	"hashgrove/internal/engine"
	"hashgrove/internal/plain"
)

type pushCommand struct {
	*app
	items          itemFlags
	target         engineFlags
	model, journal string
	where          string
	shard          shardFlags
	o              engine.PushOptions
	dryRun         bool
	bulk           bulkFlags
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

A batch that fails because the engine cannot be reached is retried with increasing delays. A push that ends early
leaves a journal, from which the same command continues; a complete push removes it. Standard input is journaled
only with --journal, and must be sent again from the start. At the end some items are read back and compared.

--bulk FILE does not connect either: it writes a file for the engine's own tools to load, and says how to load it.
--engine may then be just a scheme, such as postgres:. The file's extension, or --bulk-form, decides the form. All
engines have parquet, and in addition:
  PostgreSQL                 sql (a script that creates and fills the table), copy, csv, jsonl
  SQLite, Redis              sql (a script for sqlite3); resp (commands for redis-cli --pipe)
  OpenSearch, Elasticsearch  jsonl (lines of _bulk requests)
  Qdrant, Weaviate           jsonl (bodies of requests, each with up to 500 items)
  Milvus                     json (rows to import, as parquet is), jsonl (bodies of requests)

--shard 3/8 pushes the third of eight equal parts of the rows, as in "hashgrove encode", or of the items of the index
in the order of their ids, so that a scheduler can run one process per part; each has its own journal. Rows without ids
keep their numbers.

` + enginesHelp + `

` + attributesHelp,
		Example: `  hashgrove push items.hgi --engine postgres://shop@localhost/shop --table boots --dry-run
  hashgrove push items.hgi --engine postgres://shop@localhost/shop --table boots
  hashgrove push items.hgc --engine postgres://shop@localhost/shop --table coded --batch 5000 --in-flight 4
  hashgrove push new.csv --label category --id-column sku -m items.hgm --engine postgres://shop@localhost/shop
  hashgrove push items.hgi --engine redis://localhost:6379/0 --table boots --batch 200
  hashgrove push items.hgi --engine sqlite://shop.db --table boots
  hashgrove push vectors.npy -m items.hgm --engine postgres://shop@localhost/shop --table rows --shard 1/2
  hashgrove push vectors.npy -m items.hgm --engine postgres://shop@localhost/shop --table rows --shard 2/2
  hashgrove push items.hgi --engine postgres: --table boots --bulk boots.sql
  hashgrove push items.hgi --engine postgres: --table boots --bulk boots.parquet
  hashgrove push items.hgi --engine redis: --table boots --bulk boots.resp
  hashgrove push items.hgi --engine opensearch://search.example:9200 --table boots --bulk boots.jsonl
  cat new.csv | hashgrove push - --label category --id-column sku -m items.hgm --engine postgres://shop@localhost/shop`,
		Args: cli.AtLeast(1, "an index, code files, or vectors"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	f := cmd.Flags()
	c.target.bind(f)
	f.IntVar(&c.o.Batch, "batch", engine.DefaultBatch, "`NUMBER` of items per batch")
	f.IntVar(&c.o.InFlight, "in-flight", engine.DefaultInFlight, "`NUMBER` of batches in flight at a time")
	f.IntVar(&c.o.Retries, "retries", engine.DefaultRetries,
		"`NUMBER` of times that a batch is sent again when the engine cannot be reached; -1 means none")
	f.DurationVar(&c.o.Timeout, "timeout", engine.DefaultTimeout,
		"`TIME` after which a batch without an answer is sent again")
	f.StringVar(&c.journal, "journal", "", "`FILE` from which an interrupted push continues; default DATA.push, "+
		"and with --shard DATA.00003-of-00008.push")
	f.BoolVar(&c.dryRun, "dry-run", false, "do not connect, print what would be sent")
	f.StringVar(&c.shard.text, "shard", "", "only shard `I/N` of the rows, I from 1 to N")
	cli.Group(f, "Push")
	c.bulk.bind(f)
	f.StringVarP(&c.model, "model", "m", "", "`MODEL` that encodes vectors or pictures")
	f.StringVar(&c.where, "where", "", "push only items of the index that match this `FILTER`")
	cli.Group(f, "Items")
	c.items.bind(f)
	return cmd
}

// pushReport is the output of push --json.
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
	Shard       *shardReport       `json:"shard,omitempty"`
	DryRun      []engine.Statement `json:"dry_run,omitempty"`
}

func (c *pushCommand) run(ctx context.Context, args []string) error {
	if c.o.Timeout <= 0 {
		return cli.Usagef("--timeout must be positive, such as 30s or 2m")
	}
	if c.o.Batch < 1 || c.o.Batch > 1<<20 || c.o.InFlight < 1 || c.o.InFlight > 1000 {
		return cli.Usage("bad-flag-value", "--batch must be 1 to %d, and --in-flight 1 to 1000", 1<<20)
	}
	if err := c.nameJournal(args); err != nil {
		return err
	}
	if err := c.bulk.check(c.items.data.inputs(args, c.model, c.items.table)); err != nil {
		return err
	}
	open := func() (engine.Engine, error) { return c.target.open(ctx, c.app, c.o.InFlight) }
	if c.dryRun || c.bulk.path != "" {
		open = func() (engine.Engine, error) { return c.target.openUnconnected(ctx, c.app) }
	}
	e, err := open()
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
		Refused: []engine.Refusal{}, Shard: reportShard(c.shard.Shard),
	}
	if c.dryRun {
		r.DryRun = e.Plan(src.Space)
		return c.printResult(r, func() { c.printPlan(r, src.Items) })
	}
	if c.bulk.path != "" {
		return c.writeBulk(ctx, e, src, r)
	}
	return c.push(ctx, e, src, r)
}

// nameJournal chooses the journal file. Each shard has its own; input that cannot be read again has none.
func (c *pushCommand) nameJournal(args []string) (err error) {
	if c.bulk.path != "" {
		c.bulk.path, err = c.shard.parse(c.bulk.path, args)
		return err
	}
	c.o.Journal = c.journal
	if c.journal == "" && !slices.ContainsFunc(args, dataset.IsStream) {
		c.o.Journal = args[0] + ".push"
		if c.shard.text != "" {
			c.o.Journal = args[0] + "." + shardMark + ".push"
		}
	}
	c.o.Journal, err = c.shard.parse(c.o.Journal, args)
	if err == nil && c.shard.text != "" && !strings.Contains(c.o.Journal, c.shard.Name()) {
		err = cli.Usage("no-shard-mark",
			"--journal %s: shards need journals of their own: write {shard} in the name", c.journal)
	}
	return err
}

// push writes the items and prints a report.
func (c *pushCommand) push(ctx context.Context, e engine.Engine, src *pushSource, r pushReport) error {
	p := c.startProgress("pushing", r.Items, 0)
	defer p.End()
	c.o.Progress = p.Tick
	began := time.Now()
	done, err := engine.PushFrom(ctx, e, src.Source, c.o)
	p.End()
	r.Items, r.Engine, r.Written = done.Items, done.Info.Engine, done.Written
	r.Before, r.Retries = done.Before, done.Retries
	r.Checked, r.Seconds = done.Checked, time.Since(began).Seconds()
	r.Refused = append(r.Refused, done.Refused...)
	if err != nil {
		advice := c.advice(r, src.Items)
		if ctx.Err() != nil {
			return cli.WithAdvice(err, advice)
		}
		if r.Written+r.Before > 0 {
			err = fmt.Errorf("%w; %s", err, advice)
		}
		return err
	}
	src.note(r.Items)
	r.PerSecond = float64(r.Written) / max(r.Seconds, 1e-9)
	before := ""
	if r.Before > 0 {
		before = fmt.Sprintf(", %d were there from before", r.Before)
	}
	return c.printLine(r, "%s: %s written%s, %d bits, fingerprint %s, %s, %.1f s, %.0f per second; %d verified",
		r.Table, plain.Count(r.Written, "item", "items"), before, r.Bits, r.Fingerprint, r.Engine, r.Seconds, r.PerSecond,
		r.Checked)
}

// advice says how to continue a push that ended early; all is the number of items, if known.
func (c *pushCommand) advice(r pushReport, all int) string {
	written := fmt.Sprintf("%d of %d items are written", r.Written+r.Before, r.Items)
	if all < 0 {
		written = plain.Count(r.Written+r.Before, "item is", "items are") + " written"
	}
	switch {
	case c.o.Journal == "":
		return written + "; push all of them again, which replaces those that are there"
	case all < 0:
		return written + "; with the same items from the start the same command continues, by the journal " + c.o.Journal
	}
	return written + "; the same command continues from there, by the journal " + c.o.Journal
}

// printPlan prints the statements as a script, in the order in which a push sends them.
func (c *pushCommand) printPlan(r pushReport, all int) {
	count := "items"
	if all >= 0 {
		count = plain.Count(all, "item", "items")
	}
	fmt.Fprintf(c.out, "-- %s of %d bits, fingerprint %s, into %s: nothing is sent\n",
		count, r.Bits, r.Fingerprint, cli.Printable(r.Table))
	last, sql := "", strings.HasPrefix(c.target.url, "postgres") || strings.HasPrefix(c.target.url, "sqlite")
	for _, s := range r.DryRun {
		if s.Purpose != last {
			fmt.Fprintf(c.out, "\n-- %s\n", s.Purpose)
			last = s.Purpose
		}
		text := s.Text
		if sql && text[0] != '.' && text[len(text)-1] != ';' { // lines starting with a dot are sqlite3 commands
			text += ";"
		}
		fmt.Fprintf(c.out, "%s\n", text)
	}
}
