package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"hashgrove/internal/cli"
	"hashgrove/internal/dataset"
	"hashgrove/internal/fasthash"
	"hashgrove/internal/feature"
	"hashgrove/internal/method"
	"hashgrove/internal/model"
	"hashgrove/internal/picture"
	"hashgrove/internal/plain"
	"hashgrove/internal/vectors"
)

// pictureTraining is how train treats pictures: what makes vectors of them, and which copies are learned from.
type pictureTraining struct {
	features        string
	list            []string // of --augment
	mirror, average bool
	augmentation    picture.Augmentation
}

// bind adds the flags.
func (p *pictureTraining) bind(f *pflag.FlagSet) {
	f.StringVar(&p.features, "features", "", "turn pictures into these `FEATURES` first: gist320, gist512, pixels, "+
		"or a file that features --save wrote; the model keeps them")
	f.BoolVar(&p.mirror, "mirror", false, "also learn from the mirror images of the pictures; with --features")
	f.StringSliceVar(&p.list, "augment", nil, "also learn from changed `COPIES` of the pictures: a list of mirror, shift "+
		"and crop, where shift and crop may be repeated; with --features")
	f.BoolVar(&p.average, "mirror-average", false, "let every code of the model add the scores of a picture and of its "+
		"mirror image; with --mirror")
}

// check reads the list of copies and fills in the options.
func (p *pictureTraining) check(o *method.Options) error {
	var err error
	if p.augmentation, err = picture.ParseAugmentation(p.list); err != nil {
		return cli.Usage("bad-flag-value", "--augment: %v", err)
	}
	p.augmentation.Mirror = p.augmentation.Mirror || p.mirror
	if p.average && !p.augmentation.Mirror {
		return cli.Usage("missing-flag", "--mirror-average needs --mirror or --augment mirror: "+
			"a model that adds mirror images should learn from some")
	}
	o.FastHash.Similar.SetCopies(p.augmentation, p.average)
	return nil
}

// checkGrown reports a model to grow, which may be nil, whose bits are made in another way.
func (p *pictureTraining) checkGrown(m *model.Model) error {
	if m == nil {
		return nil
	}
	switch was := m.Pictures != nil && m.Pictures.Averaged; {
	case was && !p.average:
		return cli.Usage("model-averages", "the model to grow adds the scores of mirror images: repeat --mirror-average")
	case !was && p.average:
		return cli.Usage("model-does-not-average",
			"the model to grow does not add the scores of mirror images: leave out --mirror-average")
	}
	return nil
}

// copies reports whether more than the pictures themselves is learned from.
func (p *pictureTraining) copies() bool { return p.augmentation.PerPicture() > 1 }

// flag is the one that asks for copies.
func (p *pictureTraining) flag() string {
	if len(p.list) > 0 {
		return "--augment"
	}
	return "--mirror"
}

// preparation is what the model says of pictures that it learned from; nil where it learned from vectors.
func (p *pictureTraining) preparation(src vectors.Source) *picture.Preparation {
	as := picture.PreparationOf(src)
	if as != nil {
		as.Averaged = p.average
	}
	return as
}

// rows says what is learned from.
func (p *pictureTraining) rows(n int, s fasthash.Similarity) string {
	pictures := n / s.PerPicture()
	switch {
	case !p.copies():
		return fmt.Sprintf("%d rows", n)
	case s.PerPicture() == 2 && s.Mirrored:
		return fmt.Sprintf("%s and %s", plain.Count(pictures, "picture", "pictures"),
			plain.Count(pictures, "mirror image", "mirror images"))
	}
	return fmt.Sprintf("%s and %s of them", plain.Count(pictures, "picture", "pictures"),
		plain.Count(n-pictures, "changed copy", "changed copies"))
}

// vectors is what is learned from: the rows as they are, or the features of pictures and then those of their copies.
func (c *trainCommand) vectors(set *dataset.Set) (vectors.Source, feature.Extractor, error) {
	p := &c.pictures
	pictures, ok := set.AsPictures()
	switch {
	case !ok && c.options.Run.Grow != nil && p.features == "" && !p.copies():
		src, err := c.options.Run.Grow.Source(set, c.threads) // in the order of its columns
		return src, nil, err
	case p.features == "" && p.copies():
		return nil, nil, cli.Usage("missing-flag", "%s needs --features, to make vectors of the copies; "+
			"\"hashgrove features --mirror\" writes vectors of mirror images", p.flag())
	case p.features == "":
		return set, nil, nil
	case p.copies() && c.similar.pairs != "":
		return nil, nil, cli.Usage("conflicting-flags",
			"%s and --pairs cannot be combined: pairs say nothing about copies of pictures", p.flag())
	}
	if ok && p.copies() {
		return learnablePictures(picture.Augmented(pictures, p.augmentation, c.seed), p.features, c.threads)
	}
	return learnable(set, p.features, c.threads)
}

// learnable is feature.Learnable for --features.
func learnable(set *dataset.Set, name string, threads int) (*vectors.Kept, feature.Extractor, error) {
	pictures, ok := set.AsPictures()
	if !ok {
		return nil, nil, cli.Usage("needs-pictures", "--features needs pictures: folders, tars, CIFAR or IDX files")
	}
	return learnablePictures(pictures, name, threads)
}

func learnablePictures(
	pictures picture.Source, name string, threads int,
) (*vectors.Kept, feature.Extractor, error) {
	src, e, err := feature.Learnable(pictures, name, threads)
	if err != nil {
		err = fmt.Errorf("--features: %w", err)
	}
	return src, e, err
}
