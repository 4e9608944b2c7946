package model

import (
	"slices"
	"sync"

	"hashgrove/internal/vectors"
)

// Boosted trees on 256 rows at a time (design: complete trees, no branches, exact integers).
//
// A block of 256 rows is laid out by bit: the bin of a row in a column is eight bits, and a plane is the set of rows
// that have one of them. For every test (j, b) that some tree makes, let
//
//	right(j, b) = the rows with bin_j(x) > b.
//
// A split sends right(j, b) to its right child, so the rows for which a subtree says +1 are
//
//	rows(node) = rows(left) &^ right  |  rows(right) & right
//
// and one tree costs a few operations on sets per split, for all rows together.
//
//	block                                    256 rows; most lines are kernels (kernel.go)
//		quantize    the windows that hold a column in use (layout.go)
//		transpose   the planes of a window
//		part        of up to 64 bits: a word of the code
//			ladders     of 16 columns: the rows above each hexadecimal digit
//			tests       right(j, b) from the ladders, two operations each
//			bit
//				trees       rows(root), from the lowest splits up, for 30 trees
//				transpose   now one word per row, one bit per tree
//				sums        of the weights of those that say +1, 3 trees per look-up
//			transpose   one word of the code per row
//
// Cost per block, in operations on 256 bits: 150 per column, 6 per test, 4 per split, 50 per tree for transposing and
// adding. The model of the paper, 64 bits x 200 trees x depth 4, takes 1.2 microseconds per row after quantisation with
// random splits on 784 columns (123,000 tests), 1.9 on 11,200 (190,000) and 0.7 on 50 (13,000); one core of an AMD
// EPYC. There is no early end as for single rows (binned.go): one of the rows is nearly always undecided until the last
// trees (ten Gaussian classes, 64 rows, 200 trees: until tree 199).

const (
	partBits = 64 // bits of a part
	tile     = 16 // columns whose ladders exist at a time
	perHalf  = fold * foldsPerHalf
	perWord  = 2 * perHalf
)

// plan holds ensembles prepared for blocks. It does not change once built.
type plan struct {
	parts   []part
	scratch sync.Pool // of *scratch
}

// part holds up to 64 ensembles. Test 0 sends no row right; the others are in the order of their columns.
type part struct {
	places []uint32 // of the planes of the part's columns
	tests  []test
	first  []int // tests of the columns from tile*t on are first[t] to first[t+1]
	bits   []planBit
}

// planBit is one ensemble. A tree deeper than the kernel's unit is cut: its lower part becomes trees of that unit, the
// upper part is left to merge. Splits are 4 times the test.
type planBit struct {
	depth  int
	splits []uint32 // in heap order, tree after tree or pair after pair
	invert []uint32 // for each of the lowest splits, see newPlanBit
	leaves []byte   // of each of the lowest splits of a pair instead, as pairs takes them; nil without pairs
	upper  []uint32 // the upper part, in heap order; of pairs by perHalf trees and from the lowest level up
	trees  int
	tables []table
	least  int32 // weight that makes at least half
}

// scratch holds the memory that one block needs.
type scratch struct {
	planes  [][64]set // of a window: plane 8 c + i is bit i of its column c
	ladders []ladder
	right   []set
	say     [][64]set                         // 60 trees each, 30 from the first on and 30 from the middle on
	sub     [perHalf << (MaxDepth - unit)]set // subtrees
	plus    [block]int32                      // of one bit: the weights of the trees that say +1, see totalPlace
}

// newPlan prepares ensembles that have passed Check and use these columns, whose planes are at these places.
func newPlan(fs []*Ensemble, columns, places []uint32) *plan {
	p := &plan{}
	windows, tests, words := 0, 0, 0
	if n := len(places); n > 0 {
		windows = int(places[n-1]/8) + 1
	}
	for fs := range slices.Chunk(fs, partBits) {
		part := newPart(fs, columns, places)
		p.parts = append(p.parts, part)
		tests = max(tests, len(part.tests))
		for k := range part.bits {
			words = max(words, len(part.bits[k].tables))
		}
	}
	p.scratch.New = func() any {
		return &scratch{
			planes: make([][64]set, windows), ladders: make([]ladder, tile),
			right: make([]set, 1+tests), say: make([][64]set, words),
		}
	}
	return p
}

func newPart(fs []*Ensemble, columns, places []uint32) part {
	number := make([]uint32, max(1, len(columns))*vectors.Bins) // of a test, by column and bin
	keys := make([][]uint32, len(fs))
	for k, f := range fs {
		keys[k] = testsOf(f, columns)
		for _, key := range keys[k] {
			number[key] = 1
		}
	}
	p := part{bits: make([]planBit, len(fs))}
	for key, used := range number {
		if used == 0 {
			continue
		}
		if key%vectors.Bins == noTest {
			number[key] = 0
			continue
		}
		if place := places[key/vectors.Bins]; len(p.places) == 0 || p.places[len(p.places)-1] != place {
			if len(p.places)%tile == 0 {
				p.first = append(p.first, len(p.tests))
			}
			p.places = append(p.places, place)
		}
		rung := uint16((len(p.places) - 1) % tile * 32)
		p.tests = append(p.tests, test{low: 4 * (rung + 31 - uint16(key%16)), high: 4 * (rung + uint16(key>>4%16))})
		number[key] = uint32(len(p.tests))
	}
	p.tests, p.first = slices.Clip(p.tests), append(p.first, len(p.tests))
	for k, f := range fs {
		for i, key := range keys[k] {
			keys[k][i] = number[key]
		}
		p.bits[k] = newPlanBit(f, keys[k])
		keys[k] = nil
	}
	return p
}

// noTest is a bin that no row is above.
const noTest = vectors.Bins - 1

// testsOf returns the test of every split: the place of its column among these, times vectors.Bins, plus the bin.
func testsOf(f *Ensemble, columns []uint32) []uint32 {
	place := make([]uint32, 1)
	if n := len(columns); n > 0 {
		place = make([]uint32, columns[n-1]+1)
	}
	for c, j := range columns {
		place[j] = uint32(c)
	}
	keys := make([]uint32, len(f.Feature))
	for i, j := range f.Feature {
		keys[i] = noTest
		if f.Bin[i] != noTest {
			keys[i] = place[j]*vectors.Bins + uint32(f.Bin[i])
		}
	}
	return keys
}

// newPlanBit prepares an ensemble with these tests.
func newPlanBit(f *Ensemble, test []uint32) planBit {
	b := planBit{depth: min(f.Depth, unit), trees: f.Trees(), tables: make([]table, (f.Trees()+perWord-1)/perWord)}
	total := int64(0)
	for q, w := range f.Weight {
		total += int64(w)
		b.tables[q/perWord].add(q%perWord, w)
	}
	b.least = int32((total + 1) / 2)
	if pairing && f.Depth >= unit && inPairs(f) {
		b.pairUp(f, test)
		return b
	}
	splits, half := Splits(f.Depth), 1<<(f.Depth-1)
	for q := range b.trees {
		tree := test[q*splits : (q+1)*splits]
		// A lowest split with leaves -1, +1 gives right itself; with +1, -1 its inverse; with equal leaves the test
		// does not matter: no row goes right, inverted if both say +1.
		for i := range half {
			left, right := f.leaf(q, 2*i), f.leaf(q, 2*i+1)
			if left == right {
				tree[half-1+i] = 0
			}
			b.invert = append(b.invert, -uint32(left))
		}
		subtrees := 1 << (f.Depth - b.depth)
		for _, t := range tree[:subtrees-1] {
			b.upper = append(b.upper, 4*t)
		}
		b.cut(tree, subtrees)
	}
	return b
}

// cut appends the lower splits of a tree, as subtrees of the kernel's depth.
func (b *planBit) cut(tree []uint32, subtrees int) {
	for s := range subtrees {
		for n := 1; n < 1<<b.depth; n *= 2 { // the n splits of a level
			for _, t := range tree[(subtrees+s)*n-1:][:n] {
				b.splits = append(b.splits, 4*t)
			}
		}
	}
}

// inPairs reports whether all trees have the same splits by twos, as those of logistic boosting with leaves of two
// bits.
func inPairs(f *Ensemble) bool {
	for _, run := range bySplits(f) {
		if run.last-run.first != 2 {
			return false
		}
	}
	return true
}

// pairUp prepares trees with the same splits by twos. A test is then looked up once for both, which is what most of the
// time goes to: the tests of a block do not fit the nearest caches.
func (b *planBit) pairUp(f *Ensemble, test []uint32) {
	splits, half, subtrees := Splits(f.Depth), 1<<(f.Depth-1), 1<<(f.Depth-b.depth)
	for q := 0; q < b.trees; q += perHalf {
		last := min(q+perHalf, b.trees)
		for p := q; p < last; p += 2 {
			b.cut(test[p*splits:(p+1)*splits], subtrees)
			for i := range half {
				leaves := f.leaf(p, 2*i)<<3 | f.leaf(p, 2*i+1)<<2 | f.leaf(p+1, 2*i)<<1 | f.leaf(p+1, 2*i+1)
				b.leaves = append(b.leaves, byte(16*leaves))
			}
		}
		for n := subtrees / 2; n > 0; n /= 2 { // the n splits of a level, from the lowest up
			for p := q; p < last; p += 2 {
				for _, t := range test[p*splits+n-1:][:n] {
					b.upper = append(b.upper, 4*t)
				}
			}
		}
	}
}

// leaf returns 1 if leaf l of tree q says +1, else 0.
func (e *Ensemble) leaf(q, l int) uint64 { return e.Leaf[q*LeafWords(e.Depth)+l/64] >> (l % 64) & 1 }

// add gives the q-th tree of the table its weight.
func (t *table) add(q int, w int32) {
	for s := range t[q/fold] {
		t[q/fold][s] += w * int32(s>>(q%fold)&1)
	}
}

// encode stores the word of part i of every row in the sets of code: that of row 64 l + r in word l of code[r]. The
// bins of the rows are in s.
func (p *plan) encode(i int, s *scratch, code *[64]set) {
	part := &p.parts[i]
	part.ready(s)
	clear(code[:])
	for k := range part.bits {
		code[63-k] = part.bits[k].rows(s)
	}
	transpose(code)
}

// margins writes the margins of part i of the first rows of the block.
func (p *plan) margins(i int, s *scratch, to output, rows int) {
	part := &p.parts[i]
	part.ready(s)
	for k := range part.bits {
		b := &part.bits[k]
		total := int64(0)
		for g := range b.tables {
			for f := range b.tables[g] {
				total += int64(b.tables[g][f][1<<fold-1])
			}
		}
		totals(&s.plus, b.votes(s), b.tables)
		for r := range rows {
			score := 2*int64(s.plus[totalPlace(r%64, r/64)]) - total
			to.margins.Data[(to.first+r)*to.margins.Cols+i*partBits+k] = float32(score)
		}
	}
}

// ready finds the rows that each test sends right.
func (p *part) ready(s *scratch) {
	for t, lo := range p.first[:len(p.first)-1] {
		hi := p.first[t+1]
		ladders(s.ladders, s.planes, p.places[t*tile:min((t+1)*tile, len(p.places))])
		tests(s.right[1+lo:1+hi], s.ladders, p.tests[lo:hi])
	}
}

// rows returns the rows for which the ensemble says +1: trees with at least half of the weight do.
func (b *planBit) rows(s *scratch) set { return sums(b.votes(s), b.tables, b.least) }

// votes returns the outputs of the trees: word l of set i of the g-th part has a bit for each tree of table g, for row
// 64 l + i.
func (b *planBit) votes(s *scratch) [][64]set {
	for q := 0; q < b.trees; q += perHalf {
		half := q / perHalf
		say := s.say[half/2][half%2*32:][:min(perHalf, b.trees-q)]
		if b.leaves != nil {
			b.pairs(q, say, s)
		} else if len(b.upper) == 0 {
			trees(b.depth, say, s.right, b.splits[q*Splits(b.depth):], b.invert[q<<(b.depth-1):])
		} else {
			for t := range say {
				say[t] = b.deep(q+t, s)
			}
		}
	}
	say := s.say[:len(b.tables)]
	for g := range say {
		transpose(&say[g])
	}
	return say
}

// deep returns the rows for which tree q says +1, from its parts.
func (b *planBit) deep(q int, s *scratch) set {
	n := len(b.upper)/b.trees + 1
	trees(b.depth, s.sub[:n], s.right, b.splits[q*n*Splits(b.depth):], b.invert[q*n<<(b.depth-1):])
	upper := b.upper[q*(n-1) : (q+1)*(n-1)]
	for n /= 2; n > 0; n /= 2 {
		for i, t := range upper[n-1 : 2*n-1] {
			s.sub[i] = merge(&s.sub[2*i], &s.sub[2*i+1], &s.right[t/4])
		}
	}
	return s.sub[0]
}

// pairs writes the outputs of the trees from q on, which have the same splits by twos.
func (b *planBit) pairs(q int, say []set, s *scratch) {
	n := len(say) / 2
	subtrees := (len(b.upper)*2/b.trees + 1) * n
	lowest := say
	if len(b.upper) > 0 {
		lowest = s.sub[:2*subtrees]
	}
	first := q / 2 * (subtrees / n) // of the subtrees
	pairs(lowest, s.right, b.splits[first*Splits(unit):], b.leaves[first<<(unit-1):])
	upper := b.upper[first-q/2:]
	for level := subtrees / 2; level >= n; level /= 2 {
		to := s.sub[:]
		if level == n {
			to = say
		}
		merges(to, s.sub[:], s.right, upper[:level])
		upper = upper[level:]
	}
}
