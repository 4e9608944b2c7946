package main

import (
	"github.com/spf13/cobra"

	foreign "hashgrove/export"
	"hashgrove/internal/cli"
	"hashgrove/model"
)

// importCommand is import: models of other libraries.
type importCommand struct {
	*app
	output string
	file   cli.Output
}

func (a *app) imports() *cobra.Command {
	c := &importCommand{app: a}
	cmd := &cobra.Command{
		Use:   "import BOOSTER... -o MODEL",
		Short: "Make a model of boosters of XGBoost or LightGBM",
		Long: `Make a model of boosters that XGBoost saved as JSON or LightGBM as text. Every output of a booster becomes a bit: one
booster per bit, in the order of the files, or one booster with many outputs (classes, or several targets). A bit is 1
where the margin of its output is above 0, that is, where a classifier says yes:

  XGBoost   Booster.predict(output_margin=True) > 0, saved with save_model("model.json")
  LightGBM  Booster.predict(raw_score=True) > 0, saved with save_model("model.txt")

Margins are sums of the same numbers in the same order and precision, so that codes are those of the library for every
vector, while encoding takes a fraction of the time. All trees count. Vectors must be complete: where the library
would send missing values does not matter.

Refused, because their margins cannot be the same: splits by category, zero_as_missing, dart and gblinear of XGBoost,
leaves with several values (multi_output_tree), linear leaves of LightGBM, and objectives of XGBoost whose margin is
no yes or no, such as count:poisson.`,
		Example: `  hashgrove import bit-0.json bit-1.json -o boosters.hgm
  hashgrove import classes.txt -o classes.hgm`,
		Args: cli.AtLeast(1, "boosters, and -o MODEL,"),
		RunE: func(_ *cobra.Command, args []string) error { return c.run(args) },
	}
	f := cmd.Flags()
	f.StringVarP(&c.output, "output", "o", "", "the `MODEL` to make (.hgm)")
	c.file.Bind(f)
	cli.Group(f, "Output")
	return cmd
}

// importReport is what import --json prints.
type importReport struct {
	Model       string   `json:"model"`
	Library     string   `json:"library"`
	Boosters    int      `json:"boosters"`
	Bits        int      `json:"bits"`
	Dims        int      `json:"dims"`
	Trees       int      `json:"trees"`
	Nodes       int      `json:"nodes"`
	Fingerprint string   `json:"fingerprint"`
	Doubts      []string `json:"doubts,omitempty"`
}

func (c *importCommand) run(paths []string) error {
	if c.output == "" {
		return cli.Usagef("import needs -o MODEL, the model to make")
	}
	c.file.FileOnly = true
	if err := c.file.Check([]string{c.output}, paths); err != nil {
		return err
	}
	m, doubts, err := foreign.ReadBoosters(paths...)
	if err != nil {
		return err
	}
	if err := model.WriteFile(c.output, m); err != nil {
		return err
	}
	c.warn(doubts)
	r := importReport{
		Model: c.output, Library: m.Info.Method, Boosters: len(paths), Bits: m.Encoder.Bits(), Dims: m.Dim(),
		Fingerprint: m.Fingerprint().String(), Doubts: doubts,
	}
	for _, out := range m.Encoder.(*model.Boosted).Outputs {
		r.Trees += len(out.Trees)
		for _, t := range out.Trees {
			r.Nodes += len(t)
		}
	}
	return c.printLine(r, "%s: %d bits over %d dimensions, %d trees of %s, fingerprint %s",
		r.Model, r.Bits, r.Dims, r.Trees, r.Library, r.Fingerprint)
}
