package fasthash

import (
	"context"
	"fmt"
	"slices"

	"hashgrove/internal/fasthash/columns"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
)

// The extra columns of a training, and where each row's values come from:
//
//	training rows      fits to the other parts
//	validation rows    the fit to all training rows, as any new row
//	growing            those of the model to grow; its training rows as before where they are the same rows

// extend adds columns to the training rows if the options ask for it and it is possible.
func (t *training) extend(ctx context.Context, train *supervision.Data) (*supervision.Data, error) {
	var err error
	if t.Grow != nil {
		err = t.growColumns(ctx, train)
	} else if t.wantsColumns() {
		err = t.fitColumns(ctx, train)
	}
	if err != nil || t.added == nil {
		return train, err
	}
	if t.Learner == Scores {
		return train.With(t.added.Values), nil
	}
	t.Trees.Favoured = t.added.Values.Cols
	return t.added.Beside(train, t.added.Values.Cols), nil
}

// wantsColumns reports whether the options ask for extra columns.
func (t Options) wantsColumns() bool {
	return t.Learner == Scores || t.LinearColumns != "" && t.LinearColumns != columns.Off
}

// columns returns the options of columns of a kind.
func (t Options) columns(kind string) columns.Options {
	return columns.Options{Kind: kind, Balanced: t.Inference.BalanceClasses, Copies: t.Similar.PerPicture(),
		Microseconds: codeMicroseconds[t.Effort], Seed: t.Seed, Threads: t.Threads}
}

// fitColumns chooses the columns and fits them.
func (t *training) fitColumns(ctx context.Context, train *supervision.Data) (err error) {
	if t.Learner == Scores {
		t.added, t.report.Linear, err = columns.FitClasses(ctx, train, t.columns(t.LinearColumns))
		t.report.linear = "scores"
		return err
	}
	if code, why := t.noScores(train); code != "" {
		t.report.linear, t.report.Linear = code, "no linear columns: "+why
		return nil
	}
	kind, why := t.LinearColumns, "as asked"
	t.report.linear = "asked"
	if kind == columns.Auto || kind == columns.AutoKernel {
		if kind, why, err = t.tryColumns(ctx, train); err != nil {
			return fmt.Errorf("trying linear columns: %w", err)
		}
		t.report.linear = "tried"
	}
	if kind == columns.Off {
		t.report.Linear = "no linear columns: " + why
		return nil
	}
	t.report.Linear = kind + " columns: " + why
	t.added, err = columns.Fit(ctx, train, t.columns(kind))
	return err
}

// leastScored is the fewest rows that have scores.
const leastScored = 50

// noScores returns, as a code and in words, why rows cannot have scores, or "".
func (t Options) noScores(d *supervision.Data) (code message.Code, why string) {
	switch {
	case t.Learner == Linear:
		return "hyperplanes", "hyperplanes are linear already"
	case d.Kind() == supervision.ByPairs:
		return "only-pairs", "pairs of rows name no classes or tags"
	case d.Labels == nil && d.Tags == nil:
		return "no-classes", "there are no classes or tags"
	case d.Rows < leastScored:
		return "few-rows", fmt.Sprintf("%d rows are too few for scores", d.Rows)
	case classCount(d) < 2:
		return "one-class", "there is a single class or tag"
	}
	return "", ""
}

// needsScores reports why the learner Scores cannot learn from the data.
func (t Options) needsScores(d *supervision.Data) error {
	if code, why := t.noScores(d); code != "" {
		return message.New(code, "the learner %s predicts bits from scores of classes or tags: %s", Scores, why)
	}
	if n := classCount(d); n > columns.MostClasses {
		return message.New("too-many", "the learner %s is for at most %d classes or tags, and there are %d", Scores,
			columns.MostClasses, n)
	}
	if d.Missing {
		return message.New("missing-values", "the learner %s needs a value in every column: learn trees, or leave out or "+
			"fill in what is missing", Scores)
	}
	return nil
}

// classCount returns the number of classes or tags.
func classCount(d *supervision.Data) (n int) {
	if d.Labels != nil {
		n = len(d.Labels.Names)
	}
	if d.Tags != nil {
		n = max(n, len(d.Tags.Names))
	}
	return n
}

// growColumns takes the columns of the model to grow. If the very same rows give the same columns again, rows have
// those of fits that did not see them, else those of new rows.
func (t *training) growColumns(ctx context.Context, train *supervision.Data) (err error) {
	e, ok := t.Grow.Encoder.(*model.Mapped)
	if !ok {
		if t.wantsColumns() {
			t.report.linear, t.report.Linear = "grown-without", "no linear columns: the model to grow has none"
		}
		return nil
	}
	_, scores := scoresBehind(e)
	if e.Dim() != train.Dim() || scores != (t.Learner == Scores) {
		return nil // refused later
	}
	code, _ := t.noScores(train)
	kind, names, what := columns.Linear, t.Grow.Info.Added, "linear columns"
	switch {
	case scores:
		names, what = t.Grow.Info.Scored, "scores"
		if t.needsScores(train) == nil {
			t.added, _, err = columns.FitClasses(ctx, train, t.columns(t.LinearColumns))
		}
	case code == "":
		if len(e.Maps) > 1 {
			kind = columns.Kernel
		}
		t.added, err = columns.Fit(ctx, train, t.columns(kind))
	}
	if err == nil && (t.added == nil || !slices.EqualFunc(t.added.Maps, e.Maps, model.EqualMaps)) {
		t.added, err = columns.Apply(ctx, train, e.Maps, t.Threads)
	}
	if err != nil {
		return err
	}
	t.added.Names = names
	t.report.linear, t.report.Linear = "grown", "the "+what+" of the model to grow"
	return nil
}

// toGrow returns the functions of the model to grow.
func (t *training) toGrow() (*model.Binned, error) {
	kind := t.Learner
	old, ok := scoresBehind(t.Grow.Encoder)
	if kind == Scores {
		kind = Linear
	} else {
		old, _, ok = model.Behind(t.Grow.Encoder)
	}
	if !ok || old.Kind() != string(kind) {
		return nil, fmt.Errorf("a model of kind %s cannot be grown by the learner %s", t.Grow.Encoder.Kind(), t.Learner)
	}
	return old, nil
}

// scoresBehind returns the hyperplanes of a model of the learner Scores.
func scoresBehind(e model.Encoder) (*model.Binned, bool) {
	m, ok := e.(*model.Mapped)
	if !ok {
		return nil, false
	}
	b, ok := m.Encoder.(*model.Binned)
	if _, keeps := m.Maps[0].(*model.Extension); !ok || keeps {
		return nil, false
	}
	return b, true
}
