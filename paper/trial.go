package paper

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"hashgrove/dataset"
	"hashgrove/eval"
	"hashgrove/fasthash"
	"hashgrove/hamming"
	"hashgrove/method"
	"hashgrove/model"
	"hashgrove/supervision"
	"hashgrove/vectors"
)

// trial is one training and what comes of it, stage by stage: the model, how it does, its curves.
type trial struct {
	name, key string
	material
	learn func(ctx context.Context, path string) (*model.Model, float64, error)
}

// trial prepares the training of a row.
func (lab *Lab) trial(ctx context.Context, c collection, r row) (*trial, error) {
	m, err := lab.material(ctx, c, r.recipe)
	if err != nil {
		return nil, err
	}
	o, base, copies := r.options, m.base, 1
	o.Seed = lab.Seed
	front := r.recipe.Name
	if r.recipe.PCA > 0 {
		front += fmt.Sprintf("-pca%d", r.recipe.PCA)
	}
	t := &trial{material: m, name: fmt.Sprintf("%s-%s%d-%d-%s", front, lab.begin(c), r.train, o.Bits, r.method)}
	if m.images != nil {
		base, copies = m.images, 2
		t.name += "-mirrored"
	}
	t.key = key("trial 1", m.baseKey, m.queryKey, copies, r.train, r.method, o.Bits, o.Seed, o.Anchors, o.Rows, o.FastHash)
	t.learn = func(ctx context.Context, path string) (*model.Model, float64, error) {
		d, err := lab.data(ctx, base, copies, r.train)
		if err != nil {
			return nil, 0, err
		}
		return lab.train(ctx, r.method, d, o, path)
	}
	return t, nil
}

// result is one row: a model and how it does.
type result struct {
	Train, Test float64 // seconds: training, encoding the queries
	Precision   float64 // at 100
	MAPPaper    float64 // the paper's convention
	AreaPaper   float64
	MAP, Area   float64 // ours
	Distinct    int
	Prior       float64 `json:",omitempty"` // about the MAP of random codes
	Memory      int64   `json:",omitempty"` // bytes held at most while training; 0 where nobody knows
}

// learned is what is known of a training besides the model.
type learned struct {
	Seconds float64
	Memory  int64
}

// path is where the files of a trial begin.
func (lab *Lab) path(t *trial) string { return filepath.Join(lab.Cache, t.name+"-"+t.key) }

// result trains and judges with the whole base as the database. The model is a stage of its own: judging may be
// interrupted too.
func (lab *Lab) result(ctx context.Context, t *trial) (result, error) {
	return value(lab, t.name, t.key, func() (result, error) {
		l, err := value(lab, t.name+"-training", t.key, func() (learned, error) {
			forgetPeak()
			m, took, err := t.learn(ctx, lab.path(t))
			if err != nil {
				return learned{}, err
			}
			l := learned{took, peak()}
			return l, model.WriteFile(lab.path(t)+".hgm", m)
		})
		if err != nil {
			return result{}, err
		}
		if err := os.RemoveAll(lab.path(t) + ".ckpt"); err != nil { // it has done its part
			return result{}, err
		}
		m, err := lab.model(t)
		if err != nil {
			return result{}, err
		}
		r, _, err := lab.measure(ctx, m, t.base, t.queries, rankHamming)
		r.Train, r.Memory = l.Seconds+t.train, l.Memory
		r.Test += t.test
		return r, err
	})
}

// prefix judges the first bits of a stage-wise model.
func (lab *Lab) prefix(ctx context.Context, t *trial, bits int) (result, error) {
	if _, err := lab.result(ctx, t); err != nil {
		return result{}, err
	}
	return value(lab, fmt.Sprintf("%s-first%d", t.name, bits), key("prefix 1", t.key, bits), func() (result, error) {
		m, err := lab.model(t)
		if err != nil {
			return result{}, err
		}
		r, _, err := lab.measure(ctx, m.Prefix(bits), t.base, t.queries, rankHamming)
		return r, err
	})
}

// weighted judges the ranking by the weights of the bits.
func (lab *Lab) weighted(ctx context.Context, t *trial) (result, error) {
	plain, err := lab.result(ctx, t)
	if err != nil {
		return result{}, err
	}
	return value(lab, t.name+"-weighted", key("weighted 1", t.key), func() (result, error) {
		m, err := lab.model(t)
		if err != nil {
			return result{}, err
		}
		r, _, err := lab.measure(ctx, m, t.base, t.queries, rankWeighted)
		r.Train, r.Memory = plain.Train, plain.Memory
		return r, err
	})
}

// curve is precision against what was retrieved and against recall.
type curve struct {
	Rank  []eval.CurvePoint
	Reach []eval.PRPoint
}

// curve makes the curves of a trial.
func (lab *Lab) curve(ctx context.Context, t *trial) (curve, error) {
	if _, err := lab.result(ctx, t); err != nil {
		return curve{}, err
	}
	return value(lab, t.name+"-curves", key("curves 1", t.key), func() (curve, error) {
		m, err := lab.model(t)
		if err != nil {
			return curve{}, err
		}
		_, r, err := lab.measure(ctx, m, t.base, t.queries, rankHamming)
		if err != nil {
			return curve{}, err
		}
		return curve{r.CurvePoints, r.PRCurve}, nil
	})
}

// model reads the model of a trial that was run.
func (lab *Lab) model(t *trial) (*model.Model, error) {
	m, err := model.ReadFile(lab.path(t) + ".hgm")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s.hgm is gone from the cache: remove the .json files of that name too, to train again", lab.path(t))
	}
	return m, err
}

// sample draws rows to learn from with the lab's seed: the same for every method. All are nil.
func (lab *Lab) sample(rows, all int) []bool {
	if rows <= 0 || rows >= all {
		return nil
	}
	keep := make([]bool, all)
	for _, i := range rand.New(rand.NewPCG(lab.Seed, 5000)).Perm(all)[:rows] {
		keep[i] = true
	}
	return keep
}

// data is a sample of the rows, in memory, or all. The set holds a number of copies of the rows, one after the other: the
// sample has all copies of a row or none.
func (lab *Lab) data(ctx context.Context, set *dataset.Set, copies, rows int) (*supervision.Data, error) {
	d, err := supervision.Scan(ctx, set, supervision.ScanOptions{Digest: true})
	if err != nil {
		return nil, err
	}
	if keep := slices.Repeat(lab.sample(rows, d.Rows/copies), copies); len(keep) > 0 {
		d = d.Only(keep)
		table, err := vectors.Read(ctx, d)
		if err != nil {
			return nil, err
		}
		d = d.With(table)
	}
	return d, nil
}

// train has a method learn, and returns the seconds that took: quantisation counts, the making of the features does not.
func (lab *Lab) train(ctx context.Context, name string, d *supervision.Data, o method.Options, path string) (*model.Model, float64, error) {
	began, report := time.Now(), new(fasthash.Report)
	o.Threads = lab.Threads
	o.Run = fasthash.Run{
		Checkpoint: path + ".ckpt", Resume: true, Report: report,
		Progress: func(bit fasthash.Bit) {
			if bit.Bit%16 == 0 {
				lab.Say("bit %d of %d, objective %.4f, %.0f s", bit.Bit, o.Bits, bit.Stat.Objective, time.Since(began).Seconds())
			}
		},
	}
	m, err := method.Train(ctx, name, d, o)
	if err != nil {
		return nil, 0, err
	}
	took := time.Since(began).Seconds()
	if report.Resumed > 0 { // what an interrupted run did must count too; 0 where all of it was that run
		took *= float64(o.Bits) / float64(max(1, len(report.Bits)))
		if len(report.Bits) == 0 {
			took = 0
		}
	}
	return m, took, nil
}

// ranking judges the codes of queries against those of a base.
type ranking func(ctx context.Context, m *model.Model, queries, base hamming.Codes, truth eval.Truth, o eval.Options) (*eval.Report, error)

func rankHamming(ctx context.Context, _ *model.Model, queries, base hamming.Codes, truth eval.Truth, o eval.Options) (*eval.Report, error) {
	return eval.Retrieval(ctx, queries, base, truth, o)
}

func rankWeighted(ctx context.Context, m *model.Model, queries, base hamming.Codes, truth eval.Truth, o eval.Options) (*eval.Report, error) {
	return eval.RetrievalWeighted(ctx, queries, base, m.Info.Weights, truth, o)
}

// measure encodes database and queries and judges the rankings.
func (lab *Lab) measure(ctx context.Context, m *model.Model, base, queries *dataset.Set, by ranking) (result, *eval.Report, error) {
	codes, b, _, err := lab.encode(ctx, m, base)
	if err != nil {
		return result{}, nil, err
	}
	queryCodes, q, took, err := lab.encode(ctx, m, queries)
	if err != nil {
		return result{}, nil, err
	}
	truth, err := eval.TruthOf(q, b)
	if err != nil {
		return result{}, nil, err
	}
	r, err := by(ctx, m, queryCodes, codes, truth, eval.Options{Threads: lab.Threads})
	if err != nil {
		return result{}, nil, err
	}
	return result{
		Test: took, Precision: r.Precision[100], MAPPaper: r.MAP10000, AreaPaper: r.PRArea10000,
		MAP: r.MAP, Area: r.PRArea, Distinct: r.DistinctCodes, Prior: r.Prior,
	}, r, nil
}

func (lab *Lab) encode(ctx context.Context, m *model.Model, set *dataset.Set) (hamming.Codes, *supervision.Data, float64, error) {
	sum, err := supervision.Scan(ctx, set, supervision.ScanOptions{})
	if err != nil {
		return hamming.Codes{}, nil, 0, err
	}
	began := time.Now()
	all := hamming.NewCodes(sum.Rows, m.Encoder.Bits())
	err = m.EncodeSource(ctx, set, lab.Threads, func(first int, codes hamming.Codes, _ vectors.Chunk) error {
		copy(all.Data[first*all.Words:], codes.Data)
		return nil
	})
	return all, sum, time.Since(began).Seconds(), err
}
