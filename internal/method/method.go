// Package method holds the methods that learn binary codes, FastHash and those that the paper compares it with: one
// interface, one registry, and one way from labelled rows to a model that records how it was made.
//
//	Names, Describe, New   the methods by name
//	Train                  the named method on labelled rows -> model; BitsError where it cannot make as many bits
//	ScaleOf                whether to standardise the columns of rows
//	FitClassifier          a classifier of rows, with the probabilities of their classes and the codes made of them
//
// Each method is one file: a struct of parameters whose zero values are the documented defaults, and Train, which
// returns one of the encoders of package model. Several of them share rows.go, labelled.go and standard.go, what
// components.go and kernel.go make of the rows, and logistic.go.
package method

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"hashgrove/internal/fasthash"
	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
)

// Method learns a model from labelled rows. The model depends only on the rows, their supervision, the parameters and
// the seed. A method fills in only the part of Info that it alone knows: statistics and weights of its bits.
type Method interface {
	Train(ctx context.Context, d *supervision.Data) (*model.Model, error)
}

// Options are the options of all registered methods. A zero field means the method's default.
type Options struct {
	Bits    int    // code length; 0 means fasthash.DefaultBits
	Seed    uint64 // of everything random; 0 means fasthash.DefaultSeed
	Threads int    // 0 means all cores; never changes the model

	Detail  int // bits of detail behind those of the class; 0 means none, or those of the model to grow
	PCA     int // dimensions that PCA leaves before the method sees the rows; 0 means no PCA; not for FastHash
	Anchors int // points that kernel methods and anchor graphs compare with; not for FastHash
	Rows    int // to learn from, at most; negative means all; not for FastHash

	// Standardize says whether to centre columns and divide them by their deviation first: StandardizeAuto (the
	// default), StandardizeOn or StandardizeOff. It does not matter to FastHash, whose trees are free of scale.
	Standardize string

	// FastHash holds the options of the method fasthash; Bits, Seed and Threads come from above. TSH with trees uses
	// the same trees.
	FastHash fasthash.Options
	Run      fasthash.Run // checkpoints, growing, limits and progress of the method fasthash

	HoldOut []string // classes that are kept out of training

	Custom Method // learns in place of a method of the registry; nil means none

	// Doubt, which may be nil, is called with sentences that cast doubt on a training that succeeds.
	Doubt func(text string)

	// Validation is the share of rows to hold out: the model records how well it finds those and how well it finds
	// training rows (Info.NewItems, Info.LearnedItems). 0 means none.
	Validation float64
}

// Train trains the named method ("" means fasthash) on the data, and records in the model how it was made.
func Train(ctx context.Context, name string, d *supervision.Data, o Options) (*model.Model, error) {
	if name == "" {
		name = FastHash
	}
	kept := o.takeDetail()
	if _, err := New(name, o); err != nil { // before any row is read
		return nil, err
	}
	about, _ := Describe(name)
	if o.Run.Spill != nil && (name != FastHash || o.PCA != 0) {
		return nil, message.New("needs-memory", "only FastHash without PCA can learn from more rows than "+
			"memory holds")
	}
	if d.Missing && o.Custom == nil && (name != FastHash || o.PCA != 0) {
		return nil, errors.New("only FastHash without PCA can learn from missing values: " +
			"fill them in, or leave out their rows or columns")
	}
	if err := d.Trainable(); err != nil && about.Supervised {
		return nil, err
	}
	if len(o.HoldOut) > 0 {
		if d.Labels == nil {
			return nil, errors.New("only classes can be held out, and the rows have none")
		}
		keep, err := d.Labels.Without(o.HoldOut)
		if err != nil {
			return nil, err
		}
		d = d.Only(keep)
		if err := d.Trainable(); err != nil && about.Supervised {
			return nil, fmt.Errorf("after holding classes out: %w", err)
		}
	}
	d, held, err := o.setAside(ctx, name, d)
	if err != nil {
		return nil, err
	}
	if err := d.Trainable(); err != nil && about.Supervised {
		return nil, fmt.Errorf("after setting the validation part aside: %w", err)
	}
	if held != nil && !held.tells(o.Run.Grow) {
		held = nil
	}
	m, err := New(name, o)
	if err != nil {
		return nil, err
	}
	made, err := m.Train(ctx, d)
	if err != nil {
		return nil, err
	}
	made.Info.HeldOut = o.HoldOut
	made.Info.Sketch = model.NewSketch(d.Hashes)
	if grown := o.Run.Grow; grown != nil && made.Info.Sketch != nil {
		made.Info.Sketch = made.Info.Sketch.Merge(grown.Info.Sketch)
	}
	if err := o.addDetail(ctx, made, d, kept); err != nil {
		return nil, err
	}
	if held != nil {
		if err := held.encode(ctx, made, o); err != nil {
			return nil, err
		}
	}
	if err := o.addRanking(ctx, made, d, about.Supervised, held); err != nil {
		return nil, err
	}
	if held != nil {
		if err := held.judge(ctx, made, o); err != nil {
			return nil, err
		}
	}
	if name != FastHash {
		return made, o.describe(name, made, d)
	}
	return made, nil
}

// describe records in the model how it was made. FastHash does so itself, since it may have grown the model.
func (o Options) describe(name string, m *model.Model, d *supervision.Data) error {
	seed, standardize := o.withDefaults().Seed, o.Standardize
	if standardize == StandardizeAuto {
		standardize = "" // the same
	}
	if o.Custom != nil {
		o.Bits = m.ClassBits() // the method decides
	}
	options, err := json.Marshal(struct { // 0 is the method's own default
		Bits      int    `json:"bits"`
		Seed      uint64 `json:"seed"`
		PCA       int    `json:"pca"`
		Anchors   int    `json:"anchors"`
		Rows      int    `json:"rows"`
		MinShared int    `json:"min_shared"`

		Standardize string  `json:"standardize,omitempty"`
		Validation  float64 `json:"validation,omitempty"`
	}{
		o.Bits, seed, o.PCA, o.Anchors, o.Rows, cmp.Or(d.MinShared, affinity.DefaultShared), standardize, o.Validation,
	})
	if err != nil {
		return err
	}
	m.Info.Method, m.Info.Version = name, model.Version
	if d.Labels != nil {
		m.Info.Classes = d.Labels.Names
	}
	m.Info.Runs = []model.Run{{Bits: m.ClassBits(), Seed: seed, Data: d.HexDigest(), Rows: d.Rows, Options: options}}
	return nil
}

// BitsError is returned if the method cannot make that many bits of the data. With Most bits it succeeds.
type BitsError struct {
	Asked, Most int
	Why         string // a sentence about the method and the data
}

// Error implements error.
func (e *BitsError) Error() string {
	return fmt.Sprintf("%d bits are too many: %s, so at most %d are possible", e.Asked, e.Why, e.Most)
}

// learner is a method whose model consists of the encoder alone.
type learner interface {
	learn(ctx context.Context, d *supervision.Data) (model.Encoder, error)
}

// encoderOnly adapts a learner to Method.
type encoderOnly struct{ learner }

// Train implements Method.
func (m encoderOnly) Train(ctx context.Context, d *supervision.Data) (*model.Model, error) {
	e, err := m.learn(ctx, d)
	if err != nil {
		return nil, err
	}
	return &model.Model{Encoder: e}, nil
}
