package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"hashgrove/internal/cli"
	"hashgrove/internal/model"
	"hashgrove/internal/plain"
	"hashgrove/internal/store"
)

// salvageReport is the output of index salvage --json.
type salvageReport struct {
	File string `json:"file"`
	*store.Salvaged
	Seconds float64 `json:"seconds"`
}

func (a *app) indexSalvage() *cobra.Command {
	var output, modelFile string
	cmd := &cobra.Command{
		Use:   "salvage INDEX -o NEW",
		Short: "Rescue what is intact in a damaged index",
		Long: `Read as much of a damaged index as possible and make a new one from every record that matches its checksum.
What cannot be read is listed with the ids concerned. Nothing that was deleted comes back, and the damaged file stays as
it is. If you have a recent backup, restore that instead.`,
		Example: `  hashgrove index salvage items.hgi -o salvaged.hgi`,
		Args:    cli.ExactlyOne("an index"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if output == "" {
				return cli.Usage("missing-flag", "%s needs -o INDEX, the index to make", cli.Verb(cmd))
			}
			began := time.Now()
			var m *model.Model
			if modelFile != "" {
				if m, err = model.ReadFile(modelFile); err != nil {
					return err
				}
			}
			found, err := store.Salvage(cmd.Context(), args[0], output, m)
			if err != nil {
				return err
			}
			r := salvageReport{output, found, time.Since(began).Seconds()}
			return a.printResult(r, func() { a.printSalvaged(r, m != nil) })
		},
	}
	f := cmd.Flags()
	f.StringVarP(&output, "output", "o", "", "the `INDEX` to make")
	f.StringVarP(&modelFile, "model", "m", "", "`MODEL` for the new index if the copy in the old one is lost")
	cli.Group(f, "Output")
	return cmd
}

// printSalvaged says what was recovered and what was lost.
func (a *app) printSalvaged(r salvageReport, modelGiven bool) {
	fmt.Fprintf(a.out, "%s: %s recovered, %s lost, %.1f s\n", r.File, plain.Count(r.Items, "item", "items"),
		plain.Count(r.LostItems, "item is", "items are"), r.Seconds)
	const most = 20
	for i, l := range r.Lost {
		if i == most {
			fmt.Fprintf(a.out, "  and %d more ranges: --json lists all\n", len(r.Lost)-most)
			break
		}
		from, before := "the first id", "the end"
		if l.From != "" {
			from = "id " + l.From
		}
		if l.Before != "" {
			before = "id " + l.Before
		}
		fmt.Fprintf(a.out, "  from %s up to, but not including, %s: %s\n", from, before, l.Cause)
	}
	if r.Older {
		fmt.Fprintln(a.out, "  the latest write cannot be read: this is the state before it")
	}
	if r.ModelLost && !modelGiven {
		fmt.Fprintln(a.out, "  the copy of the model is lost: add it to the new index with --model")
	}
}
