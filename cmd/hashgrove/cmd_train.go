package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hashgrove"
	"hashgrove/internal/cli"
)

// trainCommand holds the flags of train.
type trainCommand struct {
	*app
	data    dataFlags
	pairs   string
	options hashgrove.Options

	output       string
	grow, memory string
	validation   float64
	file         cli.Output
	flags        *pflag.FlagSet
}

// groupFastHash is the group of the flags that only FastHash and its relatives use.
const groupFastHash = "FastHash"

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
like any other, but training cannot be resumed.

--set NAME=VALUE tunes the training; a setting that is not given follows from --effort and the data:
` + strings.TrimSuffix(c.options.Settings(), "\n"),
		Example: `  hashgrove train items.csv --label category --bits 16 -o items.hgm
  hashgrove train items.csv --label category --bits 24 --grow items.hgm -o longer.hgm
  hashgrove train items.csv --label category --bits 16 --detail-bits 4 -o detailed.hgm
  hashgrove train vectors.npy --labels classes.txt --loss hinge --depth 3 --bits 8 -o hinge.hgm
  hashgrove train vectors.npy --labels classes.txt --method ksh --set anchors=100 --set pca=4 --bits 8 -o ksh.hgm`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	c.bind(cmd.Flags())
	return cmd
}

// bind adds the flags of train.
func (c *trainCommand) bind(f *pflag.FlagSet) {
	o, d := &c.options, hashgrove.Defaults()
	c.flags = f
	f.StringVarP(&c.output, "output", "o", "", "the `MODEL` file to write")
	c.file.Bind(f)
	f.IntVar(&o.Bits, "bits", 0, "code length in `BITS`")
	showDefault(f, "bits", strconv.Itoa(d.Bits))
	f.IntVar(&o.DetailBits, "detail-bits", 0, "add this `NUMBER` of bits that keep the vector itself, such as 64, so "+
		"that items of one class are found in the order of their likeness; 0 means none, or with --grow those of the model")
	f.StringVar(&o.Method, "method", d.Method,
		"hash `METHOD`: "+strings.Join(hashgrove.Methods(), ", "))
	bindPictureTraining(f, &o.Pictures)
	f.Float64Var(&c.validation, "validation", 0, "`SHARE` of the rows to hold out for the final figures; "+
		"0 learns from all rows (default 0.05 but at most 1000 rows)")
	cli.Group(f, "Training")
	c.data.bind(f, "Data")
	f.BoolVar(&c.data.missing, "missing", false, "treat NaN, empty fields, NA, n/a, - and null as missing values, with a "+
		"bin of their own; the model then accepts them everywhere")
	cli.Group(f, "Data")
	c.data.bindPictures(f)
	f.StringVar(&c.pairs, "pairs", "", pairsUsage)
	cli.Group(f, "Similarity")

	f.StringVar(&o.Effort, "effort", "", "`EFFORT` to spend: quick; normal, with logistic "+
		"boosting, extra columns where they help, and candidate bits; best, with more and deeper trees; or paper, with the "+
		"paper's settings")
	showDefault(f, "effort", d.Effort)
	f.BoolVar(&o.Checkpoint.Resume, "resume", false, "resume an interrupted training")
	f.StringVar(&c.grow, "grow", "", "start from the bits of this `MODEL` and add more")
	f.StringVar(&c.memory, "memory", "", "largest `SIZE` of memory to use, such as 8GB: the rest goes to "+
		"mapped files in the model's folder, or in TMPDIR; the model is the same, byte for byte (default no limit)")
	f.StringVar(&o.FastHash.Loss, "loss", "", "pair `LOSS`: "+hashgrove.Losses())
	f.StringVar(&o.FastHash.Balance, "balance", "",
		"weights `S:D` of similar and dissimilar pairs, or auto for equal shares, "+
			"or classes to give all classes equal weight, whatever their size (default auto for tags; classes with the "+
			"learner scores, for up to 1,000 rows of unequal classes, or if held-out rows say so; else 1:1)")
	showDefault(f, "loss", d.FastHash.Loss)
	f.IntVar(&o.Trees.Rounds, "rounds", 0, "`NUMBER` of boosted trees per bit (default: by --effort)")
	f.IntVar(&o.Trees.Depth, "depth", 0, "`DEPTH` of the trees, 1 to 8 (default: by --effort)")
	bindDevice(f, &o.Device)
	bindSettings(f, o)
	cli.Group(f, groupFastHash)
}

// bindDevice adds the flag for where trees are grown.
func bindDevice(f *pflag.FlagSet, device *string) {
	f.StringVar(device, "device", hashgrove.Defaults().Device,
		"`DEVICE` that grows trees: cpu; gpu; or auto, a GPU if there is one and "+
			"much to do; the model is the same, byte for byte")
}

// showDefault shows in the help the default that the library chooses if a flag is not given.
func showDefault(f *pflag.FlagSet, name, value string) { f.Lookup(name).DefValue = value }

func (c *trainCommand) run(ctx context.Context, args []string) error {
	if err := c.check(); err != nil {
		return err
	}
	if err := c.checkOutput(args); err != nil {
		return err
	}
	data, err := c.data.similarRows(args)
	if err != nil {
		return err
	}
	show, end := c.showTraining()
	c.options.Progress = show
	if limit := c.options.Memory; limit > 0 {
		debug.SetMemoryLimit(limit - limit/10)
	}
	made, err := hashgrove.Train(ctx, data.WithPairsFile(c.pairs), c.options)
	end()
	if err == nil {
		err = made.Save(c.output)
	}
	if err != nil {
		return c.explain(err)
	}
	return c.print(made)
}

// check validates the command line before anything is read, and completes the options.
func (c *trainCommand) check() (err error) {
	o := &c.options
	if c.output == "" {
		return cli.Usage("missing-flag", "train needs -o MODEL, the file to write")
	}
	o.Seed, o.Threads, o.Pictures.Size = c.seed, c.threads, c.data.size
	switch o.Validation = c.validation; {
	case c.validation < 0:
		return cli.Usage("bad-flag-value", "--validation %v: give a share from 0, for none, to below 1", c.validation)
	case c.validation == 0 && c.flags.Changed("validation"):
		o.Validation = -1
	}
	if o.Method == hashgrove.Defaults().Method {
		o.Checkpoint.Folder = c.output + ".ckpt"
	}
	if c.memory != "" {
		if o.Memory, err = parseBytes(c.memory); err != nil {
			return cli.Usage("bad-flag-value", "--memory %s: %v", c.memory, err)
		}
	}
	if err := o.Check(); err != nil || c.grow == "" {
		return usage(err)
	}
	if o.Grow, err = hashgrove.LoadModel(c.grow); err != nil {
		return err
	}
	return usage(o.Check())
}

// usage turns an error of checking options into a usage error.
func usage(err error) error {
	if err != nil {
		return cli.UsageError(optionUsage(err))
	}
	return nil
}

// optionUsage turns an error about an option into a usage error that names the flag.
func optionUsage(err error) error {
	if e, ok := errors.AsType[*hashgrove.OptionError](err); ok {
		return cli.Usage(e.Code, "%s", e.Flags())
	}
	return err
}

// checkOutput checks that the model file can be written. A resumed training may overwrite it.
func (c *trainCommand) checkOutput(args []string) error {
	file, o := c.file, &c.options
	file.FileOnly = true
	if _, err := os.Stat(c.output + ".ckpt"); err == nil && o.Checkpoint.Resume {
		file.Force = true
	}
	return file.Check([]string{c.output}, c.data.inputs(args, c.pairs, o.Pictures.Features))
}

// explain adds helpful flags to training errors.
func (c *trainCommand) explain(err error) error {
	resumable := c.options.Method == hashgrove.Defaults().Method
	err = optionUsage(err)
	switch {
	case errors.Is(err, context.Canceled) && resumable:
		return cli.WithAdvice(err, "finished bits are saved; run the same command with --resume to continue")
	case errors.Is(err, syscall.ENOSPC) && resumable:
		return fmt.Errorf("%w; finished bits are saved: free some space and continue with --resume", err)
	case hashgrove.HasCode(err, "unfinished-training"):
		return fmt.Errorf("%w; continue it with --resume or discard it with --set restart=true", err)
	case hashgrove.HasCode(err, "other-bits"):
		return fmt.Errorf("%w; use --grow MODEL to add bits to a model, or --set restart=true to discard the checkpoint", err)
	case hashgrove.HasCode(err, "not-enough-memory"):
		return fmt.Errorf("%w: raise --memory, now %s", err, c.memory)
	case hashgrove.HasCode(err, "needs-memory") && hashgrove.HasCode(err, "linear-columns"):
		return fmt.Errorf("%w: raise --memory, or use --set linear_columns=off", err)
	case hashgrove.HasCode(err, "needs-memory"):
		return fmt.Errorf("%w: raise --memory, or drop that option", err)
	}
	return err
}

// settings is the flag --set, which tunes a training.
type settings struct {
	options *hashgrove.Options
	flags   *pflag.FlagSet
	without []string // names that are not taken
	given   []string
}

// bindSettings adds the flag --set.
func bindSettings(f *pflag.FlagSet, o *hashgrove.Options, without ...string) {
	f.Var(&settings{options: o, flags: f, without: without}, "set",
		"tune the training by a setting, `NAME=VALUE`, such as column_share=0.3; may be repeated; \"hashgrove help train\" "+
			"lists the names")
}

// Set implements pflag.Value.
func (s *settings) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	switch {
	case !ok:
		return fmt.Errorf("%q is not NAME=VALUE", text)
	case s.flags.Lookup(strings.ReplaceAll(name, "_", "-")) != nil:
		return fmt.Errorf("use --%s", name)
	case slices.Contains(s.without, name):
		return fmt.Errorf("%s is for train alone", name)
	}
	s.given = append(s.given, text)
	return s.options.Set(name, value)
}

// String implements pflag.Value.
func (s *settings) String() string { return strings.Join(s.given, " ") }

// Type implements pflag.Value.
func (s *settings) Type() string { return "stringArray" }

// showTraining shows the progress of training.
func (a *app) showTraining() (show func(hashgrove.Progress), end func()) {
	p := a.startProgress("", 0)
	return func(now hashgrove.Progress) {
		switch n := now.Note; {
		case now.Rows > 0:
			p.Task("reading", 0, 0)
			p.Tick(now.Rows)
		case now.Columns != nil:
			a.noteColumns(*now.Columns, now.Dim)
		case n == nil:
			p.Task("bit", now.Bits, now.Bit)
			p.Step(now.Bit, fmt.Sprintf("objective %.4f  error %.4f", now.Learned.Objective, now.Learned.TrainError))
		case n.Doubt:
			p.End()
			a.warn([]string{n.Text})
		default:
			p.End()
			a.note("%s", n.Text)
		}
	}, p.End
}

// bindPictureTraining adds the flags for turning pictures into vectors and for mirror images.
func bindPictureTraining(f *pflag.FlagSet, p *hashgrove.PictureOptions) {
	f.StringVar(&p.Features, "features", "", "turn pictures into these `FEATURES` first: gist320, gist512 or "+
		"pixels; the model keeps them")
	f.BoolVar(&p.Mirror, "mirror", false, "also learn from the mirror images of the pictures; with --features")
}

// parseBytes parses a size: 800MB, 8GB, 1.5TB, or 512MiB, 8GiB in powers of 1024; a bare number is bytes.
func parseBytes(text string) (int64, error) {
	units := []struct {
		name  string
		bytes float64
	}{
		{"tib", 1 << 40}, {"gib", 1 << 30}, {"mib", 1 << 20}, {"kib", 1 << 10},
		{"tb", 1e12}, {"gb", 1e9}, {"mb", 1e6}, {"kb", 1e3},
		{"t", 1e12}, {"g", 1e9}, {"m", 1e6}, {"k", 1e3}, {"b", 1}, {"", 1},
	}
	lower := strings.ToLower(strings.TrimSpace(text))
	for _, u := range units {
		number, ok := strings.CutSuffix(lower, u.name)
		if !ok {
			continue
		}
		x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(x > 0) || x*u.bytes > math.MaxInt64/2 {
			break
		}
		return int64(x * u.bytes), nil
	}
	return 0, errors.New("give a size such as 800MB, 8GB or 8GiB")
}
