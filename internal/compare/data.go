package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/message"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// Part holds rows in memory, since comparing needs the vectors again and again.
type Part struct {
	*supervision.Data
	X vectors.Matrix
}

// Read reads a source with its labels or tags, if any. Progress, which may be nil, is called with the rows read so far.
func Read(ctx context.Context, src vectors.Source, progress func(rows int)) (*Part, error) {
	kept := vectors.Cache(src, vectors.CacheBytes, "") // so that the source is read once
	defer kept.Close()
	d, err := supervision.Scan(ctx, kept, supervision.ScanOptions{Hashes: true, Progress: progress})
	if err != nil {
		return nil, err
	}
	table, err := vectors.Read(ctx, kept)
	if err != nil {
		return nil, err
	}
	if d.Labels != nil {
		d.Tags = nil
	}
	d.Source = table.X
	return &Part{Data: d, X: table.X}, nil
}

// Split sets a share of the rows aside as queries, every class in proportion. Share 0 means a tenth, but at most 2,000
// rows.
func (p *Part) Split(share float64, seed uint64) (base, queries *Part, err error) {
	if share == 0 {
		share = min(0.1, 2000/float64(p.X.Rows))
	}
	base, queries, err = p.setAside(share, seed)
	if err == nil && queries == nil {
		err = fmt.Errorf("%d rows are too few to set a share of %v aside as queries: name the queries", p.X.Rows, share)
	}
	return base, queries, err
}

// setAside splits off a share of the rows, every class in proportion. If there are too few rows, aside is nil.
func (p *Part) setAside(share float64, seed uint64) (others, aside *Part, err error) {
	if !(share > 0 && share < 1) {
		return nil, nil, fmt.Errorf("%v is not a share of the rows: give a number between 0 and 1", share)
	}
	keep := p.HoldOut(share, seed)
	other := make([]bool, len(keep))
	for i, k := range keep {
		other[i] = !k
	}
	if !slices.Contains(keep, true) || !slices.Contains(other, true) {
		return p, nil, nil
	}
	return p.subset(keep), p.subset(other), nil
}

// subset returns a copy of the kept rows.
func (p *Part) subset(keep []bool) *Part {
	d := p.Only(keep)
	d.Warnings, d.TrainingWarnings = p.Warnings, p.TrainingWarnings
	out := &Part{Data: d, X: vectors.Matrix{Rows: d.Rows, Cols: p.X.Cols}}
	out.X.Data = make([]float32, 0, d.Rows*p.X.Cols)
	for i, k := range keep {
		if k {
			out.X.Data = append(out.X.Data, p.X.Row(i)...)
		}
	}
	d.Source = out.X
	return out
}

// copies returns the number of rows whose vectors also occur in other parts, if there are many.
func (p *Part) copies(others ...*Part) int {
	known, n := map[uint64]bool{}, 0
	for _, other := range others {
		for _, h := range other.hashes() {
			known[h] = true
		}
	}
	for _, h := range p.hashes() {
		if known[h] {
			n++
		}
	}
	if n*manyCopies < p.X.Rows {
		return 0
	}
	return n
}

// hashes returns the hashes of the vectors, or nil for a nil part.
func (p *Part) hashes() (list []uint64) {
	switch {
	case p == nil:
		return nil
	case p.Hashes != nil:
		return p.Hashes
	}
	vectors.HashRows(p.X, 0, func(_ int, h vectors.RowHash) { list = append(list, h.Short()) })
	return list
}

// manyCopies: up to one in this many rows may be a copy of a row elsewhere, which moves no figure that anybody sees.
const manyCopies = 100

// Data is what methods are compared on. They learn from the base; queries search the new items, which no method learns
// from, and the base.
type Data struct {
	Name    string // for people
	Base    *Part  // its MinShared applies
	New     *Part  // nil sets aside a share of the base, given by Options.NewShare
	Queries *Part
}

// mostNew is the largest number of new items to set aside unless a share is given.
const mostNew = 10_000

// parts returns the data with the new items set aside. A negative share sets none aside; 0 means a fifth, at most
// 10,000 rows. If the base has too few rows, New stays nil.
func (d *Data) parts(share float64, seed uint64) (*Data, error) {
	out := *d
	if d.New != nil || share < 0 {
		return &out, nil
	}
	if share == 0 {
		share = min(0.2, mostNew/float64(max(1, d.Base.X.Rows)))
	}
	var err error
	out.Base, out.New, err = d.Base.setAside(share, seed^0x6e6577) // drawn differently from the queries
	return &out, err
}

// searched returns the items that decide: the new ones, or the base if there are none.
func (d *Data) searched() *Part {
	if d.New != nil {
		return d.New
	}
	return d.Base
}

// items returns the number of items that can be found.
func (d *Data) items() int {
	if d.New != nil {
		return d.Base.X.Rows + d.New.X.Rows
	}
	return d.Base.X.Rows
}

// check validates the data and gives all parts the same numbering.
func (d *Data) check() error {
	b, q := d.Base, d.Queries
	if b.X.Rows < 2 || q.X.Rows < 1 {
		return fmt.Errorf("%d rows to learn from and %d to search with: both are needed", b.X.Rows, q.X.Rows)
	}
	if b.Labels == nil && b.Tags == nil {
		return fmt.Errorf("%w, and codes are judged by them", supervision.ErrNone)
	}
	if b.MinShared < 0 || b.MinShared > 255 {
		return fmt.Errorf("%d shared tags: give a number from 1 to 255", b.MinShared)
	}
	if b.Tags != nil {
		b.MinShared = cmp.Or(b.MinShared, affinity.DefaultShared)
	}
	if err := q.follow(b, "queries"); err != nil {
		return err
	}
	if d.New != nil {
		if d.New.X.Rows == 0 {
			return errors.New("there are no new items to search in: name some, or none at all")
		}
		if err := d.New.follow(b, "new items"); err != nil {
			return err
		}
	}
	if classes := d.classes(); b.Labels != nil && len(classes) < 2 {
		return message.New("one-class", "all rows are of one class: at least two are needed to learn from")
	}
	return nil
}

// follow checks that a part matches the base, and numbers its classes or tags as the base does.
func (p *Part) follow(base *Part, name string) error {
	switch {
	case base.X.Cols != p.X.Cols:
		return message.New("wrong-dimension", "the %s have %d dimensions and the base has %d: they must match", name,
			p.X.Cols, base.X.Cols)
	case base.Labels != nil && p.Labels != nil:
		if err := shareNames("class", p.Labels.Names, base.Labels.Names, name); err != nil {
			return err
		}
		p.Labels = p.Labels.In(base.Labels)
	case base.Tags != nil && p.Tags != nil:
		if err := shareNames("tag", p.Tags.Names, base.Tags.Names, name); err != nil {
			return err
		}
		p.Tags, p.MinShared = p.Tags.In(base.Tags), base.MinShared
	case p.Labels == nil && p.Tags == nil:
		return message.New("labels-missing", "%s: %w; the base has classes or tags, and both need classes, or both need tags",
			name, supervision.ErrNone)
	default:
		return fmt.Errorf("base and %s are labelled differently: both need classes, or both need tags", name)
	}
	return nil
}

// shareNames rejects a part whose class or tag names do not occur in the base: if one has names and the other numbers,
// for instance, no answer could be right.
func shareNames(kind string, own, base []string, part string) error {
	for _, name := range own {
		if slices.Contains(base, name) {
			return nil
		}
	}
	few := func(names []string) string { return strings.Join(names[:min(3, len(names))], ", ") }
	return message.New("no-shared-names",
		"no %s of the %s is one of the base: there are %s there and %s in the base; give "+
			"both the same names", kind, part, few(own), few(base))
}

// classes lists the classes of the base rows, ascending; nil without classes.
func (d *Data) classes() []int32 {
	if d.Base.Labels == nil {
		return nil
	}
	list := slices.Clone(d.Base.Labels.Class)
	slices.Sort(list)
	return slices.Compact(list)
}

// similarity says in words what makes two items similar.
func (d *Data) similarity() string {
	switch {
	case d.Base.Labels != nil:
		return "same class"
	case d.Base.MinShared == 1:
		return "a shared tag"
	}
	return fmt.Sprintf("%d or more shared tags", d.Base.MinShared)
}

// chooseUnseen draws classes to exclude from training: want of them, or for 0 a quarter, at least two and leaving at
// least two. It draws none if want is negative, without classes, or if there are too few.
func (d *Data) chooseUnseen(want int, seed uint64) ([]int32, error) {
	classes := d.classes()
	if want > 0 && (classes == nil || want < 2 || want > len(classes)-2) {
		return nil, message.New("wrong-count", "%d classes cannot be kept out of training: the data have %d, and two must "+
			"stay on either side", want, len(classes))
	}
	if want < 0 || len(classes) < 4 {
		return nil, nil
	}
	// Only classes that can be measured: with queries and with something to find.
	judged := slices.DeleteFunc(slices.Clone(classes), func(c int32) bool {
		return !slices.Contains(d.Queries.Labels.Class, c)
	})
	if want == 0 {
		want = min(max(2, len(classes)/4), len(classes)-2)
	}
	if len(judged) < want {
		return nil, nil
	}
	rng := rand.New(rand.NewPCG(seed, 'U'))
	rng.Shuffle(len(judged), func(a, b int) { judged[a], judged[b] = judged[b], judged[a] })
	held := judged[:want]
	slices.Sort(held)
	return held, nil
}
