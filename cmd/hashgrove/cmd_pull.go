package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hashgrove"
	"hashgrove/internal/cli"
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
	c.file.FileOnly = true
	if err := c.file.Check([]string{c.output}, []string{c.model, c.target.passwordFile}); err != nil {
		return err
	}
	t, err := c.target.open(ctx, 1)
	if err != nil {
		return err
	}
	defer t.Close()
	info, err := t.Info(ctx)
	if err != nil {
		return err
	}
	var m *hashgrove.Model
	if c.model != "" {
		if m, err = hashgrove.LoadModel(c.model); err != nil {
			return err
		}
	}
	show, end := c.steps()
	ix, err := t.CreateIndex(ctx, c.output, c.where, m, hashgrove.IndexOptions{
		Threads: c.threads, Progress: show, Replace: true, // without --force, an existing output was refused above
	})
	end()
	if hashgrove.HasCode(err, "model-mismatch") {
		err = fmt.Errorf("%s: %w", c.model, err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", info.Table, err)
	}
	of := ix.Info()
	if err := ix.Close(); err != nil {
		return err
	}
	r := pullReport{info.Server, info.Table, c.output, of.Items, of.Bits, of.Fingerprint[:16]}
	return c.printLine(r, "%s: %s of %d bits, fingerprint %s, from %s in %s",
		r.Output, cli.Count(r.Items, "item", "items"), r.Bits, r.Fingerprint, r.Table, r.Engine)
}
