// Package hashgrove learns short binary codes from labelled vectors or pictures, encodes new ones in microseconds, and
// finds the nearest codes exactly. It is the front door: most programs need no other package.
//
//	t, err := hashgrove.Train(ctx, hashgrove.Rows(vectors, labels), hashgrove.Options{Bits: 64})
//	err = t.Save("shop.hgm")
//
//	m, err := hashgrove.Load("shop.hgm")
//	code, err := m.Encode(vector)
//	ix, err := hashgrove.NewIndex(ctx, m, hashgrove.Rows(vectors, labels))
//	hits, err := api.Nearest(ctx, ix, vector, 10)
//
// The default method is FastHash (Lin, Shen, Shi, van den Hengel, Suter: Fast Supervised Hashing with Decision Trees
// for High-Dimensional Data, CVPR 2014), which package fasthash implements; Options.Method names another. A model is a
// function of data, options and seed, byte for byte, on any number of cores.
//
// Package method has what a method of your own needs. The packages behind, in the order in which data flows: vectors
// and supervision; dataset, picture and feature; affinity, inference, boost, svm and fasthash; method and train; model;
// hamming, index and store; eval, compare, report.
package hashgrove

import (
	"context"

	"hashgrove/internal/method"
	"hashgrove/internal/model"
	"hashgrove/internal/train"
)

// Version is the release that a model names as its maker.
const Version = model.Version

// Options say what to learn and how: method, bits, seed, effort, and everything else that the methods can be told; what
// is held out; how pictures become vectors; where the model and its checkpoint go. The zero value is FastHash with its
// documented defaults. A 5 % share of the rows is held out and judged unless Validation says otherwise. Options that do
// not apply to the method are an error.
type Options = train.Options

// PictureOptions say how pictures become vectors. The model keeps it, so that later pictures are treated alike.
type PictureOptions = train.PictureOptions

// OptionError is an option that cannot be meant, for errors.As.
type OptionError = train.OptionError

// Progress is one step of a training: rows that were read, a bit that was learned, or a note.
type Progress = train.Progress

// Note is a choice that training made, with its reason, or a doubt.
type Note = train.Note

// Report tells how a training went: figures for new and learned items, what was chosen and why, doubts, and times.
type Report = train.Report

// MemoryUse is what became of a limit on memory.
type MemoryUse = train.MemoryUse

// Figures say how well the codes of some rows find similar ones.
type Figures = model.Figures

// Training is a model and how it came about.
type Training struct {
	*Model
	Report Report
}

// Methods lists the methods by name, FastHash first.
func Methods() []string { return method.Names() }

// Train learns a model from the data, and writes it where the options name a file. The same data, options and seed give
// the same model, byte for byte, here, in the command and in comparisons. Files are read once.
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
