package experiments

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hashgrove"
	"hashgrove/affinity"
	"hashgrove/dataset"
	"hashgrove/eval"
	"hashgrove/feature"
	"hashgrove/hamming"
	"hashgrove/internal/fashion"
	"hashgrove/model"
	"hashgrove/training"
)

// split is one part of a data set of pictures, read as often as needed.
type split struct {
	name   string
	digest string
	open   func() (dataset.Source, error)
	shape  dataset.Shape
}

// cifar10 is the official split: 50,000 pictures that are database and training set, 10,000 queries. In a short run it
// is the demo's pictures instead.
func (lab *Lab) cifar10() (base, queries split, err error) {
	if lab.Short {
		base = split{name: "base", digest: "fashion 1000", shape: dataset.Shape{Width: 28, Height: 28, Channels: 1}}
		queries = split{name: "queries", digest: "fashion 200", shape: base.shape}
		base.open = func() (dataset.Source, error) { return labelled(fashion.Train(), 1000), nil }
		queries.open = func() (dataset.Source, error) { return labelled(fashion.Query(), 200), nil }
		return base, queries, nil
	}
	files := func(name string, paths ...string) (split, error) {
		s := split{name: name, shape: dataset.Shape{Width: 32, Height: 32, Channels: 3, Planar: true}}
		for i := range paths {
			paths[i] = filepath.Join(lab.Data, "cifar10", paths[i])
		}
		var err error
		s.digest, err = lab.digest(paths...)
		s.open = func() (dataset.Source, error) { return dataset.Open(dataset.Spec{Paths: paths, Format: "cifar10"}) }
		return s, err
	}
	if base, err = files("base", "data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"); err != nil {
		return base, queries, err
	}
	queries, err = files("queries", "test_batch.bin")
	return base, queries, err
}

// labelled is the first pictures of a part of the demo's as a source with labels.
func labelled(p fashion.Part, n int) dataset.Source {
	labels := make([]string, n)
	for i := range labels {
		labels[i] = fashion.Names[p.Class[i]]
	}
	return dataset.WithLabels(p.X.Slice(0, n), labels)
}

// recipe is a kind of features by its options.
type recipe struct {
	Name     string
	GIST     []int            // orientations; nil for a codebook
	Codebook *feature.Learner // nil for GIST
}

// extractor makes or learns the extractor from the base.
func (lab *Lab) extractor(ctx context.Context, r recipe, base split) (feature.Extractor, error) {
	if r.Codebook == nil {
		return feature.NewGIST(feature.GISTOptions{Size: base.shape.Width, Orientations: r.GIST, Blocks: 4})
	}
	l := *r.Codebook
	path, err := lab.file(r.Name+"-codebook", key("codebook 1", l, base.digest), ".hgf", func(path string) error {
		src, err := base.open()
		if err != nil {
			return err
		}
		var pictures []feature.Picture
		for c, err := range src.Chunks(ctx) {
			if err != nil {
				return err
			}
			for i := range c.X.Rows {
				pictures = append(pictures, feature.NewPicture(c.X.Row(i), base.shape))
			}
		}
		e, err := l.Learn(ctx, pictures, lab.Threads)
		if err != nil {
			return err
		}
		return feature.WriteFile(path, e)
	})
	if err != nil {
		return nil, err
	}
	return feature.ReadFile(path)
}

// vectors is the features of a split as a NumPy file with a file of labels, as one data set.
func (lab *Lab) vectors(ctx context.Context, r recipe, e feature.Extractor, s split) (*dataset.Set, string, error) {
	k := key("vectors 1", hex.EncodeToString(feature.Append(nil, e)), s.digest)
	path, err := lab.file(r.Name+"-"+s.name, k, ".npy", func(path string) error {
		pictures, err := s.open()
		if err != nil {
			return err
		}
		src, err := feature.Vectors(e, pictures, s.shape, lab.Threads)
		if err != nil {
			return err
		}
		_, err = dataset.SaveNpy(ctx, src, path, dataset.Float32, nil)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	set, err := dataset.Open(dataset.Spec{Paths: []string{path}, LabelsFile: []string{strings.TrimSuffix(path, ".npy") + ".labels.txt"}})
	return set, k, err
}

// result is one row: a model and how it does.
type result struct {
	Train, Test float64 // seconds: training, encoding the queries
	Precision   float64 // at 100
	MAPPaper    float64 // the paper's convention
	AreaPaper   float64
	MAP, Area   float64 // ours
	Distinct    int
}

// judge trains on some rows of the base (0 means all) and judges with the whole base as the database.
func (lab *Lab) judge(ctx context.Context, r recipe, trainer hashgrove.Trainer, rows int) (result, error) {
	base, queries, err := lab.cifar10()
	if err != nil {
		return result{}, err
	}
	e, err := lab.extractor(ctx, r, base)
	if err != nil {
		return result{}, err
	}
	b, baseKey, err := lab.vectors(ctx, r, e, base)
	if err != nil {
		return result{}, err
	}
	q, queryKey, err := lab.vectors(ctx, r, e, queries)
	if err != nil {
		return result{}, err
	}
	trainer.Seed, trainer.Threads = lab.Seed, lab.Threads
	name := fmt.Sprintf("%s-%d-%d", r.Name, rows, trainer.Bits)
	k := key("result 1", baseKey, queryKey, trainer, rows)
	return value(lab, name, k, func() (result, error) {
		m, took, err := lab.train(ctx, b, trainer, rows, filepath.Join(lab.Cache, name+"-"+k))
		if err != nil {
			return result{}, err
		}
		return lab.measure(ctx, m, took, b, q)
	})
}

// train learns from a sample of the rows, drawn with the lab's seed, or from all. Training seconds count quantisation and
// learning, not the making of the features.
func (lab *Lab) train(ctx context.Context, set *dataset.Set, trainer hashgrove.Trainer, rows int, path string) (*model.Model, float64, error) {
	began := time.Now()
	sum, err := dataset.Scan(ctx, set, dataset.ScanOptions{Digest: true})
	if err != nil {
		return nil, 0, err
	}
	var src dataset.Source = set
	ranges := sum.Ranges
	if rows > 0 && rows < sum.Rows {
		keep := make([]bool, sum.Rows)
		for _, i := range rand.New(rand.NewPCG(lab.Seed, 5000)).Perm(sum.Rows)[:rows] {
			keep[i] = true
		}
		src = dataset.Select(set, keep)
		if ranges, err = dataset.RangesOf(ctx, src); err != nil {
			return nil, 0, err
		}
		digest := sum.Digest
		sum = sum.Only(keep)
		sum.Digest = digest
	}
	quantizer, err := ranges.Quantizer()
	if err != nil {
		return nil, 0, err
	}
	x, err := dataset.Quantize(ctx, src, sum.Rows, quantizer, lab.Threads)
	if err != nil {
		return nil, 0, err
	}
	y, err := affinity.ByClass(sum.Labels.Class)
	if err != nil {
		return nil, 0, err
	}
	job := training.Job{
		Trainer: trainer, X: x, Y: y, Similar: training.Similarity{From: "classes"}, Data: hex.EncodeToString(sum.Digest[:]),
		Checkpoint: path + ".ckpt", Resume: true,
		Progress: func(bit hashgrove.Bit) {
			if bit.Bit%16 == 0 {
				lab.Say("bit %d of %d, objective %.4f, %.0f s", bit.Bit, trainer.Bits, bit.Stat.Objective, time.Since(began).Seconds())
			}
		},
	}
	r, err := job.Run(ctx)
	if err != nil {
		return nil, 0, err
	}
	took := time.Since(began).Seconds()
	if r.Resumed > 0 { // what an interrupted run did must count too
		took *= float64(trainer.Bits) / float64(max(1, len(r.Bits)))
	}
	if err := model.WriteFile(path+".hgm", r.Model); err != nil {
		return nil, 0, err
	}
	return r.Model, took, os.RemoveAll(job.Checkpoint)
}

// measure encodes database and queries and judges the rankings.
func (lab *Lab) measure(ctx context.Context, m *model.Model, train float64, base, queries *dataset.Set) (result, error) {
	codes, baseClass, _, err := lab.encode(ctx, m, base)
	if err != nil {
		return result{}, err
	}
	queryCodes, queryClass, took, err := lab.encode(ctx, m, queries)
	if err != nil {
		return result{}, err
	}
	r, err := eval.Retrieval(ctx, queryCodes, codes, eval.ByClass(queryClass.In(baseClass).Class, baseClass.Class), eval.Options{Threads: lab.Threads})
	if err != nil {
		return result{}, err
	}
	return result{
		Train: train, Test: took, Precision: r.Precision[100], MAPPaper: r.MAP10000, AreaPaper: r.PRArea10000,
		MAP: r.MAP, Area: r.PRArea, Distinct: r.DistinctCodes,
	}, nil
}

func (lab *Lab) encode(ctx context.Context, m *model.Model, set *dataset.Set) (hamming.Codes, *dataset.Labels, float64, error) {
	sum, err := dataset.Scan(ctx, set, dataset.ScanOptions{})
	if err != nil {
		return hamming.Codes{}, nil, 0, err
	}
	began := time.Now()
	all := hamming.NewCodes(sum.Rows, m.Encoder.Bits())
	err = m.EncodeSource(ctx, set, lab.Threads, func(first int, codes hamming.Codes, _ dataset.Chunk) error {
		copy(all.Data[first*all.Words:], codes.Data)
		return nil
	})
	return all, sum.Labels, time.Since(began).Seconds(), err
}
