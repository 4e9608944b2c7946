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
	"hashgrove/internal/fault"
	"hashgrove/internal/gpu"
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

The model stores the names of its columns, and later commands pick them from a table automatically. Existing
models are overwritten only with --force, even with --grow.

Each finished bit is saved in MODEL.ckpt until the model is written. --resume continues an interrupted
training and gives the same model, byte for byte.

Some rows are held out of training to measure the model at the end, on new items (which is what an index gets)
and on training rows. --validation 0 learns from all rows and measures nothing.

--detail-bits 64 adds 64 bits of detail behind those of the class, with every method. Codes of one class are nearly
alike, so its items tie; the bits of detail keep what the vector looks like. They weigh an eighth of a bit each: the
class still comes first, and within it the items most like the query.

--method trains a method other than FastHash; "hashgrove help compare" lists them. Its model encodes and searches
like any other, but training cannot be resumed.`,
		Example: `  hashgrove train items.csv --label category --bits 16 -o items.hgm
  hashgrove train items.csv --label category --bits 24 --grow items.hgm -o longer.hgm
  hashgrove train items.csv --label category --bits 16 --detail-bits 4 -o detailed.hgm
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
	showDefault(f, "bits", strconv.Itoa(hashgrove.Defaults().Bits))
	f.IntVar(&o.DetailBits, "detail-bits", 0, "add this `NUMBER` of bits that keep the vector itself, such as 64, so "+
		"that items of one class are found in the order of their likeness; 0 means none, or with --grow those of the model")
	f.StringVar(&o.Method, "method", hashgrove.Defaults().Method,
		"hash `METHOD`: "+strings.Join(hashgrove.Methods(), ", "))
	bindPictureTraining(f, &o.Pictures)
	f.StringSliceVar(&o.HoldOut, "hold-out", nil, "`CLASSES` to exclude from training; eval then measures them separately")
	f.Var(&optionalNumber{&o.Validation}, "validation", "`SHARE` of the rows to hold out for the final figures; "+
		"0 learns from all rows (default 0.05 but at most 1000 rows)")
	cli.Group(f, "Training")
	c.data.bind(f, "Data")
	f.BoolVar(&c.data.Missing, "missing", false, "treat NaN, empty fields, NA, n/a, - and null as missing values, with a "+
		"bin of their own; the model then accepts them everywhere")
	cli.Group(f, "Data")
	c.similar.bind(f)

	f.StringVar((*string)(&o.Effort), "effort", "", "`EFFORT` to spend: quick; normal, with logistic "+
		"boosting, extra columns where they help, and candidate bits; best, with more and deeper trees; or paper, with the "+
		"paper's settings")
	showDefault(f, "effort", string(hashgrove.Defaults().Effort))
	f.BoolVar(&o.Resume, "resume", false, "resume an interrupted training")
	f.BoolVar(&o.Restart, "restart", false, "discard an interrupted training and start again")
	f.StringVar(&c.grow, "grow", "", "start from the bits of this `MODEL` and add more")
	f.StringVar(&c.memory, "memory", "", "largest `SIZE` of memory to use, such as 8GB: the rest goes to "+
		"mapped files in the model's folder, or in TMPDIR; the model is the same, byte for byte (default no limit)")
	cli.Group(f, groupFastHash)

	f.StringVar(&o.Inference, "inference", "", "`ALGORITHM`: blockgc, icm or spectral")
	f.StringVar(&o.Loss, "loss", "", "pair `LOSS`: ksh or hinge")
	f.IntVar(&o.Sweeps, "sweeps", 0, "`NUMBER` of sweeps over the blocks per bit")
	f.StringVar(&o.Balance, "balance", "", "weights `S:D` of similar and dissimilar pairs, or auto for equal shares, "+
		"or classes to give all classes equal weight, whatever their size (default auto for tags; classes with the "+
		"learner scores, for up to 1,000 rows of unequal classes, or if held-out rows say so; else 1:1)")
	f.IntVar(&o.SampleSimilar, "sample-similar", 0,
		"`NUMBER` of similar rows to sample per row, instead of using all pairs (released code: 100)")
	f.IntVar(&o.SampleDissimilar, "sample-dissimilar", 0,
		"`NUMBER` of dissimilar rows to sample per row, instead of using all pairs (released code: 100)")
	f.IntVar(&o.Candidates, "candidate-bits", 0, "infer this `NUMBER` of candidates for each bit, up to 64, and keep "+
		"the one that quick trees predict best on unseen rows; 6 take up to a quarter longer; 1 keeps the "+
		"first (default: by --effort)")
	f.StringVar(&o.Order, "order", "", "`ORDER`: stagewise, or tsh to infer all bits first")
	d := hashgrove.Defaults()
	for name, value := range map[string]string{
		"inference": d.Inference, "loss": d.Loss, "sweeps": strconv.Itoa(d.Sweeps), "order": d.Order,
	} {
		showDefault(f, name, value)
	}
	cli.Group(f, groupStep1)
	c.bindTrees(f)

	f.IntVar(&o.PCA, "pca", 0, "reduce the vectors to this `NUMBER` of principal components first; 0 means no reduction")
	f.IntVar(&o.Anchors, "anchors", 0,
		"`NUMBER` of anchors of kernel methods and anchor graphs; 0 means the method's default")
	f.IntVar(&o.Rows, "rows", 0, "largest `NUMBER` of rows to learn from; 0 means the method's default, negative all")
	f.StringVar(&o.Standardize, "standardize", "", "`WHEN` to centre the columns and divide them by their "+
		"standard deviation first: on, off, or auto, which means if scales differ and it helps on a sample of rows")
	showDefault(f, "standardize", d.Standardize)
	cli.Group(f, groupOthers)
}

// bindTrees adds the flags of Step 2.
func (c *trainCommand) bindTrees(f *pflag.FlagSet) {
	o := &c.options
	f.StringVar(&o.Learner, "learner", "", "what predicts bits, `LEARNER`: trees; scores, how much a row "+
		"looks like each class or tag; auto, whichever of these finds held-out rows better; or linear (SVM)")
	showDefault(f, "learner", hashgrove.Defaults().Learner)
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
	f.StringVar(&o.LinearColumns, "linear-columns", "", "extra `COLUMNS` for the trees: off; linear, a score "+
		"for each class or frequent tag; kernel, also scores from Gaussians; auto or auto-kernel, if they help on "+
		"held-out rows (default: by --effort)")
	f.IntVar(&o.MinNode, "min-node", 0,
		"a node with at most this `NUMBER` of rows of one sign becomes a leaf; negative means never")
	showDefault(f, "min-node", strconv.Itoa(hashgrove.Defaults().MinNode))
	f.IntVar(&o.NodeRows, "node-rows", 0,
		"`NUMBER` of rows drawn by weight to split a node (FastH-N: 5000); 0 means all")
	f.Float64Var(&o.RowShare, "row-share", 0,
		"`SHARE` of the rows drawn for each tree (default: by --effort, or all)")
	f.Float64Var(&o.ColumnShare, "column-share", 0,
		"`SHARE` of the columns drawn for each tree (default: by --effort, or all)")
	f.IntVar(&o.EarlyStop, "early-stop", 0, "hold a tenth of the rows out of each bit, and stop when this "+
		"`NUMBER` of further trees does not help them; --rounds is then the maximum; negative means never "+
		"(default: by --effort, or never)")
	f.StringVar(&o.Bins, "bins", "", "how columns are cut into 256 `BINS`: linear, from the smallest to the "+
		"largest value (the paper); quantile; or hybrid, linear unless outliers leave the other values too few bins "+
		"(default hybrid; linear with --effort paper)")
	f.BoolVar(&o.EqualRowWeights, "equal-row-weights", false, "start boosting from equal weights, as in the paper's text")
	bindDevice(f, &o.Device)
	f.Float64Var(&o.SVMCost, "svm-c", 0, "`C` of the linear learner; 0 means 1e6 / rows")
	cli.Group(f, groupStep2)
}

// bindDevice adds the flag for where trees are grown.
func bindDevice(f *pflag.FlagSet, device *string) {
	f.StringVar(device, "device", gpu.Auto, "`DEVICE` that grows trees: cpu; gpu; or auto, a GPU if there is one and much "+
		"to do; the model is the same, byte for byte")
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
				"--missing: the model to grow does not accept missing values; train a new one")
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

// checkOutput checks that the model file can be written. A resumed training may overwrite it.
func (c *trainCommand) checkOutput(args []string) error {
	file, o := c.file, &c.options
	file.FileOnly = true
	if _, err := os.Stat(o.Output + ".ckpt"); err == nil && o.Resume {
		file.Force = true
	}
	return file.Check([]string{o.Output}, c.data.inputs(args, c.similar.pairs, o.Pictures.Features))
}

// explain adds helpful flags to training errors.
func (c *trainCommand) explain(err error) error {
	resumable := c.options.Method == hashgrove.Defaults().Method
	if _, ok := errors.AsType[*hashgrove.OptionError](err); ok {
		return usage(err)
	}
	switch {
	case errors.Is(err, context.Canceled) && resumable:
		return cli.WithAdvice(err, "finished bits are saved; run the same command with --resume to continue")
	case errors.Is(err, syscall.ENOSPC) && resumable:
		return fmt.Errorf("%w; finished bits are saved: free some space and continue with --resume", err)
	case errors.Is(err, fasthash.ErrCheckpoint):
		return fmt.Errorf("%w; continue it with --resume or discard it with --restart", err)
	case errors.Is(err, fasthash.ErrOtherBits):
		return fmt.Errorf("%w; use --grow MODEL to add bits to a model, or --restart to discard the checkpoint", err)
	case fault.Is(err, "not-enough-memory"):
		return fmt.Errorf("%w: raise --memory, now %s", err, c.memory)
	case errors.Is(err, fasthash.ErrNeedsMemory) && fault.Is(err, "linear-columns"):
		return fmt.Errorf("%w: raise --memory, or use --linear-columns off", err)
	case errors.Is(err, fasthash.ErrNeedsMemory):
		return fmt.Errorf("%w: raise --memory, or drop that option", err)
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
