// Package method holds what you need to plug in a method of your own: the interface that Hashgrove's other methods
// implement, the data they learn from and the models they produce. Pass the method to hashgrove.Options.Custom; its
// model is measured on held-out rows, saved and searched like any other.
package method

import (
	"hashgrove/internal/method"
	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// Method learns a model from labelled rows: Train(ctx, *Data) (*Model, error). The model should depend only on the
// rows, their supervision, and the method's parameters and seed.
type Method = method.Method

// Data holds the rows to learn from: a Source with the number of rows and their classes, tags or pairs. Trainable
// returns an error if nothing can be learned from them.
type Data = supervision.Data

// Labels holds the class number of each row and the names of the classes.
type Labels = supervision.Labels

// Source yields vectors in order, any number of times, in bounded memory.
type Source = vectors.Source

// Schema describes the rows of a source; the zero value says nothing.
type Schema = vectors.Schema

// Chunk is a run of consecutive rows of a source, valid only until the next chunk.
type Chunk = vectors.Chunk

// Matrix holds rows of values, one after the other.
type Matrix = vectors.Matrix

// Model is an encoder with the record of its training.
type Model = model.Model

// Info describes a model. Train fills it in, except for the statistics and weights of the bits, which only the method
// knows.
type Info = model.Info

// Encoder turns vectors into codes. It must be one of this module's kinds, such as Projection, so that a file can hold
// it.
type Encoder = model.Encoder

// Projection encodes with hyperplanes: bit b of x is 1 if Weight_b · (x - Mean) is at least Threshold_b.
type Projection = model.Projection
