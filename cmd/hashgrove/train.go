package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hashgrove"
	"hashgrove/internal/cli"
	"hashgrove/internal/dataset"
	"hashgrove/internal/fasthash"
	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/fasthash/inference"
	"hashgrove/internal/fault"
	"hashgrove/internal/items"
	"hashgrove/internal/method"
	"hashgrove/internal/model"
	"hashgrove/internal/picture"
)

// trainCommand holds the flags of train.
type trainCommand struct {
	*app
	data    dataFlags
	similar similarity
	options hashgrove.Options

	grow, memory string
	file         cli.Output
}

// Flag groups of train that only some methods use.
const (
	groupFastHash = "FastHash"
	groupStep1    = "Step 1 of FastHash: choose the bits"
	groupStep2    = "Step 2 of FastHash: learn to predict them"
	groupOthers   = "Other methods"
)

func (a *app) train() *cobra.Command {
	c := &trainCommand{app: a}
	cmd := &cobra.Command{
		Use:   "train DATA... -o MODEL",
		Short: "Learn hash functions from labelled vectors",
		Long: `Learn hash functions that give similar rows similar codes. Similarity comes from class labels
(--labels FILE or --label COLUMN), tags (--tags) or explicit pairs (--pairs).

The model remembers the names of its columns, so that later commands take them from a table by themselves. A
model that exists is overwritten only with --force, also when it is the one that --grow names.

After every bit the state is saved in MODEL.ckpt until the model is written: --resume continues an
interrupted training and gives the same model, byte for byte.

A part of the rows is held out of training and judged at the end: as new items, which is what an index gets, beside
rows that were learned from. --validation 0 learns from all rows and judges none.

--cross-fit also writes codes of the training rows that were made without them, to MODEL's name with the end
.crossfit.hgc. With them, "hashgrove index build --cross-fit" makes learned and new items alike.

--method trains another method than FastHash, one of those that compare lists; its model encodes and
searches like any other. Such a training cannot be resumed.`,
		Example: `  hashgrove train items.csv --label category --bits 16 -o items.hgm
  hashgrove train items.csv --label category --bits 24 --grow items.hgm -o longer.hgm
  hashgrove train items.csv --label category --bits 16 --cross-fit 5 -o fair.hgm
  hashgrove train vectors.npy --labels classes.txt --loss hinge --depth 3 --bits 8 -o hinge.hgm
  hashgrove train vectors.npy --labels classes.txt --method ksh --anchors 100 --pca 4 --bits 8 -o ksh.hgm`,
		Args: cli.AtLeast(1, "data to learn from"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), cmd.Flags(), args) },
	}
	c.bind(cmd.Flags())
	return cmd
}

// bind adds the flags of train.
func (c *trainCommand) bind(f *pflag.FlagSet) {
	o := &c.options
	f.StringVarP(&o.Output, "output", "o", "", "the `MODEL` file to write")
	c.file.Bind(f)
	f.IntVar(&o.Bits, "bits", 0, "code length in `BITS`")
	showDefault(f, "bits", strconv.Itoa(fasthash.DefaultBits))
	f.StringVar(&o.Method, "method", method.FastHash, "hash `METHOD`: "+strings.Join(method.Names(), ", "))
	bindPictureTraining(f, &o.Pictures)
	f.StringSliceVar(&o.HoldOut, "hold-out", nil, "`CLASSES` to keep out of training; eval then measures them separately")
	f.Var(&optionalNumber{&o.Validation}, "validation", "`SHARE` of the rows to hold out, for the figures at the end "+
		"and for --patience; 0 learns from all rows (default 0.05 but at most 1000 rows; 0.1 for --patience)")
	cli.Group(f, "Training")
	c.data.bind(f, "")
	f.BoolVar(&c.data.Missing, "missing", false, "take NaN, empty fields, NA and null for missing values, which get a "+
		"bin of their own; the model then takes such values everywhere")
	cli.Group(f, "Data")
	c.similar.bind(f)

	f.StringVar((*string)(&o.Effort), "effort", "", "`EFFORT` to spend: quick; normal, with logistic "+
		"boosting, further columns where they help, and candidate bits; best, with more and deeper trees; or paper for the "+
		"settings of the paper; or a time such as 10m, for the greatest effort that should fit in it")
	showDefault(f, "effort", string(fasthash.Normal))
	f.BoolVar(&o.Resume, "resume", false, "resume an interrupted training")
	f.BoolVar(&o.Restart, "restart", false, "discard an interrupted training and start again")
	f.StringVar(&c.grow, "grow", "", "start from the bits of this `MODEL` and add more")
	f.DurationVar(&o.TimeLimit, "time-limit", 0, "stop after this `TIME`, with fewer bits; for instance 10m")
	f.IntVar(&o.CrossFit, "cross-fit", 0, "also make codes for the training rows from trees that did not see them, "+
		"in this `NUMBER` of parts, 2 to 20, for index build --cross-fit; takes about that many times as long")
	f.IntVar(&o.Patience, "patience", 0, "stop after this `NUMBER` of bits without a better validation; 0 means never")
	f.StringVar(&c.memory, "memory", "", "`SIZE` of memory to take at most, such as 8GB: what does not fit lies in "+
		"mapped files in the folder of the model, or in TMPDIR; the model is the same, byte for byte (default no limit)")
	cli.Group(f, groupFastHash)

	f.StringVar(&o.Inference, "inference", "", "`ALGORITHM`: blockgc, icm or spectral")
	f.StringVar(&o.Loss, "loss", "", "pair `LOSS`: ksh, bre or hinge")
	f.IntVar(&o.Sweeps, "sweeps", 0, "`NUMBER` of sweeps over the blocks per bit")
	f.StringVar(&o.Balance, "balance", "", "weights `S:D` of similar and dissimilar pairs, or auto for equal shares "+
		"(default auto for tags, else 1:1), or classes to make all classes count alike, however many rows they have")
	f.IntVar(&o.SampleSimilar, "sample-similar", 0,
		"`NUMBER` of similar rows to sample per row, instead of using all pairs (released code: 100)")
	f.IntVar(&o.SampleDissimilar, "sample-dissimilar", 0,
		"`NUMBER` of dissimilar rows to sample per row, instead of using all pairs (released code: 100)")
	f.IntVar(&o.Candidates, "candidate-bits", 0, "infer this `NUMBER` of candidates for each bit, up to 64, and take "+
		"the one that quick trees predict best for rows they did not learn from; 6 take up to a quarter longer; 1 takes the "+
		"first (default: by --effort)")
	f.StringVar(&o.Order, "order", "", "`ORDER`: stagewise, or tsh to infer all bits first")
	step1, _ := inference.Options{}.WithDefaults() // the zero value is valid
	for name, value := range map[string]any{
		"inference": step1.Method, "loss": step1.Loss, "sweeps": step1.Sweeps, "order": fasthash.Stagewise,
	} {
		showDefault(f, name, fmt.Sprint(value))
	}
	cli.Group(f, groupStep1)
	c.bindTrees(f)

	f.IntVar(&o.PCA, "pca", 0, "`NUMBER` of principal components to reduce the vectors to first; 0 means no reduction")
	f.IntVar(&o.Anchors, "anchors", 0,
		"`NUMBER` of points that kernel methods and anchor graphs compare with; 0 means the method's own default")
	f.IntVar(&o.Rows, "rows", 0, "largest `NUMBER` of rows to learn from; 0 means the method's own default, negative all")
	f.StringVar(&o.Standardize, "standardize", "", "centre the columns and divide them by their "+
		"standard deviation first, `WHEN`: on, off, or auto: where their scales differ and it helps a sample of the rows")
	showDefault(f, "standardize", method.StandardizeAuto)
	cli.Group(f, groupOthers)
}

// bindTrees adds the flags of Step 2.
func (c *trainCommand) bindTrees(f *pflag.FlagSet) {
	o := &c.options
	f.StringVar(&o.Learner, "learner", "", "`LEARNER`: trees or linear (SVM)")
	showDefault(f, "learner", string(fasthash.Trees))
	f.StringVar(&o.Boost, "boost", "",
		"boosting `ALGORITHM`: adaboost or logistic (default: by --effort)")
	f.IntVar(&o.Rounds, "rounds", 0, "`NUMBER` of boosted trees per bit (default: by --effort)")
	f.Float64Var(&o.Rate, "rate", 0, "`SHARE` of a Newton step per tree of logistic boosting (default: by --effort)")
	f.IntVar(&o.LeafBits, "leaf-bits", 0,
		"leaves of logistic boosting have 2^`NUMBER` values (default: by --effort)")
	f.IntVar(&o.Depth, "depth", 0, "`DEPTH` of the trees, 1 to 8 (default: by --effort)")
	f.IntVar(&o.NodeFeatures, "node-features", 0, "`NUMBER` of candidate columns per tree node (LazyBoost); "+
		"negative means all (default: by --effort, or 200, or all of up to 512)")
	f.Float64Var(&o.Trim, "trim", 0, "`SHARE` of the weight that a tree sees; 1 means all; the paper says 0.9 "+
		"(default: by --effort, or 0.99)")
	f.StringVar(&o.LinearColumns, "linear-columns", "", "`COLUMNS` to offer to the trees besides: off; linear, a score "+
		"for each class or frequent tag; kernel, also scores by Gaussians; auto or auto-kernel, if they help rows held out "+
		"(default: by --effort)")
	f.IntVar(&o.MinNode, "min-node", 0,
		"a node with this `NUMBER` of rows of one sign or fewer becomes a leaf; negative means none does")
	trees, _ := boost.Options{}.WithDefaults() // the zero value is valid
	showDefault(f, "min-node", strconv.Itoa(trees.MinNode))
	f.IntVar(&o.NodeRows, "node-rows", 0,
		"`NUMBER` of rows drawn by weight to split a node (FastH-N: 5000); 0 means all")
	f.Float64Var(&o.RowShare, "row-share", 0,
		"`SHARE` of the rows that each tree sees, drawn anew (default: by --effort, or all)")
	f.Float64Var(&o.ColumnShare, "column-share", 0,
		"`SHARE` of the columns that each tree sees, drawn anew (default: by --effort, or all)")
	f.IntVar(&o.EarlyStop, "early-stop", 0, "hold a tenth of the rows out of each bit, and end the bit when this "+
		"`NUMBER` of trees more does not help them; --rounds is then the most; negative means never "+
		"(default: by --effort, or never)")
	f.StringVar(&o.Bins, "bins", "", "how columns are cut into 256 `BINS`: linear from the least to the "+
		"greatest value (the paper), quantile, or hybrid: linear unless a few far values leave the others too few bins "+
		"(default hybrid; linear with --effort paper)")
	f.BoolVar(&o.EqualRowWeights, "equal-row-weights", false, "start boosting from equal weights, as in the paper's text")
	f.Float64Var(&o.SVMCost, "svm-c", 0, "`C` of the linear learner; 0 means 1e6 / rows")
	cli.Group(f, groupStep2)
}

// showDefault shows in the help the default that the library chooses if a flag is not given.
func showDefault(f *pflag.FlagSet, name, value string) { f.Lookup(name).DefValue = value }

func (c *trainCommand) run(ctx context.Context, flags *pflag.FlagSet, args []string) error {
	if err := c.check(flags); err != nil {
		return err
	}
	if err := c.checkOutput(args); err != nil {
		return err
	}
	set, err := c.open(args)
	if err != nil {
		return err
	}
	columns := columnsOf(set)
	c.noteColumns(columns, set.Dim())
	display := &trainDisplay{app: c.app}
	c.options.Progress = display.show
	made, err := hashgrove.Train(ctx, hashgrove.From(set).WithPairsFile(c.similar.pairs), c.options)
	display.end()
	if err != nil {
		return c.explain(err)
	}
	return c.print(made, columns)
}

// open opens the data. If a model is to grow, it selects that model's columns and picture preparation.
func (c *trainCommand) open(args []string) (*dataset.Set, error) {
	var as *picture.Preparation
	if m := c.options.Grow; m != nil {
		if c.data.Missing && !m.TakesMissing() {
			return nil, cli.Usage("missing-values",
				"--missing: the model to grow does not take missing values; train a new one")
		}
		c.data.asModel(m)
		as = m.Pictures
	}
	return c.data.open(args, as)
}

// check validates the command line before anything is read, and completes the options.
func (c *trainCommand) check(flags *pflag.FlagSet) (err error) {
	o := &c.options
	if o.Output == "" {
		return cli.Usage("missing-flag", "train needs -o MODEL, the file to write")
	}
	if c.data, err = c.data.forSimilarity(); err != nil {
		return err
	}
	if err := c.similar.check(); err != nil {
		return err
	}
	if flags.Changed("cross-fit") && o.CrossFit == 0 {
		o.CrossFit = -1 // not a valid number of parts
	}
	if flags.Changed("candidate-bits") && o.Candidates == 0 {
		o.Candidates = 1 // not the number chosen by the effort
	}
	o.Seed, o.Threads, o.MinShared = c.seed, c.threads, c.similar.minShared
	if c.memory != "" {
		if o.Memory, err = parseBytes(c.memory); err != nil {
			return cli.Usage("bad-flag-value", "--memory %s: %v", c.memory, err)
		}
	}
	if err := o.Check(); err != nil || c.grow == "" {
		return usage(err)
	}
	if o.Grow, err = model.ReadFile(c.grow); err != nil {
		return err
	}
	return usage(o.Check())
}

// usage turns an error about options into a usage error.
func usage(err error) error {
	if e, ok := errors.AsType[*hashgrove.OptionError](err); ok {
		return cli.Usage(e.Code, "%s", e.Flags())
	}
	if err != nil {
		return cli.UsageError(err)
	}
	return nil
}

// checkOutput checks that the model file can be written. The model to grow may be overwritten with --force, and an
//
// interrupted training has already begun its file.
func (c *trainCommand) checkOutput(args []string) error {
	file, o := c.file, &c.options
	file.FileOnly = true
	if _, err := os.Stat(o.Output + ".ckpt"); err == nil && o.Resume {
		file.Force = true
	}
	outputs := []string{o.Output}
	if o.CrossFit > 0 {
		outputs = append(outputs, items.CrossFitPath(o.Output))
	}
	return file.Check(outputs, c.data.inputs(args, c.similar.pairs, o.Pictures.Features))
}

// explain adds helpful flags to training errors.
func (c *trainCommand) explain(err error) error {
	resumable := c.options.Method == method.FastHash
	if _, ok := errors.AsType[*hashgrove.OptionError](err); ok {
		return usage(err)
	}
	switch {
	case errors.Is(err, context.Canceled) && resumable:
		return cli.WithAdvice(err, "the finished bits are safe; the same command with --resume continues from there")
	case errors.Is(err, syscall.ENOSPC) && resumable:
		return fmt.Errorf("%w; the finished bits are safe: make room, and --resume continues from there", err)
	case errors.Is(err, fasthash.ErrCheckpoint):
		return fmt.Errorf("%w; --resume continues it, --restart discards it", err)
	case errors.Is(err, fasthash.ErrOtherBits):
		return fmt.Errorf("%w; a model grows with --grow MODEL, and --restart discards the bits", err)
	case fault.Is(err, "not-enough-memory"):
		return fmt.Errorf("%w: give a greater --memory than %s", err, c.memory)
	case errors.Is(err, fasthash.ErrNeedsMemory) && fault.Is(err, "linear-columns"):
		return fmt.Errorf("%w: give a greater --memory, or leave them out with --linear-columns off", err)
	case errors.Is(err, fasthash.ErrNeedsMemory):
		return fmt.Errorf("%w: give a greater --memory, or leave that out", err)
	}
	return err
}

// print reports how training went.
func (c *trainCommand) print(made *hashgrove.Training, columns columnReport) error {
	if made.Report.FastHash == nil {
		return c.printMethodReport(made, columns)
	}
	return c.printReport(made, columns)
}
