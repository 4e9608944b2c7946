package affinity

import (
	"cmp"
	"slices"

	"hashgrove/internal/message"
)

// Pair says that rows A and B are similar (Y = +1), dissimilar (-1) or of unknown similarity (0).
type Pair struct {
	A, B int32
	Y    int8
}

// Pairs is the affinity of explicit pairs.
type Pairs struct {
	similar, dissimilar lists
	classes             *Classes
}

// lists holds the neighbours of every row: row i has to[start[i]:start[i+1]], ascending.
type lists struct {
	start []int
	to    []int32
}

func (l lists) row(i int) []int32 { return l.to[l.start[i]:l.start[i+1]] }

// FromPairs makes an affinity of n rows from pairs, each of which holds in both directions and may be repeated. The
// error names a pair that cannot be used.
func FromPairs(n int, pairs []Pair) (*Pairs, error) {
	type entry struct {
		a, b int32
		y    int8
		at   int
	}
	all := make([]entry, 0, len(pairs))
	for at, p := range pairs {
		switch {
		case p.A < 0 || p.B < 0 || int(p.A) >= n || int(p.B) >= n:
			return nil, message.New("no-such-row", "pair %d names rows %d and %d, outside of 0 to %d", at, p.A, p.B, n-1)
		case p.A == p.B:
			return nil, message.New("row-twice", "pair %d names row %d twice; leave it out", at, p.A)
		case p.Y < -1 || p.Y > 1:
			return nil, message.New("unknown-verdict",
				"pair %d has the value %d; give 1 for similar, -1 for dissimilar or 0 for unknown", at, p.Y)
		case p.Y != 0:
			all = append(all, entry{min(p.A, p.B), max(p.A, p.B), p.Y, at})
		}
	}
	slices.SortFunc(all, func(x, y entry) int {
		return cmp.Or(cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b), cmp.Compare(x.at, y.at))
	})
	first, clash := len(pairs), error(nil)
	for i := 1; i < len(all); i++ {
		p, q := all[i-1], all[i]
		if p.a == q.a && p.b == q.b && p.y != q.y && q.at < first {
			first, clash = q.at, message.New("contradiction",
				"pair %d contradicts pair %d: are rows %d and %d similar or not? keep one of them",
				q.at, p.at, q.a, q.b)
		}
	}
	if clash != nil {
		return nil, clash
	}
	b := newBuilder(n)
	for _, e := range all {
		b.add(e.a, e.b, int(e.y))
	}
	return b.pairs()
}

// Len returns the number of rows.
func (p *Pairs) Len() int { return len(p.similar.start) - 1 }

// At implements Matrix.
func (p *Pairs) At(i, j int) int {
	if _, ok := slices.BinarySearch(p.similar.row(i), int32(j)); ok {
		return 1
	}
	if _, ok := slices.BinarySearch(p.dissimilar.row(i), int32(j)); ok {
		return -1
	}
	return 0
}

// Similar returns the rows known to be similar to row i, ascending, without copying.
func (p *Pairs) Similar(i int) []int32 { return p.similar.row(i) }

// Dissimilar returns the rows known to be dissimilar to row i, ascending, without copying.
func (p *Pairs) Dissimilar(i int) []int32 { return p.dissimilar.row(i) }

// Counts returns the number of unordered pairs of each kind.
func (p *Pairs) Counts() (similar, dissimilar int64) {
	return int64(len(p.similar.to) / 2), int64(len(p.dissimilar.to) / 2)
}

// Classes returns the classes that the pairs were sampled from, or nil.
func (p *Pairs) Classes() *Classes { return p.classes }

// builder collects pairs and makes them symmetric.
type builder struct {
	n    int
	kind [2][]Pair // similar, dissimilar
}

func newBuilder(n int) *builder { return &builder{n: n} }

func (b *builder) add(i, j int32, y int) {
	switch {
	case y > 0:
		b.kind[0] = append(b.kind[0], Pair{A: i, B: j})
	case y < 0:
		b.kind[1] = append(b.kind[1], Pair{A: i, B: j})
	}
}

func (b *builder) pairs() (*Pairs, error) {
	if len(b.kind[0])+len(b.kind[1]) == 0 {
		return nil, message.New("no-pairs",
			"no pair of rows is known to be similar or dissimilar; there is nothing to learn from")
	}
	return &Pairs{similar: b.lists(0), dissimilar: b.lists(1)}, nil
}

// lists puts every pair into the lists of both its rows, sorts them and drops repetitions.
func (b *builder) lists(kind int) lists {
	l := lists{start: make([]int, b.n+1)}
	for _, p := range b.kind[kind] {
		l.start[p.A+1]++
		l.start[p.B+1]++
	}
	for i := range b.n {
		l.start[i+1] += l.start[i]
	}
	l.to = make([]int32, l.start[b.n])
	next := slices.Clone(l.start)
	for _, p := range b.kind[kind] {
		l.to[next[p.A]] = p.B
		next[p.A]++
		l.to[next[p.B]] = p.A
		next[p.B]++
	}
	b.kind[kind] = nil
	end := 0
	for i := range b.n {
		row := l.row(i)
		slices.Sort(row)
		row = slices.Compact(row)
		// Rows only get shorter, so writing never overtakes reading. start[i+1] is still unread.
		l.start[i] = end
		end += copy(l.to[end:], row)
	}
	l.start[b.n] = end
	l.to = slices.Clip(l.to[:end])
	return l
}
