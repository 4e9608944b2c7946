package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hashgrove/internal/cli"
	"hashgrove/internal/dataset"
	"hashgrove/internal/fasthash"
	"hashgrove/internal/fasthash/inference"
	"hashgrove/internal/items"
	"hashgrove/internal/method"
	"hashgrove/internal/model"
	"hashgrove/internal/picture"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// trainCommand holds the flags of train.
type trainCommand struct {
	*app
	data    dataFlags
	similar similarity
	options method.Options

	output, grow, method, balance string
	pictures                      pictureTraining
	validation                    float64
	effort                        effortFlag
	memory                        memoryFlag
	file                          cli.Output
	columns                       columnReport
}

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
	o, t := &c.options, &c.options.FastHash
	f.StringVarP(&c.output, "output", "o", "", "the `MODEL` file to write")
	c.file.Bind(f)
	f.IntVar(&o.Bits, "bits", 64, "code length in `BITS`")
	f.StringVar(&c.method, "method", method.FastHash, "hash `METHOD`: "+strings.Join(method.Names(), ", "))
	c.pictures.bind(f)
	f.StringSliceVar(&o.HoldOut, "hold-out", nil, "`CLASSES` to keep out of training; eval then measures them separately")
	f.Float64Var(&c.validation, "validation", 0, "`SHARE` of the rows to hold out, for the figures at the end and for "+
		"--patience; 0 learns from all rows (default 0.05 but at most 1000 rows; 0.1 for --patience)")
	cli.Group(f, "Training")
	c.data.bind(f, "")
	f.BoolVar(&c.data.Missing, "missing", false, "take NaN, empty fields, NA and null for missing values, which get a "+
		"bin of their own; the model then takes such values everywhere")
	cli.Group(f, "Data")
	c.similar.bind(f)

	c.effort.bind(f)
	f.BoolVar(&o.Run.Resume, "resume", false, "resume an interrupted training")
	f.BoolVar(&o.Run.Restart, "restart", false, "discard an interrupted training and start again")
	f.StringVar(&c.grow, "grow", "", "start from the bits of this `MODEL` and add more")
	f.DurationVar(&o.Run.TimeLimit, "time-limit", 0, "stop after this `TIME`, with fewer bits; for instance 10m")
	f.IntVar(&o.Run.CrossFit, "cross-fit", 0, "also make codes for the training rows from trees that did not see them, "+
		"in this `NUMBER` of parts, 2 to 20, for index build --cross-fit; takes about that many times as long")
	f.IntVar(&o.Run.Patience, "patience", 0, "stop after this `NUMBER` of bits without a better validation; 0 means never")
	c.memory.bind(f)
	cli.Group(f, groupFastHash)

	f.StringVar((*string)(&t.Inference.Method), "inference", string(inference.BlockGC),
		"`ALGORITHM`: blockgc, icm or spectral")
	f.StringVar((*string)(&t.Inference.Loss), "loss", string(inference.KSH), "pair `LOSS`: ksh, bre or hinge")
	f.IntVar(&t.Inference.Sweeps, "sweeps", 2, "`NUMBER` of sweeps over the blocks per bit")
	f.StringVar(&c.balance, "balance", "", "weights `S:D` of similar and dissimilar pairs, or auto for equal shares "+
		"(default auto for tags, else 1:1), or classes to make all classes count alike, however many rows they have")
	f.IntVar(&t.Similar.SampleSimilar, "sample-similar", 0,
		"`NUMBER` of similar rows to sample per row, instead of using all pairs (released code: 100)")
	f.IntVar(&t.Similar.SampleDissimilar, "sample-dissimilar", 0,
		"`NUMBER` of dissimilar rows to sample per row, instead of using all pairs (released code: 100)")
	f.IntVar(&t.Candidates, "candidate-bits", 0, "infer this `NUMBER` of candidates for each bit, up to 64, and take "+
		"the one that quick trees predict best for rows they did not learn from; 6 take up to a quarter longer; 1 takes the "+
		"first (default: by --effort)")
	f.StringVar((*string)(&t.Order), "order", string(fasthash.Stagewise),
		"`ORDER`: stagewise, or tsh to infer all bits first")
	cli.Group(f, groupStep1)
	c.bindTrees(f)

	f.IntVar(&o.PCA, "pca", 0, "`NUMBER` of principal components to reduce the vectors to first; 0 means no reduction")
	f.IntVar(&o.Anchors, "anchors", 0,
		"`NUMBER` of points that kernel methods and anchor graphs compare with; 0 means the method's own default")
	f.IntVar(&o.Rows, "rows", 0, "largest `NUMBER` of rows to learn from; 0 means the method's own default, negative all")
	f.StringVar(&o.Standardize, "standardize", method.StandardizeAuto, "centre the columns and divide them by their "+
		"standard deviation first, `WHEN`: on, off, or auto: where their scales differ and it helps a sample of the rows")
	cli.Group(f, groupOthers)
}

// bindTrees adds the flags of Step 2.
func (c *trainCommand) bindTrees(f *pflag.FlagSet) {
	t := &c.options.FastHash
	f.StringVar((*string)(&t.Learner), "learner", string(fasthash.Trees), "`LEARNER`: trees or linear (SVM)")
	f.StringVar((*string)(&t.Trees.Boost), "boost", "",
		"boosting `ALGORITHM`: adaboost or logistic (default: by --effort)")
	f.IntVar(&t.Trees.Rounds, "rounds", 0, "`NUMBER` of boosted trees per bit (default: by --effort)")
	f.Float64Var(&t.Trees.Rate, "rate", 0, "`SHARE` of a Newton step per tree of logistic boosting (default: by --effort)")
	f.IntVar(&t.Trees.LeafBits, "leaf-bits", 0,
		"leaves of logistic boosting have 2^`NUMBER` values (default: by --effort)")
	f.IntVar(&t.Trees.Depth, "depth", 0, "`DEPTH` of the trees, 1 to 8 (default: by --effort)")
	f.IntVar(&t.Trees.NodeFeatures, "node-features", 0, "`NUMBER` of candidate columns per tree node (LazyBoost); "+
		"negative means all (default: by --effort, or 200, or all of up to 512)")
	f.Float64Var(&t.Trees.TrimMass, "trim", 0, "`SHARE` of the weight that a tree sees; 1 means all; the paper says 0.9 "+
		"(default: by --effort, or 0.99)")
	f.StringVar(&t.LinearColumns, "linear-columns", "", "`COLUMNS` to offer to the trees besides: off; linear, a score "+
		"for each class or frequent tag; kernel, also scores by Gaussians; auto or auto-kernel, if they help rows held out "+
		"(default: by --effort)")
	f.IntVar(&t.Trees.MinNode, "min-node", 5,
		"a node with this `NUMBER` of rows of one sign or fewer becomes a leaf; negative means none does")
	f.IntVar(&t.Trees.NodeRows, "node-rows", 0,
		"`NUMBER` of rows drawn by weight to split a node (FastH-N: 5000); 0 means all")
	f.Float64Var(&t.Trees.RowShare, "row-share", 0,
		"`SHARE` of the rows that each tree sees, drawn anew (default: by --effort, or all)")
	f.Float64Var(&t.Trees.ColumnShare, "column-share", 0,
		"`SHARE` of the columns that each tree sees, drawn anew (default: by --effort, or all)")
	f.IntVar(&t.Trees.EarlyStop, "early-stop", 0, "hold a tenth of the rows out of each bit, and end the bit when this "+
		"`NUMBER` of trees more does not help them; --rounds is then the most; negative means never "+
		"(default: by --effort, or never)")
	f.StringVar((*string)(&t.Bins), "bins", "", "how columns are cut into 256 `BINS`: linear from the least to the "+
		"greatest value (the paper), quantile, or hybrid: linear unless a few far values leave the others too few bins "+
		"(default hybrid; linear with --effort paper)")
	f.BoolVar(&t.EqualRowWeights, "equal-row-weights", false, "start boosting from equal weights, as in the paper's text")
	f.Float64Var(&t.Linear.C, "svm-c", 0, "`C` of the linear learner; 0 means 1e6 / rows")
	cli.Group(f, groupStep2)
}

func (c *trainCommand) run(ctx context.Context, flags *pflag.FlagSet, args []string) error {
	began := time.Now()
	if err := cmp.Or(c.check(flags), c.checkOutput(args)); err != nil {
		return err
	}
	var as *picture.Preparation
	if m := c.options.Run.Grow; m != nil {
		if c.data.Missing && !m.TakesMissing() {
			return cli.Usage("missing-values", "--missing: the model to grow does not take missing values; train a new one")
		}
		c.data.asModel(m)
		as = m.Pictures
	}
	defer c.memory.limitMemory(c.output)()
	set, err := c.data.open(args, as)
	if err != nil {
		return err
	}
	src, extractor, err := c.vectors(set)
	if err != nil {
		return err
	}
	if kept, ok := src.(*vectors.Kept); ok {
		defer kept.Close()
	}
	d, err := c.scan(ctx, src, supervision.ScanOptions{Digest: true, Hashes: true, Memory: c.memory.room})
	if err != nil {
		return err
	}
	d.MinShared = c.similar.minShared
	if err := c.readPairs(d); err != nil {
		return err
	}
	c.noteColumns(columnsOf(set), set.Dim())
	c.warn(d.Warnings)
	c.warnOfCrowding(d)
	if len(c.options.HoldOut) > 0 && d.Labels == nil {
		return cli.Usagef("--hold-out needs classes: use --labels or --label")
	}
	if err := c.choose(ctx, flags, src, d); err != nil {
		return err
	}
	report := &fasthash.Report{Rows: d.Rows}
	c.options.Run.Report, c.options.Run.Features = report, extractor
	m, took, err := c.learn(ctx, d)
	if err != nil {
		return err
	}
	c.noteMissing(m, d)
	m.Features = extractor
	if m.Pictures = as; c.options.Run.Grow == nil { // else as the bits it begins with
		m.Pictures = c.pictures.preparation(src)
	}
	if extractor == nil {
		c.data.remember(&m.Info, set)
	}
	if grown := c.options.Run.Grow; grown != nil && len(grown.Info.Features) > 0 {
		m.Info.Features = grown.Info.Features
	}
	c.columns = columnsOf(set)
	if err := model.WriteFile(c.output, m); err != nil {
		return err
	}
	if made := report.CrossFitted; made != nil {
		if err := items.WriteCrossFit(items.CrossFitPath(c.output), m, made.Rows, made.Codes); err != nil {
			return err
		}
	}
	if err := (fasthash.Method{Run: c.options.Run}).Finish(); err != nil {
		return err
	}
	if c.method != method.FastHash {
		return c.printMethodReport(m, took, time.Since(began))
	}
	return c.printReport(m, report, time.Since(began))
}

// warnOfCrowding says when linear bins leave a column nothing to be split by.
func (c *trainCommand) warnOfCrowding(d *supervision.Data) {
	if o, err := c.options.FastHash.ForData(d.Rows); err == nil && o.Bins == vectors.Linear {
		if text := d.Crowding(o.Bins); text != "" {
			c.warn([]string{text + "; or cut the columns with --bins hybrid"})
		}
	}
}

// choose settles what depends on the rows: how many are held out, the effort, and where they lie.
func (c *trainCommand) choose(
	ctx context.Context, flags *pflag.FlagSet, src vectors.Source, d *supervision.Data,
) error {
	if err := c.chooseValidation(flags, d); err != nil {
		return err
	}
	if err := c.chooseEffort(ctx, src, d); err != nil {
		return err
	}
	return c.planMemory(d)
}

// readPairs makes the pairs of --pairs the supervision, and says so where there is another.
func (c *trainCommand) readPairs(d *supervision.Data) error {
	if c.similar.pairs == "" {
		return nil
	}
	if d.Labels != nil || d.Tags != nil {
		c.note("similarity comes from %s alone: labels and tags are not learned from", c.similar.pairs)
	}
	return dataset.ReadPairs(c.similar.pairs, d)
}

// check finds what is wrong with the command line, before anything is read, and fills in the options.
func (c *trainCommand) check(flags *pflag.FlagSet) error {
	o := &c.options
	if c.output == "" {
		return cli.Usage("missing-flag", "train needs -o MODEL, the file to write")
	}
	var err error
	if c.data, err = c.data.forSimilarity(); err != nil {
		return err
	}
	if err := cmp.Or(c.checkMethod(flags), c.similar.check()); err != nil {
		return err
	}
	similar, dissimilar := o.FastHash.Similar.SampleSimilar, o.FastHash.Similar.SampleDissimilar
	switch {
	case o.Run.Resume && o.Run.Restart:
		return cli.Usagef("--resume and --restart cannot be combined")
	case (similar > 0) != (dissimilar > 0) || similar < 0 || dissimilar < 0:
		return cli.Usagef("--sample-similar and --sample-dissimilar go together, both positive")
	case flags.Changed("cross-fit") && (o.Run.CrossFit < 2 || o.Run.CrossFit > 20):
		return cli.Usage("bad-flag-value", "--cross-fit %d: give a number of parts from 2 to 20", o.Run.CrossFit)
	case o.Run.CrossFit > 0 && c.grow != "":
		return cli.Usage("conflicting-flags",
			"--cross-fit and --grow cannot be combined: what the first bits were to be is not known any more")
	case c.similar.pairs != "" && len(o.HoldOut) > 0:
		return cli.Usagef("--hold-out needs classes, not --pairs")
	case !(c.validation >= 0 && c.validation < 1):
		return cli.Usage("bad-flag-value", "--validation %v is not a share between 0 and 1", c.validation)
	case o.Run.Patience > 0 && c.validation == 0 && flags.Changed("validation"):
		return cli.Usage("conflicting-flags", "--patience watches rows that are held out: --validation must be above 0")
	}
	o.Seed, o.Threads = c.seed, c.threads
	if flags.Changed("candidate-bits") && o.FastHash.Candidates == 0 {
		o.FastHash.Candidates = 1 // not those of the effort
	}
	if c.method == method.FastHash {
		o.Run.Checkpoint = c.output + ".ckpt"
	}
	err = cmp.Or(c.parseBalance(&o.FastHash), c.effort.parse(&o.FastHash), c.pictures.check(o),
		c.memory.parse(c.pictures.features))
	if err != nil {
		return err
	}
	check := o.FastHash
	check.Bits = o.Bits
	if _, err := check.WithDefaults(); err != nil {
		return cli.UsageError(err)
	}
	if c.grow != "" {
		if o.Run.Grow, err = model.ReadFile(c.grow); err != nil {
			return err
		}
	}
	return c.pictures.checkGrown(o.Run.Grow)
}

// checkOutput tries the model's file. The model that grows is one that exists; an interrupted training has begun to
// write its file.
func (c *trainCommand) checkOutput(args []string) error {
	file := c.file
	file.FileOnly = true
	if _, err := os.Stat(c.output + ".ckpt"); err == nil && c.options.Run.Resume {
		file.Force = true
	}
	outputs := []string{c.output}
	if c.options.Run.CrossFit > 0 {
		outputs = append(outputs, items.CrossFitPath(c.output))
	}
	return file.Check(outputs, c.data.inputs(args, c.similar.pairs, c.pictures.features))
}

// learn trains with progress and returns the model and the seconds that took.
func (c *trainCommand) learn(ctx context.Context, d *supervision.Data) (*model.Model, time.Duration, error) {
	about, _ := method.Describe(c.method) // it was checked
	aside := ""
	if s := c.options.Validation; s > 0 {
		aside = fmt.Sprintf(", %.3g %% of them held out", 100*s)
	}
	c.note("learning %d bits with %s from %s of %d dimensions%s", c.options.Bits, about.Title,
		c.pictures.rows(d.Rows, c.options.FastHash.Similar), d.Dim(), aside)
	var p *cli.Progress
	run := &c.options.Run
	run.Progress = func(b fasthash.Bit) {
		if p == nil {
			p = c.startProgress("bit", c.options.Bits, b.Bit-1)
			p.BeganEarlier(b.Inference + b.Boost + b.Folds)
		}
		note := fmt.Sprintf("objective %.4f  error %.4f", b.Stat.Objective, b.Stat.TrainError)
		if b.Stat.HeldOut > 0 {
			note += fmt.Sprintf("  error of rows held out %.4f", b.Stat.HeldOutError)
		}
		if b.Stat.Validation > 0 {
			note += fmt.Sprintf("  validation MAP %.4f", b.Stat.Validation)
		}
		p.Step(b.Bit, note)
	}
	began := time.Now()
	c.options.Doubt = func(text string) { c.warn([]string{text}) }
	m, err := method.Train(ctx, c.method, d, c.options)
	if p != nil {
		p.End()
	}
	switch {
	case errors.Is(err, context.Canceled) && run.Checkpoint != "":
		return nil, 0, cli.WithAdvice(err, "the finished bits are safe; the same command with --resume continues from there")
	case errors.Is(err, syscall.ENOSPC) && run.Checkpoint != "":
		return nil, 0, fmt.Errorf("%w; the finished bits are safe: make room, and --resume continues from there", err)
	case errors.Is(err, fasthash.ErrCheckpoint):
		return nil, 0, fmt.Errorf("%w; --resume continues it, --restart discards it", err)
	case errors.Is(err, fasthash.ErrOtherBits):
		return nil, 0, fmt.Errorf("%w; a model grows with --grow MODEL, and --restart discards the bits", err)
	case err != nil:
		return nil, 0, c.memory.explain(err)
	}
	if run.Report.Dropped > 0 {
		c.note("%d bits of the checkpoint were damaged and were learned again", run.Report.Dropped)
	}
	if run.Report.Resumed > 0 {
		c.note("%d bits came from the checkpoint", run.Report.Resumed)
	}
	if run.Report.Stopped != "" {
		c.note("stopped at %d of %d bits: %s", m.Encoder.Bits(), c.options.Bits, run.Report.Stopped)
	}
	return m, time.Since(began), nil
}

// parseBalance sets the weights of similar and dissimilar pairs from --balance.
func (c *trainCommand) parseBalance(o *fasthash.Options) error {
	switch c.balance {
	case "":
		return nil
	case "auto":
		o.BalancePairs = true
		return nil
	case "classes":
		o.Inference.BalanceClasses = true
		return nil
	}
	s, d, ok := strings.Cut(c.balance, ":")
	var errS, errD error
	o.Inference.SimilarWeight, errS = strconv.Atoi(s)
	o.Inference.DissimilarWeight, errD = strconv.Atoi(d)
	if !ok || errS != nil || errD != nil || o.Inference.SimilarWeight < 1 || o.Inference.DissimilarWeight < 1 {
		return cli.Usagef("--balance %s is neither auto, nor classes, nor two whole numbers like 9:1", c.balance)
	}
	return nil
}
