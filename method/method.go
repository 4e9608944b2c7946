// Package method is for methods of your own: what Hashgrove's other methods implement, and what they learn from and
// leave behind. hashgrove.Options.Custom takes such a method; its model is judged by rows held out, saved, encodes and
// searches like any other.
package method

import (
	"hashgrove/internal/method"
	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// Method learns a model from labelled rows: Train(ctx, *Data) (*Model, error). The model should be a function of the
// rows, their supervision, and the parameters and seed of the method.
type Method = method.Method

// Data is the rows to learn from: a Source with the number of rows, and with classes, tags or pairs. Trainable says why
// nothing can be learned from them.
type Data = supervision.Data

// Labels is the class of each row, by number, and the names of the classes.
type Labels = supervision.Labels

// Source yields vectors in order, any number of times, in bounded memory.
type Source = vectors.Source

// Schema is what a source knows about its rows; the zero value says nothing.
type Schema = vectors.Schema

// Chunk is a run of consecutive rows of a source. It is lent: everything in it is valid until the next chunk.
type Chunk = vectors.Chunk

// Matrix is rows of values, one after the other.
type Matrix = vectors.Matrix

// Model is an encoder with what is known about it.
type Model = model.Model

// Info is what a model says about itself. Train fills it in, except for statistics and weights of the bits, which only
// the method knows.
type Info = model.Info

// Encoder turns vectors into codes: one of the kinds of this module, such as Projection, which a file can hold.
type Encoder = model.Encoder

// Projection is an encoder of hyperplanes: bit b of x is whether Weight_b · (x - Mean) is at least Threshold_b.
type Projection = model.Projection
