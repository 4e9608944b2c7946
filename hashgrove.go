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
// OpenData reads data from files, and CreateIndex and OpenIndex keep an index in a file. A program that reads Parquet
// files or decodes pictures imports what does so, as with package image:
//
//	import _ "hashgrove/format/parquet"
//	import _ "hashgrove/format/pictures"
//
// Method is a way of your own to learn codes. Packages client and server put an index on the network.
package hashgrove

import (
	"fmt"
	"strings"

	"hashgrove/internal/fasthash"
	"hashgrove/internal/fasthash/inference"
	"hashgrove/internal/method"
	"hashgrove/internal/model"
)

// Version is the release recorded in every model it trains.
const Version = model.Version

// Losses describes the losses of FastHashOptions.Loss for a line of help.
func Losses() string {
	var list []string
	for _, l := range inference.Losses {
		list = append(list, fmt.Sprintf("%s, %s", l.Name, l.About))
	}
	return strings.Join(list, "; ")
}

// learners describes the learners of FastHashOptions.Learner for a line of help.
func learners() string {
	var list []string
	for _, l := range fasthash.Learners {
		list = append(list, strings.TrimSuffix(fmt.Sprintf("%s, %s", l.Name, l.About), ", "))
	}
	return strings.Join(list, "; ")
}

// Methods returns the names of all methods, FastHash first.
func Methods() []string { return method.Names() }
