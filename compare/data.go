package compare

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"

	"hashgrove/affinity"
	"hashgrove/eval"
	"hashgrove/supervision"
	"hashgrove/vectors"
)

// Part is rows in memory with what is known about them. Comparing needs the vectors themselves, again and again.
type Part struct {
	X      vectors.Matrix
	Labels *supervision.Labels // nil when similarity is by tags
	Tags   *supervision.Tags   // nil when similarity is by class
	IDs    []string            // nil when there are none
	Row    []int               // number of each row in the source that was read, from 0
	Digest string              // of vectors and supervision

	Warnings []string // doubts, bad rows among them
}

// maxValues bounds what is read: 16 GB of float32.
const maxValues = 1 << 32

// Read reads a source with labels or tags, in two passes. Progress is called with the rows read so far; it may be nil.
func Read(ctx context.Context, src vectors.Source, progress func(rows int)) (*Part, error) {
	sum, err := supervision.Scan(ctx, src, supervision.ScanOptions{Digest: true, Progress: progress})
	if err != nil {
		return nil, err
	}
	if sum.Labels == nil && sum.Tags == nil {
		return nil, errors.New("nothing says which rows are similar: name classes with --label or --labels, or tags with --tags")
	}
	if int64(sum.Rows)*int64(sum.Dim()) > maxValues {
		return nil, fmt.Errorf("%d rows of %d dimensions are too many to compare in memory: take a sample", sum.Rows, sum.Dim())
	}
	p := &Part{
		X:      vectors.Matrix{Rows: sum.Rows, Cols: sum.Dim(), Data: make([]float32, 0, sum.Rows*sum.Dim())},
		Labels: sum.Labels, IDs: sum.IDs, Row: make([]int, sum.Rows),
		Digest: hex.EncodeToString(sum.Digest[:]), Warnings: sum.Warnings,
	}
	if p.Labels == nil {
		p.Tags = sum.Tags
	}
	for i := range p.Row {
		p.Row[i] = i
	}
	for c, err := range src.Chunks(ctx) {
		if err != nil {
			return nil, err
		}
		p.X.Data = append(p.X.Data, c.X.Data...)
	}
	if len(p.X.Data) != sum.Rows*sum.Dim() {
		return nil, fmt.Errorf("the data have another number of rows than the %d seen before: did a file change while it was read?", sum.Rows)
	}
	return p, nil
}

// Split sets a share of the rows aside as queries, every class in proportion. Share 0 means a tenth, but at most 2,000 rows.
func (p *Part) Split(share float64, seed uint64) (base, queries *Part, err error) {
	if share == 0 {
		share = min(0.1, 2000/float64(p.X.Rows))
	}
	if !(share > 0 && share < 1) {
		return nil, nil, fmt.Errorf("%v is no share of the rows to search with: give a number between 0 and 1", share)
	}
	keep := supervision.HoldOut(p.X.Rows, share, seed)
	if p.Labels != nil {
		keep = p.Labels.HoldOut(share, seed)
	}
	other := make([]bool, len(keep))
	for i, k := range keep {
		other[i] = !k
	}
	if !slices.Contains(keep, true) || !slices.Contains(other, true) {
		return nil, nil, fmt.Errorf("%d rows are too few to set a share of %v aside as queries: name them with --queries", p.X.Rows, share)
	}
	how := fmt.Sprintf("share %v seed %d", share, seed)
	return p.only(keep, how+" base"), p.only(other, how+" queries"), nil
}

// only is the part of the kept rows; how says which those are.
func (p *Part) only(keep []bool, how string) *Part {
	sum := sha256.Sum256([]byte(p.Digest + "\n" + how))
	out := &Part{X: vectors.Matrix{Cols: p.X.Cols}, Digest: hex.EncodeToString(sum[:]), Warnings: p.Warnings}
	for _, k := range keep {
		if k {
			out.X.Rows++
		}
	}
	out.X.Data = make([]float32, 0, out.X.Rows*p.X.Cols)
	for i, k := range keep {
		if !k {
			continue
		}
		out.X.Data = append(out.X.Data, p.X.Row(i)...)
		out.Row = append(out.Row, p.Row[i])
		if p.IDs != nil {
			out.IDs = append(out.IDs, p.IDs[i])
		}
	}
	if p.Labels != nil {
		out.Labels = p.Labels.Only(keep)
	}
	if p.Tags != nil {
		out.Tags = p.Tags.Only(keep)
	}
	return out
}

// Data is what methods are compared on: a base, which they learn from and which is searched, and queries.
type Data struct {
	Name      string // for people
	Base      *Part
	Queries   *Part
	MinShared int // tags that similar rows have in common at least; 0 means 2
}

// check reports data that cannot be compared on, and gives both parts one numbering.
func (d *Data) check() error {
	b, q := d.Base, d.Queries
	switch {
	case b.X.Cols != q.X.Cols:
		return fmt.Errorf("the queries have %d dimensions and the base has %d: they must be alike", q.X.Cols, b.X.Cols)
	case b.X.Rows < 2 || q.X.Rows < 1:
		return fmt.Errorf("%d rows to learn from and %d to search with: both are needed", b.X.Rows, q.X.Rows)
	case d.MinShared < 0 || d.MinShared > 255:
		return fmt.Errorf("%d shared tags: give a number from 1 to 255", d.MinShared)
	case b.Labels != nil && q.Labels != nil:
		q.Labels = q.Labels.In(b.Labels)
	case b.Tags != nil && q.Tags != nil:
		q.Tags = q.Tags.In(b.Tags)
		if d.MinShared == 0 {
			d.MinShared = 2
		}
	default:
		return errors.New("one of base and queries has classes and the other has not: both need classes, or both tags")
	}
	if classes := d.classes(); b.Labels != nil && len(classes) < 2 {
		return fmt.Errorf("all rows are of one class: at least two are needed to learn from")
	}
	return nil
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

// similar says in words what makes two items similar.
func (d *Data) similar() string {
	switch {
	case d.Base.Labels != nil:
		return "same class"
	case d.MinShared == 1:
		return "a shared tag"
	}
	return fmt.Sprintf("%d or more shared tags", d.MinShared)
}

// truth says which base items are right answers.
func (d *Data) truth() eval.Truth {
	if d.Base.Labels != nil {
		return eval.ByClass(d.Queries.Labels.Class, d.Base.Labels.Class)
	}
	q, b := d.Queries.Tags, d.Base.Tags
	return eval.ByTags(q.Start, q.Tag, b.Start, b.Tag, d.MinShared)
}

// affinity is Y of the rows of a part.
func (d *Data) affinity(p *Part) (affinity.Matrix, error) {
	if p.Labels != nil {
		return affinity.ByClass(p.Labels.Class)
	}
	return affinity.ByTags(p.Tags.Start, p.Tags.Tag, d.MinShared)
}

// unseen chooses classes to keep out of training: a quarter of them, at least two, leaving at least two, or the number
// asked for. It chooses none when want is negative, without classes, and where there are too few.
func (d *Data) unseen(want int, seed uint64) ([]int32, error) {
	classes := d.classes()
	if want > 0 && (classes == nil || want < 2 || want > len(classes)-2) {
		return nil, fmt.Errorf("%d classes cannot be kept out of training: the data have %d, and two must stay on either side", want, len(classes))
	}
	if want < 0 || len(classes) < 4 {
		return nil, nil
	}
	// Only classes that can be judged: with queries and with something to find.
	judged := slices.DeleteFunc(slices.Clone(classes), func(c int32) bool { return !slices.Contains(d.Queries.Labels.Class, c) })
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

// rows is a part as a source: vectors with labels or tags.
type rows struct{ *Part }

// Dim makes rows a Source.
func (r rows) Dim() int { return r.X.Cols }

// Chunks makes rows a Source.
func (r rows) Chunks(ctx context.Context) iter.Seq2[vectors.Chunk, error] {
	return func(yield func(vectors.Chunk, error) bool) {
		for c, err := range r.X.Chunks(ctx) {
			for i := c.First; i < c.First+c.X.Rows; i++ {
				if r.Labels != nil {
					c.Labels = append(c.Labels, r.Labels.Names[r.Labels.Class[i]])
				}
				if r.Tags != nil {
					names := []string{}
					for _, t := range r.Tags.Row(i) {
						names = append(names, r.Tags.Names[t])
					}
					c.Tags = append(c.Tags, names)
				}
			}
			if !yield(c, err) {
				return
			}
		}
	}
}
