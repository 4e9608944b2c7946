package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hashgrove/internal/cli"
	"hashgrove/internal/dataset"
	foreign "hashgrove/internal/export"
	"hashgrove/internal/model"
	"hashgrove/internal/plain"
	"hashgrove/internal/vectors"
)

// importCommand is the verb import, which reads models of other libraries.
type importCommand struct {
	*app
	output         string
	check, margins string
	file           cli.Output
}

func (a *app) imports() *cobra.Command {
	c := &importCommand{app: a}
	cmd := &cobra.Command{
		Use:   "import BOOSTER... -o MODEL",
		Short: "Make a model from XGBoost or LightGBM boosters",
		Long: `Make a model from boosters that XGBoost saved as JSON or LightGBM as text. Every output of a booster becomes a
bit: one booster per bit, in the order of the files, or one booster with many outputs (classes, or several targets).
A bit is 1 if the margin of its output is above 0, that is, if a classifier says yes:

  XGBoost   Booster.predict(output_margin=True) > 0, saved with save_model("model.json")
  LightGBM  Booster.predict(raw_score=True) > 0, saved with save_model("model.txt")

Margins are sums of the same numbers in the same order and precision, so codes equal the library's for every vector,
and encoding takes a fraction of the time. All trees count. Vectors must have no missing values.

--check ROWS and --margins FILE compare the library's margins for some rows with the model's, to the last digit; if they
differ, no model is written. They also settle what a file cannot tell: XGBoost starts with the logit of base_score,
whose last digit depends on its C library, and the model adopts the one that fits.

Refused, because their margins cannot be reproduced: categorical splits, zero_as_missing, XGBoost's dart and gblinear,
leaves with several values (multi_output_tree), LightGBM's linear leaves, and XGBoost objectives whose margin is not a
yes or no, such as count:poisson.`,
		Example: `  hashgrove import bit-0.json bit-1.json -o boosters.hgm
  hashgrove import bit-0.json bit-1.json --check rows.csv --margins margins.csv -o checked.hgm
  hashgrove import booster.txt -o booster.hgm`,
		Args: cli.AtLeast(1, "boosters, and -o MODEL,"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	f := cmd.Flags()
	f.StringVarP(&c.output, "output", "o", "", "the `MODEL` to make (.hgm)")
	c.file.Bind(f)
	cli.Group(f, "Output")
	f.StringVar(&c.check, "check", "", "`ROWS` of vectors to compare margins for, with --margins")
	f.StringVar(&c.margins, "margins", "",
		"`FILE` with the margins that the library predicted for --check: a row for each of its rows, a column for each bit")
	cli.Group(f, "Check")
	return cmd
}

// importReport is the output of import --json.
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
	Checked     int      `json:"checked_rows,omitempty"`
	Moved       int      `json:"moved_bases,omitempty"` // bases rounded the other way to match --margins
}

func (c *importCommand) run(ctx context.Context, paths []string) error {
	if c.output == "" {
		return cli.Usage("missing-flag", "import needs -o MODEL, the model to make")
	}
	if (c.check == "") != (c.margins == "") {
		return cli.Usage("missing-flag", "--check and --margins go together: rows, and what the library predicted for them")
	}
	c.file.FileOnly = true
	if err := c.file.Check([]string{c.output}, append([]string{c.check, c.margins}, paths...)); err != nil {
		return err
	}
	m, doubts, err := foreign.ReadBoosters(paths...)
	if err != nil {
		return err
	}
	r := importReport{
		Model: c.output, Library: m.Info.Method, Boosters: len(paths), Bits: m.Encoder.Bits(), Dims: m.Dim(),
	}
	if c.check != "" {
		if err := c.compare(ctx, m, &r); err != nil {
			return err
		}
	} else if r.Doubts = doubts; len(doubts) > 0 {
		c.warn(append(doubts, "to settle it, compare with predictions of the library: --check ROWS --margins FILE"))
	}
	r.Fingerprint = m.Fingerprint().String()
	if err := model.WriteFile(c.output, m); err != nil {
		return err
	}
	for _, out := range m.Encoder.(*model.Boosted).Outputs {
		r.Trees += len(out.Trees)
		for _, t := range out.Trees {
			r.Nodes += len(t)
		}
	}
	checked := ""
	if r.Checked > 0 {
		checked = fmt.Sprintf(", the margins of %s agree", plain.Count(r.Checked, "row", "rows"))
	}
	return c.printLine(r, "%s: %d bits over %d dimensions, %d trees of %s, fingerprint %s%s",
		r.Model, r.Bits, r.Dims, r.Trees, r.Library, r.Fingerprint, checked)
}

// compare compares the margins of the model with those of the original library.
func (c *importCommand) compare(ctx context.Context, m *model.Model, r *importReport) error {
	x, err := readMatrix(ctx, c.check)
	if err != nil {
		return err
	}
	margins, err := readMatrix(ctx, c.margins)
	if err != nil {
		return err
	}
	if r.Moved, err = foreign.MatchMargins(ctx, m, x, margins); err != nil {
		return fmt.Errorf("--check %s: %w", c.check, err)
	}
	r.Checked = x.Rows
	return nil
}

// readMatrix reads all rows of a file.
func readMatrix(ctx context.Context, path string) (vectors.Matrix, error) {
	set, err := dataset.Open(dataset.Spec{Paths: []string{path}})
	if err != nil {
		return vectors.Matrix{}, err
	}
	x := vectors.Matrix{Cols: set.Dim()}
	for chunk, err := range set.Chunks(ctx) {
		if err != nil {
			return x, err
		}
		x.Rows, x.Data = x.Rows+chunk.X.Rows, append(x.Data, chunk.X.Data...)
	}
	return x, nil
}
