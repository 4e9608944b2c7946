package compare

import (
	"context"
	"slices"

	"hashgrove/internal/eval"
	"hashgrove/internal/message"
	"hashgrove/internal/method"
	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// comparison is the state of one run: the data as the methods see them, and the progress so far.
type comparison struct {
	data    *Data // with the new items set apart
	floats  *Data // the same as float search sees it: standardised, if so chosen
	o       Options
	bench   *bench // the queries and the items that decide
	learned *bench // the queries and the base; nil without new items
	scale   method.Scale
	capped  map[string]bool // by method: a row has as many bits as it can make
	unseen  *unseen         // nil if no class is excluded

	notes    []error // doubts about the data and about trainings
	progress Progress
}

// unseen is the protocol of unseen classes: a second training without them, and their queries against all items.
type unseen struct {
	held    []int32
	others  *Part          // base rows of the other classes, to learn from
	queries *Part          // queries of the held-out classes
	raw     vectors.Matrix // the same as float search sees them
	truth   eval.Truth
	options eval.Options
}

// bench is what codes are judged by: the right answers to the queries among some items.
type bench struct {
	truth   eval.Truth
	options eval.Options
}

func newStage(ctx context.Context, data *Data, o Options) (*comparison, error) {
	s := &comparison{data: data, floats: data, o: o, capped: map[string]bool{}}
	held, err := data.chooseUnseen(o.Unseen, o.Seed)
	if err != nil {
		return nil, err
	}
	s.note(held == nil)
	if err := s.applyScale(ctx); err != nil {
		return nil, err
	}
	if err := s.setBenches(ctx); err != nil {
		return nil, err
	}
	if held != nil {
		s.holdOut(held)
	}
	return s, nil
}

// setBenches sets up what codes are measured on.
func (s *comparison) setBenches(ctx context.Context) (err error) {
	of := func(items, floats *Part) (b *bench, err error) {
		b = &bench{options: eval.Options{K: []int{}, CurveTo: 1, Threads: s.o.Threads}}
		if b.truth, err = eval.TruthOf(s.data.Queries.Data, items.Data); err == nil {
			b.options.OfClass, err = eval.FindOfClass(ctx, s.floats.Queries.X, floats.X, b.truth, s.o.Threads)
		}
		return b, err
	}
	if s.bench, err = of(s.data.searched(), s.floats.searched()); err == nil && s.data.New != nil {
		s.learned, err = of(s.data.Base, s.floats.Base)
	}
	return err
}

// note collects doubts about the data.
func (s *comparison) note(noneHeld bool) {
	say := func(code message.Code, format string, args ...any) {
		s.notes = append(s.notes, message.New(code, format, args...))
	}
	d := s.data
	if n := d.searched().X.Rows; n < 100 {
		say("few-items", "there are only %d items to search in: the figures are rough", n)
	}
	if d.New == nil {
		say("no-new-items", "only items that were learned from are judged: methods that learn by heart look better "+
			"than they are for items that come later")
	}
	if d.New != nil {
		if n := d.New.copies(d.Base); n > 0 {
			say("new-items-learned", "%d of the %d new items are also among the items learned from: the figures for new "+
				"items flatter", n, d.New.X.Rows)
		}
	}
	if n := d.Queries.copies(d.Base, d.New); n > 0 {
		say("queries-are-items", "%d of the %d queries are also among the items to search in: they find themselves",
			n, d.Queries.X.Rows)
	}
	if noneHeld && s.o.Unseen == 0 && d.Base.Labels != nil {
		say("few-classes", "there are too few classes to keep some out of training: nothing is said about classes that "+
			"come later")
	}
}

// applyScale decides, once for all, whether to standardise the columns: for float search here, for methods through
// their options.
func (s *comparison) applyScale(ctx context.Context) (err error) {
	o := method.Options{Standardize: s.o.Standardize, Seed: s.o.Seed, Threads: s.o.Threads}
	if s.scale, err = method.ScaleOf(ctx, s.data.Base.Data, o); err != nil || s.scale.Map == nil {
		return err
	}
	floats := *s.data
	for _, p := range []**Part{&floats.Base, &floats.New, &floats.Queries} {
		if *p == nil {
			continue
		}
		x, err := model.Transform(ctx, s.o.Threads, (*p).X, s.scale.Map)
		if err != nil {
			return err
		}
		*p = &Part{Data: (*p).With(x), X: x}
	}
	s.floats = &floats
	return nil
}

// standardize returns the setting passed to methods.
func (s *comparison) standardize() string {
	if s.scale.Map != nil {
		return method.StandardizeOn
	}
	return method.StandardizeOff
}

// holdOut separates the rows of the held-out classes.
func (s *comparison) holdOut(held []int32) {
	split := func(p *Part, want bool) []bool {
		keep := make([]bool, p.X.Rows)
		for i, c := range p.Labels.Class {
			keep[i] = slices.Contains(held, c) == want
		}
		return keep
	}
	base, queries := s.data.Base, s.data.Queries
	of := split(queries, true)
	u := &unseen{
		held: held, options: eval.Options{Threads: s.o.Threads},
		others:  base.subset(split(base, false)),
		queries: queries.subset(of), raw: s.floats.Queries.subset(of).X,
	}
	classes := base.Labels.Class
	if s.data.New != nil {
		classes = slices.Concat(classes, s.data.New.Labels.Class)
	}
	u.truth = eval.ByClass(u.queries.Labels.Class, classes)
	s.unseen = u
}

// dataset describes the data of the comparison.
func (s *comparison) dataset() Dataset {
	d := s.data
	out := Dataset{
		Name: d.Name, Base: d.items(), Learned: d.Base.X.Rows, Queries: d.Queries.X.Rows, Dim: d.Base.X.Cols,
		Classes: len(d.classes()), Similar: d.similarity(), HeldOut: []string{},
	}
	out.New = out.Base - out.Learned
	if s.unseen != nil {
		for _, c := range s.unseen.held {
			out.HeldOut = append(out.HeldOut, d.Base.Labels.Names[c])
		}
	}
	return out
}

// trainings returns how many times each method is trained.
func (s *comparison) trainings() int {
	if s.unseen != nil {
		return 2
	}
	return 1
}
