package fasthash

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/fasthash/columns"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/picture/feature"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// Trainer trains a FastHash model from labelled rows. Options and data determine the model; Run says how to get there.
type Trainer struct {
	Options
	Run
}

// Run says how a long training is saved and watched. The zero value just trains.
type Run struct {
	Checkpoint string // folder with a file per bit; "" means none
	Resume     bool   // continue from the checkpoint, if there is one
	Restart    bool   // discard an existing checkpoint

	Grow     *model.Model      // bits to start from
	Features feature.Extractor // turns pictures into vectors, and must be that of Grow; nil for vectors

	// Spill stores what grows with the rows if there are more than memory holds; nil means memory. It never changes the
	// model; some options need all rows in memory (ErrNeedsMemory).
	Spill *vectors.Spill

	Progress func(Bit) // called after every newly learned bit; may be nil
	Report   *Report   // filled in when not nil
}

// Report describes a training run.
type Report struct {
	Rows    int     // learned from
	Options Options // with everything left to the effort and to defaults filled in
	Bits    []Bit   // newly learned, with their times, without their outputs
	Resumed int     // bits taken from the checkpoint
	Dropped int     // damaged bits of the checkpoint that were learned again
	Linear  string  // which columns were added and why, or why not; "" if none were asked for

	Unseen []string // frequent tags that no vector shows, and that were not learned from

	linear message.Code // the reason behind Linear
}

// ErrCheckpoint is returned if a checkpoint exists and neither Resume nor Restart was asked for.
var ErrCheckpoint = message.New("unfinished-training", "an unfinished training is in the way")

// ErrOtherBits is returned if a checkpoint differs from the request only in the number of bits.
var ErrOtherBits = message.New("other-bits", "the checkpoint is of another training (other bits): finish that one and "+
	"let its model grow, or restart")

// Train learns a model from the data. If ctx ends, the checkpoint holds every finished bit, and a later run can resume.
func (m Trainer) Train(ctx context.Context, d *supervision.Data) (*model.Model, error) {
	t := &training{Trainer: m}
	if err := t.prepare(ctx, d); err != nil {
		return nil, err
	}
	defer func() {
		if t.ckpt != nil {
			t.ckpt.release()
		}
	}()
	done, stats, err := t.doneBits(ctx)
	if err != nil {
		return nil, err
	}
	functions, err := t.learn(ctx, t.x, t.y, loop{done: done, each: t.afterBit(&stats), class: t.class})
	if err != nil {
		return nil, err
	}
	info := model.Info{Method: m.methodName(), Version: model.Version, Bits: stats, Runs: t.runs(len(functions))}
	if d.Labels != nil {
		info.Classes = d.Labels.Names
	}
	if info.Linear = t.report.Linear; t.Learner == Scores { // scores take the place of the columns
		info.Scored = t.added.Names
	} else if t.added != nil {
		info.Added = t.added.Names
	}
	if t.Grow != nil && len(info.Runs) == len(t.Grow.Info.Runs) {
		info.Linear = t.Grow.Info.Linear // one run, so the reason is the original one
	}
	if m.Report != nil {
		*m.Report = t.report
	}
	e := &model.Binned{Quantizer: t.x.Quantizer, Functions: functions}
	if t.added == nil {
		return &model.Model{Encoder: e, Info: info}, nil
	}
	return &model.Model{Encoder: model.Compose(e, t.added.Maps...), Info: info}, nil
}

// Finish removes the checkpoint once the model is safely on disk.
func (m Trainer) Finish() error {
	if m.Checkpoint == "" {
		return nil
	}
	return removeCheckpoint(m.Checkpoint)
}

// methodName returns the method's name in the model: with its own order and learners, FastHash is Two-Step Hashing.
func (m Trainer) methodName() string {
	switch {
	case m.Order != TSH:
		return "fasthash" // whatever the learner
	case m.Learner == Linear:
		return "tsh"
	}
	return "tsh-trees"
}

// training is the state of one run of a Trainer.
type training struct {
	Trainer
	x        *vectors.Columns
	y        affinity.Matrix
	data     string           // digest of data and supervision
	added    *columns.Columns // nil without extra columns
	tried    string           // what learners were tried, in words
	weighted bool             // pairs have weights of their own
	class    []int32          // of each training row, for the learner Scores; nil for tags
	ckpt     *checkpoint
	report   Report
}

// prepare completes the options and quantises.
func (t *training) prepare(ctx context.Context, train *supervision.Data) (err error) {
	if err := train.Trainable(); err != nil {
		return err
	}
	t.data = train.HexDigest()
	t.weighted = t.BalancePairs || t.Inference.SimilarWeight != 0 || t.Inference.DissimilarWeight != 0
	t.Similar.From = train.Kind()
	if t.Similar.From == supervision.ByTags {
		t.Similar.MinShared = cmp.Or(train.MinShared, affinity.DefaultShared)
	}
	if t.Options, err = t.Options.fillIn(aboutOf(train)); err != nil {
		return err
	}
	if err := t.checkMemory(train); err != nil {
		return err
	}
	if train, t.report.Unseen, err = t.keepShown(ctx, train); err != nil {
		return err
	}
	if t.Device != nil {
		t.Device.Start(train.Rows, train.Dim())
	}
	if err := t.resolveLearner(ctx, train); err != nil {
		return err
	}
	if t.Learner == Scores && train.Labels != nil &&
		(t.Grow == nil || slices.Equal(t.Grow.Info.Classes, train.Labels.Names)) { // else scores are of other classes
		t.class = train.Labels.Class
	}
	if t.y, err = train.Affinity(train.Rows); err != nil {
		return err
	}
	if s := t.Similar; s.SampleSimilar > 0 || s.SampleDissimilar > 0 {
		if t.y, err = affinity.Sample(t.y, s.SampleSimilar, s.SampleDissimilar, t.Seed); err != nil {
			return err
		}
	}
	if t.BalancePairs || !t.weighted && t.Similar.From == supervision.ByTags {
		t.Inference = t.Inference.Balanced(t.y)
	}
	if t.Grow != nil && t.Grow.Encoder.Dim() != train.Dim() {
		return message.New("wrong-dimension", "the model to grow takes vectors of %d dimensions, the data have %d",
			t.Grow.Encoder.Dim(), train.Dim())
	}
	if train, err = t.extend(ctx, train); err != nil {
		return err
	}
	t.noteBest(train)
	if t.tried != "" {
		t.report.Linear = strings.TrimSuffix(t.tried+"; "+t.report.Linear, "; ")
	}
	quantizer, err := t.quantizer(ctx, train)
	if err != nil {
		return err
	}
	if t.x, err = vectors.QuantizeIn(ctx, t.Spill, train, train.Rows, quantizer, t.Threads); err != nil {
		return err
	}
	t.report.Rows, t.report.Options = train.Rows, t.Options
	return nil
}

// quantizer returns the quantiser of the rows, or that of the model to grow.
func (t *training) quantizer(ctx context.Context, d *supervision.Data) (vectors.Quantizer, error) {
	if t.Missing = d.Missing; t.Missing && t.Learner == Linear {
		return vectors.Quantizer{}, errors.New("hyperplanes need a value in every column: learn trees, or leave out " +
			"or fill in what is missing")
	}
	if t.Grow == nil {
		by := t.Bins
		if t.Learner == Scores {
			by = vectors.Linear
		} else if t.Learner == Linear {
			by = cmp.Or(by, vectors.Clipped) // hyperplanes rely on bins of equal width
		}
		return d.QuantizerBy(ctx, by)
	}
	old, err := t.toGrow()
	if err != nil {
		return vectors.Quantizer{}, err
	}
	if old.Quantizer.Missing != d.Missing {
		return vectors.Quantizer{}, errors.New("either both the model to grow and the data allow missing values, or " +
			"neither does")
	}
	return old.Quantizer, nil
}
