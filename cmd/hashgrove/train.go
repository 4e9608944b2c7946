package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hashgrove"
	"hashgrove/affinity"
	"hashgrove/baseline"
	"hashgrove/dataset"
	"hashgrove/eval"
	"hashgrove/feature"
	"hashgrove/inference"
	"hashgrove/model"
	"hashgrove/supervision"
	"hashgrove/training"
	"hashgrove/vectors"
)

// trainCommand holds the flags of train.
type trainCommand struct {
	*app
	data    dataFlags
	similar similarity
	trainer hashgrove.Trainer
	other   baseline.Common // of methods other than FastHash

	output, grow, features      string
	method                      string
	mirror                      bool
	resume, restart             bool
	timeLimit                   time.Duration
	patience                    int
	validation                  float64
	holdOut                     []string
	sampleSimilar, sampleOthers int
	balance                     string
}

func (a *app) train() *cobra.Command {
	c := &trainCommand{app: a}
	cmd := &cobra.Command{
		Use:   "train DATA... -o MODEL",
		Short: "Learn hash functions from labelled vectors",
		Long: `Learn hash functions that give similar rows similar codes. What is similar comes from classes
(--labels FILE or --label COLUMN), tags (--tags) or explicit pairs (--pairs).

After every bit the state is kept in MODEL.ckpt until the model is written: an interrupted
training goes on with --resume and gives the same model, byte for byte.

--method takes another method than FastHash, one of those that compare knows; its model encodes and
searches like any other. Such a training cannot be resumed.`,
		Example: `  hashgrove train items.csv --label category --bits 16 -o items.hgm
  hashgrove train items.csv --label category --bits 24 --grow items.hgm -o longer.hgm
  hashgrove train vectors.npy --labels classes.txt --loss hinge --depth 3 --bits 8 -o hinge.hgm
  hashgrove train vectors.npy --labels classes.txt --method ksh --anchors 100 --pca 4 --bits 8 -o ksh.hgm`,
		Args: atLeast(1, "data to learn from"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), cmd.Flags(), args) },
	}
	f := cmd.Flags()
	c.data.bind(f, "")
	c.similar.bind(f)
	f.StringVarP(&c.output, "output", "o", "", "the model file to write")
	f.IntVar(&c.trainer.Bits, "bits", 64, "code length")
	f.StringVar(&c.grow, "grow", "", "start from the bits of this model and add more")
	f.StringVar(&c.features, "features", "", "make these features of pictures first: gist320, gist512, pixels, or a file that features --save wrote; the model carries them")
	f.BoolVar(&c.mirror, "mirror", false, "learn from the mirror images of the pictures too; with --features")
	c.bindMethod(f)
	f.BoolVar(&c.resume, "resume", false, "go on with an interrupted training")
	f.BoolVar(&c.restart, "restart", false, "throw an interrupted training away and begin anew")
	f.DurationVar(&c.timeLimit, "time-limit", 0, "end in time with fewer bits, for instance 10m")
	f.IntVar(&c.patience, "patience", 0, "stop when the validation has not improved for so many bits; 0 means never")
	f.Float64Var(&c.validation, "validation", 0.1, "share of rows held out for --patience")
	f.StringSliceVar(&c.holdOut, "hold-out", nil, "classes to keep out of training; eval then judges them apart")

	f.StringVar((*string)(&c.trainer.Inference.Method), "inference", string(inference.BlockGC), "Step 1: blockgc, icm or spectral")
	f.StringVar((*string)(&c.trainer.Inference.Loss), "loss", string(inference.KSH), "pair loss: ksh, bre or hinge")
	f.IntVar(&c.trainer.Inference.Sweeps, "sweeps", 2, "sweeps over the blocks per bit")
	f.StringVar(&c.balance, "balance", "", "weights of similar and dissimilar pairs, as S:D, or auto for equal shares (default auto for tags, else 1:1)")
	f.IntVar(&c.sampleSimilar, "sample-similar", 0, "draw so many similar rows per row instead of using all pairs (released code: 100)")
	f.IntVar(&c.sampleOthers, "sample-dissimilar", 0, "draw so many dissimilar rows per row instead of using all pairs (released code: 100)")
	f.StringVar((*string)(&c.trainer.Order), "order", string(hashgrove.Stagewise), "stagewise, or tsh to infer all bits first")

	f.StringVar((*string)(&c.trainer.Learner), "learner", string(hashgrove.Trees), "Step 2: trees or linear (SVM)")
	t := &c.trainer.Trees
	f.IntVar(&t.Rounds, "rounds", 200, "boosted trees per bit")
	f.IntVar(&t.Depth, "depth", 4, "depth of the trees, 1 to 8")
	f.IntVar(&t.NodeFeatures, "node-features", 0, "candidate columns per tree node (LazyBoost); 0 means 200, or all of up to 512; negative means all")
	f.Float64Var(&t.TrimMass, "trim", 0.99, "share of the weight that a tree sees; 1 means all (paper: 0.9)")
	f.IntVar(&t.MinNode, "min-node", 5, "a node with so many rows of one sign or fewer is a leaf; negative means none")
	f.IntVar(&t.NodeRows, "node-rows", 0, "rows drawn by weight to split a node (FastH-N: 5000); 0 means all")
	f.BoolVar(&c.trainer.EqualRowWeights, "equal-row-weights", false, "start boosting from equal weights, as the paper's text")
	f.Float64Var(&c.trainer.Linear.C, "svm-c", 0, "C of the linear learner; 0 means 1e6 / rows")
	return cmd
}

func (c *trainCommand) run(ctx context.Context, flags *pflag.FlagSet, args []string) error {
	began := time.Now()
	if c.output == "" {
		return usagef("train needs -o MODEL, the file to write")
	}
	if err := c.checkMethod(flags); err != nil {
		return err
	}
	if c.resume && c.restart {
		return usagef("--resume and --restart exclude each other")
	}
	if (c.sampleSimilar > 0) != (c.sampleOthers > 0) || c.sampleSimilar < 0 || c.sampleOthers < 0 {
		return usagef("--sample-similar and --sample-dissimilar go together, both positive")
	}
	if c.similar.minShared < 1 || c.similar.minShared > 255 {
		return usagef("--min-shared %d: give a number from 1 to 255", c.similar.minShared)
	}
	if c.similar.pairs != "" && (c.patience > 0 || len(c.holdOut) > 0) {
		return usagef("--patience and --hold-out need classes or tags, not --pairs")
	}
	c.trainer.Seed, c.trainer.Threads = c.seed, c.threads
	if _, err := c.trainer.WithDefaults(); err != nil {
		return usageError{err}
	}
	set, err := c.data.open(args)
	if err != nil {
		return err
	}
	src, extractor, err := c.vectors(set)
	if err != nil {
		return err
	}
	sum, err := c.scan(ctx, src, true)
	if err != nil {
		return err
	}
	if c.similar.pairs != "" {
		if err := dataset.ReadPairs(c.similar.pairs, sum); err != nil {
			return err
		}
	}
	c.warn(sum.Warnings)
	if c.method != fastHash {
		return c.trainMethod(ctx, set, src, extractor, sum, began)
	}
	job, err := c.job(ctx, src, sum)
	if err != nil {
		return err
	}
	job.Features = extractor
	if extractor == nil {
		job.Info.Features = set.Names()
	}
	c.note("learning %d bits from %d rows of %d dimensions", job.Trainer.Bits, job.X.Rows, job.X.Dim())
	result, err := c.learn(ctx, job)
	if err != nil {
		return err
	}
	if err := model.WriteFile(c.output, result.Model); err != nil {
		return err
	}
	if err := job.Finish(result); err != nil {
		return err
	}
	return c.report(job, result, time.Since(began))
}

// vectors is what is learned from: the rows as they are, or the features of pictures, mirror images after them.
func (c *trainCommand) vectors(set *dataset.Set) (vectors.Source, feature.Extractor, error) {
	if c.features == "" {
		if c.mirror {
			return nil, nil, usagef("--mirror needs --features, to make vectors of the mirror images; \"hashgrove features --mirror\" writes such vectors")
		}
		return set, nil, nil
	}
	shape, ok := set.Shape()
	if !ok {
		return nil, nil, usagef("--features needs pictures: folders, tars, CIFAR or IDX files")
	}
	extractor, err := namedExtractor(c.features, shape)
	if err != nil {
		return nil, nil, err
	}
	pictures := vectors.Source(set)
	if c.mirror {
		if c.similar.pairs != "" {
			return nil, nil, usagef("--mirror and --pairs exclude each other: pairs say nothing of mirror images")
		}
		pictures = feature.Mirrored(pictures, shape)
	}
	src, err := feature.Vectors(extractor, pictures, shape, c.threads)
	return src, extractor, err
}

// learn runs the job with progress.
func (c *trainCommand) learn(ctx context.Context, job training.Job) (*training.Result, error) {
	var p *progress
	job.Progress = func(b hashgrove.Bit) {
		if p == nil {
			p = c.start("bit", job.Trainer.Bits, b.Bit-1)
			p.began = p.began.Add(-b.Inference - b.Boost)
		}
		note := fmt.Sprintf("objective %.4f  error %.4f", b.Stat.Objective, b.Stat.TrainError)
		if b.Stat.Validation > 0 {
			note += fmt.Sprintf("  validation MAP %.4f", b.Stat.Validation)
		}
		p.step(b.Bit, note)
	}
	result, err := job.Run(ctx)
	if p != nil {
		p.end()
	}
	switch {
	case errors.Is(err, context.Canceled):
		return nil, adviceError{err, "the finished bits are safe; the same command with --resume goes on from there"}
	case errors.Is(err, training.ErrCheckpoint):
		return nil, fmt.Errorf("%w; --resume goes on with it, --restart throws it away", err)
	case err != nil:
		return nil, err
	}
	if result.Dropped > 0 {
		c.note("%d bits of the checkpoint were damaged and were learned again", result.Dropped)
	}
	if result.Resumed > 0 {
		c.note("%d bits came from the checkpoint", result.Resumed)
	}
	if result.Stopped != "" {
		c.note("stopped at %d of %d bits: %s", result.Model.Encoder.Bits(), job.Trainer.Bits, result.Stopped)
	}
	return result, nil
}

// job makes the training job from the scanned data: which rows train, which validate, and who is similar to whom.
func (c *trainCommand) job(ctx context.Context, all vectors.Source, sum *supervision.Data) (training.Job, error) {
	job := training.Job{
		Trainer: c.trainer, Data: hex.EncodeToString(sum.Digest[:]),
		Checkpoint: c.output + ".ckpt", Resume: c.resume, Restart: c.restart,
		TimeLimit: c.timeLimit, Patience: c.patience,
	}
	job.Similar = training.Similarity{From: "classes", SampleSimilar: c.sampleSimilar, SampleDissimilar: c.sampleOthers, HeldOut: c.holdOut, Mirrored: c.mirror}
	switch {
	case c.similar.pairs != "":
		job.Similar.From = "pairs"
	case sum.Labels == nil:
		job.Similar.From, job.Similar.MinShared = "tags", c.similar.minShared
	}
	if c.patience > 0 {
		job.Similar.Validation = c.validation
	}
	if err := sum.Trainable(); err != nil {
		return job, err
	}
	if sum.Labels != nil {
		job.Info.Classes = sum.Labels.Names
	}
	keep := make([]bool, sum.Rows)
	for i := range keep {
		keep[i] = true
	}
	if len(c.holdOut) > 0 {
		if sum.Labels == nil {
			return job, usagef("--hold-out needs classes: use --labels or --label")
		}
		var err error
		if keep, err = sum.Labels.Without(c.holdOut); err != nil {
			return job, err
		}
		job.Info.HeldOut = c.holdOut
	}
	validate := make([]bool, sum.Rows)
	if c.patience > 0 {
		if !(c.validation > 0 && c.validation < 1) {
			return job, usagef("--validation %v is not a share between 0 and 1", c.validation)
		}
		rows := sum.Rows
		if c.mirror {
			rows /= 2 // a mirror image goes where its picture goes, and only pictures validate
		}
		split := supervision.HoldOut(rows, c.validation, c.seed)
		if sum.Labels != nil {
			split = (&supervision.Labels{Names: sum.Labels.Names, Class: sum.Labels.Class[:rows]}).HoldOut(c.validation, c.seed)
		}
		for i := range keep {
			if keep[i] && !split[i%rows] {
				keep[i], validate[i] = false, i < rows
			}
		}
	}
	train, src, ranges := sum, all, sum.Ranges
	if slices.Contains(keep, false) { // the range may know nothing of rows that are held out
		train, src = sum.Only(keep), vectors.Select(all, keep)
		var err error
		if ranges, err = vectors.RangesOf(ctx, src); err != nil {
			return job, err
		}
		train.Ranges, train.Constant = ranges, sum.Constant
		if err := train.Trainable(); err != nil {
			return job, fmt.Errorf("after holding rows out: %w", err)
		}
	}
	quantizer, err := ranges.Quantizer()
	if err != nil {
		return job, err
	}
	if c.grow != "" {
		if job.Grow, err = model.ReadFile(c.grow); err != nil {
			return job, err
		}
		old, ok := job.Grow.Encoder.(*model.Binned)
		if !ok {
			return job, fmt.Errorf("%s: a model of kind %s cannot be grown", c.grow, job.Grow.Encoder.Kind())
		}
		quantizer = old.Quantizer
	}
	if job.X, err = vectors.Quantize(ctx, src, train.Rows, quantizer, c.threads); err != nil {
		return job, err
	}
	if job.Y, err = c.affinity(train); err != nil {
		return job, err
	}
	if err := c.weigh(&job); err != nil {
		return job, err
	}
	if c.patience > 0 {
		held := sum.Only(validate)
		x, err := vectors.Quantize(ctx, vectors.Select(all, validate), held.Rows, quantizer, c.threads)
		if err != nil {
			return job, err
		}
		job.Validation = &training.Validation{X: x, Truth: truth(held, train, c.similar.minShared)}
	}
	return job, nil
}

// affinity is Y of the training rows, sampled if asked for.
func (c *trainCommand) affinity(train *supervision.Data) (affinity.Matrix, error) {
	y, err := c.similar.matrix(train)
	if err != nil || c.sampleSimilar == 0 && c.sampleOthers == 0 {
		return y, err
	}
	return affinity.Sample(y, c.sampleSimilar, c.sampleOthers, c.seed)
}

// weigh sets the weights of similar and dissimilar pairs from --balance.
func (c *trainCommand) weigh(job *training.Job) error {
	o := &job.Trainer.Inference
	balance := c.balance
	if balance == "" {
		balance = "1:1"
		if job.Similar.From == "tags" { // few rows are similar then
			balance = "auto"
		}
	}
	if balance == "auto" {
		*o = o.Balanced(job.Y)
		return nil
	}
	s, d, ok := strings.Cut(balance, ":")
	var errS, errD error
	o.SimilarWeight, errS = strconv.Atoi(s)
	o.DissimilarWeight, errD = strconv.Atoi(d)
	if !ok || errS != nil || errD != nil || o.SimilarWeight < 1 || o.DissimilarWeight < 1 {
		return usagef("--balance %s is neither auto nor two whole numbers like 9:1", c.balance)
	}
	return nil
}

// truth says which rows of base are right answers for which rows of queries.
func truth(queries, base *supervision.Data, minShared int) eval.Truth {
	if queries.Labels != nil {
		return eval.ByClass(queries.Labels.Class, base.Labels.Class)
	}
	return eval.ByTags(queries.Tags.Start, queries.Tags.Tag, base.Tags.Start, base.Tags.Tag, minShared)
}
