package beam

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"hashgrove/internal/dataset"
	"hashgrove/internal/feature"
	"hashgrove/internal/vectors"
)

func init() {
	beam.RegisterType(reflect.TypeFor[featuresFn]())
}

// Features turns runs of the pictures of an input into vectors, with an extractor that hashgrove features --save wrote.
// Every run becomes a NumPy file, with files of labels, tags and ids beside it, as hashgrove features --shard writes
// them, byte for byte. The name of the output has ShardMark in it and ends with .npy.
func Features(s beam.Scope, shards beam.PCollection, in Input, extractor, output string) (beam.PCollection, error) {
	if err := checkOutput(output, ".npy"); err != nil {
		return beam.PCollection{}, err
	}
	return beam.ParDo(s.Scope("Features"), &featuresFn{Input: in, Extractor: extractor, Output: output}, shards), nil
}

// featuresFn extracts the features of a run.
type featuresFn struct {
	Input             Input
	Extractor, Output string
	saved             feature.Saved
}

// Setup reads the extractor.
func (f *featuresFn) Setup(ctx context.Context) error {
	local, done, err := localCopies(ctx, f.Extractor)
	if err != nil {
		return err
	}
	defer done()
	f.saved, err = feature.ReadSavedFile(local[0])
	return err
}

// ProcessElement extracts the features of one run.
func (f *featuresFn) ProcessElement(ctx context.Context, shard Shard, emit func(Written)) error {
	src := &runSource{input: f.Input, shard: shard, extractor: f.saved.Extractor}
	name := strings.ReplaceAll(f.Output, ShardMark, shard.shard().Name())
	target := name
	if isRemote(name) {
		folder, err := os.MkdirTemp("", "hashgrove-beam-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder)
		target = filepath.Join(folder, filepath.Base(name))
	}
	var saved dataset.Saved
	var err error
	if f.saved.Bins.Dim() > 0 {
		saved, err = dataset.SaveBins(ctx, src, target, f.saved.Bins, nil)
	} else {
		saved, err = dataset.SaveNpy(ctx, src, target, dataset.Float32, nil)
	}
	if err != nil {
		return err
	}
	if target != name {
		for _, local := range []string{saved.Labels, saved.Tags, saved.IDs, target} {
			if local == "" {
				continue
			}
			if err := upload(ctx, local, name[:len(name)-len(filepath.Base(name))]+filepath.Base(local)); err != nil {
				return err
			}
		}
	}
	count(ctx, "extracted", saved.Rows)
	emit(Written{name, saved.Rows})
	return nil
}

// runSource is the vectors of a run of pictures.
type runSource struct {
	input     Input
	shard     Shard
	extractor feature.Extractor
}

// Dim implements vectors.Source.
func (r *runSource) Dim() int { return r.extractor.Dim() }

// Schema implements vectors.Source.
func (r *runSource) Schema() vectors.Schema { return vectors.Schema{} }

// Chunks implements vectors.Source: the pieces of the run, one after the other.
func (r *runSource) Chunks(ctx context.Context) iter.Seq2[vectors.Chunk, error] {
	return func(yield func(vectors.Chunk, error) bool) {
		first := 0
		for _, p := range r.shard.Pieces {
			more, err := r.piece(ctx, p, &first, yield)
			if err != nil {
				yield(vectors.Chunk{}, inFile(p.Path, err))
			}
			if err != nil || !more {
				return
			}
		}
	}
}

// piece yields the vectors of one piece; false says that nobody wants more.
func (r *runSource) piece(
	ctx context.Context, p Piece, first *int, yield func(vectors.Chunk, error) bool,
) (more bool, err error) {
	set, _, done, err := r.input.open(ctx, p, nil)
	if err != nil {
		return false, err
	}
	defer done()
	if err := set.TakeRows(p.Total, p.From, p.Rows); err != nil {
		return false, err
	}
	pictures, ok := set.AsPictures()
	if !ok {
		return false, fmt.Errorf("rows of %d values are not known to be pictures", set.Dim())
	}
	src, err := feature.Vectors(r.extractor, pictures, r.input.Threads)
	if err != nil {
		return false, err
	}
	for c, err := range src.Chunks(ctx) {
		if err != nil {
			return false, err
		}
		c.First = *first
		*first += c.X.Rows
		if !yield(c, nil) {
			return false, nil
		}
	}
	return true, nil
}
