// Package hashgrove learns short binary codes from labelled vectors or pictures, encodes new ones in microseconds, and
// finds the nearest codes exactly. It is the front door: most programs need no other package.
//
//	m, err := hashgrove.Train(ctx, hashgrove.Rows(vectors, labels), hashgrove.Options{Bits: 64})
//	err = m.Save("shop.hgm")
//
//	m, err = hashgrove.Load("shop.hgm")
//	code, err := m.Encode(vector)
//	ix, err := hashgrove.NewIndex(ctx, m, hashgrove.Rows(vectors, labels))
//	hits, err := ix.Search(ctx, vector, 10)
//
// The default method is FastHash (Lin, Shen, Shi, van den Hengel, Suter: Fast Supervised Hashing with Decision Trees
// for High-Dimensional Data, CVPR 2014), which package fasthash implements; Options.Method names another. A model is a
// function of data, options and seed, byte for byte, on any number of cores.
//
// The packages behind it, in the order in which data flows: vectors and supervision; dataset, picture and
// feature; affinity, inference, boost, svm and fasthash; method; model; hamming, index and store; eval,
// compare, report.
package hashgrove

import (
	"cmp"
	"context"
	"fmt"

	"hashgrove/internal/dataset"
	"hashgrove/internal/fasthash"
	"hashgrove/internal/method"
	"hashgrove/internal/model"
	"hashgrove/internal/picture"
	"hashgrove/internal/supervision"
)

// Version is the release that a model names as its maker.
const Version = model.Version

// Options say what to learn. The zero value is FastHash with 64 bits and its documented defaults.
type Options struct {
	Method    string // one of Methods; "" means "fasthash"
	Bits      int    // code length; 0 means 64
	Seed      uint64 // of everything random; 0 means 1
	MinShared int    // tags that similar rows have in common at least; 0 means 2
	Threads   int    // 0 means all cores; never changes the model

	// Effort is the time that FastHash may take: fasthash.Quick, Normal, Best, or Paper for its authors' own settings; ""
	// means Normal. What is not set below follows from it and from the size of the data.
	Effort fasthash.Effort
	Rounds int // boosted trees per bit; 0 means 400 with Normal, and 200 for up to 1,000 rows
	Depth  int // depth of the trees; 0 means 4 with Normal

	// LinearColumns offers scores of the classes or tags to the trees as further columns: fasthash.LinearOff,
	// LinearScores, KernelScores, LinearAuto or KernelAuto; "" means with Normal those that help.
	LinearColumns string

	Pictures Pictures // how pictures become vectors

	// Progress is called after every bit of FastHash; it may be nil.
	Progress func(bit, bits int)

	// Expert holds everything else that the methods can be told. Fields above count where they are set.
	Expert method.Options
}

// Methods lists the methods by name, FastHash first.
func Methods() []string { return method.Names() }

// Train learns a model from the data.
func Train(ctx context.Context, d *Data, o Options) (*Model, error) {
	e := o.expert()
	rows, extractor, err := d.learnable(o.Pictures, max(e.Seed, 1), e.Threads)
	if err != nil {
		return nil, err
	}
	scanned, err := supervision.Scan(ctx, rows, supervision.ScanOptions{
		Digest: true, Hashes: true, Missing: d.missing, Memory: e.Run.Memory,
	})
	if err != nil {
		return nil, err
	}
	scanned.MinShared = o.MinShared
	switch {
	case d.pairsFile != "":
		err = dataset.ReadPairs(d.pairsFile, scanned)
	case d.pairs != nil:
		err = scanned.SetPairs(d.pairs)
	}
	if err != nil {
		return nil, err
	}
	e.Run.Features = extractor
	if copies, err := o.Pictures.augmentation(); err == nil { // it was checked
		e.FastHash.Similar.SetCopies(copies, o.Pictures.Average)
	}
	m, err := method.Train(ctx, o.Method, scanned, e)
	if err != nil {
		return nil, fmt.Errorf("training: %w", err)
	}
	m.Pictures, m.Features = picture.PreparationOf(rows), extractor
	if m.Pictures != nil {
		m.Pictures.Averaged = o.Pictures.Average
	}
	m.Info.Features = rows.Schema().Names
	return &Model{m}, nil
}

// expert is all options as package method takes them.
func (o Options) expert() method.Options {
	e := o.Expert
	set := func(to *int, value int) {
		if value != 0 {
			*to = value
		}
	}
	set(&e.Bits, o.Bits)
	set(&e.Threads, o.Threads)
	set(&e.FastHash.Trees.Rounds, o.Rounds)
	set(&e.FastHash.Trees.Depth, o.Depth)
	if o.Seed != 0 {
		e.Seed = o.Seed
	}
	e.FastHash.Effort = cmp.Or(o.Effort, e.FastHash.Effort)
	e.FastHash.LinearColumns = cmp.Or(o.LinearColumns, e.FastHash.LinearColumns)
	if o.Progress != nil {
		bits := e.Bits
		if bits == 0 {
			bits = 64
		}
		e.Run.Progress = func(b fasthash.Bit) { o.Progress(b.Bit, bits) }
	}
	return e
}
