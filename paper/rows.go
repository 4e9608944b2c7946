package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"hashgrove"
	"hashgrove/internal/fasthash"
	"hashgrove/internal/fasthash/columns"
	"hashgrove/internal/method"
)

// paperRow is what the paper reports: precision@100, MAP, PR area, training and test seconds; 0 if it reports nothing.
type paperRow struct{ precision, mapping, area, train, test float64 }

// row is one line of a table: what to run and what the paper got.
type row struct {
	recipe  recipe
	train   int               // rows to learn from; 0 means all, -n all but one in n
	method  string            // name in package method
	label   string            // in the table; "" means the method's own
	options hashgrove.Options // of the method
	first   int               // evaluate only this number of bits; 0 means all
	weigh   bool              // rank by the weights of the bits
	paper   paperRow
	place   int // in the table, counted from 1
}

// paperTrees returns the paper's setting, trees ours: deeper trees fit the codes of the database better, and more of
// them always help.
func paperTrees(bits int) hashgrove.Options {
	return hashgrove.Options{Bits: bits, Effort: fasthash.Paper}
}
func trees(bits, rounds, depth int) hashgrove.Options {
	return hashgrove.Options{Bits: bits, Effort: fasthash.Paper, Trees: hashgrove.TreeOptions{Rounds: rounds,
		Depth: depth}}
}

// fewRows and manyRows return our settings for few training pictures and for all of them with their mirror images. They
// were chosen on a validation part of CIFAR-10.
func fewRows(bits int) hashgrove.Options {
	t := trees(bits, 800, 3)
	t.Trees.Trim, t.Trees.NodeFeatures = 0.9, 50
	return t
}

func manyRows(bits int) hashgrove.Options {
	t := trees(bits, 400, 6)
	t.Trees.Trim, t.Trees.NodeFeatures = 0.9, 100
	return t
}

// fastHashRow returns a row of FastHash.
func fastHashRow(r recipe, train int, t hashgrove.Options, label string, paper paperRow) row {
	return row{
		recipe: r, train: train, method: method.FastHash, label: label, paper: paper,
		options: t,
	}
}

// methodRow returns a row of another method, which learns from all rows of the sample.
func methodRow(r recipe, train int, name string, o hashgrove.Options, paper paperRow) row {
	o.Bits = cmp.Or(o.Bits, fasthash.DefaultBits)
	o.Other.Rows = cmp.Or(o.Other.Rows, -1)
	return row{recipe: r, train: train, method: name, options: o, paper: paper}
}

// bits returns the length of the codes.
func (r row) bits() int { return cmp.Or(r.first, r.options.Bits) }

// title returns the name of the method in tables.
func (r row) title() string {
	if r.label != "" {
		return r.label
	}
	d, ok := method.Describe(r.method)
	if !ok {
		return r.method
	}
	if r.options.Other.Anchors > 0 {
		return fmt.Sprintf("%s, %d anchors", d.Title, r.options.Other.Anchors)
	}
	return d.Title
}

// features returns the name of the features in tables.
func (r row) features() string {
	if dims := r.options.Other.PCA; dims > 0 {
		return fmt.Sprintf("%s, PCA %d", r.recipe.Name, dims)
	}
	return r.recipe.Name
}

// short returns a row small enough for a test.
func (r row) short() row {
	r.label = r.title()
	r.recipe = r.recipe.short()
	r.first = r.first * 8 / 64
	r.options.Bits = 8
	r.options.Other.Anchors = 40
	r.options.Other.PCA = min(r.options.Other.PCA, 24)
	r.options.Other.Rows = min(r.options.Other.Rows, 150)
	r.options.Trees.Rounds = 10
	r.options.FastHash.LinearColumns = columns.Off // trying them takes longer than everything else
	r.options = r.options.For(r.method)
	r.train = min(r.train, 150)
	r.paper = paperRow{}
	return r
}

// chosen returns the rows to run, made small enough for a test in a short run.
func (runner *Runner) chosen(rows []row) (out []row) {
	for i, r := range rows {
		if runner.Short {
			r = r.short()
		}
		r.place = i + 1
		if (runner.Rows == nil || slices.Contains(runner.Rows, r.place)) &&
			(runner.Methods == nil || slices.Contains(runner.Methods, r.method)) {
			out = append(out, r)
		}
	}
	return out
}

// conventions is the note of every table of rows.
const conventions = `Columns marked * follow the paper's convention: ties in database order, lists cut at 10,000, and
MAP divided by the number of hits in the list. Unmarked MAP and PR area are expectations over ties in the whole ranking.
Test seconds are the time to encode all queries, including reading their vectors; training seconds do not include making
the features. Memory is the peak of the process during training. The paper's times were measured on its authors'
machine. In rows trained on all, the training rows are also the database, so these rows measure classification, not
how well new items are found ([new items](../../docs/results/README.md#new-items)); rows trained on 5,000 search mostly
new items.`

// table runs the rows. A row that fails has no numbers, and the others continue.
func (runner *Runner) table(ctx context.Context, c collection, title, note string, rows []row) (*Table, error) {
	t := &Table{
		Title: title,
		Head: []string{
			"features", "trained on", "bits", "method", "train s", "paper", "test s", "paper", "precision@100", "paper",
			"MAP*", "paper", "PR area*", "paper", "MAP", "PR area", "distinct codes", "memory MB",
		},
	}
	rows = runner.chosen(rows)
	var err error
	t.values, err = runRows(ctx, runner, c, t, rows, func(run *training, r row) (result, error) {
		return runner.rowResult(ctx, run, r)
	})
	if err != nil {
		return nil, err
	}
	prior := 0.0
	for i, r := range rows {
		prior = max(prior, t.values[i].Prior)
		t.Rows = append(t.Rows, r.cells(t.values[i]))
	}
	t.Note = strings.TrimSpace(c.parts + " " + note)
	if c.tagged {
		t.Note += " In Step 1 of FastHash and of TSH with trees, the similar pairs together weigh as much as the " +
			"dissimilar ones."
	}
	t.Note += "\n" + conventions
	if prior > 0 {
		t.Note += fmt.Sprintf(" Random codes would have a MAP of about %.3f.", prior)
	}
	runner.labelShort(t, c)
	return t, nil
}

// cells returns the numbers of a row beside those of the paper.
func (r row) cells(v result) []string {
	p := r.paper
	return []string{
		r.features(), r.trained(), fmt.Sprint(r.bits()), r.title(),
		number("%.0f", v.Train), number("%.0f", p.train), number("%.1f", v.Test), number("%.0f", p.test),
		number("%.3f", v.Precision), number("%.3f", p.precision), number("%.3f", v.MAPPaper), number("%.3f", p.mapping),
		number("%.3f", v.AreaPaper), number("%.3f", p.area), number("%.3f", v.MAP), number("%.3f", v.Area),
		number("%.0f", float64(v.Distinct)), number("%.0f", float64(v.Memory)/1e6),
	}
}

// trained describes what the row learns from.
func (r row) trained() string {
	switch {
	case r.train == 0:
		return "all"
	case r.train == -5:
		return "all but a fifth"
	case r.train < 0:
		return fmt.Sprintf("all but 1/%d", -r.train)
	}
	return fmt.Sprint(r.train)
}

// runRows trains each row and computes a value from it. Rows without one have a zero value, and the table says why.
func runRows[T any](
	ctx context.Context, runner *Runner, c collection, t *Table, rows []row, make func(*training, row) (T, error),
) ([]T, error) {
	if _, _, err := runner.open(ctx, c); err != nil { // before any row fails
		return nil, err
	}
	var values []T
	for _, r := range rows {
		var v T
		run, err := runner.training(ctx, c, r)
		if err == nil {
			v, err = make(run, r)
		}
		if err := t.addFailure(ctx, runner, r.title()+" on "+r.features(), err); err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// labelShort marks the table of a short run.
func (runner *Runner) labelShort(t *Table, c collection) {
	if runner.Short {
		t.Title += ", short run on built-in pictures"
		t.Note = "A short run shows that the experiment works; its numbers say nothing about " + c.title + "."
	}
}

// addFailure records why a row has no numbers. It returns an error only if the whole run should end.
func (t *Table) addFailure(ctx context.Context, runner *Runner, what string, err error) error {
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", what, context.Cause(ctx))
	default:
		runner.Say("%s failed: %v", what, err)
		t.Failures = append(t.Failures, what+": "+err.Error())
	}
	return nil
}
