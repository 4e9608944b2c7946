// Package hashgrove learns short binary codes from labelled vectors or pictures, encodes new ones in microseconds, and
// finds the nearest codes exactly. Most programs need only this package and its vocabulary, package api:
//
//	t, err := hashgrove.Train(ctx, hashgrove.Rows(vectors, labels), hashgrove.Options{Bits: 64})
//	err = t.Save("shop.hgm")
//
//	m, err := hashgrove.LoadModel("shop.hgm")
//	code, err := m.Encode(vector)
//	ix, err := hashgrove.NewIndex(ctx, m, hashgrove.Rows(vectors, labels))
//	hits, err := api.Nearest(ctx, ix, vector, 10)
//
// Train learns with FastHash (Lin, Shen, Shi, van den Hengel, Suter: Fast Supervised Hashing with Decision Trees for
// High-Dimensional Data, CVPR 2014) unless Options.Method names another method. The same data, options and seed give
// the same model, byte for byte, on any number of cores.
//
// OpenData reads data from files, CreateIndex and OpenIndex keep an index in a file, and package method lets you plug in
// a method of your own. Packages client and server put an index on the network.
package hashgrove

import (
	"context"

	"hashgrove/internal/method"
	"hashgrove/internal/model"
	"hashgrove/internal/train"
)

// Version is the release recorded in every model it trains.
const Version = model.Version

// Options say what to learn and how: method, bits, seed, effort and the settings of each method; how many rows to hold
// out; how pictures become vectors; where to write the model and its checkpoint. The zero value is FastHash with its
// documented defaults. Train holds out 5 % of the rows to measure the model unless Validation says otherwise, and
// rejects options that do not apply to the method.
type Options = train.Options

// Defaults returns the options that zero values mean, as far as they do not depend on the effort and the data.
func Defaults() Options { return train.Defaults() }

// PictureOptions say how pictures become vectors. The model stores them, so later pictures are treated the same way.
type PictureOptions = train.PictureOptions

// OptionError reports an invalid option; use errors.As to detect it.
type OptionError = train.OptionError

// Progress reports one step of training: rows read, a bit learned, or a note.
type Progress = train.Progress

// Note is a choice made during training, with its reason, or a warning.
type Note = train.Note

// Report describes a training run: figures for new and learned items, choices and their reasons, warnings, and times.
type Report = train.Report

// MemoryUse says how a memory limit was met.
type MemoryUse = train.MemoryUse

// Figures measure how well codes find similar rows.
type Figures = model.Figures

// Training is a trained model with its report.
type Training struct {
	*Model
	Report Report
}

// Methods returns the names of all methods, FastHash first.
func Methods() []string { return method.Names() }

// Train learns a model from the data and saves it if Options.Output names a file. The same data, options and seed give
// the same model, byte for byte, whether trained here, by the command or in a comparison. Files are read once.
func Train(ctx context.Context, d *Data, o Options) (*Training, error) {
	rows, err := d.learnable(o)
	if err != nil {
		return nil, err
	}
	made, err := train.Train(ctx, rows, o)
	if err != nil {
		return nil, err
	}
	return &Training{&Model{made.Model}, made.Report}, nil
}
