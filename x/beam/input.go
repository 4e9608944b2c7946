// Package beam runs Hashgrove in pipelines of Apache Beam: on one machine, or on Flink, Spark and Dataflow.
//
//	Shards      files of vectors or pictures -> runs of their rows
//	Encode      runs of rows                 -> codes, with a model that every worker loads once
//	Write       codes                        -> files of codes, one for each run
//	ReadCodes   files of codes               -> codes
//	Push        codes                        -> a table of an engine
//	Features    runs of pictures             -> files of vectors, one for each run
//	Evaluate    codes and queries            -> the report of hashgrove eval, with the same digits
//
// A run of rows is the unit of work: what becomes of it depends on nothing but its number, so a worker that does it
// once more, because a bundle failed, does the same. Files appear under their names when they are complete, and items
// of an engine are replaced by id. Vectors never travel between workers: a worker reads its rows and hands on codes.
package beam

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"hashgrove/internal/dataset"
	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// Input names the files that a pipeline reads. Their order is that of the rows.
type Input struct {
	Paths  []string // files, patterns of files, or folders of pictures
	Format string   // "" recognises it file by file

	// Columns or keys inside the files, as of dataset.Spec.
	Vector, Label, Tags, ID string

	// TagsAlone leaves out classes, so that only tags say which rows are similar.
	TagsAlone bool

	// Files with an entry per row, none or one for each of the files.
	LabelsFile, IDsFile []string

	// How pictures are prepared, as of dataset.Spec, where no model says it.
	Size int
	Fit  string
	Grey bool

	SkipBad bool // leave out bad rows; the others keep their numbers

	Model ModelFile // that will encode the rows; its Path is "" for features

	// Shards is the number of runs that the rows are divided into, of equal length as by hashgrove encode --shard. 0
	// makes runs of 100,000 rows or so. The codes of a run must fit into memory.
	Shards  int
	Threads int // that encode a run; 0 means all cores
}

// defaultRows is the length of a run where the number of runs is not given.
const defaultRows = 100_000

// Shard is a run of rows of all files.
type Shard struct {
	Number, Of         int // from 1 to Of
	First, Rows, Total int
	Pieces             []Piece
}

// Piece is the rows of a run that lie in one file.
type Piece struct {
	Path, Labels, IDs string
	Before            int // rows of all files before this one
	Total             int // rows of the file
	From, Rows        int
}

// shard is the same for packages that know nothing of pieces.
func (s Shard) shard() hamming.Shard {
	return hamming.Shard{Number: s.Number, Of: s.Of, First: s.First, Rows: s.Rows, Total: s.Total}
}

// inputFile is one file, with its place among all.
type inputFile struct {
	Index             int
	Path, Labels, IDs string
}

// countedFile is a file with the number of its rows.
type countedFile struct {
	File inputFile
	Rows int
}

func init() {
	beam.RegisterType(reflect.TypeFor[Shard]())
	beam.RegisterType(reflect.TypeFor[inputFile]())
	beam.RegisterType(reflect.TypeFor[countedFile]())
	beam.RegisterType(reflect.TypeFor[countFn]())
	beam.RegisterType(reflect.TypeFor[divideFn]())
}

// Shards counts the rows of the files, many files at a time, and divides them into runs.
func Shards(ctx context.Context, s beam.Scope, in Input) (beam.PCollection, error) {
	files, err := in.files(ctx)
	if err != nil {
		return beam.PCollection{}, err
	}
	if in.Shards < 0 || in.Shards > hamming.MaxShards {
		return beam.PCollection{}, fmt.Errorf("%d shards: give 0 to %d", in.Shards, hamming.MaxShards)
	}
	s = s.Scope("Shards")
	spread := beam.Reshuffle(s, beam.CreateList(s, files))
	counted := beam.ParDo(s, &countFn{Input: in}, spread)
	together := beam.GroupByKey(s, beam.AddFixedKey(s, counted))
	return beam.Reshuffle(s, beam.ParDo(s, &divideFn{Shards: in.Shards}, together)), nil
}

// files lists the files in the order of their rows.
func (in Input) files(ctx context.Context) ([]inputFile, error) {
	var paths []string
	for _, pattern := range in.Paths {
		found, err := expand(ctx, pattern)
		if err != nil {
			return nil, err
		}
		paths = append(paths, found...)
	}
	if len(paths) == 0 {
		return nil, errors.New("no files to read")
	}
	files := make([]inputFile, len(paths))
	for i, path := range paths {
		files[i] = inputFile{Index: i, Path: path}
	}
	for what, list := range map[string][]string{"labels": in.LabelsFile, "ids": in.IDsFile} {
		if len(list) > 0 && len(list) != len(paths) {
			return nil, fmt.Errorf("%d files of %s for %d files of vectors: give one for each, in the same order",
				len(list), what, len(paths))
		}
		for i, path := range list {
			if what == "ids" {
				files[i].IDs = path
			} else {
				files[i].Labels = path
			}
		}
	}
	return files, nil
}

// countFn counts the rows of a file.
type countFn struct{ Input Input }

// ProcessElement counts one file.
func (f *countFn) ProcessElement(ctx context.Context, file inputFile, emit func(countedFile)) error {
	set, _, done, err := f.Input.open(ctx, Piece{Path: file.Path, Labels: file.Labels, IDs: file.IDs}, nil)
	if err != nil {
		return err
	}
	defer done()
	whole, err := set.TakeShard(ctx, 1, 1)
	if err != nil {
		return inFile(file.Path, err)
	}
	emit(countedFile{file, whole.Total})
	return nil
}

// divideFn makes runs of rows from the numbers of rows of all files.
type divideFn struct{ Shards int }

// ProcessElement divides the rows of all files.
func (f *divideFn) ProcessElement(_ int, files func(*countedFile) bool, emit func(Shard)) error {
	var all []countedFile
	total := 0
	for one := (countedFile{}); files(&one); one = (countedFile{}) {
		all = append(all, one)
		total += one.Rows
	}
	slices.SortFunc(all, func(a, b countedFile) int { return a.File.Index - b.File.Index })
	of := f.Shards
	if of == 0 {
		of = min(max(1, (total+defaultRows-1)/defaultRows), hamming.MaxShards)
	}
	for number := range of {
		emit(divide(all, hamming.NewShard(number+1, of, total)))
	}
	return nil
}

// divide finds the pieces of a run.
func divide(files []countedFile, run hamming.Shard) Shard {
	s := Shard{Number: run.Number, Of: run.Of, First: run.First, Rows: run.Rows, Total: run.Total}
	before := 0
	for _, f := range files {
		from, to := max(run.First-before, 0), min(run.First+run.Rows-before, f.Rows)
		if from < to {
			s.Pieces = append(s.Pieces, Piece{
				Path: f.File.Path, Labels: f.File.Labels, IDs: f.File.IDs,
				Before: before, Total: f.Rows, From: from, Rows: to - from,
			})
		}
		before += f.Rows
	}
	return s
}

// open opens the file of a piece, and the source of what a model takes where there is one. Done removes copies.
func (in Input) open(ctx context.Context, p Piece, m *model.Model) (
	set *dataset.Set, src vectors.Source, done func(), err error,
) {
	local, remove, err := localCopies(ctx, p.Path, p.Labels, p.IDs)
	if err != nil {
		return nil, nil, nil, err
	}
	defer func() {
		if err != nil {
			remove()
			err = inFile(p.Path, err)
		}
	}()
	if m == nil && in.Model.Path != "" {
		if m, err = in.Model.load(ctx); err != nil {
			return nil, nil, nil, err
		}
	}
	spec := in.spec(local, m)
	if set, err = dataset.Open(spec); err != nil {
		return nil, nil, nil, err
	}
	if m == nil {
		return set, set, remove, nil
	}
	if src, err = m.Source(set, in.Threads); err != nil {
		return nil, nil, nil, err
	}
	if src.Dim() != m.Dim() {
		return nil, nil, nil, fmt.Errorf("vectors of %d dimensions, but the model takes %d", src.Dim(), m.Dim())
	}
	return set, src, remove, nil
}

// spec is how a file is read, given the paths of the file, its labels and its ids.
func (in Input) spec(paths []string, m *model.Model) dataset.Spec {
	spec := dataset.Spec{
		Paths: paths[:1], Format: in.Format, Vector: in.Vector, Label: in.Label, Tags: in.Tags, ID: in.ID,
		TagsAlone: in.TagsAlone, Size: in.Size, Fit: in.Fit, Grey: in.Grey, SkipBad: in.SkipBad, Threads: in.Threads,
	}
	if paths[1] != "" {
		spec.LabelsFile = paths[1:2]
	}
	if paths[2] != "" {
		spec.IDsFile = paths[2:3]
	}
	if m == nil {
		return spec
	}
	// The columns are those that the model was learned from, unless the input says otherwise.
	spec.Dim, spec.Pictures = m.Encoder.Dim(), m.Pictures
	if m.Pictures != nil {
		spec.Size, spec.Fit, spec.Grey = 0, "", false
	}
	spec.Follow(m.Schema(), true)
	return spec
}

// inFile says which file an error is about, unless it does so itself.
func inFile(path string, err error) error {
	if strings.Contains(err.Error(), path) {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}
