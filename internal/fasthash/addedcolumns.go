package fasthash

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"

	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// Extra columns that training offers to its trees, and the fit that each row's values come from:
//
//	training rows      fits to the other folds
//	validation rows    the fit to all training rows, as any new row
//	growing            those of the model to grow; its training rows as before where they are the same rows

// extend adds columns to the training rows and to the validation rows, which may be nil, if the options ask for it and
// it is possible.
func (t *training) extend(ctx context.Context, train *supervision.Data) (_ *supervision.Data, err error) {
	if t.Grow != nil {
		err = t.extendGrown(ctx, train)
	} else if t.wantsColumns() {
		err = t.extendNew(ctx, train)
	}
	if err != nil || len(t.added) == 0 {
		return train, err
	}
	if t.Learner == Scores {
		return train.With(t.added[0].values), nil
	}
	t.Trees.Favoured = t.addedColumns()
	for _, s := range t.added {
		train = train.With(beside{train.Source, s.values})
	}
	return train, nil
}

// wantsColumns reports whether the options ask for extra columns.
func (t Options) wantsColumns() bool {
	return t.Learner == Scores || t.LinearColumns != "" && t.LinearColumns != LinearOff
}

// extendNew chooses the columns and fits them.
func (t *training) extendNew(ctx context.Context, train *supervision.Data) error {
	if t.Learner == Scores {
		return t.extendScores(ctx, train)
	}
	if code, why := t.noScores(train); code != "" {
		t.report.linear, t.report.Linear = code, "no linear columns: "+why
		return nil
	}
	kind, why := t.LinearColumns, "as asked"
	t.report.linear = "asked"
	if kind == LinearAuto || kind == KernelAuto {
		var err error
		if kind, why, err = t.tryScores(ctx, train); err != nil {
			return fmt.Errorf("trying linear columns: %w", err)
		}
		t.report.linear = "tried"
	}
	if kind == LinearOff {
		t.report.Linear = "no linear columns: " + why
		return nil
	}
	fold, err := t.scoreFolds(ctx, train, scoreFolds)
	if err != nil {
		return err
	}
	if t.added, err = t.fitKind(ctx, train, kind, fold); err != nil {
		return err
	}
	t.kind = kind
	t.report.Linear = kind + " columns: " + why
	return nil
}

// extendScores fits the columns of the learner Scores.
func (t *training) extendScores(ctx context.Context, train *supervision.Data) error {
	fold, err := t.scoreFolds(ctx, train, scoreFolds)
	if err != nil {
		return err
	}
	s, why, err := t.fitClassScores(ctx, train, t.LinearColumns, fold)
	if err != nil {
		return err
	}
	t.added = []*scores{s}
	t.report.linear, t.report.Linear = "scores", why
	return nil
}

// noScores returns, as a code and in words, why rows cannot have scores, or "".
func (t Options) noScores(d *supervision.Data) (code message.Code, why string) {
	switch {
	case t.Learner == Linear:
		return "hyperplanes", "hyperplanes are linear already"
	case d.Kind() == supervision.ByPairs:
		return "only-pairs", "pairs of rows name no classes or tags"
	case d.Labels == nil && d.Tags == nil:
		return "no-classes", "there are no classes or tags"
	case d.Rows < scoreRows:
		return "few-rows", fmt.Sprintf("%d rows are too few for scores", d.Rows)
	case d.Labels != nil && len(d.Labels.Names) < 2 || d.Labels == nil && len(d.Tags.Names) < 2:
		return "one-class", "there is a single class or tag"
	}
	return "", ""
}

// fitKind fits linear scores and, if asked for, kernel scores after them.
func (t *training) fitKind(ctx context.Context, d *supervision.Data, kind string, fold []uint8) ([]*scores, error) {
	linear, err := t.fitScores(ctx, d, LinearScores, fold)
	if err != nil || kind == LinearScores {
		return []*scores{linear}, err
	}
	kernel, err := t.fitScores(ctx, d, KernelScores, fold)
	if err != nil {
		return nil, err
	}
	kernel.ignore(len(linear.names))
	return []*scores{linear, kernel}, nil
}

// ignore lets the first map accept more columns, which it ignores.
func (s *scores) ignore(more int) {
	unit := s.maps[0].(*model.Affine)
	wide := vectors.Matrix{Rows: unit.Weight.Rows, Cols: unit.Weight.Cols + more}
	zeros := make([]float32, more)
	for k := range wide.Rows {
		wide.Data = append(append(wide.Data, unit.Weight.Row(k)...), zeros...)
	}
	s.maps = append([]model.Map{&model.Affine{Weight: wide, Bias: unit.Bias,
		Mean: append(slices.Clone(unit.Mean), zeros...), Scale: append(slices.Clone(unit.Scale), zeros...)}}, s.maps[1:]...)
}

// extendGrown reuses the columns of the model to grow.
func (t *training) extendGrown(ctx context.Context, train *supervision.Data) error {
	if t.Learner == Scores {
		return t.extendGrownScores(ctx, train)
	}
	e, ok := t.Grow.Encoder.(*model.Mapped)
	if !ok {
		if t.wantsColumns() {
			t.report.linear, t.report.Linear = "grown-without", "no linear columns: the model to grow has none"
		}
		return nil
	}
	if _, _, ok := model.Behind(e); !ok || e.Dim() != train.Dim() {
		return nil // refused later
	}
	t.report.linear, t.report.Linear = "grown", "the linear columns of the model to grow"
	kind := LinearScores
	if len(e.Maps) > 1 {
		kind = KernelScores
	}
	if code, _ := t.noScores(train); code == "" {
		fold, err := t.scoreFolds(ctx, train, scoreFolds)
		if err != nil {
			return err
		}
		again, err := t.fitKind(ctx, train, kind, fold)
		if err != nil {
			return err
		}
		same := len(again) == len(e.Maps)
		for i, m := range e.Maps {
			same = same && model.EqualMaps(again[i].extension(), m)
		}
		if same { // the very same rows: everything is as before
			t.added = again
			return nil
		}
	}
	return t.addAsNew(ctx, train, e.Maps)
}

// extendGrownScores is extendGrown for the learner Scores: if the very same rows give the same scores, they have those
// of fits that did not see them, else those of new rows.
func (t *training) extendGrownScores(ctx context.Context, train *supervision.Data) error {
	e := t.Grow.Encoder.(*model.Mapped)
	if e.Dim() != train.Dim() {
		return message.New("wrong-dimension", "the model to grow takes vectors of %d dimensions, the data have %d", e.Dim(),
			train.Dim())
	}
	if t.needsScores(train) == nil {
		if err := t.extendScores(ctx, train); err != nil {
			return err
		}
		if slices.EqualFunc(t.added[0].maps, e.Maps, model.EqualMaps) {
			return nil
		}
	}
	s := &scores{maps: e.Maps, values: vectors.Matrix{Cols: e.Maps[len(e.Maps)-1].Out()}}
	for c, err := range model.Through(train.Source, t.Threads, e.Maps...).Chunks(ctx) {
		if err != nil {
			return err
		}
		s.values.Rows, s.values.Data = s.values.Rows+c.X.Rows, append(s.values.Data, c.X.Data...)
	}
	t.added, t.kind = []*scores{s}, KernelScores
	t.report.linear, t.report.Linear = "grown", "the scores of the model to grow"
	return nil
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

// addAsNew computes the columns for the rows as for any new row.
func (t *training) addAsNew(ctx context.Context, train *supervision.Data, maps []model.Map) error {
	names := t.Grow.Info.Added
	src := train.Source
	for _, m := range maps {
		x := m.(*model.Extension)
		s := &scores{maps: x.Maps, values: vectors.Matrix{Cols: x.Added()}}
		if len(names) >= x.Added() {
			s.names, names = names[:x.Added()], names[x.Added():]
		}
		src = model.Through(src, t.Threads, m)
		for c, err := range src.Chunks(ctx) {
			if err != nil {
				return err
			}
			for i := range c.X.Rows {
				s.values.Data = append(s.values.Data, c.X.Row(i)[c.X.Cols-x.Added():]...)
			}
			s.values.Rows += c.X.Rows
		}
		t.added = append(t.added, s)
	}
	return nil
}

// encoder returns the trees behind the maps that add columns.
func (t *training) encoder(functions []model.Function) model.Encoder {
	var maps []model.Map
	for _, s := range t.added {
		if t.Learner == Scores {
			maps = append(maps, s.maps...)
			continue
		}
		maps = append(maps, s.extension())
	}
	return model.Compose(&model.Binned{Quantizer: t.x.Quantizer, Functions: functions}, maps...)
}

// addedColumns returns the number of all added columns.
func (t *training) addedColumns() int {
	n := 0
	for _, s := range t.added {
		n += s.values.Cols
	}
	return n
}

// addedNames returns the names of all added columns, or nil if some have none or they replace the others.
func (t *training) addedNames() []string {
	var names []string
	if t.Learner == Scores {
		return nil
	}
	for _, s := range t.added {
		if len(s.names) != s.values.Cols {
			return nil
		}
		names = append(names, s.names...)
	}
	return names
}

// scoredNames returns the classes or tags of the learner Scores, or nil if they are not known.
func (t *training) scoredNames() []string {
	if t.Grow != nil {
		return t.Grow.Info.Scored // the scores are those of the first run
	}
	var names []string
	for _, name := range t.added[0].names {
		names = append(names, strings.TrimPrefix(name, t.kind+":"))
	}
	return names
}

// scoreFolds divides rows into folds. Equal rows share a fold, and so do a picture and its mirror image.
func (t *training) scoreFolds(ctx context.Context, d *supervision.Data, folds int) ([]uint8, error) {
	short := d.Hashes
	if short == nil {
		for c, err := range d.Chunks(ctx) {
			if err != nil {
				return nil, err
			}
			vectors.HashRows(c.X, func(_ int, h vectors.RowHash) { short = append(short, h.Short()) })
		}
	}
	if err := vectors.CheckRows(len(short), d.Rows); err != nil {
		return nil, err
	}
	var class []int32
	if t.Inference.BalanceClasses && d.Labels != nil {
		class = d.Labels.Class
	}
	fold, different := rowFolds(short, class, folds, t.Seed^'L', t.Similar.PerPicture())
	if different < 2*folds {
		return nil, fmt.Errorf("linear columns need %d different rows, and there are %d", 2*folds, different)
	}
	return fold, nil
}

// rowFolds divides rows into folds of about equal size by their hashes, and counts the distinct ones. Copies of a
// picture share its fold. With classes, the rows of each class are spread evenly.
func rowFolds(
	hashes []uint64, class []int32, folds int, seed uint64, copies int,
) (fold []uint8, different int) {
	originals := len(hashes) / copies
	keys := make([]uint64, originals)
	for i := range keys {
		keys[i] = rand.NewPCG(seed, hashes[i]).Uint64()
	}
	order := slices.Compact(slices.Sorted(slices.Values(keys)))
	dealt := make([]uint8, len(order))
	for k, place := range byClass(order, keys, class) {
		dealt[place] = uint8(k % folds)
	}
	fold = make([]uint8, len(hashes))
	for i := range fold {
		place, _ := slices.BinarySearch(order, keys[i%originals])
		fold[i] = dealt[place]
	}
	return fold, len(order)
}

// byClass sorts places by class, that of the first row with the key, keeping the order of keys within a class. Without
// classes the order stays.
func byClass(order, keys []uint64, class []int32) []int {
	places, of := make([]int, len(order)), make([]int32, len(order))
	for k := range places {
		places[k] = k
	}
	if class == nil {
		return places
	}
	for i := len(keys) - 1; i >= 0; i-- {
		place, _ := slices.BinarySearch(order, keys[i])
		of[place] = class[i]
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(of[a], of[b]) })
	return places
}

// beside is a source with extra columns.
type beside struct {
	vectors.Source
	values vectors.Matrix // of every row
}

func (b beside) Dim() int { return b.Source.Dim() + b.values.Cols }

func (b beside) Chunks(ctx context.Context) iter.Seq2[vectors.Chunk, error] {
	return func(yield func(vectors.Chunk, error) bool) {
		var wide []float32
		for c, err := range b.Source.Chunks(ctx) {
			if err == nil {
				err = vectors.CheckRows(min(c.First+c.X.Rows, b.values.Rows), c.First+c.X.Rows)
			}
			if err != nil {
				yield(vectors.Chunk{}, err)
				return
			}
			wide = wide[:0]
			for i := range c.X.Rows {
				wide = append(append(wide, c.X.Row(i)...), b.values.Row(c.First+i)...)
			}
			c.X = vectors.Matrix{Rows: c.X.Rows, Cols: b.Dim(), Data: wide}
			if !yield(c, nil) {
				return
			}
		}
	}
}
