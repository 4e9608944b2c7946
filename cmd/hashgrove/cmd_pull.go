package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hashgrove/internal/cli"
	"hashgrove/internal/index"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/store"
)

type pullCommand struct {
	*app
	target               databaseFlags
	model, output, where string
	file                 cli.Output
}

func (a *app) pull() *cobra.Command {
	c := &pullCommand{app: a}
	cmd := &cobra.Command{
		Use:   "pull --engine URL -o INDEX",
		Short: "Read codes back from a database",
		Long: `Read the items of a table that "hashgrove push" made, or those that match a filter, into an index with
labels, tags and attributes. --model adds the model to the index, so that you can search by vector; it must be the one
that made the codes.

` + databaseHelp,
		Example: `  hashgrove pull --engine postgres://shop@localhost/shop --table boots -m items.hgm -o pulled.hgi
  hashgrove pull --engine postgres://shop@localhost/shop --table boots --where 'label = "boots"' -o boots.hgi`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	f := cmd.Flags()
	c.target.bind(f)
	f.StringVar(&c.where, "where", "", "read only items that match this `FILTER`")
	cli.Group(f, "Items")
	f.StringVarP(&c.output, "output", "o", "", "the `INDEX` to make")
	c.file.Bind(f)
	f.StringVarP(&c.model, "model", "m", "", "`MODEL` that made the codes")
	cli.Group(f, "Output")
	return cmd
}

// pullReport is the output of pull --json.
type pullReport struct {
	Engine      string `json:"engine"`
	Table       string `json:"table"`
	Output      string `json:"output"`
	Items       int    `json:"items"`
	Bits        int    `json:"bits"`
	Fingerprint string `json:"fingerprint"`
}

func (c *pullCommand) run(ctx context.Context) error {
	if c.output == "" {
		return cli.Usage("missing-flag", "pull needs -o INDEX, the index to make")
	}
	filter, err := index.Parse(c.where)
	if err != nil {
		return cli.Usagef("--where: %w", err)
	}
	c.file.FileOnly = true
	if err := c.file.Check([]string{c.output}, []string{c.model, c.target.passwordFile}); err != nil {
		return err
	}
	r := pullReport{Output: c.output}
	b, err := c.readTable(ctx, filter, &r)
	if err != nil {
		return err
	}
	var m *model.Model
	if c.model != "" {
		if m, err = model.ReadFile(c.model); err != nil {
			return err
		}
		if err := fitModel(b, m, r.Table, c.model); err != nil {
			return err
		}
	}
	r.Items, r.Bits, r.Fingerprint = len(b.IDs), b.Codes.Bits, b.Fingerprint.String()
	made, err := store.Create(ctx, c.output, store.Options{
		Model: m, Bits: r.Bits, Fingerprint: b.Fingerprint, Index: index.Config{Threads: c.threads}, Items: b,
		Replace: true, // without --force, an existing output was refused above
	})
	if err == nil {
		err = made.Close()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.Table, err)
	}
	return c.printLine(r, "%s: %s of %d bits, fingerprint %s, from %s in %s",
		r.Output, message.Count(r.Items, "item", "items"), r.Bits, r.Fingerprint, r.Table, r.Engine)
}

// readTable reads the items of a table that match a filter.
func (c *pullCommand) readTable(ctx context.Context, f index.Filter, r *pullReport) (*index.Batch, error) {
	e, err := c.target.open(ctx, 1)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	info, err := e.Info(ctx)
	if err != nil {
		return nil, err
	}
	r.Engine, r.Table = info.Server, info.Table
	if err := e.CheckNames(ctx, f); err != nil {
		return nil, cli.Usagef("--where: %w", err)
	}
	n, err := e.Count(ctx)
	if err != nil {
		return nil, err
	}
	p := c.startProgress("reading", n)
	defer p.End()
	all := index.NewBatch(info.Bits)
	all.Fingerprint = info.Fingerprint
	err = e.Read(ctx, f, func(b *index.Batch) error {
		for i := range b.IDs {
			all.Append(b.Item(i))
		}
		p.Tick(len(all.IDs))
		return nil
	})
	return all, err
}
