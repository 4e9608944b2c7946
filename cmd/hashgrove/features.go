package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hashgrove/internal/cli"
	"hashgrove/internal/dataset"
	"hashgrove/internal/fault"
	"hashgrove/internal/feature"
	"hashgrove/internal/feature/dictionary"
	"hashgrove/internal/picture"
	"hashgrove/internal/vectors"
)

type featuresCommand struct {
	*app
	data                         dataFlags
	kind, output, use, save, typ string
	orientations                 []int
	blocks                       int
	options                      feature.CodebookOptions
	sides, pool, norm            string
	mirror                       bool
	file                         cli.Output
	shard                        shardFlags
}

func (a *app) features() *cobra.Command {
	c := &featuresCommand{app: a}
	cmd := &cobra.Command{
		Use:   "features DATA... --kind gist|codebook|pixels -o OUT.npy",
		Short: "Turn pictures into vectors",
		Long: `Turn pictures (a folder, a tar, CIFAR or IDX files) into vectors:
  gist      energies of oriented filters in a grid of blocks; --orientations 8,8,4 gives 320 values,
            8,8,8,8 gives 512
  codebook  responses of all patches to words learned from these pictures, pooled over a pyramid:
            800 words give 11,200 values
  pixels    the pixels themselves
Classes, tags and ids go to text files beside the output. --save keeps the extractor, including a learned
codebook, for --use on other pictures and for "hashgrove train --features".

--shard 3/8 takes the third of eight equal parts of the pictures. What is learned must be the same for all shards, so
learn it first and pass it with --use. Several NumPy files are one data set for all verbs: name them all.`,
		Example: `  hashgrove features shop/train-images-idx3-ubyte.gz --size 32 --kind gist -o gist.npy
  hashgrove train gist.npy --labels gist.labels.txt --bits 4 --rounds 5 -o gist.hgm
  hashgrove features shop/query-images-idx3-ubyte.gz --kind codebook --words 20 --patches 2000 --save words.hgf
  hashgrove features shop/query-images-idx3-ubyte.gz --use words.hgf --shard 1/2 -o words-{shard}.npy`,
		Args: cli.AtLeast(1, "pictures"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	c.bind(cmd.Flags())
	return cmd
}

func (c *featuresCommand) bind(f *pflag.FlagSet) {
	f.StringVarP(&c.output, "output", "o", "", "the NumPy `FILE` to write")
	c.file.Bind(f)
	f.StringVar(&c.kind, "kind", "", "`KIND` of features: gist, codebook or pixels")
	f.StringVar(&c.save, "save", "", "`FILE` to keep the extractor in")
	f.StringVar(&c.use, "use", "", "use the extractor in this `FILE`, which --save wrote, instead of --kind")
	f.StringVar(&c.typ, "type", string(dataset.Float32), "`TYPE` of the values: float32, float16 or uint8 (256 bins)")
	f.BoolVar(&c.mirror, "mirror", false,
		"also write the vectors of all mirror images, after those of the pictures: twice the rows to train on")
	cli.Group(f, "Output")
	c.shard.bind(f)
	c.data.bind(f, "")
	f.IntSliceVar(&c.orientations, "orientations", []int{8, 8, 4},
		"`NUMBERS` of orientations per scale, finest first")
	f.IntVar(&c.blocks, "blocks", 4, "`NUMBER` of blocks along each side")
	cli.Group(f, "GIST")
	l := &c.options
	f.IntVar(&l.Words, "words", 800, "`NUMBER` of words in the codebook")
	f.IntVar(&l.Patch, "patch", 8, "side of a patch in `PIXELS` (usual recipe: 6)")
	f.IntVar(&l.Stride, "stride", 1, "distance between patches in `PIXELS`")
	f.IntVar(&l.Levels, "levels", 3, "`NUMBER` of levels of the pooling pyramid")
	f.Float64Var(&l.Threshold, "threshold", 0.25, "responses below this `VALUE` count as zero; a negative value keeps all")
	f.StringVar(&c.sides, "sides", "positive", "`RESPONSES` that count: positive, absolute or split")
	f.StringVar(&c.pool, "pool", "sum", "`FUNCTION` that pools a cell: sum or max")
	f.StringVar(&c.norm, "normalise", "l1", "`HOW` vectors are scaled: l1, to sum to 1, or none (usual recipe)")
	f.IntVar(&l.Patches, "patches", 0,
		"`NUMBER` of random patches to learn from; 0 means 400,000, or 100,000 with --non-zeros")
	f.IntVar(&l.Iterations, "iterations", 50, "`NUMBER` of learning iterations")
	f.IntVar(&l.Sparsity, "non-zeros", 1, "`NUMBER` of words per patch while learning; 1 is OMP-1, more is K-SVD")
	cli.Group(f, "Codebook")
}

func (c *featuresCommand) run(ctx context.Context, args []string) error {
	if c.output == "" && c.save == "" {
		return cli.Usagef("features needs -o OUT.npy, the file to write, or --save")
	}
	if (c.kind == "") == (c.use == "") {
		return cli.Usagef("features needs either --kind gist, codebook or pixels, or --use FILE")
	}
	if err := c.checkShard(args); err != nil {
		return err
	}
	outputs := []string{c.save}
	if c.output != "" {
		outputs = append(dataset.NpyFiles(c.output), c.save)
	}
	checked := cli.Output{Force: c.file.Force || c.shard.ifMissing, FileOnly: true}
	if err := checked.Check(outputs, c.data.inputs(args, c.use)); err != nil {
		return err
	}
	set, pictures, err := c.openPictures(ctx, args)
	if err != nil {
		return err
	}
	began := time.Now()
	saved, err := c.extractor(ctx, pictures)
	if err != nil {
		return err
	}
	learned := time.Since(began)
	if c.save != "" {
		if err := saved.WriteFile(c.save); err != nil {
			return err
		}
	}
	e := saved.Extractor
	r := featuresReport{
		Output: c.output, Extractor: c.save, Kind: e.Kind(), Dims: e.Dim(), LearnSeconds: learned.Seconds(),
		Shard: reportShard(c.shard.Shard),
	}
	if c.shard.ifMissing {
		if r.Rows, err = c.checkOutput(set.Rows(), e.Dim()); err == nil {
			r.There = true
			return c.printLine(r, "%s: already exists, %d vectors of %d dimensions", r.Output, r.Rows, r.Dims)
		} else if !errors.Is(err, fs.ErrNotExist) && !c.file.Force {
			return err
		}
	}
	if c.output != "" {
		began = time.Now()
		rows := max(set.Rows(), 0)
		if c.mirror {
			pictures, rows = picture.Mirrored(pictures), 2*rows
		}
		src, err := feature.Vectors(e, pictures, c.threads)
		if err != nil {
			return err
		}
		if err := c.write(ctx, rows, src, saved, &r); err != nil {
			return err
		}
		r.Seconds = time.Since(began).Seconds()
	}
	if bad, first := set.Bad(); bad > 0 {
		c.note("dropped %d bad pictures, the first: %v", bad, first[0])
	}
	return c.printResult(r, func() {
		if c.output != "" {
			fmt.Fprintf(c.out, "%s: %d vectors of %d dimensions (%s) in %.1f s\n",
				r.Output, r.Rows, r.Dims, r.Kind, r.Seconds)
		}
		for _, path := range r.Beside {
			fmt.Fprintf(c.out, "%s\n", path)
		}
		if c.save != "" {
			fmt.Fprintf(c.out, "%s: the extractor\n", c.save)
		}
	})
}

// checkShard validates --shard and puts the shard into the name of the output.
func (c *featuresCommand) checkShard(args []string) (err error) {
	if c.shard.ifMissing && (c.output == "" || c.save != "") {
		return cli.Usage("missing-flag", "--if-missing is for vectors: it needs -o OUT.npy and cannot be used with --save")
	}
	if c.output, err = c.shard.parse(c.output, args); err != nil || c.shard.IsWhole() {
		return err
	}
	switch {
	case c.output == "" || c.save != "":
		return cli.Usage("missing-flag", "--shard is for vectors: it needs -o OUT.npy and cannot be used with --save")
	case c.kind == "codebook":
		return cli.Usage("words-per-shard",
			"--shard: every shard would learn its own words: learn them once with --save, from all pictures or "+
				"some, and pass them to all shards with --use")
	case c.mirror:
		return cli.Usage("conflicting-flags",
			"--mirror puts the mirror images after all pictures, so it cannot be used with --shard")
	case c.use == "" && c.typ == string(dataset.Uint8) && c.kind != "pixels":
		return cli.Usage("ranges-per-shard",
			"--shard: the bytes of every shard would have their own ranges: make them once with --save, and pass "+
				"them to all shards with --use")
	}
	return nil
}

// openPictures opens the pictures, or those of the shard.
func (c *featuresCommand) openPictures(ctx context.Context, args []string) (*dataset.Set, picture.Source, error) {
	set, err := c.data.open(args, nil)
	if err != nil {
		return nil, nil, err
	}
	pictures, ok := set.AsPictures()
	if !ok {
		return nil, nil, fmt.Errorf("%s: rows of %d values are not known to be pictures; features reads folders, tars, "+
			"CIFAR and IDX files", args[0], set.Dim())
	}
	return set, pictures, c.shard.take(ctx, set)
}

// checkOutput checks whether the output exists and is what would be written.
func (c *featuresCommand) checkOutput(rows, dim int) (int, error) {
	if c.mirror && rows > 0 {
		rows *= 2
	}
	n, err := dataset.CheckNpy(c.output, dataset.NpyType(c.typ), rows, dim)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return n, fmt.Errorf("%w, which is not what would be written: %w", err, errOther)
	}
	return n, err
}

// featuresReport is the output of features --json.
type featuresReport struct {
	Output       string   `json:"output,omitempty"`
	Extractor    string   `json:"extractor,omitempty"`
	Kind         string   `json:"kind"`
	Rows         int      `json:"rows"`
	Dims         int      `json:"dims"`
	LearnSeconds float64  `json:"learn_seconds"`
	Seconds      float64  `json:"seconds"`
	Beside       []string `json:"beside,omitempty"`

	Shard *shardReport `json:"shard,omitempty"`
	There bool         `json:"already_there,omitempty"` // the output existed, nothing was done
}

// extractor reads, makes or learns the extractor.
func (c *featuresCommand) extractor(ctx context.Context, pictures picture.Source) (feature.Saved, error) {
	if c.use != "" {
		saved, err := feature.ReadSavedFile(c.use)
		if err == nil && c.output != "" && c.save == "" && c.needsRanges(saved) {
			err = fault.New("no-ranges",
				"%s: has no ranges for bytes, and with ranges of their own these would not mean what the "+
					"bytes of other files do: write float32, or make both files anew, the first with --type uint8 and --save",
				c.use)
		}
		return saved, err
	}
	e, err := c.newExtractor(ctx, pictures)
	return feature.Saved{Extractor: e}, err
}

// needsRanges reports whether the value ranges must be measured first to write bytes. Pixels already are bytes.
func (c *featuresCommand) needsRanges(saved feature.Saved) bool {
	_, pixels := saved.Extractor.(*feature.Pixels)
	return c.typ == string(dataset.Uint8) && !pixels && saved.Bins.Dim() == 0
}

// newExtractor makes or learns the extractor of --kind.
func (c *featuresCommand) newExtractor(ctx context.Context, pictures picture.Source) (feature.Extractor, error) {
	shape := pictures.Preparation().Shape
	switch c.kind {
	case "pixels":
		return &feature.Pixels{Width: shape.Width, Height: shape.Height, Channels: shape.Channels}, nil
	case "gist":
		if shape.Width != shape.Height {
			return nil, fmt.Errorf("gist takes square pictures, not %d x %d; use --size", shape.Width, shape.Height)
		}
		return feature.NewGIST(feature.GISTOptions{Size: shape.Width, Orientations: c.orientations, Blocks: c.blocks})
	case "codebook":
		return c.learn(ctx, pictures)
	}
	return nil, cli.Usagef("unknown kind of features %q; choose gist, codebook or pixels", c.kind)
}

// learn learns a codebook from the pictures, or from a random 50,000 of them.
func (c *featuresCommand) learn(ctx context.Context, pictures picture.Source) (feature.Extractor, error) {
	sides, ok := map[string]feature.Sides{
		"positive": feature.Positive, "absolute": feature.Absolute, "split": feature.Split,
	}[c.sides]
	if !ok {
		return nil, cli.Usagef("--sides %s: choose positive, absolute or split", c.sides)
	}
	pool, ok := map[string]feature.Pool{"sum": feature.SumPool, "max": feature.MaxPool}[c.pool]
	if !ok {
		return nil, cli.Usagef("--pool %s: choose sum or max", c.pool)
	}
	norm, ok := map[string]feature.Norm{"l1": feature.SumNorm, "none": feature.NoNorm}[c.norm]
	if !ok {
		return nil, cli.Usagef("--normalise %s: choose l1 or none", c.norm)
	}
	sample, err := picture.Sample(ctx, pictures, 50_000, c.seed)
	if err != nil {
		return nil, err
	}
	o := c.options
	o.Sides, o.Pool, o.Norm, o.Seed = sides, pool, norm, c.seed
	p := c.startProgress("learning words", o.Iterations, 0)
	defer p.End()
	return dictionary.Learn(ctx, o, sample, c.threads, func(done, _ int) { p.Tick(done) })
}

// write streams the vectors to the output, and labels, tags and ids to files beside it. To write bytes it first
// makes a pass to find the ranges, and saves them with the extractor.
func (c *featuresCommand) write(
	ctx context.Context, rows int, src vectors.Source, saved feature.Saved, r *featuresReport,
) error {
	p := c.startProgress("extracting", rows, 0)
	defer p.End()
	if c.needsRanges(saved) {
		kept := keepFeatures(src)
		defer kept.Close()
		src = kept
		ranges, err := vectors.RangesOf(ctx, src)
		if err != nil {
			return err
		}
		if saved.Bins, err = ranges.Quantizer(); err != nil {
			return err
		}
		if c.save == "" {
			c.note("these bytes can only be compared with each other; --save keeps the ranges for other pictures")
		} else if err := saved.WriteFile(c.save); err != nil {
			return err
		}
	}
	if !c.shard.IsWhole() && c.typ == string(dataset.Uint8) && saved.Bins.Dim() == 0 {
		// Pixels are bytes in every shard, even in one without pictures.
		saved.Bins = vectors.Quantizer{Lo: make([]float32, src.Dim()), Hi: slices.Repeat([]float32{255}, src.Dim())}
	}
	var wrote dataset.Saved
	var err error
	if c.typ == string(dataset.Uint8) && saved.Bins.Dim() > 0 {
		wrote, err = dataset.SaveBins(ctx, src, c.output, saved.Bins, p.Tick)
	} else {
		wrote, err = dataset.SaveNpy(ctx, src, c.output, dataset.NpyType(c.typ), p.Tick)
	}
	if err != nil {
		return err
	}
	r.Rows = wrote.Rows
	for _, path := range []string{wrote.Labels, wrote.Tags, wrote.IDs} {
		if path != "" {
			r.Beside = append(r.Beside, path)
		}
	}
	return nil
}

// keepFeatures computes features once and keeps them for later passes, in memory up to a gigabyte, else in a
// temporary file.
func keepFeatures(src vectors.Source) *vectors.Cached {
	return vectors.Cache(src, vectors.CacheBytes, "")
}
