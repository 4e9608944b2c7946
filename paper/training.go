package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"hashgrove"
	"hashgrove/internal/dataset"
	"hashgrove/internal/eval"
	"hashgrove/internal/model"
	"hashgrove/internal/model/inside"
	"hashgrove/internal/par"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// training is one training and its results, stage by stage: the model, its evaluation, its curves.
type training struct {
	name, key string
	material
	learn func(ctx context.Context) (*model.Model, float64, error)
}

// training prepares the training of a row.
func (runner *Runner) training(ctx context.Context, c collection, r row) (*training, error) {
	m, err := runner.material(ctx, c, r.recipe)
	if err != nil {
		return nil, err
	}
	o, base, copies := r.options, m.base, 1
	o.Seed = runner.Seed
	t := &training{material: m}
	t.name = fmt.Sprintf("%s-%s-%d-%d-%s", r.recipe.Name, c.name, r.train, o.Bits, r.method)
	if m.images != nil {
		base, copies = m.images, 2
		t.name += "-mirrored"
	}
	t.key = keyOf("trial 3", m.baseKey, m.queryKey, copies, r.train, r.method, o)
	t.learn = func(ctx context.Context) (*model.Model, float64, error) {
		o.Method = r.method
		return runner.train(ctx, runner.data(base, copies, r.train), o)
	}
	return t, nil
}

// result is one row: a model and its evaluation.
type result struct {
	Train, Test float64 // seconds: training, encoding the queries
	ranked
	Distinct int
	Prior    float64 `json:",omitempty"` // about the MAP of random codes
	Memory   int64   `json:",omitempty"` // peak memory in bytes while training; 0 if unknown
}

// learned describes a training besides the model.
type learned struct {
	Seconds float64
	Memory  int64
}

// result trains and evaluates with the whole base as the database. The model is a stage of its own, because the
// evaluation may be interrupted too.
func (runner *Runner) result(ctx context.Context, t *training) (result, error) {
	return value(runner, t.name, t.key, func() (result, error) {
		path := runner.path(t.name, t.key)
		l, err := value(runner, t.name+"-training", t.key, func() (learned, error) {
			resetPeak()
			m, took, err := t.learn(ctx)
			if err != nil {
				return learned{}, err
			}
			l := learned{took, par.PeakMemory()}
			return l, model.WriteFile(path+".hgm", m)
		})
		if err != nil {
			return result{}, err
		}
		r, _, err := runner.measure(ctx, t, 0, false)
		r.Train, r.Memory = l.Seconds, l.Memory
		return r, err
	})
}

// rowResult returns the result of a row: of all bits, of the first ones of a stage-wise model, or of the ranking by bit
// weights.
func (runner *Runner) rowResult(ctx context.Context, t *training, r row) (result, error) {
	plain, err := runner.result(ctx, t)
	if err != nil || r.first == 0 && !r.weigh {
		return plain, err
	}
	name, key := t.name+"-weighted", keyOf("weighted 1", t.key)
	if r.first > 0 {
		name, key = fmt.Sprintf("%s-first%d", t.name, r.first), keyOf("prefix 1", t.key, r.first)
	}
	return value(runner, name, key, func() (result, error) {
		v, _, err := runner.measure(ctx, t, r.first, r.weigh)
		if r.weigh { // the same training; a prefix has no time of its own
			v.Train, v.Memory = plain.Train, plain.Memory
		}
		return v, err
	})
}

// curve holds precision by number retrieved and by recall.
type curve struct {
	Rank  []eval.CurvePoint
	Reach []eval.PRPoint
}

// curve computes the curves of a training.
func (runner *Runner) curve(ctx context.Context, t *training) (curve, error) {
	if _, err := runner.result(ctx, t); err != nil {
		return curve{}, err
	}
	return value(runner, t.name+"-curves", keyOf("curves 1", t.key), func() (curve, error) {
		_, r, err := runner.measure(ctx, t, 0, false)
		if err != nil {
			return curve{}, err
		}
		return curve{r.CurvePoints, r.PRCurve}, nil
	})
}

// measure encodes database and queries with the first bits (0 means all) of the trained model and evaluates the
// ranking, by bit weights if weighted is set.
func (runner *Runner) measure(ctx context.Context, t *training, bits int, weighted bool) (result, *eval.Report, error) {
	m, err := runner.readModel(t)
	if err != nil {
		return result{}, nil, err
	}
	if bits > 0 {
		m = m.Prefix(bits)
	}
	base, err := supervision.Scan(ctx, t.base, supervision.ScanOptions{})
	if err != nil {
		return result{}, nil, err
	}
	queries, err := supervision.Scan(ctx, t.queries, supervision.ScanOptions{})
	if err != nil {
		return result{}, nil, err
	}
	truth, err := eval.TruthOf(queries, base)
	if err != nil {
		return result{}, nil, err
	}
	c := eval.Codes{Weights: m.Info.Weights}
	if c.Base, err = m.EncodeAll(ctx, base, runner.Threads); err != nil {
		return result{}, nil, err
	}
	began := time.Now()
	if c.Queries, err = m.EncodeAll(ctx, queries, runner.Threads); err != nil {
		return result{}, nil, err
	}
	took, by := time.Since(began).Seconds(), eval.ByHamming
	if weighted {
		by = eval.ByWeights
	}
	r, err := c.Report(ctx, by, truth, eval.Options{Threads: runner.Threads})
	if err != nil {
		return result{}, nil, err
	}
	return result{Test: took, ranked: rankedOf(r), Distinct: r.DistinctCodes, Prior: r.Prior}, r, nil
}

// readModel reads the model of a finished training.
func (runner *Runner) readModel(t *training) (*model.Model, error) {
	path := runner.path(t.name, t.key) + ".hgm"
	m, err := model.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s is gone from the cache: remove the .json files of that name too, to train again", path)
	}
	return m, err
}

// sample draws training rows with the runner's seed, the same for every method; nil means all. A number of -n leaves
// out one row in n.
func (runner *Runner) sample(rows, all int) []bool {
	if rows < 0 {
		rows = all + all/rows
	}
	if rows <= 0 || rows >= all {
		return nil
	}
	keep := make([]bool, all)
	for _, i := range rand.New(rand.NewPCG(runner.Seed, 5000)).Perm(all)[:rows] {
		keep[i] = true
	}
	return keep
}

// data returns a sample of the rows, or all. The set holds several copies of the rows, back to back; the sample has all
// copies of a row or none.
func (runner *Runner) data(set *dataset.Set, copies, rows int) vectors.Source {
	if keep := slices.Repeat(runner.sample(rows, set.Rows()/copies), copies); len(keep) > 0 {
		return vectors.Select(set, keep)
	}
	return set
}

// train trains a method on all rows, since other data measure the model. It returns the seconds it took, including
// quantisation but not feature extraction.
func (runner *Runner) train(ctx context.Context, src vectors.Source, o hashgrove.Options) (*model.Model, float64,
	error) {
	began := time.Now()
	o.Threads, o.Validation = runner.Threads, -1
	o.Progress = func(p hashgrove.Progress) {
		if p.Learned != nil && p.Bit%16 == 0 {
			took := time.Since(began).Seconds()
			runner.Say("bit %d of %d, objective %.4f, %.0f s", p.Bit, p.Bits, p.Learned.Objective, took)
		}
	}
	made, err := hashgrove.Train(ctx, inside.NewData(src).(*hashgrove.Data), o.For(o.Method))
	if err != nil {
		return nil, 0, err
	}
	return inside.Model(made.Model), made.Report.Learning.Seconds(), nil
}

// resetPeak starts a stage by releasing the memory of earlier ones. Linux resets the peak of the process; elsewhere it
// covers all stages so far.
func resetPeak() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // an old kernel keeps the peak of the process
}
