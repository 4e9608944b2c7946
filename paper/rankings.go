package main

import (
	"context"
	"fmt"
	"strings"

	"hashgrove"
	"hashgrove/internal/eval"
	"hashgrove/internal/fasthash"
	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// rankingsTable runs the FastHash rows of Table 3 (tab:features) with the paper's settings and with the default, ranked
// by Hamming distance, by the margins of the query and by its expected code: in the whole database, like the paper, and
// separately for training items and new items. Rows that learn from all pictures have no new items, so others leave out
// a fifth.
func rankingsTable(c collection) Experiment {
	var rows []row
	for _, kind := range []struct {
		recipe
		table string
	}{{c.gist, "gist"}, {codebook(800), "codebook"}} {
		for i, train := range []int{5000, 0, -5} {
			paper := reported(kind.table, c.name)[4+i%2] // 5,000 rows, all; the paper has no figures for a part
			if train < 0 {
				paper = paperRow{}
			}
			normal := hashgrove.Options{Bits: 64, Effort: fasthash.Normal}
			rows = append(rows,
				fastHashRow(kind.recipe, train, hashgrove.Options{Bits: 64, Effort: fasthash.Paper}, "paper", paper),
				fastHashRow(kind.recipe, train, normal, "normal", paper),
				fastHashRow(kind.recipe.mirrored().averaged(), train, normal, "normal, mirror images", paper))
		}
	}
	return Experiment{
		Name: c.name + "-rankings",
		About: "FastHash on " + c.title + " with the paper's settings and the default, by Hamming distance, by " +
			"margins and by the expected code, learned and new items apart",
		Run: func(ctx context.Context, runner *Runner) (*Table, error) {
			return runner.rankingsTable(ctx, c, runner.chosen(rows))
		},
	}
}

// rankingsNote explains the columns.
const rankingsNote = `Codes have 64 bits. Every measure stands three times: by Hamming distance; by the margins of the
query, which weigh each bit that differs by how certain the query is of it; and by the expected code, the code that the
query most likely has. The codes are the same. The columns up to "PR area*" are the paper's protocol, and those marked
* its convention: ties in database order, lists cut at 10,000, MAP divided by the number of hits in the list. "New" and
"learned" search only in the items of the database that were not learned from, and only in those that were; their MAP is
the expectation over ties in the whole ranking. The efforts are those of training: the paper's own settings and the
default. "Mirror images" means that those are learned from too, and that the scores of a picture and of its mirror image
are added before the sign.`

// rankingsTable runs the rows.
func (runner *Runner) rankingsTable(ctx context.Context, c collection, rows []row) (*Table, error) {
	title := c.title + ": FastHash ranked by Hamming distance, by margins and by the expected code"
	t := &Table{Title: title, Head: []string{
		"row", "features", "trained on", "effort", "train s",
		"precision@100", "by margins", "expected", "paper", "MAP*", "by margins", "expected", "paper",
		"PR area*", "by margins", "expected", "paper",
		"new: precision@100", "by margins", "expected", "new: MAP", "by margins", "expected",
		"learned: MAP", "by margins", "expected",
	}}
	values, err := runRows(ctx, runner, c, t, rows, func(run *training, r row) (rankings, error) {
		return runner.rankings(ctx, run, r)
	})
	if err != nil {
		return nil, err
	}
	for i, r := range rows {
		t.Rows = append(t.Rows, r.rankingCells(values[i]))
	}
	t.Note = strings.TrimSpace(c.parts) + "\n" + rankingsNote
	runner.labelShort(t, c)
	return t, nil
}

func (r row) rankingCells(v rankings) []string {
	cells := []string{fmt.Sprint(r.place), r.recipe.Name, r.trained(), r.title(), number("%.0f", v.Train)}
	all := func(part [3]ranked, of func(ranked) float64) {
		for _, p := range part {
			cells = append(cells, number("%.3f", of(p)))
		}
	}
	beside := func(paper float64) { cells = append(cells, number("%.3f", paper)) }
	all(v.Whole, func(p ranked) float64 { return p.Precision })
	beside(r.paper.precision)
	all(v.Whole, func(p ranked) float64 { return p.MAPPaper })
	beside(r.paper.mapping)
	all(v.Whole, func(p ranked) float64 { return p.AreaPaper })
	beside(r.paper.area)
	all(v.New, func(p ranked) float64 { return p.Precision })
	all(v.New, func(p ranked) float64 { return p.MAP })
	all(v.Learned, func(p ranked) float64 { return p.MAP })
	return cells
}

// ranked measures one ranking in one part of the items.
type ranked struct {
	Precision float64 // at 100
	MAPPaper  float64 // the paper's convention
	AreaPaper float64
	MAP, Area float64 // ours
}

func rankedOf(r *eval.Report) ranked {
	return ranked{r.Precision[100], r.MAP10000, r.PRArea10000, r.MAP, r.PRArea}
}

// rankings measures codes by the rankings of judgedBy. Parts that do not exist are zero.
type rankings struct {
	Train               float64 // seconds
	Whole, New, Learned [3]ranked
}

// judgedBy lists the rankings in the order of the columns.
var judgedBy = [3]eval.Ranking{eval.ByHamming, eval.ByMargins, eval.ByExpected}

// rankings trains a row and evaluates all rankings.
func (runner *Runner) rankings(ctx context.Context, t *training, r row) (rankings, error) {
	plain, err := runner.result(ctx, t)
	if err != nil {
		return rankings{}, err
	}
	name, key := t.name+"-rankings", keyOf("rankings 2", t.key, r.recipe.Average)
	return value(runner, name, key, func() (rankings, error) {
		v := rankings{Train: plain.Train}
		m, err := runner.readModel(t)
		if err != nil {
			return v, err
		}
		base, err := runner.encode(ctx, m, t.base, t.baseImages)
		if err != nil {
			return v, err
		}
		queries, err := runner.encode(ctx, m, t.queries, t.queryImages)
		if err != nil {
			return v, err
		}
		if queries.expected, err = m.Expected(ctx, queries.margins); err != nil {
			return v, err
		}
		if v.Whole, err = runner.judge(ctx, queries, base, nil); err != nil {
			return v, err
		}
		learned := runner.sample(r.train, base.Rows)
		if learned == nil {
			v.Learned = v.Whole
			return v, nil
		}
		if v.Learned, err = runner.judge(ctx, queries, base, learned); err != nil {
			return v, err
		}
		for i := range learned {
			learned[i] = !learned[i]
		}
		v.New, err = runner.judge(ctx, queries, base, learned)
		return v, err
	})
}

// encoded holds rows with their codes and margins.
type encoded struct {
	*supervision.Data
	codes    hamming.Codes
	margins  vectors.Matrix
	expected vectors.Matrix // of queries
}

// encode computes margins and the codes that are their signs. If there are mirror images, it adds their scores before
// the sign.
func (runner *Runner) encode(ctx context.Context, m *model.Model, rows, images vectors.Source) (e encoded, err error) {
	if e.Data, err = supervision.Scan(ctx, rows, supervision.ScanOptions{}); err != nil {
		return e, err
	}
	bits := m.Encoder.Bits()
	e.codes = hamming.NewCodes(e.Rows, bits)
	e.margins = vectors.Matrix{Rows: e.Rows, Cols: bits, Data: make([]float32, e.Rows*bits)}
	for _, src := range []vectors.Source{rows, images} {
		if src == nil {
			continue
		}
		at := 0
		for c, err := range src.Chunks(ctx) {
			if err != nil {
				return e, err
			}
			x, err := m.Margins(ctx, c.X, runner.Threads)
			if err != nil {
				return e, err
			}
			for _, v := range x.Data {
				e.margins.Data[at] += v
				at++
			}
		}
		if err := vectors.CheckRows(at/bits, e.Rows); err != nil {
			return e, err
		}
	}
	for i, v := range e.margins.Data {
		e.codes.SetBit(i/bits, i%bits, v >= 0)
	}
	return e, nil
}

// judge ranks a part of the base, or all if part is nil, by all rankings. One that the model does not have is zero.
func (runner *Runner) judge(ctx context.Context, queries, base encoded, part []bool) (v [3]ranked, err error) {
	if part != nil {
		codes := hamming.NewCodes(0, base.codes.Bits)
		for i, in := range part {
			if in {
				codes.Data = append(codes.Data, base.codes.Row(i)...)
			}
		}
		base.Data, base.codes = base.Only(part), codes
	}
	truth, err := eval.TruthOf(queries.Data, base.Data)
	if err != nil {
		return v, err
	}
	c := eval.Codes{Queries: queries.codes, Base: base.codes, Margins: queries.margins, Expected: queries.expected}
	for i, by := range judgedBy {
		r, err := c.Report(ctx, by, truth, eval.Options{Threads: runner.Threads})
		if err != nil {
			return v, err
		}
		if r != nil {
			v[i] = rankedOf(r)
		}
	}
	return v, nil
}
